"""Torn tails and crashed turns (spec/core.md 5.8)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.session.event import APPEND, Event, Replace
from dshhooks.session.events import AssistantMessage, StepEnd, ToolResultRecorded
from dshhooks.session.records import BadRecord, Reader, event_text
from dshhooks.session.repair import Hole, closers, plan, scan
from dshhooks.session.text import loads
from hookspecs.errors import HarnessError
from hookspecs.values import ToolCallBlock
from tests.session.kit import CODEC, MODEL, append, begin, calls, check_valid, kinds, log, refused, steps, turns


def parse(line: str, seq: int | None) -> Event:
    """What the stores do with a line."""
    try:
        return Reader(CODEC).record(loads(line), seq)
    except BadRecord:
        raise
    except ValueError as exc:
        raise BadRecord(str(exc)) from exc


def read(lines: list[str]) -> tuple[list[Event], Hole | None]:
    """Scan lines."""
    return scan(lines, parse)


def texts(events: list[Event]) -> list[str]:
    """The lines of events."""
    return [event_text(event) for event in events]


class TestTornTail:
    def test_a_whole_log_has_no_hole(self) -> None:
        """Nothing is wrong, nothing is planned."""
        events, hole = read(texts(turns(2)))
        assert kinds(events) == kinds(turns(2))
        assert hole is None
        assert plan(events, hole, CODEC) == ()

    def test_an_unreadable_last_record_is_cut(self) -> None:
        """Case 201: what comes after the last turn/end may be torn; the complete records before it stay."""
        lines = texts(steps(after=1))
        events, hole = read([*lines[:-1], lines[-1][:20]])
        assert len(events) == len(lines) - 1
        assert hole is not None
        assert hole.seq == len(lines) - 1
        assert [step.kind for step in plan(events, hole, CODEC)] == ["cut", "append", "append"]

    @pytest.mark.parametrize("bad", ["{", "", "null", '{"type":"x"}', '{"type":"x","seq":1,"time":0,"data":0,"x":1}'])
    def test_damage_before_a_turn_end_is_corruption(self, bad: str) -> None:
        """Case 201: an unreadable record with a turn/end after it is refused."""
        lines = texts(turns(2))
        lines[1] = bad
        with refused("SESSION_CORRUPT", "record 1"):
            read(lines)

    def test_a_gap_before_a_turn_end_is_corruption(self) -> None:
        """Seqs that skip one are a hole like any other, also when the turn/end itself comes too late."""
        lines = texts(turns(2))
        del lines[-2]
        with refused("SESSION_CORRUPT", "seq"):
            read(lines)

    def test_a_repeated_turn_end_is_corruption(self) -> None:
        """A restated record is a hole at its place."""
        lines = texts(turns(1))
        with refused("SESSION_CORRUPT"):
            read([*lines, lines[-1]])

    def test_an_aborted_end_with_detail_is_no_record(self) -> None:
        """`aborted` has exactly one key; with more, the record does not count as a turn/end either."""
        lines = texts(turns(1))
        lines[-1] = lines[-1].replace('{"kind":"completed"}', '{"kind":"aborted","why":"x"}')
        events, hole = read(lines)
        assert len(events) == len(lines) - 1
        assert hole is not None


WRONG: list[dict[str, Any]] = [
    {"seq": True}, {"seq": 0.0}, {"seq": "0"}, {"time": -1}, {"time": 1.5}, {"time": 2**60}, {"time": None},
    {"data": None}, {"data": []}, {"data": {"turn": "1", "trigger": {}}}, {"surfaceOp": "append"},
    {"sourceEventSeqs": []}, {"type": 1}, {"surfaceOp": None}, {"type": "user/message"},
    {"type": "assistant/message", "surfaceOp": "append"}, {"x": 1},
]  # fmt: skip


@pytest.mark.parametrize("change", WRONG, ids=repr)
def test_what_is_no_record(change: dict[str, Any]) -> None:
    """Every part of the envelope is checked, and what the log leans on in the data."""
    record = {"type": "turn/start", "seq": 0, "time": 0, "data": {"turn": 1, "trigger": {"kind": "x"}}}
    assert Reader(CODEC).record(record, 0).type == "turn/start"
    with pytest.raises(BadRecord):
        Reader(CODEC).record({**record, **change}, 0)


@pytest.mark.parametrize("operation", ["prepend", {}, {"op": "replace"}, {"op": "replace", "start": 0, "end": 1.0}, 1])
def test_what_is_no_surface_operation(operation: Any) -> None:
    """Only append and a whole replace are."""
    record = {"type": "user/message", "seq": 0, "time": 0, "data": {"content": [], "source": {"kind": "user"}}}
    with pytest.raises(BadRecord):
        Reader(CODEC).record({**record, "surfaceOp": operation}, 0)


class TestClosers:
    def test_of_a_balanced_log(self) -> None:
        """Nothing to close."""
        assert closers([], CODEC) == []
        assert closers(turns(2), CODEC) == []

    def test_of_a_batch_in_flight(self) -> None:
        """Case 202: a started call's outcome is unknown, one that was not started may be tried again."""
        events = steps("a", "b", "c", started=["a", "b"], done=["a"], after=1)
        added = closers(events, CODEC)
        assert kinds(added) == ["tool/result", "tool/result", "step/end", "turn/end"]
        assert [event.seq for event in added] == list(range(len(events), len(events) + 4))
        assert {event.time for event in added} == {events[-1].time}
        unknown, unstarted = added[0].data, added[1].data
        assert (unknown.call_id, unknown.is_error, unknown.error.code) == ("b", True, "TOOL_OUTCOME_UNKNOWN")
        assert (unstarted.call_id, unstarted.is_error, unstarted.error.code) == ("c", True, "TOOL_NOT_STARTED")
        started = next(e.seq for e in events if e.type == "tool/call" and e.data.call_id == "b")
        assert added[0].source_event_seqs == (started,)
        assert added[1].source_event_seqs is None
        assert added[0].surface_op == added[1].surface_op == APPEND
        assert added[-1].data.reason.kind == "interrupted"
        check_valid([*events, *added])

    def test_are_the_same_every_time(self) -> None:
        """Case 202: repair is deterministic."""
        events = steps("a", "b", started=["a"])
        assert closers(events, CODEC) == closers(events, CODEC)

    def test_of_a_closed_step(self) -> None:
        """Calls of closed steps are ignored; only the turn is closed."""
        session = log()
        calls(session, begin(session), ["a"], ["a"])
        session.append(StepEnd(1, 1))
        assert kinds(closers(session.events, CODEC)) == ["turn/end"]

    def test_of_a_bare_call(self) -> None:
        """A tool/call without a block in an answer gets no result."""
        session = log()
        calls(session, begin(session), [], ["ghost"])
        assert kinds(closers(session.events, CODEC)) == ["step/end", "turn/end"]

    def test_of_calls_that_share_an_id(self) -> None:
        """Results answer calls of the same id one by one."""
        session = log()
        calls(session, begin(session), ["x", "x"], ["x"], ["x"])
        added = closers(session.events, CODEC)
        assert [event.data.error.code for event in added[:-2]] == ["TOOL_NOT_STARTED"]

    def test_do_not_count_a_rewritten_result_twice(self) -> None:
        """A replacing result answers nothing new."""
        session = log()
        calls(session, begin(session), ["a", "b"], ["a"], ["a"])
        at = session.events[-1].seq
        short = ToolResultRecorded(1, 1, "a", "short", False)
        session.append(short, surface_op=Replace(at, at), source_event_seqs=[at])
        assert [event.data.call_id for event in closers(session.events, CODEC)[:-2]] == ["b"]

    def test_of_an_answer_with_unknown_blocks(self) -> None:
        """Blocks nobody knows are passed over."""
        session = log()
        begin(session)
        session.append(AssistantMessage(1, 1, (ToolCallBlock("a", "echo", "{}"),), MODEL), surface_op=APPEND)
        data = session.events[-1].wire
        record = {**data, "content": [{"type": "x"}, 7, *data["content"]]}
        last = Event(session.events[-1].seq, "assistant/message", 0, CODEC, wire=record, surface_op=APPEND)
        assert kinds(closers([*session.events[:-1], last], CODEC)) == ["tool/result", "step/end", "turn/end"]


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    """Logs of several turns with batches in every state, the last of them perhaps open."""
    session = log()
    names = st.lists(st.sampled_from("abcd"), max_size=4)
    for _ in range(draw(st.integers(0, 2))):
        append(session, chunks=draw(st.integers(0, 2)))
    if draw(st.booleans()):
        asked = draw(names)
        started = [name for name in dict.fromkeys(asked) if draw(st.booleans())]
        done = [name for name in started if draw(st.booleans())]
        calls(session, begin(session), asked, started, done)
    return list(session.events)


@given(logs(), st.data())
def test_a_log_cut_anywhere_becomes_valid(events: list[Event], data: st.DataObject) -> None:
    """Cut a valid log at any character: it is torn, never corrupt; after repair it is valid, and stays as it is."""
    text = "".join(f"{line}\n" for line in texts(events))
    cut = text[: data.draw(st.integers(0, len(text)))]
    *lines, rest = cut.split("\n")
    found, _ = read([*lines, *([rest] if rest else [])])
    whole = len(lines)
    assert found[:whole] == events[:whole]
    assert len(found) <= whole + 1  # the last record may be complete but for its end
    mended = [*found, *closers(found, CODEC)]
    check_valid(mended)
    assert read(texts(mended)) == (mended, None)
    assert plan(mended, None, CODEC) == ()


@given(logs(), st.data())
def test_no_bit_of_damage_is_taken_for_something_else(events: list[Event], data: st.DataObject) -> None:
    """A character changed anywhere gives a valid prefix or a refusal, nothing else."""
    text = "".join(f"{line}\n" for line in texts(events))
    if not text:
        return
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:at] + data.draw(st.sampled_from('x{}[]",:0\n\\')) + text[at + 1 :]
    found: list[Event] = []
    caught = ""
    try:
        found, _ = read(damaged.split("\n")[:-1])
    except HarnessError as exc:
        caught = exc.code
    assert caught in ("", "SESSION_CORRUPT")
    assert [event.seq for event in found] == list(range(len(found)))
