"""Torn tails and crashed turns: pure functions over records and events, shared by all stores (spec/core.md 5.8)."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

from attrs import frozen

from dshhooks.session.codec import Codec
from dshhooks.session.event import APPEND, Event, Replace
from dshhooks.session.records import BadRecord
from hookspecs.errors import HarnessError
from hookspecs.json import freeze

__all__ = ["NOT_STARTED", "OUTCOME_UNKNOWN", "Hole", "Repair", "closers", "plan", "scan"]

OUTCOME_UNKNOWN: Final = "TOOL_OUTCOME_UNKNOWN"
NOT_STARTED: Final = "TOOL_NOT_STARTED"

_TEXTS: Final = {
    OUTCOME_UNKNOWN: (
        "The process ended while this call was running, so its outcome is unknown: it may have had its effect or not. "
        "Repeat it only if it just reads or is idempotent. Otherwise check first what happened, or ask the user."
    ),
    NOT_STARTED: "The process ended before this call was started. It had no effect and can be tried again.",
}


@frozen
class Hole:
    """Where a log stops being readable.

    Args:
        seq: How many events stand before it.
        reason: What is wrong with the record there.
    """

    seq: int
    reason: str


@frozen
class Repair:
    """One thing a repair does.

    Args:
        kind: ``"cut"``: everything from ``seq`` on is dropped; ``"append"``: ``event`` is added.
        seq: Where.
        reason: Why, for people.
        event: What is added.
    """

    kind: str
    seq: int
    reason: str
    event: Event | None = None

    def __str__(self) -> str:
        what = "cut from" if self.event is None else f"append {self.event.type} as"
        return f"{what} {self.seq} ({self.reason})"


def scan(rows: Iterable[Any], parse: Callable[[Any, int | None], Event]) -> tuple[list[Event], Hole | None]:
    """Read a log up to its first hole.

    Args:
        rows: Its records in order.
        parse: Makes an event of a record; of the given seq, or of any when that is ``None``; raises ``BadRecord``.

    Raises:
        HarnessError: ``SESSION_CORRUPT``: a turn ended after the hole, so this is no torn tail.
    """
    events: list[Event] = []
    append, remaining = events.append, iter(rows)
    for row in remaining:
        try:
            append(parse(row, len(events)))
        except BadRecord as exc:
            hole = Hole(len(events), str(exc))
            _refuse_corruption(hole, chain((row,), remaining), parse)
            return events, hole
    return events, None


def _refuse_corruption(hole: Hole, rows: Iterator[Any], parse: Callable[[Any, int | None], Event]) -> None:
    for row in rows:
        try:
            event = parse(row, None)
        except BadRecord:
            continue
        if event.type == "turn/end":
            raise HarnessError(
                f"record {hole.seq} cannot be used ({hole.reason}), and a turn ended after it: this is damage, not an "
                "interrupted write; restore the log from a backup",
                "SESSION_CORRUPT",
            )


def plan(events: Sequence[Event], hole: Hole | None, codec: Codec) -> tuple[Repair, ...]:
    """Return what makes a log valid again; nothing for a valid one."""
    cut = [] if hole is None else [Repair("cut", hole.seq, f"torn tail: {hole.reason}")]
    added = [Repair("append", event.seq, _why(event), event) for event in closers(events, codec)]
    return (*cut, *added)


def _why(event: Event) -> str:
    if event.type == "tool/result":
        return f"call {event.raw['callId']!r}: {event.raw['error']['code']}"
    return f"closes the interrupted {event.type.partition('/')[0]}"


def closers(events: Sequence[Event], codec: Codec) -> list[Event]:
    """Return the events that close an open last turn, the same ones every time; none for a balanced log."""
    open_turn = _open_turn(events)
    if open_turn is None:
        return []
    turn, step = open_turn[0].raw["turn"], _open_step(open_turn)
    add = _Adder(len(events), events[-1].time, codec)
    if step is not None:
        for call_id, started in _unanswered(step):
            add.result(turn, step[0].raw["step"], call_id, started)
        add.event("step/end", {"turn": turn, "step": step[0].raw["step"]})
    add.event("turn/end", {"turn": turn, "reason": {"kind": "interrupted"}})
    return add.added


def _open_turn(events: Sequence[Event]) -> list[Event] | None:
    for index in range(len(events) - 1, -1, -1):
        if events[index].type == "turn/end":
            return None
        if events[index].type == "turn/start":
            return list(events[index:])
    return None


def _open_step(turn: Sequence[Event]) -> list[Event] | None:
    for index in range(len(turn) - 1, -1, -1):
        if turn[index].type == "step/end":
            return None
        if turn[index].type == "step/start":
            return list(turn[index:])
    return None


def _unanswered(step: Sequence[Event]) -> Iterator[tuple[str, int | None]]:
    """Yield id and the seq of its ``tool/call``, if any, of each call without a result, in the model's order."""
    started: dict[str, deque[int]] = defaultdict(deque)
    answered: Counter[str] = Counter()
    for event in step:
        if event.type == "tool/call":
            started[event.raw["callId"]].append(event.seq)
        elif event.type == "tool/result" and not isinstance(event.surface_op, Replace):
            answered[event.raw["callId"]] += 1
    for call_id in _called(step):
        seq = started[call_id].popleft() if started[call_id] else None
        if answered[call_id]:
            answered[call_id] -= 1
        else:
            yield call_id, seq


def _called(step: Sequence[Event]) -> Iterator[str]:
    for event in step:
        if event.type == "assistant/message" and not isinstance(event.surface_op, Replace):
            for block in event.raw["content"]:
                if isinstance(block, dict) and block.get("type") == "tool-call" and isinstance(block.get("id"), str):
                    yield block["id"]


class _Adder:
    def __init__(self, seq: int, time: int, codec: Codec) -> None:
        self.added: list[Event] = []
        self._seq, self._time, self._codec = seq, time, codec

    def event(self, kind: str, data: dict[str, Any], **surface: Any) -> None:
        seq = self._seq + len(self.added)
        self.added.append(Event(seq, kind, self._time, self._codec, wire=freeze(data), **surface))

    def result(self, turn: int, step: int, call_id: str, started: int | None) -> None:
        code = NOT_STARTED if started is None else OUTCOME_UNKNOWN
        data = {
            "turn": turn,
            "step": step,
            "callId": call_id,
            "content": [{"type": "text", "text": _TEXTS[code]}],
            "isError": True,
            "error": {"name": "HarnessError", "code": code},
        }
        sources = None if started is None else (started,)
        self.event("tool/result", data, surface_op=APPEND, source_event_seqs=sources)
