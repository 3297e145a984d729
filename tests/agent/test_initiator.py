"""Which agent the running code works for (spec/core.md 4.13)."""

from __future__ import annotations

from typing import Any

import pytest

from dshhooks.agent.initiator import current_initiator, require_initiator, with_initiator, without_initiator
from hookspecs.errors import HarnessError
from tests.agent.kit import CallTools, Plugin, Say, host, tool

pytestmark = pytest.mark.anyio


def test_nobody_by_default() -> None:
    """Outside an agent there is no initiator, and requiring one says what to do."""
    assert current_initiator() is None
    with pytest.raises(HarnessError, match="with_initiator") as caught:
        require_initiator()
    assert caught.value.code == "NO_INITIATOR"


def test_boundaries_nest_and_restore() -> None:
    """Each boundary gives back the one before, also after an exception."""
    with with_initiator("a"):
        with without_initiator():
            assert current_initiator() is None
            with with_initiator("b"):
                assert require_initiator() == "b"
        with pytest.raises(ZeroDivisionError), with_initiator("c"):
            raise ZeroDivisionError
        assert current_initiator() == "a"
    assert current_initiator() is None


async def test_the_loops_code_runs_for_its_agent() -> None:
    """Hooks of the loop, tools, plain tools in threads and observers all run on behalf of their agent."""
    seen: dict[str, Any] = {}

    def note(what: str) -> Any:
        return lambda: seen.__setitem__(what, current_initiator())

    async def body(_args: Any, _run: Any) -> str:
        seen["tool"] = current_initiator()
        return "x"

    def threaded(_args: Any, _run: Any) -> str:
        seen["thread"] = current_initiator()
        return "x"

    hooks = {hook: note(hook) for hook in ("agent_prompt_submit", "agent_pre_step", "tools_result", "session_flush")}
    tools = [tool("t", body), tool("p", threaded)]
    async with host(Plugin(**hooks), steps=[CallTools([("t", {}), ("p", {})]), Say("a")], tools=tools) as h:
        agent = await h.run("one")
        assert set(seen) == {*hooks, "tool", "thread"}
        assert all(who is agent for who in seen.values())
        assert current_initiator() is None


async def test_two_agents_do_not_mix() -> None:
    """Agents that run at the same time each see themselves."""
    seen: list[tuple[Any, Any]] = []
    plugin = Plugin(agent_pre_step=lambda agent: seen.append((agent, current_initiator())))
    async with host(plugin, steps=[Say("a"), Say("b")]) as h:
        one, two = await h.agent(), await h.agent()
        one.followup("x")
        two.followup("y")
        await one.when_idle()
        await two.when_idle()
        assert len(seen) == 2
        assert all(agent is initiator for agent, initiator in seen)


async def test_a_subagent_is_its_own_initiator() -> None:
    """Inside the child's turn it is the child, afterwards the parent again."""
    seen: list[Any] = []

    async def body(_args: Any, run: Any) -> str:
        await run.agent.spawn("helper", "look")
        seen.append((current_initiator() is run.agent, "parent"))
        return "x"

    def note(agent: Any) -> None:
        seen.append((current_initiator() is agent, agent.session.header.delegation_depth))

    script = [CallTools([("t", {})]), Say("child"), Say("a")]
    async with host(Plugin(agent_pre_step=note), steps=script, tools=[tool("t", body)]) as h:
        await h.run("one")
        assert seen == [(True, 0), (True, 1), (True, "parent"), (True, 0)]


async def test_it_is_neither_liveness_nor_authority() -> None:
    """Code on behalf of a disposed agent still says so; nothing is allowed or refused by it."""
    async with host() as h:
        agent = await h.agent()
        await agent.dispose()
        with with_initiator(agent):
            assert require_initiator() is agent
