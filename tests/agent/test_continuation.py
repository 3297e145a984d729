"""Whether another step follows: continuation, steering, stopping, stop, concluding tools (spec/core.md 4.10)."""

from __future__ import annotations

from typing import Any

import pytest

from hookspecs.decisions import Block, ContinueTurn, SteeringReason, StopTurn
from hookspecs.values import PluginSource, UserSource
from tests.agent.kit import CallTools, Gate, Model, Plugin, Say, data, host, kinds, reasons, said, sent, tool

pytestmark = pytest.mark.anyio


def once(*answers: Any) -> Any:
    """A hook that gives these answers and then abstains."""
    left = list(answers)
    return lambda: left.pop(0) if left else None


async def test_a_reason_to_continue_becomes_steering_of_the_same_turn() -> None:
    """Case 166: ``ContinueTurn(reason)`` once: its words and source stand before step 2, in the same turn."""
    reason = SteeringReason("The tests fail.", PluginSource("run-tests"))
    plugin = Plugin(agent_turn_continuation=once(ContinueTurn(reason)))
    async with host(plugin, steps=[Say("a"), Say("b")]) as h:
        agent = await h.run("one")
        [steering] = data(agent.session, "steering/message")
        assert steering.source == PluginSource("run-tests")
        assert sent(h.requests[1]) == ["one", "a", "The tests fail."]
        order = kinds(agent.session, "step/start", "steering/message")
        assert order == ["step/start", "steering/message", "step/start"]
        assert reasons(agent.session) == ["completed"]
        assert [said for said, message in h.recorder.inbox if message.steering] == ["enqueue", "dequeue"]


async def test_continue_without_a_reason_runs_another_step() -> None:
    """``ContinueTurn()`` alone asks the model again with what there is."""
    async with host(Plugin(agent_turn_continuation=once(ContinueTurn())), steps=[Say("a"), Say("b")]) as h:
        await h.run("one")
        assert sent(h.requests[1]) == ["one", "a"]


async def test_stop_after_tool_calls_ends_the_turn() -> None:
    """Case 167: a stop beats the tool calls: one request only."""
    plugin = Plugin(agent_turn_continuation=lambda: StopTurn())
    async with host(plugin, steps=[CallTools([("echo", {})])], tools=[tool()]) as h:
        agent = await h.run("one")
        assert len(h.requests) == 1
        assert reasons(agent.session) == ["completed"]


@pytest.mark.parametrize(("answer", "default"), [(Say("a"), StopTurn()), (CallTools([("echo", {})]), ContinueTurn())])
async def test_the_default_is_shown(answer: Any, default: Any) -> None:
    """Continuation sees what happens if everybody abstains."""
    seen: list[Any] = []
    plugin = Plugin(agent_turn_continuation=lambda default: seen.append(default))
    async with host(plugin, steps=[answer], tools=[tool()]) as h:
        await h.run("one")
        assert seen[0] == default


@pytest.mark.parametrize("where", ["step/end", "agent_post_step", "agent_turn_continuation", "agent_turn_stopping"])
async def test_steering_late_in_a_step_runs_another_step(where: str) -> None:
    """Case 168: steering from a step/end listener, post-step, continuation or stopping: same turn, next step."""
    steered: list[int] = []

    def steer(agent: Any) -> None:
        if not steered:
            steered.append(1)
            agent.steer("wait")

    def listen(session: Any, event: Any) -> None:
        if event.type == where:
            steer(session.agent)

    plugin = Plugin(session_event=listen) if where == "step/end" else Plugin(**{where: steer})
    async with host(plugin, steps=[Say("a"), Say("b")]) as h:
        agent = await h.run("one")
        assert sent(h.requests[1]) == ["one", "a", "wait"]
        assert reasons(agent.session) == ["completed"]
        assert kinds(agent.session, "turn/start", "steering/message") == ["turn/start", "steering/message"]


async def test_steering_from_a_turn_end_listener_is_the_next_turn() -> None:
    """Case 168: what is steered once the turn was closed becomes a turn of its own."""

    def listen(session: Any, event: Any) -> None:
        if event.type == "turn/end" and event.data.turn == 1:
            session.agent.steer("wait")

    async with host(Plugin(session_event=listen), steps=[Say("a"), Say("b")]) as h:
        agent = await h.run("one")
        assert said(agent.session) == ["one", "wait"]
        assert data(agent.session, "steering/message") == []
        assert reasons(agent.session) == ["completed", "completed"]


async def test_a_terminal_stop_discards_steering_until_the_flush_is_over() -> None:
    """Case 169: pending and flush-window steering is discarded with an event; a flush-window followup runs."""

    def flush(session: Any) -> None:
        if h.recorder.flushes == 1:
            session.agent.steer("in the flush")
            session.agent.followup("two")

    plugin = Plugin(
        agent_post_step=lambda agent: agent.steer("pending"),
        agent_turn_stop=once(StopTurn(), StopTurn()),
        session_flush=flush,
    )
    async with host(plugin, steps=[Say("a"), Say("b")]) as h:
        agent = await h.run("one")
        discarded = [message.content[0].text for what, message in h.recorder.inbox if what == "discard"]
        assert discarded == ["pending", "in the flush", "pending"]
        assert said(agent.session) == ["one", "two"]
        assert len(h.requests) == 2
        assert reasons(agent.session) == ["completed", "completed"]


async def test_a_terminal_stop_beats_tool_calls_and_a_reason() -> None:
    """``agent_turn_stop`` has the last word, whatever continuation said."""
    plugin = Plugin(
        agent_turn_continuation=lambda: ContinueTurn(SteeringReason("on", PluginSource("p"))),
        agent_turn_stop=lambda: StopTurn(),
    )
    async with host(plugin, steps=[CallTools([("echo", {})])], tools=[tool()]) as h:
        agent = await h.run("one")
        assert len(h.requests) == 1
        assert data(agent.session, "steering/message") == []


async def test_turn_stop_is_consulted_even_when_the_outcome_is_stop() -> None:
    """A stop that was composed already is put to ``agent_turn_stop`` all the same."""
    asked: list[int] = []
    async with host(Plugin(agent_turn_stop=lambda: asked.append(1)), steps=[Say("a")]) as h:
        await h.run("one")
        assert asked == [1]


@pytest.mark.parametrize("hook", ["agent_turn_stop", "agent_turn_continuation", "agent_turn_stopping"])
async def test_a_raising_stop_hook_fails_the_turn_only(hook: str) -> None:
    """Case 170: the turn ends in error with its step closed, and the next prompt works."""
    failures = [ValueError("no")]

    def fail() -> None:
        if failures:
            raise failures.pop()

    async with host(Plugin(**{hook: fail}), steps=[Say("a"), Say("b")]) as h:
        agent = await h.run("one", "two")
        assert reasons(agent.session) == ["error", "completed"]
        [end, _] = data(agent.session, "turn/end")
        assert (end.reason.step, end.reason.code) == (1, "PLUGIN_FAILED")


async def test_stopping_is_awaited_only_for_a_stop() -> None:
    """``agent_turn_stopping`` fires when the composed outcome is stop, not when the turn goes on."""
    order: list[str] = []
    plugin = Plugin(
        agent_turn_continuation=lambda: order.append("continuation"),
        agent_turn_stopping=lambda: order.append("stopping"),
        agent_turn_stop=lambda: order.append("stop"),
    )
    async with host(plugin, steps=[CallTools([("echo", {})]), Say("a")], tools=[tool()]) as h:
        await h.run("one")
        assert order == ["continuation", "stop", "continuation", "stopping", "stop"]


async def test_steering_during_an_abstaining_turn_stop_is_the_next_turn() -> None:
    """Steering during ``agent_turn_stop`` that abstains is not lost: it becomes the next turn."""

    def stop(agent: Any, turn: int) -> None:
        if turn == 1:
            agent.steer("late")

    async with host(Plugin(agent_turn_stop=stop), steps=[Say("a"), Say("b")]) as h:
        agent = await h.run("one")
        assert said(agent.session) == ["one", "late"]


# -- conclude_turn -------------------------------------------------------------------------------------------------


def concluding(name: str = "finish", **options: Any) -> Any:
    """A tool that ends the turn."""

    async def execute(_args: Any, run: Any) -> str:
        run.conclude_turn()
        return "done"

    return tool(name, execute, **options)


async def test_a_concluding_tool_ends_the_turn() -> None:
    """decisions 7.11: after the batch no continuation, no stopping, no stop hook, and no further request."""
    asked: list[str] = []
    plugin = Plugin(
        agent_turn_continuation=lambda: asked.append("continuation"),
        agent_turn_stopping=lambda: asked.append("stopping"),
        agent_turn_stop=lambda: asked.append("stop"),
    )
    script = [CallTools([("finish", {}), ("echo", {})])]
    async with host(plugin, steps=script, tools=[concluding(), tool()]) as h:
        agent = await h.run("one")
        assert asked == []
        assert len(h.requests) == 1
        assert len(data(agent.session, "tool/result")) == 2
        assert reasons(agent.session) == ["completed"]


async def test_steering_waits_when_a_tool_concluded() -> None:
    """decisions 7.11: pending steering waits for the next turn."""

    async def execute(_args: Any, run: Any) -> str:
        run.agent.steer("later")
        run.conclude_turn()
        return "done"

    async with host(steps=[CallTools([("finish", {})]), Say("b")], tools=[tool("finish", execute)]) as h:
        agent = await h.run("one")
        assert said(agent.session) == ["one", "later"]
        assert reasons(agent.session) == ["completed", "completed"]


@pytest.mark.parametrize("how", ["raises", "blocked"])
async def test_only_a_success_concludes(how: str) -> None:
    """A call that failed, or whose result was blocked, does not end the turn."""

    async def execute(_args: Any, run: Any) -> str:
        run.conclude_turn()
        if how == "raises":
            raise ValueError("no")
        return "done"

    plugin = Plugin(tools_post_execute=lambda: Block("no") if how == "blocked" else None)
    async with host(plugin, steps=[CallTools([("finish", {})]), Say("b")], tools=[tool("finish", execute)]) as h:
        await h.run("one")
        assert len(h.requests) == 2


async def test_a_steered_prompt_during_a_stream_reaches_the_next_step() -> None:
    """Steering that arrives while the model streams is read at the end of the step and continues the turn."""
    gate = Gate()
    async with host(model=Model([gate, Say("a"), Say("b")])) as h:
        agent = await h.agent()
        agent.followup("one")
        await gate.reached.wait()
        agent.steer("wait", source=UserSource())
        gate.open()
        await agent.when_idle()
        assert sent(h.requests[1]) == ["one", "a", "wait"]
        assert kinds(agent.session, "assistant/message", "steering/message", "step/end")[:3] == [
            "assistant/message",
            "steering/message",
            "step/end",
        ]
