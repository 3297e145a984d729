"""How each client's settings are written: where they are, what an entry of ours looks like, what switches hooks off."""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal

from attrs import frozen

from dshhooks.clients.install_command import or_no, or_nothing
from dshhooks.clients.table import CLIENTS, Client
from hookspecs.errors import HarnessError

__all__ = ["FORMS", "TIMEOUT", "Form", "Place", "Scope", "chosen_events", "client_row", "entry", "place_of",
           "place_of_this_process",
           "time_limit"]  # fmt: skip

Scope = Literal["project", "user"]

# Seconds. `handle` answers after 20 at the latest; when a client's own time is up, the tool runs (observed.md 2).
TIMEOUT: Final = 60

# What plugins have a hook for. Nothing is gained from starting a process for the rest.
_KINDS: Final = frozenset({"session:start", "prompt:submit", "tool:before", "tool:after", "turn:stop",
                           "subagent:start", "subagent:end"})  # fmt: skip
_TOOLS: Final = frozenset({"tool:before", "tool:after"})
# Not the end of a turn: some clients would go on for ever (observed.md 4).
_HELD_UP: Final = frozenset({"tool", "permission", "prompt"})
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@frozen
class Form:
    """How one client's file is written.

    Args:
        kind: ``json``, ``toml``, or ``script`` for a file that is all ours.
        grouped: Whether commands stand in groups that have a matcher.
        command: The key of the command.
        timeout: The key of the time-out, in the unit the client's row says.
        more: What else an entry of ours says.
        new_file: What a file of ours says besides the hooks.
        plain: Whether a file with comments or trailing commas is known to be refused by the client.
        wild: What a matcher of every tool is; ``None``: no matcher.
        bare: Whether the events may also stand at the top of the file, and in snake_case.
        omitted: Events that are not installed without being asked for.
        switches: Members of the file that switch its hooks off, each with the value that does so.
        expands: Whether the client puts variables into its settings before a shell sees them.
        folders: Whether it is folders the client trusts or not: then nothing is to be done for a user's settings.
        variable: The environment variable that names the client's folder, in the place of the first part of
            ``Client.user_file``.
    """

    kind: Literal["json", "toml", "script"] = "json"
    grouped: bool = True
    command: str = "command"
    timeout: str = "timeout"
    more: Mapping[str, Any] = _NOTHING
    new_file: Mapping[str, Any] = _NOTHING
    plain: bool = False
    wild: str | None = "*"
    bare: bool = False
    omitted: frozenset[str] = frozenset()
    switches: tuple[tuple[tuple[str, ...], Any], ...] = ()
    expands: bool = False
    folders: bool = False
    variable: str = ""


_OFF: Final = ((("disableAllHooks",), True),)
_NAMED: Final = {"name": "dshhooks"}

FORMS: Final[Mapping[str, Form]] = {
    "claude": Form(plain=True, switches=_OFF, variable="CLAUDE_CONFIG_DIR"),
    "codex": Form(plain=True, variable="CODEX_HOME"),
    "gemini": Form(more=_NAMED, expands=True, switches=(
        (("hooksConfig", "enabled"), False), (("tools", "enableHooks"), False), (("hooks", "enabled"), False),
        (("hooksConfig", "disabled"), ["dshhooks"]))),
    "qwen": Form(more=_NAMED, expands=True, switches=_OFF),
    # Copilot's reference knows no PascalCase word for the start of a sub-agent.
    "copilot": Form(new_file={"version": 1}, folders=True, omitted=frozenset({"SubagentStart"}), switches=_OFF,
                    variable="COPILOT_HOME"),
    "copilot-native": Form(grouped=False, command="bash", timeout="timeoutSec", new_file={"version": 1}, wild=None,
                           folders=True, switches=_OFF, variable="COPILOT_HOME"),
    "vibe": Form("toml", folders=True, variable="VIBE_HOME"),
    "openhands": Form(plain=True, bare=True, variable="OH_PERSISTENCE_DIR"),
    "opencode": Form("script"),
}  # fmt: skip


@frozen
class Place:
    """A settings file, and the folder the client's own folders stand in."""

    scope: Scope
    path: Path
    base: Path


def client_row(name: str) -> Client:
    """Return a client's row.

    Raises:
        HarnessError: Nobody knows it.
    """
    row = CLIENTS.get(name)
    if row is None:
        raise HarnessError(f"unknown client {name!r}: {_hint(name, CLIENTS, 'known are')}", "UNKNOWN_CLIENT")
    return row


def place_of(row: Client, scope: Scope, cwd: Path, environ: Mapping[str, str]) -> Place:
    """Return where a client looks for its settings.

    Raises:
        HarnessError: It has no such place, or there is no home directory.
    """
    if scope == "project":
        return Place(scope, cwd / row.project_file, cwd)
    if not row.user_file:
        raise HarnessError(f"{row.display} has no settings of a user that are known: use --project")
    folder = environ.get(FORMS[row.name].variable) if FORMS[row.name].variable else None
    if folder:
        return Place(scope, Path(folder, *Path(row.user_file).parts[1:]), Path(folder))
    try:
        home = Path.home()
    except RuntimeError as exc:
        raise HarnessError("there is no home directory: set HOME, or use --project") from exc
    parts = Path(row.user_file)
    if parts.parts[0] == ".config" and environ.get("XDG_CONFIG_HOME"):
        base = Path(environ["XDG_CONFIG_HOME"])
        return Place(scope, base.joinpath(*parts.parts[1:]), base)
    return Place(scope, home / parts, home)


def place_of_this_process(row: Client, scope: Scope) -> Place:
    """Return where the client would look if it was started here and now."""
    return place_of(row, scope, Path.cwd(), os.environ)


def chosen_events(row: Client, wanted: str | None) -> tuple[str, ...]:
    """Return the client's words for the events to install.

    Args:
        row: The client.
        wanted: A comma list of its words, or of Claude's words for the same events; ``None``: those plugins have
            hooks for.

    Raises:
        HarnessError: It has no such event.
    """
    if wanted is None:
        omitted = FORMS[row.name].omitted
        return tuple(word for word, kind in row.events.items() if kind in _KINDS and word not in omitted)
    words = [_own_word(row, name.strip()) for name in wanted.split(",") if name.strip()]
    if not words:
        raise HarnessError(f"--events names no event; {row.display} has {', '.join(row.events)}")
    return tuple(dict.fromkeys(words))


def _own_word(row: Client, name: str) -> str:
    if name in row.events:
        return name
    own = row.words(CLIENTS["claude"].events.get(name, name))
    if own:
        return own[0]
    raise HarnessError(f"{row.display} has no event {name!r}: {_hint(name, row.events, 'it has')}", "UNKNOWN_EVENT")


def _hint(name: str, known: Iterable[str], otherwise: str) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean {near[0]!r}?" if near else f"{otherwise} {', '.join(known)}"


def entry(row: Client, event: str, command: str) -> dict[str, Any]:
    """Return what is added to the file for one event."""
    form = FORMS[row.name]
    timeout = time_limit(row)
    if form.kind == "toml":
        kind = row.events[event]
        table = {"name": f"dshhooks-{event}", "type": event, form.command: command, form.timeout: float(timeout)}
        # Without it every failure of the command lets the tool run; other hooks must not have it.
        return {**table, "strict": True} if kind == "tool:before" else table
    command = or_no(command) if row.gates.get(event) in _HELD_UP else or_nothing(command)
    handler = {**form.more, "type": "command", form.command: command, form.timeout: timeout}
    if not form.grouped:
        return handler
    matcher = {"matcher": form.wild} if form.wild and row.events[event] in _TOOLS else {}
    return {**matcher, "hooks": [handler]}


def time_limit(row: Client, seconds: float = TIMEOUT) -> int:
    """Return seconds in the client's unit."""
    return math.ceil(seconds * (1000 if row.unit == "milliseconds" else 1))
