"""The body: plain functions in threads, faults of every kind, the end of the turn (spec/core.md 3.4, decision 3.7)."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import pytest

from hookspecs.errors import HarnessError
from hookspecs.execution import ToolCall
from hookspecs.signal import CancelSource
from hookspecs.values import TextBlock
from tests.tools.kit import Agent, Plugin, code, context, execute, message, registry, tool, wrap

pytestmark = pytest.mark.anyio


ABORTED = "ABORTED"


def raising(exc: BaseException) -> Any:
    async def body(_args: Any, _exec: Any) -> Any:
        raise exc

    return body


# -- plain functions ---------------------------------------------------------------------------------------------------


async def test_a_plain_function_runs_in_a_worker_thread() -> None:
    """Decision 3.6: and not in the loop's."""
    threads: list[int] = []

    def body(args: Any, _exec: Any) -> Any:
        threads.append(threading.get_ident())
        return args

    assert (await execute(registry(tools=[tool(execute=body)]), arguments={"a": 1})).value == {"a": 1}
    assert threads != [threading.get_ident()]


async def test_a_plain_function_sees_the_signal() -> None:
    """Decision 3.6: it is waited for, and its success is superseded."""
    source, aborted = CancelSource(), threading.Event()

    def body(_args: Any, exec: Any) -> str:
        started.set()
        exec.signal.add_listener(aborted.set)
        aborted.wait()
        assert exec.signal.aborted
        exec.defer_context(context("deferred"))
        return "stopped"

    async def stop() -> None:
        await anyio.to_thread.run_sync(started.wait)
        source.abort("user")

    started = threading.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stop)
        result = await execute(registry(tools=[tool(execute=body)]), signal=source.signal)
    assert code(result) == ABORTED
    assert len(result.contexts) == 1


async def test_a_plain_function_may_abort_its_own_call() -> None:
    """Decision 3.6: an abort from the body's own worker thread does not deadlock."""
    source = CancelSource()

    def body(_args: Any, _exec: Any) -> str:
        source.abort("enough")
        return "done"

    assert code(await execute(registry(tools=[tool(execute=body)]), signal=source.signal)) == ABORTED


@pytest.mark.parametrize(
    ("raised", "expected"),
    [(ValueError("no"), "no"), (HarnessError("no", "MINE"), "no"), (SystemExit("no"), "SystemExit: no"),
     (StopIteration("no"), "the tool raised StopIteration")],
)  # fmt: skip
async def test_a_plain_functions_fault_is_a_failure(raised: BaseException, expected: str) -> None:
    """Decision 3.7: in the thread as in the loop, SystemExit and StopIteration included."""

    def body(_args: Any, _exec: Any) -> None:
        raise raised

    result = await execute(registry(tools=[tool(execute=body)]))
    assert message(result) == expected
    assert code(result) == getattr(raised, "code", None) if isinstance(raised, HarnessError) else code(result) is None


async def test_a_plain_function_may_hand_back_a_coroutine() -> None:
    """Api: a lambda over an async function works; its coroutine runs in the loop."""

    async def answer() -> str:
        return threading.current_thread().name

    value = (await execute(registry(tools=[tool(execute=lambda args, exec: answer())]))).value
    assert value == threading.current_thread().name


# -- faults ------------------------------------------------------------------------------------------------------------


async def test_plain_functions_that_call_each_other_do_not_wait_for_threads() -> None:
    """Decision 3.6: every worker thread may be taken by a body that waits for a nested call, and it still runs."""
    limiter = anyio.to_thread.current_default_thread_limiter()
    taken, limiter.total_tokens = limiter.total_tokens, 2
    started = threading.Barrier(2)

    def outer(args: Any, _exec: Any) -> Any:
        started.wait(10)  # both threads are taken now
        return anyio.from_thread.run(tools.call, "middle", args).value

    async def middle(args: Any, _exec: Any) -> Any:
        return (await tools.call("inner", args)).value

    def inner(args: Any, _exec: Any) -> Any:
        return args

    tools = registry(tools=[tool("outer", outer), tool("middle", middle), tool("inner", inner)])
    values: list[Any] = []

    async def call(number: int) -> None:
        values.append((await execute(tools, "outer", {"n": number})).value)

    try:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                for number in range(2):
                    tasks.start_soon(call, number)
    finally:
        limiter.total_tokens = taken
    assert sorted(value["n"] for value in values) == [0, 1]


async def test_a_body_that_exits_is_a_failure() -> None:
    """Decision 3.7: SystemExit is the tool's failure, not the host's end."""
    result = await execute(registry(tools=[tool(execute=raising(SystemExit(3)))]))
    assert (code(result), message(result)) == (None, "SystemExit: 3")


@pytest.mark.parametrize("where", ["body", "thread", "hook", "wrapper", "guard", "observer", "finalizer"])
async def test_a_keyboard_interrupt_passes_through(where: str) -> None:
    """Decision 3.7: Ctrl-C is nobody's fault; it is never normalized, wherever it strikes."""

    def strike(*_args: Any) -> Any:
        raise KeyboardInterrupt

    async def strike_in_the_loop(_args: Any, _exec: Any) -> Any:
        raise KeyboardInterrupt

    def wrapper(execution: Any) -> Any:
        yield
        raise KeyboardInterrupt

    plugins = {
        "hook": Plugin(tools_pre_execute=lambda execution: strike()),
        "wrapper": Plugin(tools_execute=wrap(wrapper)),
        "guard": Plugin(tools_guard=lambda execution: strike()),
        "observer": Plugin(tools_result=lambda execution, result: strike()),
    }
    body = {"body": strike_in_the_loop, "thread": strike}.get(where)
    finalizer = strike if where == "finalizer" else None
    tools = registry(plugins.get(where, Plugin()), tools=[tool(execute=body, finalize_content=finalizer)])
    with pytest.raises(KeyboardInterrupt):
        await execute(tools)


async def test_a_body_without_a_text_to_its_error_has_its_class_name() -> None:
    """Spec 3.4: a failure always says something."""
    assert message(await execute(registry(tools=[tool(execute=raising(ValueError()))]))) == "ValueError"


async def test_a_foreign_exception_never_brings_a_code() -> None:
    """Spec 0.3: even if it has an attribute called code."""

    class ForeignError(Exception):
        code = "FOREIGN"

    assert code(await execute(registry(tools=[tool(execute=raising(ForeignError("x")))]))) is None


async def test_nested_calls_run_the_full_pipeline() -> None:
    """Spec 2.5: policy sees the inner call as well."""
    seen: list[str] = []

    async def outer(args: Any, exec: Any) -> Any:
        return (await tools.execute(ToolCall("c2", "echo", args, parent=exec.token, agent=exec.agent))).value

    plugin = Plugin(tools_pre_execute=lambda execution: seen.append(execution.name))
    tools = registry(plugin, tools=[tool("outer", outer), tool()])
    assert (await execute(tools, "outer", {"a": 1}, agent=Agent())).value == {"a": 1}
    assert seen == ["outer", "echo"]


# -- ending the turn ---------------------------------------------------------------------------------------------------


async def concluding(_args: Any, exec: Any) -> str:
    exec.conclude_turn()
    return "done"


async def test_a_tool_may_conclude_the_turn() -> None:
    """Decision 7.11: a successful result carries it, through post-execute and finalizer too."""
    accept = Plugin(tools_post_execute=lambda execution, result: None)
    definition = tool(execute=concluding, finalize_content=lambda exec, result: [TextBlock("final")])
    assert (await execute(registry(accept, tools=[definition]))).concludes_turn
    assert not (await execute(registry())).concludes_turn


async def test_a_failed_call_concludes_nothing() -> None:
    """Decision 7.11: only a success ends the turn."""

    async def body(_args: Any, exec: Any) -> None:
        exec.conclude_turn()
        raise ValueError("after all not")

    result = await execute(registry(tools=[tool(execute=body)]))
    assert not getattr(result, "concludes_turn", False)


async def test_what_comes_after_dispatch_has_no_effect() -> None:
    """Spec 3.4: defer_context and conclude_turn count only while the around stage lasts."""
    kept: list[Any] = []

    async def body(_args: Any, exec: Any) -> str:
        kept.append(exec)
        return "done"

    def late(execution: Any, result: Any) -> None:
        kept[0].defer_context(context("late"))
        kept[0].conclude_turn()

    result = await execute(registry(Plugin(tools_post_execute=late), tools=[tool(execute=body)]))
    assert result.contexts == ()
    assert not result.concludes_turn


async def test_only_contexts_can_be_deferred() -> None:
    """Api: defer_context takes a HookContext; the misuse is the body's failure."""

    async def body(_args: Any, exec: Any) -> None:
        exec.defer_context("text")

    assert "HookContext" in message(await execute(registry(tools=[tool(execute=body)])))
