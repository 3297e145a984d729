"""What a shadowed plugin would have decided stands in the session (decisions.md 3.13)."""

from __future__ import annotations

from typing import Any

import pytest

from dshhooks import (
    AllowPrompt,
    BlockPrompt,
    CallTools,
    Deny,
    Harness,
    HarnessConfig,
    HookDecision,
    Say,
    ScriptedAdapter,
    hookimpl,
    tool,
)
from dshhooks.config import PluginsConfig, parse_config

pytestmark = pytest.mark.anyio


class Shadow:
    """Would refuse everything, fails where it guards, and has no opinion of results."""

    name = "new-policy"

    @hookimpl
    def agent_prompt_submit(self) -> Any:
        return BlockPrompt("not this")

    @hookimpl
    def tools_pre_execute(self) -> Any:
        return Deny("no")

    @hookimpl
    def tools_guard(self) -> Any:
        raise ValueError("broken")

    @hookimpl
    def tools_post_execute(self) -> Any:
        return None


class Open:
    """Lets prompts in."""

    @hookimpl
    def agent_prompt_submit(self) -> Any:
        return AllowPrompt()


@tool
def echo(text: str) -> str:
    return text


async def decisions(config: HarnessConfig) -> list[HookDecision]:
    """What one turn with one call leaves of a shadowed plugin; the turn completes."""
    async with Harness.open(config, plugins=[Shadow(), Open()]) as harness:
        harness.tools.register(echo)
        harness.llm.register_adapter(["s"], ScriptedAdapter([CallTools([("echo", {"text": "x"})]), Say("done")]))
        agent = await harness.create_agent(provider="s", model="m")
        agent.followup("go")
        await agent.when_idle()
        assert agent.session.events[-1].data.reason.kind == "completed"
        return [event.data for event in agent.session.events if event.type == "hook/decision"]


async def test_decisions_and_failures_are_recorded() -> None:
    """One event each, in the turn; who abstained decided nothing."""
    recorded = await decisions(HarnessConfig(plugins=PluginsConfig(enable=[], shadow=["new-policy"])))
    assert recorded == [
        HookDecision("agent_prompt_submit", "new-policy", "block", "not this"),
        HookDecision("tools_pre_execute", "new-policy", "deny", "no"),
        HookDecision("tools_guard", "new-policy", "raised", "ValueError: broken"),
    ]


async def test_before_a_turn_there_is_no_place() -> None:
    """``prompt_admission = "unrecorded"``: nothing about a prompt is durable before its turn."""
    document = {"plugins": {"enable": [], "shadow": ["new-policy"]}, "agent": {"prompt_admission": "unrecorded"}}
    assert [each.hook for each in await decisions(parse_config(document))] == ["tools_pre_execute", "tools_guard"]
