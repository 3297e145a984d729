"""The pages about which hook one needs, and about operations: their examples do what the text around them says."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dshhooks import Fail, Harness, HarnessConfig, Say, ScriptedAdapter, ToolRegistry, content_text, tool
from dshhooks.config import PluginsConfig

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).parent.parent.parent / "docs" / "how-to"
PAGES = (FOLDER / "which-hook.md", FOLDER / "observe-operations.md")


def blocks() -> list[str]:
    """Every block of Python of the pages."""
    return [block for page in PAGES for block in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)]


def example(name: str) -> Any:
    """What the block that defines a name defines."""
    [code] = [block for block in blocks() if re.search(rf"^(?:class|def) {name}\b", block, re.MULTILINE)]
    names: dict[str, Any] = {}
    exec(compile(code, name, "exec"), names)
    return names


@asynccontextmanager
async def conversation(plugin: Any, steps: list[Any]) -> AsyncIterator[Any]:
    """An agent with one plugin and a scripted model."""
    async with Harness.open(HarnessConfig(PluginsConfig(autoload=False)), plugins=(plugin,)) as harness:
        harness.llm.register_adapter(["local"], ScriptedAdapter(steps))
        yield await harness.create_agent(provider="local", model="m")


@tool
async def deploy(size: int = 1) -> str:
    """Deploy."""
    return "x" * size


async def call(plugin: Any, **arguments: Any) -> Any:
    """Call the tool with one plugin."""
    registry = ToolRegistry()
    registry.hooks.register(plugin)
    registry.register(deploy)
    return await registry.call("deploy", arguments)


async def test_change():
    """A long result is cut."""
    short = example("ShortResults")["ShortResults"]()
    assert content_text((await call(short, size=10)).content) == "x" * 10
    assert content_text((await call(short, size=5000)).content) == "x" * 2000 + " […]"


async def test_forbid():
    """On Fridays only."""
    guard = example("NoDeployOnFridays")["NoDeployOnFridays"]
    assert "no deployments on Fridays" in content_text((await call(guard(lambda: 4))).content)
    assert content_text((await call(guard(lambda: 3))).content) == "x"


async def test_measure():
    """One entry for each run, failed ones too."""
    measure = example("ToolSeconds")["ToolSeconds"]()
    await call(measure)
    await call(measure, size="x")
    assert [outcome for outcome, _ in measure.seconds["deploy"]] == ["completed", "failed"]


async def test_forbid_an_operation():
    """The twenty-first turn does not start."""
    guard = example("TwentyTurns")["TwentyTurns"]()
    async with conversation(guard, [Say(str(n)) for n in range(21)]) as agent:
        for n in range(21):
            agent.followup(str(n))
        await agent.when_idle()
        ended = [event.type for event in agent.session.events if event.type in ("turn/end", "input/rejected")]
    assert ended == ["turn/end"] * 20 + ["input/rejected"]


async def test_tokens():
    """Those of every request that ended well."""
    tokens = example("Tokens")["Tokens"]()
    async with conversation(tokens, [Say("one"), Fail("SERVER"), Say("three")]) as agent:
        for prompt in "abc":
            agent.followup(prompt)
        await agent.when_idle()
    assert tokens.used == 2 * 11


async def test_a_limit():
    """A request that takes too long ends its turn; the next one runs."""
    limit = example("AnswerWithin")["AnswerWithin"](0.0)
    async with conversation(limit, [Say("never")]) as agent:
        agent.followup("hello")
        await agent.when_idle()
        [end] = [event.data.reason for event in agent.session.events if event.type == "turn/end"]
    assert end.kind == "aborted"


async def test_a_set_of_the_hosts_own():
    """Its guard refuses a turn, and its observer hears how each one ended."""
    shut, heard = [False, True], []
    own = example("own_operations")["own_operations"](lambda: shut.pop(0), heard)
    config = HarnessConfig(PluginsConfig(autoload=False))
    async with Harness.open(config, operations=own) as harness:
        harness.llm.register_adapter(["local"], ScriptedAdapter([Say("hi")]))
        agent = await harness.create_agent(provider="local", model="m")
        for prompt in "ab":
            agent.followup(prompt)
        await agent.when_idle()
    assert heard == ["completed", "denied"]


def test_every_plugin_can_be_checked():
    """The pages say that `dshhooks plugins check` tries each class: it makes them without arguments."""
    made = [name for block in blocks() for name in re.findall(r"^class (\w+)", block, re.MULTILINE)]
    assert len([example(name)[name]() for name in made]) == 7


async def test_know():
    """A turn that ended was counted."""
    count = example("CountTurns")["CountTurns"]()
    async with conversation(count, [Say("hi")]) as agent:
        agent.followup("hello")
        await agent.when_idle()
    assert count.turns == 1
