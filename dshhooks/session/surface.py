"""The surface: which events the model sees, and the messages derived from them, kept up to date event by event.

Appending is O(1) whatever the length of the log. A replacement rebuilds (spec/core.md 5.4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from dshhooks.session.event import APPEND, SURFACE_TYPES, Event, Replace, View
from hookspecs.errors import HarnessError
from hookspecs.values import Message, ToolResultBlock

__all__ = ["Surface", "derive"]


def _invalid(what: str) -> HarnessError:
    return HarnessError(what, "INVALID_SURFACE")


def derive(event: Event) -> Message | None:
    """Return the message a surface event stands for; ``None`` for an assistant message without content."""
    data = event.data
    if event.type in ("user/message", "steering/message"):
        return Message("user", data.content)
    if event.type == "assistant/message":
        return Message("assistant", data.content, data.provenance) if data.content else None
    if event.type == "tool/result":
        return Message("user", (ToolResultBlock(data.call_id, data.content, data.is_error),))
    return None


class Surface:
    """The ordered surface nodes of one log.

    Args:
        lookup: Returns the event of a seq.
    """

    def __init__(self, lookup: Callable[[int], Event]) -> None:
        self._lookup = lookup
        self._nodes: list[int] = []
        self._messages: list[Message] = []
        self._derived = 0  # how many nodes have been derived into messages
        self.replace_generation = 0

    @property
    def nodes(self) -> View[int]:
        """The seqs on the surface, in order."""
        return View(self._nodes)

    def check(self, event: Event) -> None:
        """Refuse an event whose surface metadata does not fit; changes nothing.

        Raises:
            HarnessError: ``INVALID_SURFACE``.
        """
        operation, sources = event.surface_op, event.source_event_seqs
        if event.type not in SURFACE_TYPES:
            if operation is not None or sources is not None:
                raise _invalid(f"{event.type} is no surface event: it takes no surface_op and no source_event_seqs")
            return
        if sources is not None:
            _check_sources(event, sources)
        if isinstance(operation, Replace):
            self._check_replace(event, operation)
        elif operation != APPEND:
            raise _invalid(f"{event.type} needs surface_op 'append' or Replace(start, end), not {operation!r}")

    def _check_replace(self, event: Event, operation: Replace) -> None:
        first, last = self._position(operation.start), self._position(operation.end)
        if first > last:
            raise _invalid(f"replace: node {operation.start} comes after node {operation.end}")
        shadowed = self._nodes[first : last + 1]
        missing = sorted(set(shadowed) - set(event.source_event_seqs or ()))
        if missing:
            raise _invalid(f"replace: source_event_seqs must name every replaced node; missing: {missing}")
        if event.type == "tool/result":
            self._check_result(event, shadowed)

    def _check_result(self, event: Event, shadowed: Sequence[int]) -> None:
        before = self._lookup(shadowed[0])
        if len(shadowed) != 1 or before.type != "tool/result":
            raise _invalid("replace: a tool/result replaces exactly one tool/result")
        if attrs.evolve(before.data, content=event.data.content) != event.data:
            raise _invalid("replace: a tool/result may change only the content of the one it replaces")

    def _position(self, seq: int) -> int:
        try:
            return self._nodes.index(seq)
        except ValueError:
            raise _invalid(f"replace: event {seq} is not on the surface now") from None

    def apply(self, event: Event) -> None:
        """Take a checked event in."""
        if event.surface_op == APPEND:
            self._nodes.append(event.seq)
        elif isinstance(event.surface_op, Replace):
            first, last = self._position(event.surface_op.start), self._position(event.surface_op.end)
            # New lists: views handed out before keep the ones they look at.
            self._nodes = [*self._nodes[:first], event.seq, *self._nodes[last + 1 :]]
            self._messages, self._derived = [], 0
            self.replace_generation += 1

    def messages(self) -> View[Message]:
        """Return the conversation as the model sees it; a snapshot that later events do not change."""
        while self._derived < len(self._nodes):
            message = derive(self._lookup(self._nodes[self._derived]))
            self._derived += 1
            if message is not None:
                self._messages.append(message)
        return View(self._messages)


def _check_sources(event: Event, sources: tuple[Any, ...]) -> None:
    if not sources and event.type != "assistant/message":
        raise _invalid(f"{event.type}: empty source_event_seqs; leave them out")
    for seq in sources:
        if type(seq) is not int or not 0 <= seq < event.seq:
            raise _invalid(f"{event.type}: source_event_seqs must be earlier events, not {seq!r}")
    if len(set(sources)) != len(sources):
        raise _invalid(f"{event.type}: source_event_seqs names an event twice")
