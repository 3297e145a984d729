"""The end of every call: the tool's last word, and those who are told (spec/core.md 3.8)."""

from __future__ import annotations

from typing import Any

import pytest

from dshhooks.tools.registry import ToolRegistry
from hookspecs.decisions import Deny
from hookspecs.errors import HarnessError, SealedError
from hookspecs.execution import ToolResult
from hookspecs.values import TextBlock, UnknownBlock
from tests.tools.kit import Agent, Plugin, aborted_source, code, context, execute, message, registry, text, tool

pytestmark = pytest.mark.anyio


def observer(function: Any, name: str = "observer") -> Plugin:
    return Plugin(name, tools_result=function)


def denying(execution: Any) -> Deny:
    return Deny("no")


def breaking(execution: Any) -> None:
    raise ValueError("broken")


async def failing() -> None:
    raise ValueError("failed later")


PATHS: dict[str, tuple[Any, dict[str, Any], bool]] = {
    "success": (None, {}, False),
    "denial": (denying, {}, True),
    "raising policy": (breaking, {}, True),
    "aborted before": (None, {"signal": aborted_source().signal}, True),
    "arguments": (None, {"arguments": {"f": print}}, True),
}


# -- the tool's last word ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
async def test_the_finalizer_runs_once_on_every_path(path: str) -> None:
    """Case 112: and only the content differs from what it was shown."""
    policy, call, fails = PATHS[path]
    shown: list[tuple[Any, ToolResult]] = []

    def finalize(exec: Any, result: ToolResult) -> list[TextBlock]:
        shown.append((exec, result))
        return [TextBlock("last word")]

    plugins = [Plugin(tools_pre_execute=policy)] if policy else []
    result = await execute(registry(*plugins, tools=[tool(finalize_content=finalize)]), **call)
    assert len(shown) == 1
    assert text(result) == "last word"
    before = shown[0][1]
    assert result.is_error == before.is_error == fails
    assert (result.meta, result.contexts) == (before.meta, before.contexts)
    assert result.error == before.error if fails else result.value == before.value


async def test_a_finalizer_may_keep_the_content() -> None:
    """Case 113: None changes nothing, not even the object."""
    shown: list[Any] = []
    result = await execute(registry(tools=[tool(finalize_content=lambda exec, result: shown.append(result))]))
    assert result is shown[0]


async def test_a_finalizer_may_answer_with_text() -> None:
    """Api: content accepts a str wherever blocks are."""
    assert text(await execute(registry(tools=[tool(finalize_content=lambda exec, result: "short")]))) == "short"


@pytest.mark.parametrize(
    ("raised", "expected"), [(ValueError("no"), None), (HarnessError("no", "MINE"), "MINE"), (SystemExit(1), None)]
)
async def test_a_raising_finalizer_fails_the_call(raised: BaseException, expected: str | None) -> None:
    """Case 114: the failure is that exception's, without meta and contexts, and it is not called again."""
    calls: list[Any] = []

    def finalize(exec: Any, result: Any) -> None:
        calls.append(result)
        raise raised

    async def body(_args: Any, exec: Any) -> str:
        exec.defer_context(context("lost"))
        return "done"

    definition = tool(execute=body, finalize_content=finalize, meta=lambda args, value: "lost")
    result = await execute(registry(tools=[definition]))
    assert code(result) == expected
    assert not result.meta
    assert result.contexts == ()
    assert len(calls) == 1


async def later() -> str:
    return "later"


@pytest.mark.parametrize(
    "answer",
    [lambda: 7, lambda: ["text"], lambda: [UnknownBlock("odd", object())], later],
    ids=["number", "strings", "not json", "coroutine"],
)
async def test_bad_replacement_content_fails_the_call(answer: Any) -> None:
    """Spec 3.8: the second materialization refuses it; a coroutine is not left unawaited."""
    result = await execute(registry(tools=[tool(finalize_content=lambda exec, result: answer())]))
    assert result.is_error
    assert code(result) is None


async def test_the_finalizer_of_another_tool_does_not_run() -> None:
    """Case 116: an unknown tool has no last word."""
    calls: list[Any] = []
    result = await execute(registry(tools=[tool(finalize_content=lambda *args: calls.append(args))]), "nobody")
    assert code(result) == "UNKNOWN_TOOL"
    assert calls == []


async def test_the_finalizer_captured_at_the_start_is_the_one_that_runs() -> None:
    """Spec 2.2: it survives the tool's removal on the way."""
    tools = ToolRegistry()
    registered = tools.register(tool(finalize_content=lambda exec, result: "captured"))

    def remove(execution: Any) -> None:
        registered.dispose()
        tools.register(tool(finalize_content=lambda exec, result: "new"))

    tools.hooks.register(Plugin(tools_pre_execute=remove))
    assert text(await execute(tools)) == "captured"


# -- observers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
async def test_observers_are_told_once_on_every_path(path: str) -> None:
    """Spec 3.8: exactly one notification an execution, with the very result that is returned."""
    policy, call, _ = PATHS[path]
    told: list[Any] = []
    plugins = [Plugin(tools_pre_execute=policy)] if policy else []
    watching = observer(lambda execution, result: told.append(result))
    result = await execute(registry(*plugins, watching), **call)
    assert len(told) == 1
    assert told[0] is result


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot say")

    __repr__ = __str__


async def test_an_observers_fault_stays_with_it(caplog: pytest.LogCaptureFixture) -> None:
    """Case 119: raising, unprintable, exiting, failing later: all observers ran, nothing changed, all were logged."""
    told: list[str] = []

    def raising(exc: BaseException) -> Any:
        def observe(execution: Any, result: Any) -> None:
            told.append(type(exc).__name__)
            raise exc

        return observe

    def promising(execution: Any, result: Any) -> Any:
        told.append("promise")
        return failing()

    async def asynchronous(execution: Any, result: Any) -> None:
        told.append("async")
        raise ExceptionGroup("several", [ValueError("one"), UnprintableError()])

    observers = [observer(raising(exc), "raising") for exc in (ValueError("v"), UnprintableError(), SystemExit(1))]
    others = [observer(promising), observer(asynchronous), observer(lambda execution, result: told.append("last"))]
    result = await execute(registry(*observers, *others), arguments={"a": 1})
    assert result.value == {"a": 1}
    assert told == ["ValueError", "UnprintableError", "SystemExit", "promise", "async", "last"]
    warnings = [record.getMessage() for record in caplog.records if record.name == "dshhooks.observe"]
    assert len(warnings) == 5
    assert all("'tools_result'" in warning for warning in warnings)


async def test_observers_cannot_change_what_they_see() -> None:
    """Case 120: trying is an error inside the observer only."""
    refused: list[str] = []

    def meddle(execution: Any, result: Any) -> None:
        with pytest.raises(SealedError):
            execution.signal = None
        with pytest.raises(AttributeError):
            result.value = "other"
        with pytest.raises(TypeError):
            result.value["a"] = 2
        with pytest.raises(TypeError):
            execution.arguments["a"] = 2
        refused.append("all")
        result.value.clear()

    result = await execute(registry(observer(meddle)), arguments={"a": 1})
    assert refused == ["all"]
    assert result.value == {"a": 1}


async def test_an_observers_answer_is_ignored() -> None:
    """Decision 3.5: observe cannot change the outcome."""
    assert not (await execute(registry(observer(lambda execution, result: Deny("no"))))).is_error


async def test_an_agents_observer_is_told_of_its_own_calls() -> None:
    """Case 121: another agent's executions are not its business."""
    agent, told, tools = Agent(), [], registry()
    tools.hooks.register(observer(lambda execution, result: told.append(execution.agent)), agent=agent)
    for who in (agent, Agent(), None):
        await execute(tools, agent=who)
    assert told == [agent]


async def test_observers_are_told_in_plugin_order() -> None:
    """Decision 3.5: one after the other, the listed order."""
    told: list[str] = []

    def noting(name: str) -> Plugin:
        return observer(lambda execution, result: told.append(name), name)

    await execute(registry(*map(noting, "abc")))
    assert told == ["a", "b", "c"]


async def test_the_message_of_a_failure_is_plain_text() -> None:
    """Spec 3.1: even when the exception's text is a str subclass, the result holds the exact type."""

    class Text(str):
        pass

    async def body(_args: Any, _exec: Any) -> None:
        raise ValueError(Text("odd"))

    result = await execute(registry(tools=[tool(execute=body)]))
    assert type(message(result)) is str
    assert type(result.content[0].text) is str
