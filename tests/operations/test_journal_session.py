"""dshhooks.session.operations: appends of live sessions, observed once each (spec/operations.md 1.15)."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

import anyio
import pytest

from dshhooks.operations import (
    Around,
    Call,
    Coordinates,
    Operation,
    OperationSet,
    Outcome,
    StepData,
    compile_set,
)
from dshhooks.session.event import Event
from dshhooks.session.memory import MemoryStore
from hookspecs.markers import hookimpl
from tests.operations.journal_kit import Watcher, host, live
from tests.session.kit import Kept, append, say, turns

pytestmark = pytest.mark.anyio

VALUE: ContextVar[str] = ContextVar("value", default="nobody's")


class Interrupt(BaseException):
    """What passes through every boundary, and no event loop makes anything of."""


class Flaky(MemoryStore):
    """A memory store that fails when it is told to, before or after it has written."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[tuple[str, BaseException]] = []
        self.batches: list[int] = []

    def _write(self, session_id: str, header: Any, events: Sequence[Event]) -> None:
        when, failure = self.failures.pop(0) if self.failures else ("", None)
        if when == "before":
            raise failure  # type: ignore[misc]
        super()._write(session_id, header, events)
        self.batches.append(len(events))
        if failure is not None:
            raise failure


class TestEvents:
    async def test_each_is_observed_once(self, kept: Kept) -> None:
        """Case 115: one observation an event, in order, its seq as id; only the session is known of where it was."""
        watcher = Watcher()
        async with host(kept.open(), watcher) as made:
            session = await live(made)
            append(session, 3)
            await made.flush(session)
        numbers = [str(event.seq) for event in session.events]
        assert watcher.records() == numbers
        assert [each for each in watcher.begun if each != "1"] == [each for each in numbers if each != "1"]
        result = watcher.results[-1]
        assert result.coordinates == Coordinates(session="s")
        assert (result.agent_name, result.cause, result.payload.family) == ("", None, "event")
        assert set(watcher.outcomes()) == {"completed"}

    async def test_whatever_the_batches(self) -> None:
        """7.23: a batch is one write and as many observations; all begin before it and end after it, in order."""
        store, order = Flaky(), list[str]()

        class Order:
            @hookimpl
            def operation(self, call: Any) -> Any:
                order.append(f"begin {call.payload.record_id} {len(store.batches)}")
                yield
                order.append(f"end {call.payload.record_id} {len(store.batches)}")

        async with host(store, Order(), background=False) as made:
            session = await live(made)
            order.clear()  # of the fence
            for text in "abc":
                say(session, text)
            await made.flush(session)
        assert store.batches == [3]
        assert order == ["begin 0 0", "begin 1 0", "begin 2 0", "end 0 1", "end 1 1", "end 2 1"]

    async def test_in_the_context_of_the_append(self, kept: Kept) -> None:
        """P7: however late it is written, observers see the values and the operation it was appended in."""
        seen: list[str] = []
        async with host(
            kept.open(), Watcher(lambda call: seen.append(f"{call.payload.record_id} {VALUE.get()}")), background=False
        ) as made:
            session = await live(made)
            seen.clear()
            for value in ("one", "two"):
                token = VALUE.set(value)
                say(session)
                VALUE.reset(token)
            await made.flush(session)
        assert seen == ["0 one", "1 two"]
        assert VALUE.get() == "nobody's"

    async def test_of_an_operation_that_has_finished(self) -> None:
        """1.10: a background write that fails after its step has finished has failed; nobody cancelled it."""
        watcher, store = Watcher(), Flaky()
        around = compile_set(OperationSet(around=[Around(Operation.STEP, lambda _call: None)]))
        async with host(store, watcher, background=False) as made:
            session = await live(made)
            for cancel in (False, True):
                step = await around.start(Call(Operation.STEP, StepData(0)))
                await step.run(say, session)
                if cancel:
                    step.token.cancel("enough")
                step.finish(Outcome.COMPLETED)
                store.failures = [("before", OSError("disk full"))]
                with pytest.raises(OSError, match="disk full"):
                    await made.flush(session)
                await made.flush(session)
        assert watcher.outcomes() == ["failed", "completed", "canceled", "completed"]

    async def test_a_write_that_is_tried_again(self) -> None:
        """Case 116, J5: each attempt is one observation with its own outcome; one found written has completed."""
        watcher, store = Watcher(), Flaky()
        error = OSError("connection lost")
        async with host(store, watcher, background=False) as made:
            session = await live(made)
            say(session)
            store.failures = [("before", error), ("after", error)]
            for _ in range(2):
                with pytest.raises(OSError, match="lost"):
                    await made.flush(session)
            await made.flush(session)
            assert len((await store.load("s")).events) == 1
        assert watcher.outcomes() == ["failed", "failed", "completed"]
        assert [each.error for each in watcher.results if each.payload.family == "event"] == [error, error, None]

    async def test_under_cancellation(self, kept: Kept) -> None:
        """Case 116: a write that has begun ends, and has completed, whatever is cancelled around it meanwhile."""
        watcher = Watcher()
        async with host(kept.open(), watcher, background=False) as made:
            session = await live(made)
            say(session)
            with anyio.CancelScope() as scope:
                watcher.during = lambda _call: scope.cancel()
                await made.flush(session)
            assert len((await kept.open().load("s")).events) == 1
        assert watcher.outcomes() == ["completed"]

    async def test_a_store_that_is_interrupted(self) -> None:
        """Case 119: what passes through every boundary passes through, the same object, and the write has failed."""
        watcher, store, interrupt = Watcher(), Flaky(), Interrupt()
        async with host(store, watcher, background=False) as made:
            session = await live(made)
            say(session)
            store.failures = [("before", interrupt)]
            with pytest.raises(Interrupt) as caught:
                await made.flush(session)
            assert caught.value is interrupt
            await made.flush(session)
        assert watcher.outcomes() == ["failed", "completed"]

    async def test_an_observer_that_is_interrupted(self) -> None:
        """1.11: an interrupt while observers are told passes through; who began is told the end, nothing is lost."""
        watcher, interrupt = Watcher(), Interrupt()

        def second(call: Any) -> None:
            if call.payload.record_id == "1":
                watcher.during = None
                raise interrupt

        async with host(None, watcher, background=False) as made:
            session = await live(made)
            say(session)
            say(session)
            watcher.during = second
            with pytest.raises(Interrupt) as caught:
                await made.flush(session)
            assert caught.value is interrupt
            await made.flush(session)
            assert len((await made.store.load("s")).events) == 2
        assert watcher.records() == ["0", "0", "1"]
        assert watcher.outcomes() == ["failed", "completed", "completed"]

    async def test_observers_that_fail(self, kept: Kept) -> None:
        """Case 118: the log does not notice."""

        def fail(call: Any) -> None:
            raise ValueError("observer")

        async with host(kept.open(), Watcher(fail)) as made:
            session = await live(made)
            append(session)
            await made.flush(session)
        assert (await kept.open().load("s")).events == tuple(session.events)

    async def test_an_observer_that_appends(self, kept: Kept) -> None:
        """J7: what an observer of an append appends is stored and not observed, or it would be told for ever."""
        watcher = Watcher()
        async with host(kept.open(), watcher) as made:
            session = await live(made)
            watcher.during = lambda _call: say(session, "told")
            say(session, "first")
            await made.flush(session)
            say(session, "second")
            await made.flush(session)
        assert len(watcher.records()) == 2
        assert [event.data.content[0].text for event in session.events] == ["first", "told", "second", "told"]
        assert (await kept.open().load("s")).events == tuple(session.events)

    async def test_appends_before_it_was_live(self, kept: Kept) -> None:
        """What is written is observed: a seed, and what was appended while the session was private."""
        watcher = Watcher()
        async with host(kept.open(), watcher) as made:
            session = made.create("s", seed=turns())
            say(session)
            await made.enter(session)
            await made.flush(session)
        assert watcher.records() == [str(event.seq) for event in session.events]

    async def test_observers_that_come_later(self) -> None:
        """Who is registered when an event is appended is told of it."""
        watcher = Watcher()
        async with host(None, background=False) as made:
            session = await live(made)
            say(session)
            with made.hooks.register(watcher):
                say(session)
            say(session)
            await made.flush(session)
        assert watcher.records() == ["1"]

    async def test_of_other_sessions(self) -> None:
        """An observer of one agent is told of its session only."""
        watcher = Watcher()
        async with host(None, background=False) as made:
            mine, other = made.create("mine"), made.create("other")
            mine.agent = object()
            with made.hooks.register(watcher, agent=mine.agent):
                for session in (mine, other):
                    await made.enter(session)
                    say(session)
                    await made.flush(session)
        assert {each.coordinates.session for each in watcher.results} == {"mine"}

    async def test_nobody_listens(self) -> None:
        """Case 120: the store gets the very calls it would get without operations."""
        calls: list[Any] = []

        class Plain(MemoryStore):
            async def append(self, session_id: str, events: Any) -> None:
                calls.append(events)
                await super().append(session_id, events)

        async with host(Plain(), background=False) as made:
            session = await live(made)
            event = say(session)
            await made.flush(session)
            assert made.journal._noted == {}
        [batch] = calls
        assert batch == (event,)
        assert batch[0] is event

    async def test_nothing_is_remembered(self, kept: Kept) -> None:
        """What was written, and what a disposed session never wrote, is let go."""
        async with host(kept.open(), Watcher(), background=False) as made:
            session = await live(made)
            say(session)
            await made.flush(session)
            assert made.journal._noted == {"s": {}}
            await made.dispose(session)
            assert made.journal._noted == {}
