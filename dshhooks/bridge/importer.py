"""From another program's hook file to a native one, with a list of what was lost on the way (decisions.md 7.16)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from attrs import Factory, define, field, frozen

from dshhooks.bridge.foreign import CLIENTS, Client
from dshhooks.bridge.jsonfile import Report, below, described
from dshhooks.bridge.model import Diagnostic

__all__ = ["Imported", "import_document"]

_NAMES: Final = re.compile(r"[\w|-]+")
_EVERYTHING: Final = frozenset({"", "*", ".*", "^.*$"})
_META: Final = frozenset({"type", "name", "description", "comment", "$comment", "_comment"})
_COPIED: Final = ("bash", "powershell", "windows", "linux", "osx", "cwd", "env", "failClosed")


@frozen
class Imported:
    """A native document, and what of the original is not in it."""

    document: dict[str, Any]
    lost: tuple[Diagnostic, ...]


def import_document(data: Any, client: str, source: str = "") -> Imported:
    """Translate a hook file.

    A hook is left out, and reported, where it would do something else than its author meant; so is everything about it
    that does not come along.

    Args:
        data: The file's JSON.
        client: ``gemini``, ``cursor`` or ``copilot``.
        source: The file's name, for the report.

    Raises:
        KeyError: Nobody knows the client.
    """
    work = _Import(CLIENTS[client], Report(source))
    work.document(data)
    return Imported({"version": 1, "events": work.events}, tuple(work.report.diagnostics))


@define
class _Import:
    client: Client
    report: Report
    events: dict[str, list[Any]] = field(default=Factory(dict))

    def document(self, data: Any) -> None:
        hooks = data.get("hooks") if isinstance(data, dict) else None
        if not isinstance(hooks, dict):
            self._lost("error", "", "there is no object `hooks` in it: nothing is imported")
            return
        for name, entries in hooks.items():
            self._event(name, entries, below("/hooks", name))
        if self.events:
            self._lost("warning", "", f"answers: {self.client.answers}")
            self._lost("info", "", "payloads: hooks get the native payload: `event`, and the tool's input in "
                                   "`tool_input`")  # fmt: skip

    def _event(self, name: str, entries: Any, path: str) -> None:
        if name in self.client.lost:
            self._lost("warning", path, f"{name} is not imported: {self.client.lost[name]}")
        elif name not in self.client.events:
            self._lost("warning", path, f"{name} is no event of {self.client.name} that is known here")
        elif not isinstance(entries, list):
            self._lost("warning", path, f"{name} must be a list, not {described(entries)}: it is not imported")
        else:
            event, *tools = self.client.events[name].split()
            for index, entry in enumerate(entries):
                group = self._group(entry, event, tools, f"{path}/{index}")
                if group is not None:
                    self.events.setdefault(event, []).append(group)

    def _group(self, entry: Any, event: str, tools: list[str], path: str) -> dict[str, Any] | None:
        if not isinstance(entry, dict):
            self._lost("warning", path, f"a hook must be an object, not {described(entry)}: it is not imported")
            return None
        grouped = isinstance(entry.get("hooks"), list)
        members = entry["hooks"] if grouped else [entry]
        where = [f"{path}/hooks/{index}" if grouped else path for index in range(len(members))]
        hooks = [hook for hook in map(self._hook, members, where) if hook is not None]
        matcher = self._matcher(entry.get("matcher"), event, tools, f"{path}/matcher")
        if not hooks or matcher is None:
            return None
        if grouped:
            self._unknown(entry, {"matcher", "hooks", "sequential", *_META}, path)
        return {"matcher": matcher, "hooks": hooks} if matcher else {"hooks": hooks}

    # -- hooks -----------------------------------------------------------------------------------------------------

    def _hook(self, entry: Any, path: str) -> dict[str, Any] | None:
        if not isinstance(entry, dict) or entry.get("type", "command") != "command":
            what = repr(entry.get("type")) if isinstance(entry, dict) else described(entry)
            self._lost("warning", path, f"only hooks of type 'command' are imported, not {what}")
            return None
        hook: dict[str, Any] = {"type": "command"}
        if isinstance(entry.get("command"), str):
            hook["command"] = self._command(entry["command"], f"{path}/command")
        for name in _COPIED:
            if name in entry:
                value = entry[name]
                shell = isinstance(value, str) and name not in ("cwd", "failClosed")
                hook[name] = self._command(value, below(path, name)) if shell else value
        if hook.keys().isdisjoint(("command", "bash", "powershell", "windows", "linux", "osx")):
            self._lost("warning", path, "there is no command: the hook is not imported")
            return None
        self._timeout(entry, hook, path)
        self._unknown(entry, {"command", "timeout", "timeoutSec", "matcher", *_META, *_COPIED}, path)
        return hook

    def _timeout(self, entry: dict[str, Any], hook: dict[str, Any], path: str) -> None:
        name = "timeout" if "timeout" in entry else "timeoutSec"
        value = entry.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e9:
            seconds = value / 1000 if self.client.milliseconds else value
            hook["timeout"] = int(seconds) if seconds == int(seconds) else seconds
            return
        if value is not None:
            self._lost("warning", below(path, name), f"{name} must be a number above 0: the default is used")
        if self.client.timeout is not None:
            hook["timeout"] = int(self.client.timeout)

    def _command(self, text: str, path: str) -> str:
        for theirs, ours in self.client.variables.items():
            text = re.sub(rf"\$(?:{theirs}\b|\{{{theirs}\}})", f"${{{ours}}}", text)
        others = re.findall(rf"\$\{{?({self.client.name.upper()}_\w+|extensionPath)", text)
        for name in sorted(set(others)):
            self._lost("warning", path, f"nobody sets {name} here")
        return text

    # -- matchers --------------------------------------------------------------------------------------------------

    def _matcher(self, pattern: Any, event: str, tools: list[str], path: str) -> str | None:
        """Return the native pattern; ``""`` for everything, ``None`` if it cannot be said."""
        if pattern is not None and not isinstance(pattern, str):
            self._lost("warning", path, f"matcher must be a text, not {described(pattern)}: the group is not imported")
            return None
        if tools:  # such an event has its tools in its name, and a matcher there is about something else
            if pattern:
                self._lost("warning", path, f"the matcher {pattern!r} is about a command, not a tool: the group is not "
                                            "imported, it would run for others too")  # fmt: skip
                return None
            return "|".join(self._with_ours(tools))
        if pattern is None or pattern in _EVERYTHING:
            return ""
        if not event.startswith("tool:"):
            if not _NAMES.fullmatch(pattern):
                self._unsaid(pattern, path)
                return None
            return pattern
        return self._tool_names(pattern, path)

    def _tool_names(self, pattern: str, path: str) -> str | None:
        """Spell out which tools a regular expression means: native matchers are lists of names."""
        try:
            compiled = re.compile(pattern)
        except re.error:
            self._unsaid(pattern, path)
            return None
        fits = compiled.fullmatch if self.client.whole_names else compiled.search
        plain = [name for name in pattern.split("|") if name] if _NAMES.fullmatch(pattern) else []
        names = self._with_ours([*plain, *(name for name in self.client.tools if fits(name))])
        if not names:
            self._unsaid(pattern, path)
            return None
        if not plain:
            self._lost("info", path, f"{pattern!r} became the known tools it fits; others it fits are not in it")
        return "|".join(names)

    def _with_ours(self, names: list[str]) -> list[str]:
        """The names, each with what Claude calls that tool, without repetition."""
        return list(dict.fromkeys(_pairs(names, self.client)))

    def _unsaid(self, pattern: str, path: str) -> None:
        self._lost("warning", path, f"a native matcher cannot say {pattern!r}: the group is not imported")

    def _unknown(self, entry: dict[str, Any], known: set[str], path: str) -> None:
        for name in entry:
            if name not in known:
                self._lost("warning", below(path, name), f"{name} does not come along")

    def _lost(self, level: Any, path: str, message: str) -> None:
        self.report.add(level, "import-lost", path, message)


def _pairs(names: list[str], client: Client) -> Iterator[str]:
    for name in names:
        yield name
        if client.tools.get(name):
            yield client.tools[name]
