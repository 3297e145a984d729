"""The events: their names in each dialect, what a matcher is compared with, and whether a deny counts.

The table is :data:`EVENTS`; everything else here reads it (spec/external-hooks.md A.2).
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from attrs import field, frozen

from dshhooks.bridge.dialects import DIALECTS, Dialect
from dshhooks.bridge.errors import UnknownEventError

__all__ = [
    "EVENTS",
    "TOOL_EVENTS",
    "Event",
    "accepted_names",
    "admits",
    "closest",
    "given_name",
    "resolve",
    "subject_of",
]


@frozen(eq=False)
class Event:
    """One row of the table.

    Args:
        name: The canonical name.
        blockable: Whether a deny is effective; on other events it is downgraded.
        context_stdout: Whether plain output of a successful hook becomes context for the model.
        subject: The payload members a matcher is compared with, best first; empty: there is no subject.
        members: What the contract promises in the payload, with the value it has when the host does not say.
        spellings: Every dialect's names for it.
    """

    name: str
    blockable: bool
    context_stdout: bool
    subject: tuple[str, ...]
    members: Mapping[str, Any]
    spellings: Mapping[Dialect, tuple[str, ...]]
    names: frozenset[str] = field(init=False, repr=False, eq=False)

    @names.default
    def _all_names(self) -> frozenset[str]:
        return frozenset({self.name, *(name for names in self.spellings.values() for name in names)})


# Events about one tool call: their subject is the tool's name.
TOOL_EVENTS: Final = frozenset({"tool:before", "tool:after"})

_TOOL: Final = ("tool_name", "tool", "name")
_CALL: Final = {"tool_name": "", "tool_input": {}, "tool_use_id": ""}


def _event(
    name: str,
    claude: str,
    codex: str,
    opencode: str,
    *,
    blockable: bool = False,
    context_stdout: bool = False,
    subject: tuple[str, ...] = (),
    members: Mapping[str, Any] = MappingProxyType({}),
) -> Event:
    spellings: dict[Dialect, tuple[str, ...]] = {
        "claude": tuple(claude.split()),
        "codex": tuple(codex.split()),
        "opencode": (opencode,),
        "native": (name,),
    }
    return Event(name, blockable, context_stdout, subject, members, spellings)


EVENTS: Final[Mapping[str, Event]] = MappingProxyType({event.name: event for event in (
    _event("session:start", "SessionStart", "SessionStart", "session.created",
           context_stdout=True, subject=("source",), members={"source": ""}),
    _event("session:end", "SessionEnd", "SessionEnd", "session.deleted",
           subject=("reason", "source"), members={"reason": ""}),
    _event("prompt:submit", "UserPromptSubmit", "UserPromptSubmit", "chat.message",
           blockable=True, context_stdout=True, members={"prompt": ""}),
    _event("tool:before", "PreToolUse", "PreToolUse", "tool.execute.before",
           blockable=True, subject=_TOOL, members=_CALL),
    # The one event with two names in a dialect: they exclude each other, see `admits`.
    _event("tool:after", "PostToolUse PostToolUseFailure", "PostToolUse", "tool.execute.after",
           subject=_TOOL, members={**_CALL, "tool_response": ""}),
    _event("turn:stop", "Stop", "Stop", "session.idle",
           blockable=True, members={"stop_hook_active": False}),
    _event("subagent:start", "SubagentStart", "SubagentStart", "tool.execute.before.subagent",
           context_stdout=True, subject=("agent_type",), members={"agent_id": "", "agent_type": ""}),
    _event("subagent:end", "SubagentStop", "SubagentStop", "tool.execute.after.subagent",
           subject=("agent_type",), members={"agent_id": "", "agent_type": "", "stop_hook_active": False}),
    _event("notice", "Notification", "Notification", "notification",
           members={"message": "", "title": "", "notification_type": ""}),
    # Codex has PreCompact too; it is on the list of what we know and do not run (dialects.UNSUPPORTED_EVENTS).
    _event("compact:before", "PreCompact", "", "experimental.session.compacting",
           context_stdout=True, members={"trigger": "", "custom_instructions": ""}),
)})  # fmt: skip

_BY_NAME: Final = {name: event for event in EVENTS.values() for name in event.names}


def resolve(name: str) -> Event:
    """Return the event any dialect calls ``name``; names are case-sensitive.

    Raises:
        UnknownEventError: Nobody calls an event that; the message suggests the nearest name.
    """
    event = _BY_NAME.get(name) if isinstance(name, str) else None
    if event is None:
        near = closest(name, _BY_NAME) if isinstance(name, str) else None
        hint = f"did you mean {near!r}?" if near else f"canonical names: {', '.join(EVENTS)}"
        raise UnknownEventError(f"unknown event {name!r}: {hint}")
    return event


def subject_of(event: Event, payload: Mapping[str, Any]) -> str:
    """Return what matchers are compared with: the first of the event's subject members that is a text, else ``""``."""
    for member in event.subject:
        value = payload.get(member)
        if isinstance(value, str):
            return value
    return ""


def admits(event: Event, dialect: Dialect, spelling: str, dispatched: str) -> bool:
    """Say whether a group written under ``spelling`` in a file of ``dialect`` hears an event dispatched by that name.

    Only a dialect with several names for one event tells them apart, and only when the dispatch used one of them: a
    failing tool dispatched as ``PostToolUseFailure`` still reaches a Codex group under ``PostToolUse``.
    """
    own = event.spellings[dialect]
    return len(own) < 2 or spelling == dispatched or spelling not in own or dispatched not in own


def given_name(event: Event, dialect: Dialect, spelling: str, dispatched: str) -> str:
    """Return the name a hook of such a group is told in ``hook_event_name``."""
    own = event.spellings[dialect]
    if spelling in own:
        return spelling
    if dispatched in own or not own:
        return dispatched
    return own[0]


@functools.cache
def accepted_names(event: Event, dialect: Dialect, given: str, dispatched: str) -> frozenset[str]:
    """Return the event names an answer may carry in ``hookEventName`` and still be about this event (A.7)."""
    own = event.spellings[dialect]
    if dialect == "native":  # native hooks are written by people who know one of the other dialects
        return event.names
    return frozenset({given, dispatched, event.name, *(own if len(own) < 2 else ())})


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` is a slip of: other case, one edit, or, in a long name, a letter or two."""
    folded = {candidate.lower(): candidate for candidate in known}
    slip = name.lower()
    found = difflib.get_close_matches(slip, folded, 1, cutoff=0.85)
    # A ratio alone would not do: one wrong letter is a quarter of `Stop`.
    near = found[0] if found else next((candidate for candidate in folded if _one_edit(slip, candidate)), None)
    return None if near is None else folded[near]


def _one_edit(one: str, other: str) -> bool:
    """Say whether a letter more, less or instead makes one text of the other."""
    shorter, longer = sorted((one, other), key=len)
    at = next((at for at, pair in enumerate(zip(shorter, longer, strict=False)) if len(set(pair)) > 1), len(shorter))
    return shorter[at:] == longer[at + 1 :] or shorter[at + 1 :] == longer[at + 1 :]


assert all(set(event.spellings) == set(DIALECTS) for event in EVENTS.values())
