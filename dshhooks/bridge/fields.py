"""The members of a configured hook: what each must be, and what becomes of a wrong one (A.4.2).

A wrong member is dropped and the hook kept, except where the hook would then do something its author did not write.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from attrs import field, frozen

from dshhooks.bridge.checks import is_web_address
from dshhooks.bridge.conditions import parse_condition
from dshhooks.bridge.dialects import Rules
from dshhooks.bridge.jsonfile import Report, below

__all__ = ["Skipped", "read_fields"]

Values = dict[str, Any]
Reader = Callable[["Member", Any, Values], None]


_LONG: Final = 1000  # seconds; more than that was most likely meant as milliseconds


class Skipped(Exception):  # not an error of the program: it leaves a hook out
    """The hook must not run; its diagnostics are in the report."""


@frozen
class Member:
    """One member being read: where it stands and how its dialect is read."""

    name: str
    path: str
    report: Report
    rules: Rules
    on_tools: bool = field(kw_only=True)

    def wrong(self, wanted: str, value: object, hint: str | None = None) -> None:
        """Report a member that is dropped."""
        shown = repr(value)
        shown = shown if len(shown) <= 60 else f"{shown[:59]}…"
        self.report.add("error", "field-invalid", below(self.path, self.name),
                        f"{self.name} must be {wanted}, not {shown}: it is ignored", hint)  # fmt: skip

    def fatal(self, wanted: str, value: object, hint: str | None = None) -> None:
        """Report a member without which the hook must not run."""
        shown = repr(value)
        self.report.add("error", "field-invalid", below(self.path, self.name),
                        f"{self.name} must be {wanted}, not {shown[:60]}: the hook is skipped", hint)  # fmt: skip
        raise Skipped


def read_fields(item: Mapping[str, Any], path: str, report: Report, rules: Rules, *, on_tools: bool,
                open_ended: bool) -> Values:  # fmt: skip
    """Return the attributes of a hook that its members give.

    Args:
        item: The hook as written.
        path: Where it stands.
        report: Takes the diagnostics.
        rules: Those of the file.
        on_tools: Whether its event is about a tool call.
        open_ended: Its kind is a plugin's, which knows members we do not.

    Raises:
        Skipped: A wrong member makes the hook something else than was written.
    """
    values: Values = {}
    for name, value in item.items():
        # Nearly all members of real files are one of these two; they are read here for speed.
        if name in _TEXTS and type(value) is str and value:
            values[_TEXTS[name]] = value
        elif name == "timeout" and type(value) is int and 0 < value < _LONG:
            values["timeout"] = float(value)
        elif name in _READERS:
            _READERS[name](Member(name, path, report, rules, on_tools=on_tools), value, values)
        elif name not in _IGNORED and not open_ended:
            report.add("info", "field-unknown", below(path, name), f"unknown field {name!r} is ignored")
    if not _TWOFOLD.isdisjoint(item):
        _combine(item, path, report, values)
    return values


def _combine(item: Mapping[str, Any], path: str, report: Report, values: Values) -> None:
    """Settle members that say the same thing in several ways."""
    if "timeoutSec" in item and "timeout" not in item:
        values["timeout"] = values.pop("timeoutSec", None)
    values.pop("timeoutSec", None)
    closed, failing = values.pop("failClosed", False), values.pop("onFailure", None)
    if failing == "block":
        values["exit_other_is_failure"] = True
    if "on_error" not in values and (closed or failing == "block"):
        values["on_error"] = "block"
    if "commandWindows" in item and "command_windows" in item:
        report.add("warning", "field-twice", below(path, "command_windows"), "commandWindows is there too, and is used")
    platforms = {**values.pop("windows_alias", {}), **values.pop("platforms", {})}
    if platforms:
        values["platform_commands"] = platforms


def _text(attribute: str, *, required: bool = False) -> Reader:
    def read(member: Member, value: Any, values: Values) -> None:
        if isinstance(value, str) and (value or not required):
            values[attribute] = value
        elif required:
            member.fatal("a text that is not empty", value)
        else:
            member.wrong("a text", value)

    return read


def _flag(attribute: str) -> Reader:
    def read(member: Member, value: Any, values: Values) -> None:
        if isinstance(value, bool):
            values[attribute] = value or values.get(attribute, False)
        else:
            member.wrong("true or false", value)

    return read


def _word(attribute: str, *words: str, fatal: bool = False) -> Reader:
    def read(member: Member, value: Any, values: Values) -> None:
        if isinstance(value, str) and value in words:
            values[attribute] = value
        else:
            (member.fatal if fatal else member.wrong)(" or ".join(map(repr, words)), value)

    return read


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _args(member: Member, value: Any, values: Values) -> None:
    if not _are_texts(value):
        member.fatal("a list of texts", value)
    values["args"] = tuple(value)


def _allowed(member: Member, value: Any, values: Values) -> None:
    """A list nobody can read allows nothing: where there is none, some dialects put in every variable."""
    if not _are_texts(value):
        member.wrong("a list of texts", value, "until then no variable is put into headers")
    values["allowed_env_vars"] = tuple(value) if _are_texts(value) else ()


def _mapping(attribute: str) -> Reader:
    def read(member: Member, value: Any, values: Values) -> None:
        if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
            values[attribute] = value
        else:
            member.wrong("an object of texts", value)

    return read


def _platform(key: str, attribute: str = "platforms") -> Reader:
    def read(member: Member, value: Any, values: Values) -> None:
        if isinstance(value, str) and value:
            values.setdefault(attribute, {})[key] = value
        else:
            member.wrong("a text that is not empty", value)

    return read


def _timeout(attribute: str) -> Reader:
    def read(member: Member, value: Any, values: Values) -> None:
        seconds = _seconds(value)
        if seconds is None:
            member.wrong("a number of seconds above 0", value)
            return
        values[attribute] = seconds
        where = below(member.path, member.name)
        if seconds >= _LONG:
            member.report.add("info", "timeout-milliseconds", where, f"{seconds:g} seconds: is this milliseconds?",
                              f"{member.name} is in seconds; for {seconds:g} ms write {seconds / 1000:g}")  # fmt: skip
        if member.rules.whole_seconds and seconds != int(seconds):
            member.report.add("warning", "timeout-fraction", where, "Codex takes whole seconds only; here it is kept")

    return read


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        seconds = float(value)
    except OverflowError:
        return None
    return seconds if seconds > 0 and math.isfinite(seconds) else None


def _url(member: Member, value: Any, values: Values) -> None:
    if not isinstance(value, str) or not is_web_address(value):
        member.fatal("an http or https address with a host", value)
    values["url"] = value


def _condition(member: Member, value: Any, values: Values) -> None:
    where = below(member.path, member.name)
    if not isinstance(value, str):
        member.wrong("a permission rule such as 'Bash(git push *)'", value)
    elif member.rules.condition == "ignored":
        member.report.add("warning", "if-not-evaluated", where, "if is not evaluated here: the hook always runs")
    elif not _is_rule(value):
        member.wrong("a permission rule such as 'Bash(git push *)'", value, "the hook runs for every call")
    else:
        values["condition"] = value
        if not member.on_tools:
            member.report.add("warning", "if-without-tool", where,
                              "if is about a tool call, and this event has none: the hook never runs")  # fmt: skip


def _is_rule(text: str) -> bool:
    try:
        parse_condition(text)
    except ValueError:
        return False
    return True


def _rewake(member: Member, value: Any, values: Values) -> None:
    if value is True:
        values["detached"] = True
        member.report.add("info", "field-reduced", below(member.path, member.name), "asyncRewake is read as async here")


_READERS: Final[Mapping[str, Reader]] = {
    "command": _text("command", required=True),
    "args": _args,
    "shell": _word("shell", "bash", "powershell", fatal=True),
    "url": _url,
    "headers": _mapping("headers"),
    "allowedEnvVars": _allowed,
    "prompt": _text("prompt", required=True),
    "model": _text("model"),
    "timeout": _timeout("timeout"),
    "timeoutSec": _timeout("timeoutSec"),
    "env": _mapping("env"),
    "cwd": _text("cwd"),
    "onError": _word("on_error", "ignore", "warn", "block"),
    "onFailure": _word("onFailure", "continue", "block"),
    "failClosed": _flag("failClosed"),
    "statusMessage": _text("status_message"),
    "async": _flag("detached"),
    "asyncRewake": _rewake,
    "once": _flag("once"),
    "if": _condition,
    "commandWindows": _platform("windows"),
    "command_windows": _platform("windows", "windows_alias"),
    "windows": _platform("windows"),
    "linux": _platform("linux"),
    "osx": _platform("osx"),
    "bash": _platform("bash"),
    "powershell": _platform("powershell"),
}

_TEXTS: Final = {"command": "command", "prompt": "prompt", "model": "model", "cwd": "cwd",
                 "statusMessage": "status_message"}  # fmt: skip

# Members of which several say the same thing.
_TWOFOLD: Final = frozenset({"timeoutSec", "failClosed", "onFailure", "commandWindows", "command_windows", "windows",
                             "linux", "osx", "bash", "powershell"})  # fmt: skip

# Known to the products, without meaning here; or remarks of the author.
_IGNORED: Final = frozenset({
    "type", "description", "$comment", "_comment", "$schema", "name", "continueOnBlock", "suppressOutput",
    "rewakeMessage", "rewakeSummary",
})  # fmt: skip
