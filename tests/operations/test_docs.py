"""The page that says which hook one needs: its examples run, and do what the text around them says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from dshhooks import Harness, HarnessConfig, Say, ScriptedAdapter, ToolRegistry, content_text, tool
from dshhooks.operations import Call, Operation, Outcome, TurnData

pytestmark = pytest.mark.anyio

PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "which-hook.md"


def example(name: str) -> Any:
    """What the block that defines a name defines."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    [code] = [block for block in blocks if re.search(rf"^(class|def|async def) {name}\b", block, re.MULTILINE)]
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    return names


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
    names = example("measure")

    async def works():
        await anyio.lowlevel.checkpoint()
        return 5

    async def breaks():
        raise ValueError("x")

    assert await names["run_tool"]("bash", works) == 5
    with pytest.raises(ValueError, match="x"):
        await names["run_tool"]("bash", breaks)
    assert [outcome for outcome, _ in names["seconds"]["bash"]] == ["completed", "failed"]


async def test_forbid_an_operation():
    """The twenty-first turn does not start."""
    turns = example("budget")["turns"]
    for index, outcome in ((20, None), (21, "budget.exceeded")):
        scope = await turns.start(Call(Operation.TURN, TurnData(index)))
        assert getattr(scope.refusal, "code", None) == outcome
        scope.finish(Outcome.DENIED if scope.refusal else Outcome.COMPLETED, scope.refusal)


async def test_know():
    """A turn that ended was counted."""
    count = example("CountTurns")["CountTurns"]()
    async with Harness.open(HarnessConfig(), plugins=(count,)) as harness:
        harness.llm.register_adapter(["local"], ScriptedAdapter([Say("hi")]))
        agent = await harness.create_agent(provider="local", model="m")
        agent.followup("hello")
        await agent.when_idle()
    assert count.turns == 1
