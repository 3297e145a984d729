"""dshhooks.operations.journal: appends are observed, once, and nothing else changes (spec/operations.md 1.15)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from attrs import frozen

from dshhooks.operations import Operation, Outcome, Record, current_operation, with_hooks
from tests.operations.kit import allow, results, runner

pytestmark = pytest.mark.anyio

APPEND = Operation.JOURNAL_APPEND


@frozen
class Event:
    """As much of an event as matters here."""

    seq: int = 7


class Journal:
    """Writes down what reaches it, and answers."""

    name = "mine"

    def __init__(self, answer: Any = 3, during: Any = None) -> None:
        self.written: list[Any] = []
        self.answer = answer
        self.during = during

    async def append(self, record: Any) -> Any:
        self.written.append(record)
        if self.during is not None:
            self.during()
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class IdempotentJournal(Journal):
    async def append_idempotent(self, id_: str, record: Any) -> bool:
        self.written.append((id_, record))
        return False


def observed(journal: Any, seen: list[Any], *begins: Any, describe: Any = None) -> Any:
    """A journal with an observer."""
    extra = (describe,) if describe else ()
    return with_hooks(journal, runner([], [results(seen), *begins], APPEND), "s1", *extra)


@pytest.mark.parametrize("family", ["event", "command", "gate_prepared", "fence"])
async def test_one_of_each_family(family):
    """Case 115: one observation with family and id, one write of the same record; nothing of its text."""
    seen: list[Any] = []
    journal, record = Journal(), object()
    appended = await observed(journal, seen, describe=lambda _record: Record(family, "9")).append(record)
    assert (appended, len(seen)) == (3, 1)
    assert journal.written == [record]
    assert journal.written[0] is record
    [result] = seen
    assert (result.payload.family, result.payload.record_id, result.coordinates.session) == (family, "9", "s1")
    assert (result.agent_name, result.cause, result.outcome) == ("", None, Outcome.COMPLETED)


async def test_an_event_s_id():
    """7.23: its sequence number."""
    seen: list[Any] = []
    await observed(Journal(), seen).append(Event(12))
    assert (seen[0].payload.family, seen[0].payload.record_id) == ("event", "12")


async def test_outcomes():
    """Case 116: success is completed, whatever is cancelled; an error under cancellation is canceled."""
    error = OSError("disk")
    for answer, cancel, outcome in (
        (3, None, Outcome.COMPLETED),
        (error, None, Outcome.FAILED),
        (error, "outer", Outcome.CANCELED),
        (error, "derived", Outcome.CANCELED),
        (3, "outer", Outcome.COMPLETED),
        (3, "derived", Outcome.COMPLETED),
    ):
        seen: list[Any] = []
        with anyio.CancelScope() as scope:
            cancels = {"outer": scope.cancel, "derived": lambda: current_operation().cancel(), None: None}
            journal = observed(Journal(answer, cancels[cancel]), seen)
            try:
                got = await journal.append(Event())
            except OSError as exc:
                got = exc
        assert got is answer
        assert [each.outcome for each in seen] == [outcome]


class Hostile:
    @property
    def seq(self):
        raise RuntimeError("no")


@pytest.mark.parametrize("record", [None, "text", Event("7"), Hostile(), object()])
async def test_records_nobody_can_describe(record):
    """Case 117, J3: written as they are, unobserved."""
    seen: list[Any] = []
    journal = Journal()
    assert await observed(journal, seen).append(record) == 3
    assert (journal.written, seen) == ([record], [])


@pytest.mark.parametrize("found", [None, Record("nonsense", "1"), Record("event", ""), Record("event", 1), "event"])
async def test_odd_descriptions(found):
    """Case 117: the families are a closed set."""
    seen: list[Any] = []
    assert await observed(Journal(), seen, describe=lambda _record: found).append(Event()) == 3
    assert seen == []


async def test_observers_that_fail():
    """Case 118: the sequence does not notice."""

    def bad_begin(_call):
        raise ValueError("begin")

    def bad_finish(_call):
        return bad_begin

    journal = Journal()
    appender = observed(journal, [], bad_begin, bad_finish, lambda _call: current_operation().cancel())
    assert [await appender.append(Event(seq)) for seq in range(3)] == [3, 3, 3]
    assert journal.written == [Event(0), Event(1), Event(2)]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
async def test_interrupts(kind):
    """Case 119: failed, and the same object goes on."""
    seen: list[Any] = []
    error = kind()
    writing = observed(Journal(error), seen).append(Event())
    # Driven by hand: an event loop would end with it.
    try:
        writing.send(None)
    except kind as exc:
        caught = exc
    assert caught is error
    assert [(each.outcome, each.error) for each in seen] == [(Outcome.FAILED, error)]


async def test_nobody_listens():
    """Case 120, J1: the same object; nothing stays nothing."""
    journal = Journal()
    assert with_hooks(journal, None, "s1") is journal
    assert with_hooks(journal, runner([], [allow], Operation.TURN), "s1") is journal
    assert with_hooks(None, runner([], [allow], APPEND), "s1") is None


async def test_what_the_journal_can_do_it_still_can():
    """J5: an observer hides no capability, and adds none."""
    seen: list[Any] = []
    journal = observed(IdempotentJournal(), seen)
    assert await journal.append_idempotent("s1", Event()) is False
    assert (seen[0].outcome, seen[0].payload.record_id, journal.name) == (Outcome.COMPLETED, "7", "mine")
    assert not hasattr(observed(Journal(), []), "append_idempotent")


async def test_the_write_sees_the_operation():
    """1.15: it runs in the derived context."""
    inside: list[Any] = []
    journal = Journal(during=lambda: inside.append(current_operation().call.operation))
    await observed(journal, []).append(Event())
    assert inside == [APPEND]
