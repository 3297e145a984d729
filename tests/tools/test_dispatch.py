"""Around dispatch: wrappers, short circuits, retries (spec/core.md 3.4)."""

from __future__ import annotations

from typing import Any

import anyio
import attrs
import pytest

from hookspecs.errors import HarnessError, ToolTimeoutError
from hookspecs.execution import ErrorInfo, ToolError, ToolFailure, ToolSuccess
from hookspecs.json import MISSING
from tests.tools.kit import Plugin, code, context, execute, message, never, registry, text, tool, wrap

pytestmark = pytest.mark.anyio


def around(function: Any, name: str = "around") -> Plugin:
    return Plugin(name, tools_execute=wrap(function))


def raising(exc: BaseException) -> Any:
    async def body(_args: Any, _exec: Any) -> Any:
        raise exc

    return body


def meta_of(results: Any) -> list[Any]:
    return [item.meta for item in results.contexts]


# -- around ------------------------------------------------------------------------------------------------------------


async def test_a_wrapper_stands_between_policy_and_post() -> None:
    """Case 68: pre, around-before, body, around-after, post."""
    log: list[str] = []

    async def body(_args: Any, _exec: Any) -> None:
        log.append("body")

    async def wrapper(execution: Any, *, call_next: Any) -> Any:
        log.append("before")
        result = await call_next()
        log.append("after")
        return result

    plugin = Plugin(
        tools_pre_execute=lambda execution: log.append("pre"),
        tools_execute=wrap(wrapper),
        tools_post_execute=lambda execution, result: log.append("post"),
    )
    await execute(registry(plugin, tools=[tool(execute=body)]))
    assert log == ["pre", "before", "body", "after", "post"]


async def test_a_failing_body_is_a_result_for_everybody() -> None:
    """Case 69: wrapper and post see a coded failure, not an exception."""
    seen: list[Any] = []

    async def wrapper(execution: Any, *, call_next: Any) -> Any:
        seen.append(await call_next())
        return seen[0]

    post = Plugin("post", tools_post_execute=lambda execution, result: seen.append(result))
    body = raising(HarnessError("disk full", "DISK"))
    result = await execute(registry(around(wrapper), post, tools=[tool(execute=body)]))
    assert code(result) == "DISK"
    assert [code(each) for each in seen] == ["DISK", "DISK"]


async def test_an_unknown_tool_reaches_wrapper_and_post() -> None:
    """Case 70: both see UNKNOWN_TOOL."""
    seen: list[Any] = []

    def wrapper(execution: Any) -> Any:
        result = yield
        seen.append(result)
        return result

    post = Plugin("post", tools_post_execute=lambda execution, result: seen.append(result))
    result = await execute(registry(around(wrapper), post, tools=()), "nobody")
    assert code(result) == "UNKNOWN_TOOL"
    assert "'nobody'" in message(result)
    assert [code(each) for each in seen] == ["UNKNOWN_TOOL"] * 2


async def test_a_short_circuit_is_rendered_from_its_value() -> None:
    """Case 71: the body does not run and content and meta that were made up are ignored."""

    async def cache(execution: Any, *, call_next: Any) -> Any:
        return ToolSuccess({"cached": True}, "junk", meta={"junk": True}, contexts=(context("kept"),))

    result = await execute(registry(around(cache), tools=[tool(execute=never, meta=lambda args, value: "shown")]))
    assert (result.value, text(result), result.meta) == ({"cached": True}, "{'cached': True}", "shown")
    assert len(result.contexts) == 1


async def test_an_implementation_of_execute_answers_in_the_tools_place() -> None:
    """Api: tools_execute is firstresult; a returned ToolResult short-circuits dispatch."""
    cache = Plugin("cache", tools_execute=lambda execution: ToolSuccess("cached"))
    assert (await execute(registry(cache, tools=[tool(execute=never)]))).value == "cached"
    silent = Plugin("silent", tools_execute=lambda execution: None)
    assert (await execute(registry(silent), arguments={"a": 1})).value == {"a": 1}


@pytest.mark.parametrize("value", [1, print, (1,), MISSING], ids=["schema", "function", "tuple", "missing"])
async def test_a_made_up_value_must_fit(value: Any) -> None:
    """Case 72: a short-circuit outside the schema is INVALID_TOOL_OUTPUT, final, and post is skipped."""
    posts: list[Any] = []

    async def cache(execution: Any, *, call_next: Any) -> Any:
        return ToolSuccess(value)

    post = Plugin("post", tools_post_execute=lambda execution, result: posts.append(result))
    result = await execute(registry(around(cache), post, tools=[tool(schema={"type": "string"}, execute=never)]))
    assert code(result) == "INVALID_TOOL_OUTPUT"
    assert posts == []


async def test_a_wrappers_failure_is_taken_verbatim() -> None:
    """Case 74: error, content, meta and contexts are kept."""
    made = ToolFailure(
        ToolError("slow", ErrorInfo("ToolTimeoutError", "TOOL_TIMEOUT")),
        "too slow",
        meta={"after": 3},
        contexts=(context("try less", n=1),),
    )

    async def timeout(execution: Any, *, call_next: Any) -> Any:
        return made

    assert await execute(registry(around(timeout))) == made


async def test_a_copy_of_the_result_is_made_canonical_again() -> None:
    """Spec 3.4: a wrapper that copies a success with changes has its value rendered; its contexts are kept."""
    rendered: list[Any] = []

    async def annotate(execution: Any, *, call_next: Any) -> Any:
        result = await call_next()
        return attrs.evolve(result, content="tampered", contexts=(context("note"),))

    def render(_args: Any, value: Any) -> str:
        rendered.append(value)
        return "rendered"

    result = await execute(registry(around(annotate), tools=[tool(render=render)]))
    assert text(result) == "rendered"
    assert len(rendered) == 2
    assert len(result.contexts) == 1


async def test_a_tool_that_vanished_cannot_be_answered_for() -> None:
    """Case 75: a success for a tool a wrapper unregistered is UNKNOWN_TOOL."""
    tools = registry(tools=())
    registered = tools.register(tool(execute=never))

    async def remove(execution: Any, *, call_next: Any) -> Any:
        registered.dispose()
        return ToolSuccess("ok")

    tools.hooks.register(around(remove))
    assert code(await execute(tools)) == "UNKNOWN_TOOL"


async def test_dispatch_finds_the_tool_visible_now() -> None:
    """Spec 1.3: a tool replaced on the way is the one that runs."""
    tools = registry(tools=())
    registered = tools.register(tool(execute=never))

    async def replace(execution: Any, *, call_next: Any) -> Any:
        registered.dispose()
        tools.register(tool(execute=lambda args, exec: "new"))
        return await call_next()

    tools.hooks.register(around(replace))
    assert (await execute(tools)).value == "new"


async def deferring(_args: Any, exec: Any) -> str:
    exec.defer_context(context("deferred", n=1))
    return "done"


async def test_a_raising_wrapper_loses_what_the_body_deferred() -> None:
    """Case 76: the failure is final and has no contexts."""
    posts: list[Any] = []

    async def broken(execution: Any, *, call_next: Any) -> Any:
        await call_next()
        raise ValueError("broken")

    post = Plugin("post", tools_post_execute=lambda execution, result: posts.append(result))
    result = await execute(registry(around(broken, "broken"), post, tools=[tool(execute=deferring)]))
    assert code(result) == "PLUGIN_FAILED"
    assert "plugin 'broken' failed in hook 'tools_execute': ValueError: broken" in message(result)
    assert result.contexts == ()
    assert posts == []


async def test_a_retry_runs_everything_inside_it_again() -> None:
    """Case 77: an inner wrapper and the body run twice, and the second result is used."""
    log: list[str] = []

    async def body(_args: Any, exec: Any) -> str:
        log.append("body")
        exec.defer_context(context("tried", n=len(log)))
        if log.count("body") == 1:
            raise ValueError("flaky")
        return "second"

    async def retry(execution: Any, *, call_next: Any) -> Any:
        first = await call_next()
        assert first.is_error
        return await call_next()

    async def count(execution: Any, *, call_next: Any) -> Any:
        log.append("inner")
        return await call_next()

    result = await execute(registry(around(retry, "retry"), around(count, "count"), tools=[tool(execute=body)]))
    assert result.value == "second"
    assert log == ["inner", "body"] * 2
    assert meta_of(result) == [{"n": 2}, {"n": 4}]  # both attempts' contexts, in the order of the calls


async def test_an_earlier_attempts_result_is_as_good_as_the_last() -> None:
    """Spec 3.4: any result minted for this execution is used as it is."""
    results: list[Any] = []

    async def twice(execution: Any, *, call_next: Any) -> Any:
        results.extend([await call_next(), await call_next()])
        return results[0]

    assert await execute(registry(around(twice))) is results[0]


async def test_a_wrapper_may_time_its_call_out() -> None:
    """Decision 3.2: a wrapper awaits call_next() inside a scope of its own; the body unwinds before it goes on."""
    unwound: list[str] = []

    async def body(_args: Any, _exec: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            unwound.append("body")

    async def timeout(execution: Any, *, call_next: Any) -> Any:
        with anyio.move_on_after(0):
            return await call_next()
        assert unwound == ["body"]
        raise ToolTimeoutError("too slow")

    assert code(await execute(registry(around(timeout), tools=[tool(execute=body)]))) == "TOOL_TIMEOUT"
