"""Nothing of an operation outlives it: plugins and agents come and go, and what they needed goes with them (1.9)."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import anyio.lowlevel
import pytest

from dshhooks.operations import CancelToken, CurrentOperation, GuardError, Runner, Scope
from tests.agent.kit import CallTools, Say, host, safe_tool
from tests.operations.watch import Guarding
from tests.tools.kit import Plugin

pytestmark = pytest.mark.anyio

KINDS = (Scope, CancelToken, CurrentOperation, Runner, GuardError)
AGENTS = 40


def alive() -> Counter[str]:
    """How many of each there are."""
    gc.collect()
    return Counter(type(thing).__name__ for thing in gc.get_objects() if issubclass(type(thing), KINDS))


class Script:
    """A model for any number of agents: one call each, then an answer."""

    def __init__(self) -> None:
        from dshhooks.llm.scripted import ScriptedAdapter

        self._scripted, self.requests = ScriptedAdapter(), []

    async def stream(self, options: Any) -> Any:
        called = any(block.kind == "tool-result" for message in options.messages for block in message.content)
        for chunk in self._scripted.chunks(Say("done") if called else CallTools([("echo", {})])):
            await anyio.lowlevel.checkpoint()
            yield chunk


def around(call: Any) -> Any:
    """An observer that keeps nothing."""
    yield


def broken(call: Any) -> None:
    """A guard that breaks on one input, with something that has a traceback."""
    if "bad" in str(getattr(call.payload, "input", "")):
        raise ValueError("broken")


async def one(h: Any, number: int) -> None:
    """An agent with its own observer, another plugin that comes while it works, and an end at some moment."""
    own = Plugin("own", operation=around)
    agent = await h.agent(setup=(lambda ctx: ctx.register(own)) if number % 2 else None)
    agent.followup("go")
    agent.followup("bad")
    for _ in range(number):
        await anyio.lowlevel.checkpoint()
    coming = h.harness.hooks.register(Plugin("coming", operation=around), f"coming-{number}")
    if number % 3:
        await agent.when_idle()
    await agent.dispose()
    coming.dispose()


async def test_agents_and_plugins_that_come_and_go() -> None:
    """P1, F3: forty agents at once leave no scope, token or error; one runner stays, for who comes next."""
    before = alive()
    async with host(Plugin("all", operation=around), Guarding(broken), model=Script(), tools=[safe_tool()]) as h:
        async with anyio.create_task_group() as tasks:
            for number in range(AGENTS):
                tasks.start_soon(one, h, number)
        h.recorder.errors.clear()
        left = alive() - before
        assert left.keys() <= {"Runner"}
        assert left["Runner"] <= 2  # the one in use, and the last one the journal asked
        assert len(h.harness.operations._runners) <= 1
        assert h.harness.sessions.journal._noted == {}
