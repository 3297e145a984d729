"""Turns and steps as operations: where they begin and end, and how they nest (spec/operations.md 1.13)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dshhooks.operations import Cause, Coordinates, Operation, current_operation
from dshhooks.operations.errors import OperationCanceled
from hookspecs.decisions import BlockPrompt
from hookspecs.model import (
    FinishChunk,
    StopFinish,
)
from hookspecs.values import Message, PluginSource, TextBlock
from tests.agent.kit import CallTools, Gate, Model, Plugin, Say, host, kinds, reasons, tool
from tests.operations.loop_kit import CANCELED, COMPLETED, FAILED, INFERENCE, LOOP, STEP, TURN, Beside, Chunks
from tests.operations.watch import VALUES, Watch

pytestmark = pytest.mark.anyio


# -- the turn ----------------------------------------------------------------------------------------------------------


async def test_a_turn_begins_before_its_first_record_and_ends_behind_its_last() -> None:
    """Case 70: begin, turn-started, terminal, finish; the begin saw id, index 1 and the input."""
    watch = Watch(TURN)
    async with host(watch, Beside(watch.log, "turn/start", "turn/end"), steps=[Say("yes")]) as h:
        agent = await h.run("go")
    assert watch.log == ["begin turn", "turn/start", "turn/end", "finish turn completed"]
    [call] = watch.calls
    assert call.coordinates == Coordinates(agent.id, agent.id, "1")
    assert (call.payload.index, call.payload.input) == (1, Message("user", (TextBlock("go"),)))


async def test_the_cause_says_whether_a_person_asked() -> None:
    """Spec 1.5: the cause is the input's id, human for a person, a machine for everybody else."""
    watch = Watch(TURN, STEP)
    async with host(watch, steps=[Say("1"), Say("2")]) as h:
        agent = await h.agent()
        first = agent.followup("go")
        second = agent.followup("on", source=PluginSource("mailer"))
        await agent.when_idle()
    causes = [call.cause for call in watch.calls]
    assert causes == [Cause(first, human=True)] * 2 + [Cause(second, human=False)] * 2


async def test_a_turn_ends_once_its_end_is_durable() -> None:
    """Case 71: while the terminal commit blocks, the turn has not finished."""
    gate, watch = Gate(), Watch(TURN)
    async with host(watch, Plugin("slow", session_flush=lambda: gate()), steps=[Say("yes")]) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        assert kinds(agent.session)[-1] == "turn/end"
        assert watch.log == ["begin turn"]
        gate.open()
        await agent.when_idle()
    assert watch.outcomes(TURN) == [COMPLETED]


async def test_a_turn_whose_end_is_not_durable_has_failed() -> None:
    """B8: a commit failure of the terminal overrides how the turn ended."""
    watch, error = Watch(TURN), ValueError("disk full")

    def flush() -> None:
        raise error

    async with host(watch, Plugin("broken", session_flush=flush), steps=[Say("yes")]) as h:
        agent = await h.run("go")
        assert reasons(agent.session) == ["completed"]
    assert (watch.one(TURN).outcome, watch.one(TURN).error) == (FAILED, error)


async def test_a_turn_that_cannot_start_has_failed() -> None:
    """A refused turn-started record: one begin, one failed finish, nothing else."""
    watch, error = Watch(*LOOP), ValueError("no turn today")

    def refuse(event: Any) -> None:
        if event.type == "turn/start":
            raise error

    async with host(watch, steps=[Say("never")]) as h:
        agent = await h.agent()
        agent.session.add_validator(refuse)
        await h.run("go", agent=agent)
    assert watch.log == ["begin turn", "finish turn failed"]
    assert watch.one(TURN).error is error


async def test_a_blocked_prompt_is_a_turn_that_completed() -> None:
    """Spec 2: prompt policy acts inside the opened turn; its no is an outcome of the domain."""
    watch = Watch(*LOOP)
    blocked = Plugin("policy", agent_prompt_submit=lambda: BlockPrompt("not that"))
    async with host(watch, blocked) as h:
        agent = await h.run("go")
        assert reasons(agent.session) == ["rejected"]
    assert watch.log == ["begin turn", "finish turn completed"]


@pytest.mark.parametrize("dispose", [False, True])
async def test_an_interrupted_turn_is_canceled(dispose: bool) -> None:
    """B8, B10: cancelled or disposed while the model answers, all three are canceled, each once, innermost first."""
    gate, watch = Gate(), Watch(*LOOP)
    async with host(watch, model=Model([gate, Say("late")])) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        if dispose:
            await agent.dispose()
        else:
            agent.cancel()
            await agent.when_idle()
        assert reasons(agent.session) == ["disposed" if dispose else "aborted"]
    assert watch.log == [
        "begin turn", "begin step", "begin inference",
        "finish inference canceled", "finish step canceled", "finish turn canceled",
    ]  # fmt: skip
    assert all(isinstance(result.error, OperationCanceled) for result in watch.results)


async def test_a_turn_of_a_host_that_is_killed_is_canceled() -> None:
    """B10: the host's own task is cancelled; the turn is closed and finished all the same."""
    gate, watch = Gate(), Watch(*LOOP)
    with anyio.CancelScope() as killed:
        async with host(watch, model=Model([gate])) as h:
            agent = await h.agent()
            agent.followup("go")
            await gate.reached.wait()
            killed.cancel()
            await anyio.sleep_forever()
    assert [watch.outcomes(operation) for operation in LOOP] == [[CANCELED]] * 3
    assert reasons(agent.session) == ["disposed"]


# -- nesting -----------------------------------------------------------------------------------------------------------


async def test_they_nest_and_values_reach_the_model() -> None:
    """Case 76: strictly nested; what a turn's observer set is seen by the provider."""
    watch, seen = Watch(*LOOP), []
    async with host(watch, model=Model([lambda _options: seen.append(VALUES.get()) or Say("yes")])) as h:
        await h.run("go")
    assert watch.log == [
        "begin turn", "begin step", "begin inference",
        "finish inference completed", "finish step completed", "finish turn completed",
    ]  # fmt: skip
    assert seen == [("turn", "step", "inference")]


async def test_values_reach_hooks_and_log_and_nobody_outside() -> None:
    """P1, P7: hooks and appends run in the operation they belong to; whoever sends a prompt sees nothing."""
    seen: dict[str, Any] = {}
    hooks = Plugin(
        "hooks",
        agent_turn_stopping=lambda: seen.setdefault("stopping", VALUES.get()),
        agent_post_step=lambda: seen.setdefault("post", VALUES.get()),
        session_event=lambda event: seen.setdefault(event.type, VALUES.get()),
        session_flush=lambda: seen.setdefault("flush", VALUES.get()),
    )
    async with host(Watch(*LOOP), hooks, steps=[Say("yes")]) as h:
        await h.run("go")
    turn, step = ("turn",), ("turn", "step")
    assert seen == {
        "turn/start": turn, "user/message": turn, "step/start": step, "request/header": step, "assistant/chunk": step,
        "assistant/message": step, "post": step, "step/end": step, "stopping": turn, "turn/end": turn, "flush": turn,
    }  # fmt: skip
    assert VALUES.get() == ()


async def test_places() -> None:
    """Spec 1.5: steps count from zero, the request stands in its step, coordinates name them as the log does."""
    watch = Watch(STEP, INFERENCE)
    async with host(watch, steps=[CallTools([("echo", {})]), Say("x")], tools=[tool()]) as h:
        agent = await h.run("go")
    assert [(call.operation, call.coordinates.turn, call.coordinates.step) for call in watch.calls] == [
        (STEP, "1", "1"), (INFERENCE, "1", "1"), (STEP, "1", "2"), (INFERENCE, "1", "2"),
    ]  # fmt: skip
    assert [call.payload.index for call in watch.calls if call.operation is STEP] == [0, 1]
    assert {call.coordinates.session for call in watch.calls} == {agent.id}


@pytest.mark.parametrize("only", LOOP)
async def test_any_one_alone(only: Operation) -> None:
    """C5: whoever is told of one operation only gets that one, at the same place."""
    watch, steps = Watch(only), [CallTools([("echo", {})]), Say("x")]
    async with host(watch, steps=steps, tools=[tool()]) as h:
        agent = await h.run("go")
    assert {call.operation for call in watch.calls} == {only}
    expected = [("1", "")] if only is TURN else [("1", "1"), ("1", "2")]
    assert [(call.coordinates.turn, call.coordinates.step) for call in watch.calls] == expected
    assert all(call.cause.human and call.coordinates.loop == agent.id for call in watch.calls)


# -- the step ----------------------------------------------------------------------------------------------------------


async def test_a_step_ends_behind_its_commit() -> None:
    """Case 78: step begin, inference begin, inference finish, commit, step finish."""
    watch = Watch(STEP, INFERENCE)
    async with host(watch, Beside(watch.log, "step/start", "assistant/message", "step/end"), steps=[Say("yes")]) as h:
        await h.run("go")
    assert watch.log == [
        "begin step", "step/start", "begin inference", "finish inference completed", "assistant/message", "step/end",
        "finish step completed",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["step/start", "step/end"])
async def test_a_step_that_cannot_be_written_has_failed(kind: str) -> None:
    """Case 77: admission or commit that crashes; one failed finish, and the very crash reaches the turn."""
    watch, error = Watch(TURN, STEP), ValueError("no")
    broken: list[Any] = [error]

    def refuse(event: Any) -> None:
        if event.type == kind and broken:
            raise broken.pop()

    async with host(watch, steps=[Say("yes")]) as h:
        agent = await h.agent()
        agent.session.add_validator(refuse)
        await h.run("go", agent=agent)
        assert reasons(agent.session) == ["error"]
        assert [caught for _, _, caught in h.recorder.errors] == [error]
    assert [(result.outcome, result.error) for result in watch.results] == [(FAILED, error)] * 2


async def test_an_empty_answer() -> None:
    """Case 79: one failed step; the log keeps the answer, as spec/core.md 4.8 says."""
    watch = Watch(*LOOP)
    async with host(watch, model=Chunks(FinishChunk(StopFinish()))) as h:
        agent = await h.run("go")
        assert reasons(agent.session) == ["completed"]
    assert watch.log[3:] == ["finish inference failed", "finish step failed", "finish turn completed"]
    assert watch.one(STEP).error.code == watch.one(INFERENCE).error.code == "EMPTY_RESPONSE"


async def test_work_behind_a_step_belongs_to_the_turn() -> None:
    """B7: a step's observer that cancels in its finish does not reach what comes behind the step."""

    def cancel_late(call: Any) -> Any:
        if call.operation is not STEP:
            return None
        operation = current_operation()
        assert operation is not None
        return lambda _result: operation.cancel("late")

    seen: list[Any] = []

    async def stopping() -> None:
        await anyio.lowlevel.checkpoint()
        operation = current_operation()
        seen.append((operation.call.operation, operation.cancelled) if operation is not None else None)

    watch = Watch(TURN)
    late = Plugin("late", operation=cancel_late, agent_turn_stopping=stopping)
    async with host(watch, late, steps=[Say("yes")]) as h:
        agent = await h.run("go")
        assert reasons(agent.session) == ["completed"]
    assert seen == [(TURN, False)]
    assert watch.outcomes(TURN) == [COMPLETED]


# -- who comes and goes ------------------------------------------------------------------------------------------------


async def test_an_observer_that_leaves_hears_how_what_it_saw_begin_ended() -> None:
    """1.7: a runner never changes; whoever was told of a begin is told of its finish, and of nothing new."""
    watch = Watch(*LOOP)

    async def leave(_args: Any, _exec: Any) -> str:
        h.harness.hooks.register(Plugin("later", operation=later.operation))
        registered.dispose()
        return "left"

    later = Watch(*LOOP)
    async with host(steps=[CallTools([("leave", {})]), Say("x")], tools=[tool("leave", leave)]) as h:
        registered = h.harness.hooks.register(watch)
        await h.run("go")
    assert watch.log == [
        "begin turn", "begin step", "begin inference", "finish inference completed", "finish step completed",
        "finish turn completed",
    ]  # fmt: skip
    assert later.log == ["begin step", "begin inference", "finish inference completed", "finish step completed"]
