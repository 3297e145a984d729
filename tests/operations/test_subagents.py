"""Subagents: the same observers and guards, and work that is a part of the call that spawned them (1.13, R5)."""

from __future__ import annotations

from typing import Any

import pytest

from dshhooks.operations import Operation, Outcome, current_operation, deny
from dshhooks.session.memory import MemoryStore
from tests.agent.kit import CallTools, Gate, Model, Say, host, reasons, tool
from tests.operations.watch import VALUES, Guarding, Watch

pytestmark = pytest.mark.anyio

TURN, CALL, EXECUTION = Operation.TURN, Operation.TOOL_CALL, Operation.TOOL_EXECUTION
COMPLETED, CANCELED = Outcome.COMPLETED, Outcome.CANCELED


def delegate(results: list[Any]) -> Any:
    """A tool that has a subagent do it."""

    async def body(_args: Any, run: Any) -> str:
        results.append(await run.agent.spawn("helper", "help"))
        return str(results[-1].text)

    return tool("delegate", body)


ASKS = CallTools([("delegate", {})])


async def test_a_subagent_has_the_same_runner() -> None:
    """Case 133: its turn is told of by the same observers, named after what it was spawned as, caused by a machine."""
    watch, results = Watch(TURN, EXECUTION), []
    async with host(watch, steps=[ASKS, Say("helped"), Say("done")], tools=[delegate(results)]) as h:
        agent = await h.run("go")
        [child] = [each for each in h.recorder.agents if each is not agent]
        runner = h.harness.operations.runner
        assert runner(child) is runner(agent) is runner() is not None
    outer, execution, inner = watch.calls
    assert (outer.agent_name, inner.agent_name) == ("", "helper")
    assert (inner.coordinates.session, inner.coordinates.turn) == (results[0].session_id, "1")
    assert (outer.cause.human, inner.cause.human) == (True, False)
    assert inner.cause.tool_execution_id == execution.payload.execution_id
    assert watch.outcomes(TURN) == [COMPLETED] * 2


async def test_a_subagent_that_is_resumed_has_the_runner_of_now() -> None:
    """Case 133: the restore of a child's session is told to whoever watches this host, like its parent's."""
    store, results = MemoryStore(), list[Any]()
    async with host(store=store, steps=[ASKS, Say("helped"), Say("done")], tools=[delegate(results)]) as h:
        await h.run("go")
    watch = Watch(TURN)
    async with host(watch, store=store, steps=[Say("again")]) as h:
        child = await h.harness.resume_agent(results[0].session_id)
        assert h.harness.operations.runner(child) is h.harness.operations.runner()
        await h.run("on", agent=child)
    assert [(call.coordinates.session, call.payload.index) for call in watch.calls] == [(results[0].session_id, 2)]


async def test_its_turns_are_inside_the_call_that_spawned_it() -> None:
    """1.13: values of the spawning call's operations reach the subagent; its operations end before the call does."""
    watch, results = Watch(TURN, EXECUTION), []
    async with host(watch, steps=[ASKS, Say("helped"), Say("done")], tools=[delegate(results)]) as h:
        await h.run("go")
    assert watch.log == [
        "begin turn", "begin tool_execution", "begin turn", "finish turn completed", "finish tool_execution completed",
        "finish turn completed",
    ]  # fmt: skip


async def test_what_cancels_the_call_cancels_the_subagent() -> None:
    """D2: the token of the spawning execution is above the tokens of the subagent's turn."""
    handles, results, gate = [], [], Gate()

    def note(_call: Any) -> None:
        handles.append(current_operation())

    watch = Watch(TURN, EXECUTION, begin=note)
    async with host(watch, model=Model([ASKS, gate, Say("no"), Say("done")]), tools=[delegate(results)]) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        _, execution, turn = handles
        execution.cancel("enough")
        assert turn.cancelled
        gate.open()
        await agent.when_idle()
        [child] = [each for each in h.recorder.agents if each is not agent]
        assert reasons(child.session) == ["aborted"]
        assert reasons(agent.session) == ["completed"]
    assert watch.outcomes(TURN) == [CANCELED, COMPLETED]
    assert watch.outcomes(EXECUTION) == [CANCELED]


async def test_a_subagent_whose_turn_is_refused() -> None:
    """The spawner is told that it was rejected; its own turn goes on."""
    results: list[Any] = []
    guard = Guarding(lambda call: deny("test.no", "no helpers") if call.agent_name else None, operation=TURN)
    async with host(guard, steps=[ASKS, Say("done")], tools=[delegate(results)]) as h:
        agent = await h.run("go")
        assert reasons(agent.session) == ["completed"]
    assert (results[0].ok, results[0].reason.kind) == (False, "rejected")


async def test_a_subagent_of_nobody_at_work() -> None:
    """Spawned from outside every operation, its turn has no parent."""
    parents: list[Any] = []
    watch = Watch(TURN, begin=lambda _call: parents.append(VALUES.get()))
    async with host(watch, steps=[Say("helped")]) as h:
        agent = await h.agent()
        result = await agent.spawn("helper", "help")
        assert result.ok
    [call] = watch.calls
    assert (call.cause.human, call.cause.tool_execution_id) == (False, "")
    assert parents == [()]
