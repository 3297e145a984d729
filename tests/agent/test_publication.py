"""How an agent comes to be: set up in private, published, announced, started; or rolled back (spec/core.md 4.5)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dshhooks.agent.prompt import PromptSection
from dshhooks.session.memory import MemoryStore
from hookspecs.decisions import Deny
from hookspecs.errors import HarnessError
from tests.agent.kit import CallTools, Gate, Plugin, Say, data, host, reasons, said, sent, tool

pytestmark = pytest.mark.anyio


def announcing(told: list[str]) -> Plugin:
    """A plugin that hears of everything created and disposed."""
    return Plugin(
        "hears",
        session_created=lambda: told.append("session created"),
        agent_created=lambda: told.append("agent created"),
        agent_session_start=lambda source: told.append(source),
        agent_disposed=lambda: told.append("agent disposed"),
        session_disposed=lambda: told.append("session disposed"),
    )


async def test_the_order_of_publication() -> None:
    """Setup, session, agent, start, driver; the handle comes back when all of that is done."""
    told: list[str] = []

    async def setup(ctx: Any) -> None:
        await anyio.lowlevel.checkpoint()
        assert ctx.agent.harness.agents.get(ctx.agent.id) is None
        told.append("setup")

    async with host(announcing(told), steps=[Say("a")]) as h:
        agent = await h.agent(setup=setup)
        assert told == ["setup", "session created", "agent created", "startup"]
        assert h.harness.agents.get(agent.id) is agent
        assert h.harness.agents.list() == h.harness.agents.roots() == [agent]
        assert agent.id == agent.session.id


async def test_case_134_a_start_listener_may_inject() -> None:
    """Case 134: fired once before any turn; what it injects is a turn before the prompt's and in the first request."""
    plugin = Plugin(agent_session_start=lambda agent: agent.inject("welcome"))
    async with host(plugin, steps=[Say("a")]) as h:
        agent = await h.run("one")
        assert sent(h.requests[0]) == ["welcome", "one"]
        assert [start.trigger.kind for start in data(agent.session, "turn/start")] == ["injection", "message"]


async def test_a_start_listener_may_enqueue() -> None:
    """A followup of a start listener is the first turn."""
    plugin = Plugin(agent_session_start=lambda agent: agent.followup("zero"))
    async with host(plugin, steps=[Say("a"), Say("b")]) as h:
        agent = await h.run("one")
        assert said(agent.session) == ["zero", "one"]


async def test_case_135_sources() -> None:
    """Case 135: a raising start listener leaves the agent usable; a resumed agent starts with ``resume``."""
    sources: list[str] = []

    def start(source: str) -> None:
        sources.append(source)
        raise ValueError("no")

    async with host(Plugin(agent_session_start=start), steps=[Say("a"), Say("b")]) as h:
        agent = await h.run("one")
        await agent.dispose()
        again = await h.harness.resume_agent(agent.id)
        await h.run("two", agent=again)
        assert sources == ["startup", "resume"]
        assert reasons(again.session) == ["completed", "completed"]


@pytest.mark.parametrize("how", ["raises", "awaits and raises", "exits"])
async def test_a_failing_setup_leaves_nothing(how: str) -> None:
    """Setup raises: nothing was published or announced, what it registered is gone, the id is free."""
    told: list[str] = []

    def plain(ctx: Any) -> None:
        ctx.register(Plugin("mine"))
        ctx.tool(tool("mine"))
        raise SystemExit(1) if how == "exits" else ZeroDivisionError

    async def waits(ctx: Any) -> None:
        await anyio.lowlevel.checkpoint()
        plain(ctx)

    async with host(announcing(told)) as h:
        with pytest.raises((ZeroDivisionError, SystemExit)):
            await h.agent(session_id="x", setup=waits if how == "awaits and raises" else plain)
        assert told == []
        assert "mine" not in h.harness.hooks.plugins
        assert h.harness.agents.list() == []
        assert h.harness.sessions.list() == []
        agent = await h.agent(session_id="x")
        assert agent.id == "x"


@pytest.mark.parametrize("hook", ["session_created", "agent_created"])
async def test_a_raising_created_listener_rolls_back(hook: str) -> None:
    """Who was told of a creation hears of the end; nothing stays published, and the id is free."""
    told: list[str] = []
    left = [1]

    def refuse() -> None:
        if left and left.pop():
            raise HarnessError("not today", "REFUSED")

    # Asked last: the other plugin has been told by then.
    async with host(announcing(told), Plugin("refuses", **{hook: refuse})) as h:
        with pytest.raises(HarnessError, match="not today"):
            await h.agent(session_id="x")
        begun = ["session created", *(["agent created", "agent disposed"] if hook == "agent_created" else [])]
        assert told == [*begun, "session disposed"]
        assert h.harness.agents.list() == []
        assert h.harness.sessions.list() == []
        told.clear()
        await h.agent(session_id="x")
        assert told == ["session created", "agent created", "startup"]


async def test_a_taken_id_is_refused() -> None:
    """A second agent of a live session's id: refused, and the first one is untouched."""
    async with host(steps=[Say("a")]) as h:
        agent = await h.agent(session_id="x")
        with pytest.raises(HarnessError) as caught:
            await h.agent(session_id="x")
        assert caught.value.code == "SESSION_ALREADY_EXISTS"
        await h.run("one", agent=agent)
        assert reasons(agent.session) == ["completed"]


async def test_two_creations_of_one_id_at_once() -> None:
    """One of two concurrent creations wins; the other rolls back what it set up."""
    results: list[Any] = []
    started = Gate()

    async def setup(ctx: Any) -> None:
        ctx.guard(lambda execution: "no")
        await started()

    async with host() as h:

        async def create() -> None:
            try:
                results.append(await h.agent(session_id="x", setup=setup))
            except HarnessError as exc:
                results.append(exc.code)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(create)
            tasks.start_soon(create)
            await anyio.wait_all_tasks_blocked()
            started.open()
        assert "SESSION_ALREADY_EXISTS" in results
        assert len(h.harness.agents.list()) == 1


@pytest.mark.parametrize("where", ["setup", "session_created", "agent_created"])
async def test_a_cancelled_creation_rolls_back(where: str) -> None:
    """Cancelled while it is being created: nothing stays, every announcement is paired, the id is free."""
    told: list[str] = []
    gate = Gate()

    async def hang() -> None:
        await gate()

    async def setup(_ctx: Any) -> None:
        await hang()

    plugins = [announcing(told)] if where == "setup" else [announcing(told), Plugin("hangs", **{where: hang})]
    async with host(*plugins) as h:
        async with anyio.create_task_group() as tasks:

            async def create() -> None:
                await h.agent(session_id="x", setup=setup if where == "setup" else None)

            tasks.start_soon(create)
            await gate.reached.wait()
            tasks.cancel_scope.cancel()
        assert told.count("agent created") == told.count("agent disposed")
        assert told.count("session created") == told.count("session disposed")
        assert h.harness.agents.list() == []
        assert h.harness.sessions.list() == []
        gate.open()
        await h.agent(session_id="x")


async def test_disposed_while_it_is_created() -> None:
    """A plugin that disposes the agent it is told of: the creation fails, everything is paired."""
    told: list[str] = []
    left = [1]

    async def dispose(agent: Any) -> None:
        if left and left.pop():
            await agent.dispose()

    async with host(announcing(told), Plugin("odd", agent_created=dispose)) as h:
        with pytest.raises(HarnessError) as caught:
            await h.agent(session_id="x")
        assert caught.value.code == "AGENT_DISPOSED"
        assert told == ["session created", "agent created", "agent disposed", "session disposed"]
        await h.agent(session_id="x")


async def test_a_parent_that_goes_while_its_child_is_created() -> None:
    """The owner's disposal rolls the creation back."""

    async def dispose(agent: Any) -> None:
        if agent.parent is not None:
            await agent.parent.dispose()

    async with host(Plugin(agent_created=dispose)) as h:
        agent = await h.agent()
        with pytest.raises(HarnessError) as caught:
            await agent.spawn("helper", "look")
        assert caught.value.code == "AGENT_DISPOSED"
        assert h.harness.agents.list() == []
        assert h.harness.sessions.list() == []


async def test_a_failing_resume_publishes_nothing_and_can_be_retried() -> None:
    """Case 206: setup fails on resume: nothing is published, the lease is free, and a retry works."""
    store = MemoryStore()
    async with host(steps=[Say("a"), Say("b")], store=store) as h:
        agent = await h.run("one")
        await agent.dispose()

        def refuse(_ctx: Any) -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await h.harness.resume_agent(agent.id, setup=refuse)
        assert h.harness.agents.list() == []
        again = await h.harness.resume_agent(agent.id)
        await h.run("two", agent=again)
        assert reasons(again.session) == ["completed", "completed"]


async def test_an_unknown_session_cannot_be_resumed() -> None:
    """There has to be something to resume."""
    async with host() as h:
        with pytest.raises(HarnessError) as caught:
            await h.harness.resume_agent("nobody")
        assert caught.value.code == "SESSION_NOT_FOUND"


async def test_a_live_session_cannot_be_resumed() -> None:
    """What is running is not resumed beside itself."""
    async with host(steps=[Say("a")]) as h:
        agent = await h.run("one")
        with pytest.raises(HarnessError) as caught:
            await h.harness.resume_agent(agent.id)
        assert caught.value.code == "SESSION_ALREADY_EXISTS"
        assert h.harness.agents.list() == [agent]


async def test_a_seeded_agent_continues_the_numbering() -> None:
    """Case 198: turns and seqs go on from the seed, and the first header says ``resume``."""
    async with host(steps=[Say("a"), Say("b")]) as h:
        agent = await h.run("one")
        child = await h.agent(seed=agent.session.events)
        await h.run("two", agent=child)
        assert [start.turn for start in data(child.session, "turn/start")] == [1, 2]
        assert [header.reason for header in data(child.session, "request/header")] == ["initial", "resume"]
        assert sent(h.requests[1]) == ["one", "a", "two"]


async def test_a_resumed_agent_keeps_its_model() -> None:
    """Without another choice a resumed agent asks the model its session was with."""
    async with host(steps=[Say("a"), Say("b")]) as h:
        agent = await h.harness.create_agent(model="special")
        await h.run("one", agent=agent)
        await agent.dispose()
        again = await h.harness.resume_agent(agent.id)
        await h.run("two", agent=again)
        assert h.requests[1].model == "special"


async def test_what_setup_registers_is_the_agents_alone() -> None:
    """Scoped plugin, tool, guard, restriction and section act for this agent and no other."""
    heard: list[str] = []

    def setup(ctx: Any) -> None:
        ctx.register(Plugin("own", tools_pre_execute=lambda: Deny("own"), session_event=lambda: heard.append("x")))
        ctx.tool(tool("extra"))
        ctx.restrict(deny=["echo"])
        ctx.section(PromptSection("s", "Only for you."))

    script = [CallTools([("extra", {})]), Say("a"), CallTools([("extra", {}), ("echo", {})]), Say("b")]
    async with host(steps=script, tools=[tool()]) as h:
        own, other = await h.agent(setup=setup), await h.agent()
        await h.run("one", agent=own)
        count = len(heard)
        await h.run("two", agent=other)
        assert count == len(own.session.events)
        assert len(heard) == count
        assert "own" in str(data(own.session, "tool/result")[0].content)
        assert [result.is_error for result in data(other.session, "tool/result")] == [True, False]
        assert [schema.name for schema in h.requests[0].tools] == ["extra"]
        assert [schema.name for schema in h.requests[2].tools] == ["echo"]
        assert (h.requests[0].system, h.requests[2].system) == ("Only for you.", None)
