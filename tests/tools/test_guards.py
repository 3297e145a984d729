"""Guards: the last word before dispatch, which can only be no (spec/core.md 3.3, decision 7.4)."""

from __future__ import annotations

from typing import Any

import pytest

from dshhooks.tools.registry import ToolRegistry
from hookspecs.decisions import Accept, Allow, Block, Deny
from hookspecs.errors import HarnessError
from tests.tools.kit import Agent, Phases, Plugin, code, execute, message, never, registry, saying, text, tool, wrap

pytestmark = pytest.mark.anyio


def pre(answer: Any, name: str = "policy") -> Plugin:
    return Plugin(name, tools_pre_execute=lambda execution: answer)


# -- guards ------------------------------------------------------------------------------------------------------------


async def test_nothing_in_pre_execute_undoes_a_guard() -> None:
    """Case 53: the outermost wrapper that forces allow is heard, and then the guard denies."""

    async def force(execution: Any, *, call_next: Any) -> Any:
        return Allow()

    tools = registry(tools=[tool(execute=never)])
    tools.guard(lambda execution: "never")
    tools.hooks.register(Plugin(tools_pre_execute=wrap(force)))
    assert message(await execute(tools)) == "never"


async def test_an_abstaining_guard_leaves_it_to_the_next() -> None:
    """Case 54: the later reason counts, and a guard's denial still goes through post-execute."""
    phases = Phases()
    tools = registry(phases.plugin, tools=[tool(execute=never)])
    tools.guard(lambda execution: None)
    tools.guard(lambda execution: "second")
    result = await execute(tools)
    assert (message(result), code(result), text(result)) == ("second", None, "Error: second")
    assert phases.reached == ["post", "result"]


async def test_the_same_guard_twice_is_two_guards() -> None:
    """Case 55: each has its own disposer."""

    def guard(execution: Any) -> str:
        return "no"

    tools = registry()
    first, second = tools.guard(guard), tools.guard(guard)
    first.dispose()
    first.dispose()
    assert message(await execute(tools)) == "no"
    second.dispose()
    assert not (await execute(tools)).is_error


async def test_an_empty_reason_denies() -> None:
    """Spec 3.3: anything but None is a reason."""
    tools = registry(tools=[tool(execute=never)])
    tools.guard(lambda execution: "")
    assert message(await execute(tools)) == ""


@pytest.mark.parametrize("raised", [ValueError("broken"), StopIteration("broken"), SystemExit("broken")])
async def test_a_raising_guard_is_final(raised: BaseException) -> None:
    """Case 57 under decision 7.4: GUARD_FAILED, and post-execute is skipped."""

    def guard(execution: Any) -> str | None:
        raise raised

    phases = Phases()
    tools = registry(phases.plugin, tools=[tool(execute=never)])
    tools.guard(guard)
    result = await execute(tools)
    assert code(result) == "GUARD_FAILED"
    assert "broken" in message(result)
    assert phases.reached == ["guard", "result"] or phases.reached == ["result"]
    assert "post" not in phases.reached


async def test_a_guard_with_a_code_keeps_it() -> None:
    """Spec 3.9: the code of a HarnessError is passed through."""

    def guard(execution: Any) -> str | None:
        raise HarnessError("over budget", "BUDGET")

    tools = registry(tools=[tool(execute=never)])
    tools.guard(guard)
    assert code(await execute(tools)) == "BUDGET"


@pytest.mark.parametrize("raised", [ValueError("broken"), StopIteration("broken"), SystemExit("broken")])
async def test_a_raising_guard_hook_is_a_failed_plugin(raised: BaseException) -> None:
    """Decision 7.4: a tools_guard hook that raises is PLUGIN_FAILED, naming it, and final."""

    def guard(execution: Any) -> str | None:
        raise raised

    phases = Phases()
    result = await execute(registry(Plugin("warden", tools_guard=guard), phases.plugin))
    assert code(result) == "PLUGIN_FAILED"
    assert "plugin 'warden' failed in hook 'tools_guard'" in message(result)
    assert phases.reached == ["result"]


@pytest.mark.parametrize("answer", [True, 0, Deny("no"), b"no"])
async def test_a_guard_answers_with_a_reason_or_none(answer: Any) -> None:
    """Decision 7.4: nonsense fails closed: GUARD_FAILED from a function, INVALID_DECISION from a hook."""
    tools = registry(tools=[tool(execute=never)])
    with tools.guard(lambda execution: answer):
        assert code(await execute(tools)) == "GUARD_FAILED"
    tools.hooks.register(Plugin("warden", tools_guard=lambda execution: answer))
    result = await execute(tools)
    assert code(result) == "INVALID_DECISION"
    assert "'warden'" in message(result)


async def _later() -> str:
    return "no"


async def test_a_guard_that_answers_later_fails_closed() -> None:
    """Spec 3.3: a guard that returns an awaitable is a programming error; nothing is left unawaited."""
    tools = registry(tools=[tool(execute=never)])
    with tools.guard(lambda execution: _later()):
        assert code(await execute(tools)) == "GUARD_FAILED"
    tools.hooks.register(Plugin("warden", tools_guard=lambda execution: _later()))
    assert code(await execute(tools)) == "INVALID_DECISION"
    with tools.hooks.trace():
        assert code(await execute(tools)) == "INVALID_DECISION"


@pytest.mark.parametrize("fn", ["no", None, _later, 7])
def test_a_guard_is_a_plain_function(fn: Any) -> None:
    """Spec 1.5: something that cannot be called, or is async, is refused when registered."""
    with pytest.raises(TypeError, match="plain function"):
        ToolRegistry().guard(fn)


async def test_guards_are_asked_in_layers() -> None:
    """Case 59, decision 7.4: global guards, guard hooks in plugin order, the agent's guards; the first reason wins."""
    log: list[str] = []
    agent = Agent()
    tools = registry(
        Plugin("a", tools_guard=saying(log, "hook a")), Plugin("b", tools_guard=saying(log, "hook b", "hook"))
    )
    tools.guard(saying(log, "agent", "agent"), agent=agent)
    globally = tools.guard(saying(log, "global", "global"))
    assert message(await execute(tools, agent=agent)) == "global"
    globally.dispose()
    tools.guard(saying(log, "global"))
    assert message(await execute(tools, agent=agent)) == "hook"
    assert log == ["global", "global", "hook a", "hook b"]


async def test_an_agents_guard_is_for_its_own_calls() -> None:
    """Spec 3.3: another agent and nobody in particular are not guarded by it."""
    agent, tools = Agent(), registry()
    tools.guard(lambda execution: "mine", agent=agent)
    results = [await execute(tools, agent=who) for who in (agent, Agent(), None)]
    assert [result.is_error for result in results] == [True, False, False]


async def test_a_guard_registered_by_a_guard_is_asked_in_the_same_pass() -> None:
    """Spec 3.3: iteration is live."""
    tools = registry(tools=[tool(execute=never)])

    def first(execution: Any) -> None:
        tools.guard(lambda execution: "added")

    tools.guard(first)
    assert message(await execute(tools)) == "added"


async def test_a_last_guard_that_replaces_itself_waits_for_the_next_call() -> None:
    """Spec 3.3: the one exception to live iteration."""
    tools = registry()

    def once(execution: Any) -> None:
        registered.dispose()
        tools.guard(lambda execution: "from now on")

    registered = tools.guard(once)
    assert not (await execute(tools)).is_error
    assert message(await execute(tools)) == "from now on"


async def test_a_guard_that_removes_itself_does_not_hide_the_next() -> None:
    """Spec 3.3: nobody behind a removed guard is skipped."""
    tools = registry(tools=[tool(execute=never)])

    def once(execution: Any) -> None:
        registered.dispose()

    registered = tools.guard(once)
    tools.guard(lambda execution: "second")
    assert message(await execute(tools)) == "second"


async def test_a_denied_call_is_not_shown_to_guards() -> None:
    """Spec 3.3: guards run only when the resolved decision is allow."""
    log: list[str] = []
    tools = registry(pre(Deny("policy")))
    tools.guard(saying(log, "guard", "guard"))
    assert message(await execute(tools)) == "policy"
    assert log == []


async def test_a_denial_may_be_reshaped_after_the_fact() -> None:
    """Spec 3.3: post-execute sees a denial and may block with its own words; it cannot make it a success."""
    shaped = Plugin("shape", tools_post_execute=lambda execution, result: Block("ask the admin"))
    assert text(await execute(registry(pre(Deny("no")), shaped))) == "ask the admin"
    value = Plugin("value", tools_post_execute=lambda execution, result: Accept(value=1))
    assert (await execute(registry(pre(Deny("no")), value, tools=[tool(execute=never)]))).is_error
