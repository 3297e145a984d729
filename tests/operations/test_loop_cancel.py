"""Turns, steps and requests that an observer cancels, and who is told of what (spec/operations.md 1.12, R5)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dshhooks.operations import Operation, current_operation
from dshhooks.operations.errors import OperationCanceled
from dshhooks.session.memory import MemoryStore
from hookspecs.errors import HarnessError
from hookspecs.markers import hookimpl
from tests.agent.kit import CallTools, Gate, Model, Plugin, Say, data, host, reasons, tool
from tests.operations.loop_kit import CANCELED, COMPLETED, FAILED, INFERENCE, LOOP, STEP, TURN
from tests.operations.watch import VALUES, Guarding, Watch

pytestmark = pytest.mark.anyio


def cancelling(*operations: Operation) -> Watch:
    """An observer that cancels these operations in their begin."""

    def cancel(call: Any) -> None:
        if call.operation in operations:
            operation = current_operation()
            assert operation is not None
            operation.cancel("enough")

    return Watch(*LOOP, begin=cancel)


# -- cancelled by an observer ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("which", LOOP)
@pytest.mark.parametrize("waits", [False, True])
async def test_an_observer_cancels(which: Operation, waits: bool) -> None:
    """D2: whatever of the three it cancels, the turn ends as aborted, and the agent goes on with the next input."""
    watch = cancelling(which)
    model = Model([Gate(), Say("no")] if waits else [Say("no")])
    async with host(watch, model=model) as h:
        agent = await h.run("go")
        assert reasons(agent.session) == ["aborted"]
        assert h.recorder.errors == []
        assert agent.status == "idle"
    outcomes = {result.operation: result.outcome for result in watch.results}
    begun = LOOP[: LOOP.index(which) + 1]
    assert outcomes == dict.fromkeys(begun, CANCELED)
    assert watch.one(which).error.reason == "enough"


@pytest.mark.parametrize("early", [True, False])
async def test_an_observer_limits_the_time_of_a_request(early: bool) -> None:
    """P5: a deadline that has passed, before or while the model answers, cancels the request; recovery is not asked."""
    asked, handles, gate = [], [], Gate()

    def begin(_call: Any) -> None:
        handles.append(current_operation())
        if early:
            handles[-1].deadline_at_most(anyio.current_time())

    watch = Watch(INFERENCE, begin=begin)
    recovery = Plugin("recovery", agent_request_error=lambda error: asked.append(error))
    async with host(watch, recovery, model=Model([gate, Say("no")])) as h:
        agent = await h.agent()
        agent.followup("go")
        if not early:
            await gate.reached.wait()
            handles[0].deadline_at_most(anyio.current_time())
        await agent.when_idle()
        assert reasons(agent.session) == ["aborted"]
    assert watch.outcomes(INFERENCE) == [CANCELED]
    assert asked == []


async def test_a_turn_that_an_observer_cancels_while_tools_run() -> None:
    """B6: the calls have their results, and the record of the end is written in the turn's context."""
    gate, handles, seen = Gate(), [], {}
    watch = Watch(TURN, begin=lambda _call: (handles.append(current_operation()), VALUES.set(("turn",))))
    ends = Plugin(
        "ends",
        session_event=lambda event: seen.update({event.type: (VALUES.get(), current_operation())}),
        session_flush=lambda: seen.update(flush=(VALUES.get(), current_operation())),
    )
    steps = [CallTools([("wait", {}), ("wait", {})]), Say("never")]
    async with host(watch, ends, steps=steps, tools=[tool("wait", gate)]) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        handles[0].cancel("enough")
        await agent.when_idle()
        assert reasons(agent.session) == ["aborted"]
        assert len(data(agent.session, "tool/result")) == 2
        assert len(h.requests) == 1
    assert watch.outcomes(TURN) == [CANCELED]
    # Its values, and not its cancellation.
    assert seen["turn/end"] == seen["flush"] == (("turn",), None)


async def test_the_signal_of_a_cancelled_turn_aborts() -> None:
    """What watches the turn's signal instead of being cancelled hears of it, too."""
    handles, signals = [], []
    watch = Watch(TURN, begin=lambda _call: handles.append(current_operation()))

    async def pre_step(signal: Any) -> None:
        signals.append(signal)
        handles[0].cancel("enough")

    async with host(watch, Plugin("hook", agent_pre_step=pre_step), steps=[Say("never")]) as h:
        await h.run("go")
    assert signals[0].aborted
    assert signals[0].reason == "enough"


async def test_the_signal_of_an_ended_turn_does_not() -> None:
    """A turn that ended by itself cannot be cancelled any more, not even by its operation being let go of."""
    signals: list[Any] = []
    hook = Plugin("hook", agent_pre_step=lambda signal: signals.append(signal))
    async with host(Watch(TURN), hook, steps=[Say("yes")]) as h:
        await h.run("go")
    assert not signals[0].aborted


async def test_a_plugin_that_asks_again_after_a_cancel() -> None:
    """An attempt that was cancelled while a guard waited is over; the next one is an operation of its own."""
    handles: list[Any] = []
    watch = Watch(INFERENCE, begin=lambda _call: handles.append(current_operation()))

    async def hang_once(_call: Any) -> None:
        if len(handles) == 1:
            handles[0].cancel("enough")
            await anyio.sleep_forever()

    async def again(self: Any, options: Any, *, call_next: Any) -> Any:
        try:
            return await read(await call_next())
        except OperationCanceled:
            return await call_next()

    async def read(chunks: Any) -> Any:
        async for _ in chunks:
            pass

    wrapper = type("Again", (), {"name": "again", "llm_stream": hookimpl(wrapper=True)(again)})()
    guard = Guarding(hang_once, operation=INFERENCE)
    async with host(watch, wrapper, guard, steps=[Say("yes")]) as h:
        agent = await h.run("go")
        assert reasons(agent.session) == ["completed"]
    assert watch.outcomes(INFERENCE) == [CANCELED, COMPLETED]


# -- who is told -------------------------------------------------------------------------------------------------------


async def test_nothing_is_dispatched_for_what_was_before() -> None:
    """Case 130: a resumed session tells of its new turn only."""
    store = MemoryStore()
    async with host(store=store, steps=[Say("1"), Say("2")]) as h:
        agent = await h.run("one", "two")
    watch = Watch(*LOOP)
    async with host(watch, store=store, steps=[Say("3")]) as h:
        again = await h.harness.resume_agent(agent.id)
        assert watch.log == []
        await h.run("three", agent=again)
    assert [(call.payload.index, call.coordinates.turn) for call in watch.calls if call.operation is TURN] == [(3, "3")]
    assert len(watch.results) == 3


async def test_an_engine_of_ones_own_has_no_loop_operations() -> None:
    """Case 134: a host that runs turns itself in our sessions; no turn, step or request is seen, its appends are."""
    from dshhooks.session.events import CompletedEnd, MessageTrigger, TurnEnd, TurnStart
    from hookspecs.values import UserSource

    watch = Watch()
    async with host(watch) as h:
        session = h.harness.sessions.create()
        await h.harness.sessions.enter(session)
        session.append(TurnStart(1, MessageTrigger(UserSource())))
        session.append(TurnEnd(1, CompletedEnd()))
        await h.harness.sessions.flush(session)
    assert {call.operation for call in watch.calls} == {Operation.JOURNAL_APPEND}
    events = [call.payload.record_id for call in watch.calls if call.payload.family == "event"]
    assert events == ["0", "1"]


async def test_an_agent_outlives_the_operation_it_was_created_in() -> None:
    """An agent that a tool creates, and that nobody spawned, is not cancelled when that tool call is over."""
    made: list[Any] = []
    watch = Watch(TURN, Operation.TOOL_EXECUTION)

    async with host(watch, steps=[CallTools([("create", {})]), Say("done"), Say("mine")]) as h:

        async def create(_args: Any, _run: Any) -> str:
            made.append(await h.harness.create_agent())
            return "made"

        h.harness.tools.register(tool("create", create))
        await h.run("go")
        await h.run("and you", agent=made[0])
        assert reasons(made[0].session) == ["completed"]
    assert watch.outcomes(TURN) == [COMPLETED] * 2


async def test_a_background_task_is_no_part_of_what_it_was_begun_in() -> None:
    """What a host runs in the background outlives the operation, whose end must not cancel it."""
    gate, seen = Gate(), []

    async def later() -> None:
        await gate()
        seen.append(current_operation())

    async with host(Watch(Operation.TOOL_EXECUTION), steps=[CallTools([("begin", {})]), Say("done")]) as h:

        async def begin(_args: Any, _run: Any) -> str:
            h.harness.spawn(later())
            await gate.reached.wait()
            return "begun"

        h.harness.tools.register(tool("begin", begin))
        await h.run("go")
        gate.open()
        while not seen:
            await anyio.lowlevel.checkpoint()
    assert seen == [None]


async def test_an_error_of_the_loop_is_the_observers_very_object() -> None:
    """D6: what ended the turn is on its result as it was raised."""
    error = HarnessError("no", "MINE")

    def fail() -> None:
        raise error

    watch = Watch(TURN, STEP)
    async with host(watch, Plugin("broken", agent_post_step=fail), steps=[Say("yes")]) as h:
        await h.run("go")
    assert [(result.outcome, result.error) for result in watch.results] == [(FAILED, error)] * 2
