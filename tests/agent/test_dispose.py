"""The end of an agent and of its host (spec/core.md 4.13)."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import anyio
import pytest

from dshhooks.session.memory import MemoryStore
from hookspecs.errors import HarnessError
from tests.agent.kit import (
    CallTools,
    Gate,
    Model,
    Plugin,
    Say,
    check_balanced,
    data,
    host,
    kinds,
    reasons,
    tool,
)

pytestmark = pytest.mark.anyio


async def test_dispose_in_the_middle_of_a_stream() -> None:
    """Case 187: turn disposed, no ``agent_error``, tail discarded before the status, verbs raise, waiters wait."""
    gate = Gate()
    done: list[bool] = []

    async def wait(agent: Any) -> None:
        await agent.when_idle()
        done.append(agent.session.open_turn is None)

    async def listen(agent: Any, status: str) -> None:
        if status == "disposed":
            await wait(agent)

    async with host(Plugin(agent_status=listen), model=Model([gate])) as h:
        agent = await h.agent()
        agent.followup("one")
        await gate.reached.wait()
        tail = agent.followup("two")
        await agent.dispose()
        assert done == [True]
        assert reasons(agent.session) == ["disposed"]
        assert h.recorder.errors == []
        assert h.recorder.ids("discard") == [tail]
        assert h.recorder.heard.index("discard") < h.recorder.heard.index("disposed")
        for verb in (agent.followup, agent.queue, agent.steer, agent.inject):
            with pytest.raises(HarnessError, match="is disposed"):
                verb("x")


async def test_disposal_beats_an_earlier_cancel() -> None:
    """Case 188: cancelled, then disposed before it settled: the record says disposed."""
    gate = Gate()
    async with host(model=Model([gate])) as h:
        agent = await h.agent()
        agent.followup("one")
        await gate.reached.wait()
        agent.cancel()
        await agent.dispose()
        assert reasons(agent.session) == ["disposed"]


async def test_an_idle_injections_flush_is_awaited() -> None:
    """Case 189: a slow flush ends before ``agent_disposed``, and that before ``session_disposed``."""
    order: list[str] = []
    slow = Gate()

    async def flush(session: Any) -> None:
        await slow()
        order.append("flush")

    plugin = Plugin(
        session_flush=flush,
        agent_disposed=lambda: order.append("agent"),
        session_disposed=lambda: order.append("session"),
    )
    async with host(plugin) as h:
        agent = await h.agent()
        agent.inject("note")
        await slow.reached.wait()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.dispose)
            await anyio.wait_all_tasks_blocked()
            assert order == []
            slow.open()
        assert order == ["flush", "agent", "session"]


async def test_dispose_is_shared_and_idempotent() -> None:
    """Who disposes a second time waits for the first; everything is told once."""
    gone: list[str] = []
    async with host(Plugin(agent_disposed=lambda agent: gone.append(agent.id))) as h:
        agent = await h.agent()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.dispose)
            tasks.start_soon(agent.dispose)
        await agent.dispose()
        assert gone == [agent.id]
        assert h.recorder.statuses == ["disposed"]
        assert h.harness.agents.get(agent.id) is None
        assert h.harness.sessions.get(agent.id) is None


async def test_scoped_plugins_live_until_the_last_flush() -> None:
    """What was registered through the agent's context hears its end, and is gone afterwards."""
    heard: list[str] = []
    scoped = Plugin(
        "scoped",
        session_flush=lambda: heard.append("flush"),
        agent_disposed=lambda: heard.append("agent"),
        session_disposed=lambda: heard.append("session"),
    )
    async with host() as h:
        agent = await h.agent(setup=lambda ctx: ctx.register(scoped) and None)
        agent.inject("note")
        await agent.dispose()
        assert heard == ["flush", "agent", "session"]
        assert "scoped" not in h.harness.hooks.plugins


async def test_registering_through_a_disposed_context_raises() -> None:
    """The context of a disposed agent takes nothing in."""
    async with host() as h:
        agent = await h.agent()
        await agent.dispose()
        with pytest.raises(HarnessError) as caught:
            agent.ctx.guard(lambda execution: None)
        assert caught.value.code == "INACTIVE_EFFECT"
        with pytest.raises(HarnessError):
            agent.ctx.register(Plugin("late"))
        assert "late" not in h.harness.hooks.plugins


async def test_a_disposed_agents_session_can_be_resumed() -> None:
    """Disposal gives the session back to the store; a new instance continues it."""
    store = MemoryStore()
    async with host(steps=[Say("a"), Say("b")], store=store) as h:
        agent = await h.run("one")
        await agent.dispose()
        again = await h.harness.resume_agent(agent.id)
        await h.run("two", agent=again)
        assert [start.turn for start in data(again.session, "turn/start")] == [1, 2]


@pytest.mark.parametrize("hook", ["agent_prompt_submit", "agent_pre_step", "agent_post_step", "agent_turn_stop",
                                  "tool"])  # fmt: skip
async def test_dispose_from_inside_the_agents_own_work(hook: str) -> None:
    """A hook or a tool that disposes its agent does not wait for itself; the turn ends disposed."""

    async def dispose(agent: Any) -> None:
        await agent.dispose()

    async def body(_args: Any, run: Any) -> str:
        await run.agent.dispose()
        return "gone"

    plugin = Plugin("p") if hook == "tool" else Plugin(**{hook: dispose})
    async with host(plugin, steps=[CallTools([("t", {})]), Say("a")], tools=[tool("t", body)]) as h:
        agent = await h.agent()
        agent.followup("one")
        await agent.when_idle()
        await agent.dispose()
        assert reasons(agent.session) == ["disposed"]
        assert h.harness.agents.list() == []


async def test_dispose_from_an_observer() -> None:
    """An asynchronous observer may dispose the agent as well."""

    async def dispose(agent: Any, status: str) -> None:
        if status == "running":
            await agent.dispose()

    async with host(Plugin(agent_status=dispose), model=Model([Gate()])) as h:
        agent = await h.agent()
        agent.followup("one")
        await agent.when_idle()
        await agent.dispose()
        assert reasons(agent.session) == ["disposed"]


async def test_closing_the_host_closes_running_turns() -> None:
    """Leaving the block disposes agents in the middle of their turn, balanced."""
    gate = Gate()
    async with host(model=Model([gate])) as h:
        agent = await h.agent()
        agent.followup("one")
        await gate.reached.wait()
    assert reasons(agent.session) == ["disposed"]


async def test_an_exception_in_the_block_passes_and_everything_is_closed() -> None:
    """The host's own exception comes out as it is, and the agents are gone."""
    gate = Gate()
    agents: list[Any] = []

    async def block() -> None:
        async with host(model=Model([gate])) as h:
            agents.append(await h.agent())
            agents[0].followup("one")
            await gate.reached.wait()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await block()
    assert reasons(agents[0].session) == ["disposed"]


async def test_a_failing_store_does_not_keep_the_others_open() -> None:
    """An agent whose session cannot be written is reported; the other agents and sessions are closed all the same."""

    class Full(MemoryStore):
        def _write(self, session_id: str, header: Any, events: Any) -> None:
            if session_id == "bad":
                raise OSError("disk full")
            super()._write(session_id, header, events)

    store = Full()
    disposed: list[str] = []
    plugin = Plugin(session_disposed=lambda session: disposed.append(session.id))

    async def block() -> None:
        async with host(plugin, steps=[Say("a"), Say("b")], store=store) as h:
            for name in ("bad", "good"):
                agent = await h.run("one", agent=await h.agent(session_id=name))
                assert reasons(agent.session) == ["completed"]

    with pytest.raises(OSError, match="disk full"):
        await block()
    assert sorted(disposed) == ["bad", "good"]
    assert len((await store.inspect("good")).events) > 0


async def test_no_agents_are_created_while_the_host_closes() -> None:
    """A plugin that creates an agent whenever one goes does not keep the host open."""
    refused: list[BaseException] = []

    async def again(agent: Any) -> None:
        try:
            await agent.harness.create_agent()
        except HarnessError as exc:
            refused.append(exc)

    async with host(Plugin(agent_disposed=again)) as h:
        await h.agent()
    assert len(h.recorder.agents) == 1 or refused


class Pausing:
    """A plugin whose every hook passes through many checkpoints, so that a cancellation may hit anywhere."""

    def __init__(self) -> None:
        for hook in ("agent_created", "session_created", "agent_prompt_submit", "agent_session_prefix",
                     "agent_pre_step", "agent_request", "agent_step_result", "agent_post_step",
                     "agent_turn_continuation", "agent_turn_stopping", "agent_turn_stop",
                     "tools_pre_execute", "tools_post_execute",
                     "tools_result", "session_flush"):  # fmt: skip
            setattr(self, hook, Plugin("x", **{hook: pause}).__dict__[hook])


async def pause() -> None:
    """Let others run."""
    for _ in range(3):
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("seed", range(12))
async def test_the_hosts_own_task_is_cancelled_somewhere(seed: int) -> None:
    """A cancellation of the host's task at a random await: it comes out, and every log is balanced and answered."""
    after = random.Random(seed).randrange(1, 120)
    sessions: list[Any] = []

    async def body(_args: Any, _run: Any) -> str:
        await pause()
        return "x"

    created = Plugin("sessions", session_created=lambda session: sessions.append(session))
    script = [CallTools([("t", {}), ("t", {})]), Say("a"), CallTools([("t", {})]), Say("b")]

    async def work() -> None:
        async with host(Pausing(), created, steps=script, tools=[tool("t", body)], balanced=False) as h:
            await h.run("one", "two")
            await anyio.sleep_forever()

    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            for _ in range(after):
                await anyio.lowlevel.checkpoint()
            scope.cancel()
    for session in sessions:
        check_balanced(session)
        assert not session.live


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("seed", range(12))
async def test_a_task_cancelled_by_asyncio_itself(seed: int) -> None:
    """``task.cancel()`` on the host's task at a random await behaves like any cancellation."""
    after = random.Random(seed).randrange(1, 120)
    sessions: list[Any] = []
    created = Plugin("sessions", session_created=lambda session: sessions.append(session))
    script = [CallTools([("t", {}), ("t", {})]), Say("a")]

    async def work() -> None:
        async with host(Pausing(), created, steps=script, tools=[tool("t")], balanced=False) as h:
            await h.run("one")
            await anyio.sleep_forever()

    task = asyncio.ensure_future(work())
    for _ in range(after):
        await anyio.lowlevel.checkpoint()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for session in sessions:
        check_balanced(session)
        assert not session.live


async def test_cancelling_who_waits_does_not_touch_the_agent() -> None:
    """A cancelled ``when_idle`` leaves the turn alone."""
    gate = Gate()
    async with host(model=Model([gate, Say("a")])) as h:
        agent = await h.agent()
        agent.followup("one")
        with anyio.CancelScope() as scope:
            await gate.reached.wait()
            scope.cancel()
            await agent.when_idle()
        gate.open()
        await agent.when_idle()
        assert reasons(agent.session) == ["completed"]


async def test_cancelling_who_disposes_finishes_the_disposal() -> None:
    """A disposal that began is carried out, whatever happens to who asked for it."""
    async with host() as h:
        agent = await h.agent()
        with anyio.CancelScope() as scope:
            scope.cancel()
            await agent.dispose()
        await agent.dispose()
        assert h.harness.agents.list() == []
        assert kinds(agent.session) == []
