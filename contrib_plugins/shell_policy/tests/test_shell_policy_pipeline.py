"""The plugin in the real tool pipeline: what is denied or asked about never reaches the tool's body."""

from __future__ import annotations

import pytest
from dshhooks import ToolRegistry, tool

from dshhooks_shell_policy import ShellPolicy, ShellPolicyOptions

pytestmark = pytest.mark.anyio


async def call(command, **options):
    """Call a shell tool that only notes what it was given; return the result and the notes."""
    seen = []

    @tool(name="run_command")
    def run_command(command: str) -> str:
        """Note the command; nothing is executed."""
        seen.append(command)
        return "noted"

    registry = ToolRegistry()
    registry.register(run_command)
    registry.hooks.register(ShellPolicy(ShellPolicyOptions(**options)))
    return await registry.call("run_command", {"command": command}), seen


async def test_an_allowed_command_reaches_the_tool():
    """An everyday command runs."""
    result, seen = await call("git status")
    assert not result.is_error
    assert seen == ["git status"]


async def test_a_denied_command_never_reaches_the_tool():
    """The body never ran, and the reason is told."""
    result, seen = await call("x=rm; $x -rf ~")
    assert result.is_error
    assert seen == []
    assert "recursive forced removal" in result.error.message


async def test_an_asked_command_without_anybody_to_ask_never_reaches_the_tool():
    """Ask is not a yes."""
    result, seen = await call("git push --force")
    assert result.is_error
    assert seen == []


async def test_the_users_rules_apply():
    """An allow pattern lets exactly that command through."""
    result, seen = await call("rm -rf build", allow=["rm -rf build"])
    assert not result.is_error
    assert seen == ["rm -rf build"]
