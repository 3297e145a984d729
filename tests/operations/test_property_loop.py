"""Many agents at once with observers that fail, guards that break and cancels at any moment: nothing is lost (1.9)."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dshhooks.operations import Operation, Outcome, track_scopes
from hookspecs.errors import HarnessError, LlmError
from tests.agent.kit import CallTools, Say, host, safe_tool, tool
from tests.operations.test_property import Plan, path

AGENTS = 34  # with a turn, a step and what is in it open at the same time: a hundred operations


class Script:
    """A model for any number of conversations: asks for tools, talks, fails or waits, at random."""

    def __init__(self, plan: LoopPlan) -> None:
        from dshhooks.llm.scripted import ScriptedAdapter

        self._plan, self._scripted, self.requests = plan, ScriptedAdapter(), []

    async def stream(self, options: Any) -> Any:
        self.requests.append(options)
        if self._plan.chance(0.1):
            raise LlmError("busy", "SERVER")
        step = CallTools([("echo", {}), ("slow", {})]) if self._plan.chance(0.4) else Say("done")
        for chunk in self._scripted.chunks(step):
            if self._plan.chance(0.2):
                await anyio.lowlevel.checkpoint()
            yield chunk


class LoopPlan(Plan):
    """A run of whole agents under one host."""

    nested = tuple(Operation)

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    async def body(self, *_args: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        if self.chance(0.2):
            raise ValueError("tool")
        return "x"

    async def run(self, agents: int) -> None:
        tools = [safe_tool("echo", self.body), tool("slow", self.body)]
        opening = host(model=Script(self), tools=tools, operations=self.declared)
        async with opening as h, anyio.create_task_group() as group:
            for _ in range(agents):
                group.start_soon(self.agent, h)

    async def agent(self, h: Any) -> None:
        agent = await h.agent()
        for prompt in ("one", "two"):
            agent.followup(prompt)
        for _ in range(self.random.randrange(12)):
            await anyio.lowlevel.checkpoint()
        if self.chance(0.3):
            agent.cancel(keep_inbox=True)
        if self.chance(0.2):
            await self.compact(agent)
        if self.chance(0.1):
            await agent.dispose()
        await agent.when_idle()
        if path.get() != ():
            self.strays.append(path.get())

    async def compact(self, agent: Any) -> None:
        try:
            await agent.compact()
        except HarnessError:
            pass  # denied, failed, cancelled: the operation says which


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_nothing_is_lost_and_nothing_leaks(backend: str, seed: int) -> None:
    """Issue: begins equal finishes, every scope is finished once, no value strays, every log is balanced."""
    plan = LoopPlan(seed)
    with track_scopes() as scopes:
        anyio.run(plan.run, AGENTS, backend=backend)
        assert [scope for scope in scopes if not scope.finished] == []
    assert len(plan.begun) >= 100
    assert sorted(plan.finished) == plan.begun
    assert plan.strays == []
    assert path.get() == ()


def test_the_plan_meets_everything() -> None:
    """The property above is worth nothing if nothing ever goes wrong in it."""
    plan = LoopPlan(1)
    anyio.run(plan.run, AGENTS)
    assert set(plan.outcomes.values()) == set(Outcome)
