"""Around dispatch and cancellation: wrappers, signals, the body (spec/core.md 3.4, 3.5)."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import attrs
import pytest
from anyio.lowlevel import checkpoint

from hookspecs.errors import HarnessError, ToolTimeoutError
from hookspecs.execution import ErrorInfo, ToolCall, ToolError, ToolFailure, ToolSuccess
from hookspecs.json import MISSING
from hookspecs.signal import CancelSource
from hookspecs.values import TextBlock
from tests.tools.kit import Agent, Plugin, aborted_source, code, context, execute, message, registry, text, tool, wrap

pytestmark = pytest.mark.anyio

BEFORE, ABORTED = "ABORTED_BEFORE_DISPATCH", "ABORTED"


def around(function: Any, name: str = "around") -> Plugin:
    return Plugin(name, tools_execute=wrap(function))


def raising(exc: BaseException) -> Any:
    async def body(_args: Any, _exec: Any) -> Any:
        raise exc

    return body


async def never(_args: Any, _exec: Any) -> Any:
    raise AssertionError("the body ran")


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


# -- cancellation ------------------------------------------------------------------------------------------------------


async def test_a_call_aborted_before_it_began_goes_straight_to_its_end() -> None:
    """Case 79: no phase, finalizer once, tools_result once with the very object that is returned."""
    log: list[str] = []
    observed: list[Any] = []

    def note(phase: str) -> Any:
        return lambda execution, *rest: log.append(phase)

    plugin = Plugin(
        tools_pre_execute=lambda execution: log.append("pre"),
        tools_guard=lambda execution: log.append("guard"),
        tools_execute=lambda execution: log.append("execute"),
        tools_post_execute=lambda execution, result: log.append("post"),
        tools_result=lambda execution, result: observed.append(result),
    )
    definition = tool(execute=never, finalize_content=note("finalize"))
    result = await execute(registry(plugin, tools=[definition]), signal=aborted_source().signal)
    assert code(result) == BEFORE
    assert log == ["finalize"]
    assert len(observed) == 1
    assert observed[0] is result
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        result.content = ()


async def test_an_abort_before_next_stops_the_dispatch() -> None:
    """Case 83: also when the wrapper had replaced the signal."""
    source = CancelSource()

    async def wrapper(execution: Any, *, call_next: Any) -> Any:
        with execution.replace_signal(CancelSource().signal):
            source.abort("user")
            return await call_next()

    result = await execute(registry(around(wrapper), tools=[tool(execute=never)]), signal=source.signal)
    assert code(result) == BEFORE


async def test_an_aborted_replacement_stops_the_dispatch() -> None:
    """Case 84: the wrapper's signal counts although the caller's is live."""

    async def wrapper(execution: Any, *, call_next: Any) -> Any:
        with execution.replace_signal(aborted_source().signal):
            return await call_next()

    result = await execute(registry(around(wrapper), tools=[tool(execute=never)]), signal=CancelSource().signal)
    assert code(result) == BEFORE


@pytest.mark.parametrize("caller", [True, False], ids=["caller aborts", "wrapper aborts"])
async def test_the_body_hears_both_signals(caller: bool) -> None:
    """Case 85: whichever aborts, the body's signal does, with that reason; the other of the two does not."""
    own, outer = CancelSource(), CancelSource()
    aborting, other = (outer, own) if caller else (own, outer)
    seen: list[Any] = []

    async def body(_args: Any, exec: Any) -> str:
        aborting.abort("stop")
        seen.append((exec.signal.aborted, exec.signal.reason))
        return "done"

    async def wrapper(execution: Any, *, call_next: Any) -> Any:
        with execution.replace_signal(own.signal):
            return await call_next()

    result = await execute(registry(around(wrapper), tools=[tool(execute=body)]), signal=outer.signal)
    assert code(result) == ABORTED
    assert seen == [(True, "stop")]
    assert not other.signal.aborted


async def test_the_bodys_signal_is_the_callers_own_unless_replaced() -> None:
    """Case 86: without a wrapper the very object; with a replacement neither of the two."""
    own, outer = CancelSource(), CancelSource()
    seen: list[Any] = []

    async def body(_args: Any, exec: Any) -> None:
        seen.append(exec.signal)

    async def wrapper(execution: Any, *, call_next: Any) -> Any:
        with execution.replace_signal(own.signal):
            return await call_next()

    definition = tool(execute=body)
    await execute(registry(tools=[definition]), signal=outer.signal)
    await execute(registry(around(wrapper), tools=[definition]), signal=outer.signal)
    assert seen[0] is outer.signal
    assert seen[1] not in (own.signal, outer.signal)


async def test_what_an_outer_wrapper_sets_is_what_an_inner_one_sees() -> None:
    """Spec 2.4: replacements nest and are taken back in reverse."""
    first, second, caller = CancelSource().signal, CancelSource().signal, CancelSource().signal
    seen: list[Any] = []

    def replacing(signal: Any) -> Any:
        async def wrapper(execution: Any, *, call_next: Any) -> Any:
            seen.append(execution.signal)
            with execution.replace_signal(signal):
                result = await call_next()
                seen.append(execution.signal)
            seen.append(execution.signal)
            return result

        return wrapper

    await execute(registry(around(replacing(first), "a"), around(replacing(second), "b")), signal=caller)
    assert [[caller, first, second].index(signal) for signal in seen] == [0, 1, 2, 1, 1, 0]


async def test_an_uncooperative_body_is_waited_for() -> None:
    """Case 87 under decision 7.6: with cancellation="signal" execute stays pending until the body returns."""
    source, go_on, log = CancelSource(), anyio.Event(), []

    async def body(_args: Any, exec: Any) -> str:
        exec.defer_context(context("deferred"))
        source.abort("user")
        await go_on.wait()
        log.append("body returned")
        return "too late"

    async def run() -> None:
        definition = tool(execute=body, cancellation="signal")
        result = await execute(registry(tools=[definition]), signal=source.signal)
        log.append(code(result))
        assert len(result.contexts) == 1
        assert not hasattr(result, "value")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await source.signal.wait()
        await checkpoint()
        assert log == []
        go_on.set()
    assert log == ["body returned", ABORTED]


async def test_a_cooperative_body_is_torn_down() -> None:
    """Decision 3.6: an abort cancels what the body awaits, and the registry waits until it has unwound."""
    source, log = CancelSource(), []

    async def body(_args: Any, exec: Any) -> None:
        exec.defer_context(context("deferred"))
        source.abort("user")
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await checkpoint()
                log.append("unwound")

    result = await execute(registry(tools=[tool(execute=body)]), signal=source.signal)
    assert code(result) == ABORTED
    assert log == ["unwound"]
    assert len(result.contexts) == 1


async def test_an_abort_from_a_thread_the_loop_waits_for_does_not_hang() -> None:
    """Decision 3.6: the aborting thread leaves a note for the loop and does not wait for it."""
    source = CancelSource()

    async def body(_args: Any, _exec: Any) -> None:
        thread = threading.Thread(target=source.abort, args=("user",))
        thread.start()
        thread.join()  # the loop stands still until the abort is through
        await anyio.sleep_forever()

    assert code(await execute(registry(tools=[tool(execute=body)]), signal=source.signal)) == ABORTED


async def test_a_signal_aborted_late_from_a_thread_cancels_nothing_else() -> None:
    """Decision 3.6: a note that arrives after the body has ended finds nothing to cancel."""
    source = CancelSource()

    async def body(_args: Any, _exec: Any) -> str:
        thread = threading.Thread(target=source.abort)
        thread.start()
        thread.join()
        return "done"

    assert code(await execute(registry(tools=[tool(execute=body)]), signal=source.signal)) == ABORTED
    for _ in range(3):
        await checkpoint()


@pytest.mark.parametrize("cancellation", ["scope", "signal"])
async def test_a_coded_error_survives_an_abort(cancellation: Any) -> None:
    """Case 88: failures are never overwritten by cancellation."""
    source = CancelSource()

    async def body(_args: Any, _exec: Any) -> None:
        source.abort("user")
        raise HarnessError("disk full", "DISK")

    definition = tool(execute=body, cancellation=cancellation)
    assert code(await execute(registry(tools=[definition]), signal=source.signal)) == "DISK"


async def test_an_abort_behind_a_finished_body_supersedes_its_success() -> None:
    """Case 89: while the wrapper lingers; contexts are kept, the value is gone."""
    source = CancelSource()

    async def linger(execution: Any, *, call_next: Any) -> Any:
        result = await call_next()
        source.abort("user")
        return result

    result = await execute(registry(around(linger), tools=[tool(execute=deferring)]), signal=source.signal)
    assert code(result) == ABORTED
    assert meta_of(result) == [{"n": 1}]
    assert not hasattr(result, "value")


async def test_a_short_circuit_is_superseded_as_never_dispatched() -> None:
    """Spec 3.5: the body was not invoked, so it is ABORTED_BEFORE_DISPATCH; the wrapper's contexts are kept."""
    source = CancelSource()

    async def cache(execution: Any, *, call_next: Any) -> Any:
        source.abort("user")
        return ToolSuccess("cached", contexts=(context("note", n=2),))

    result = await execute(registry(around(cache)), signal=source.signal)
    assert code(result) == BEFORE
    assert meta_of(result) == [{"n": 2}]


async def test_a_wrapper_that_raises_after_the_abort_keeps_its_code() -> None:
    """Case 91: its own error is the outcome."""
    source = CancelSource()

    async def wrapper(execution: Any, *, call_next: Any) -> Any:
        source.abort("user")
        raise HarnessError("mine", "MINE")

    assert code(await execute(registry(around(wrapper)), signal=source.signal)) == "MINE"


async def test_a_wrapper_that_aborts_only_its_own_signal_sees_aborted() -> None:
    """Spec 3.4: and may replace it; otherwise it is final although the caller never cancelled."""
    seen: list[Any] = []

    def wrapper(replace: bool) -> Any:
        async def run(execution: Any, *, call_next: Any) -> Any:
            own = CancelSource()
            signals.append(own)
            with execution.replace_signal(own.signal):
                result = await call_next()
            seen.append(code(result))
            return ToolSuccess("instead") if replace else result

        return run

    signals: list[CancelSource] = []

    async def body(_args: Any, _exec: Any) -> str:
        signals[-1].abort("deadline")
        return "done"

    for replace in (False, True):
        result = await execute(registry(around(wrapper(replace)), tools=[tool(execute=body)]))
        assert (result.value if replace else code(result)) == ("instead" if replace else ABORTED)
    assert seen == [ABORTED, ABORTED]


@pytest.mark.parametrize("restore", [True, False], ids=["restored", "forgotten"])
async def test_post_sees_the_callers_signal(restore: bool) -> None:
    """Case 93: whatever a wrapper replaced, and even when it never left its block."""
    source, seen, blocks = CancelSource(), [], []

    async def wrapper(execution: Any, *, call_next: Any) -> Any:
        block = execution.replace_signal(CancelSource().signal)
        block.__enter__()
        result = await call_next()
        if restore:
            block.__exit__(None, None, None)
        blocks.append(block)
        return result

    def look(execution: Any, *rest: Any) -> None:
        seen.append(execution.signal)

    post = Plugin(
        "post",
        tools_post_execute=lambda execution, result: look(execution),
        tools_result=lambda execution, result: look(execution),
    )
    await execute(registry(around(wrapper), post), signal=source.signal)
    assert [signal is source.signal for signal in seen] == [True, True]


async def test_a_call_without_a_signal_never_aborts() -> None:
    """Decision 7.10: there is a signal to look at, and it stays live."""
    seen: list[Any] = []

    async def body(_args: Any, exec: Any) -> None:
        seen.append(exec.signal.aborted)

    await execute(registry(tools=[tool(execute=body)]))
    assert seen == [False]


# -- the caller's own task ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cancellation", ["scope", "signal"])
async def test_cancelling_the_caller_propagates_after_the_body_has_unwound(cancellation: Any) -> None:
    """Decision 3.6: it is never normalized, and nothing of the call is left running."""
    log: list[str] = []

    async def body(_args: Any, _exec: Any) -> None:
        scope.cancel()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await checkpoint()
                log.append("unwound")

    observer = Plugin(tools_result=lambda execution, result: log.append("result"))
    definition = tool(execute=body, cancellation=cancellation)
    with anyio.CancelScope() as scope:
        await execute(registry(observer, tools=[definition]), signal=CancelSource().signal)
        raise AssertionError("not reached")
    assert scope.cancelled_caught
    assert log == ["unwound"]


@pytest.mark.parametrize("hook", ["tools_pre_execute", "tools_execute", "tools_post_execute", "tools_result"])
async def test_cancelling_the_caller_inside_a_hook_propagates(hook: str) -> None:
    """Decision 3.7: backend cancellation passes through every boundary, observers included."""

    async def wait(execution: Any, result: Any = None) -> None:
        scope.cancel()
        await anyio.sleep_forever()

    async def wait_with_result(execution: Any, result: Any) -> None:
        await wait(execution)

    async def wait_alone(execution: Any) -> None:
        await wait(execution)

    hooks = {hook: wait_alone if hook in ("tools_pre_execute", "tools_execute") else wait_with_result}
    with anyio.CancelScope() as scope:
        await execute(registry(Plugin(**hooks)))
        raise AssertionError("not reached")
    assert scope.cancelled_caught


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_asyncios_own_cancel_waits_for_a_thread() -> None:
    """Decision 3.6: Task.cancel() goes through anyio's shield; the thread is waited for all the same."""
    import asyncio

    started, release, log = threading.Event(), threading.Event(), []

    def body(_args: Any, _exec: Any) -> None:
        started.set()
        release.wait()
        log.append("thread ended")

    task = asyncio.ensure_future(execute(registry(tools=[tool(execute=body)])))
    await anyio.to_thread.run_sync(started.wait)
    for _ in range(3):
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
    release.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == ["thread ended"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_asyncios_own_cancel_before_the_thread_began_runs_nothing() -> None:
    """Decision 3.6: a thread that has not begun never does."""
    import asyncio

    log: list[str] = []
    task = asyncio.ensure_future(execute(registry(tools=[tool(execute=lambda args, exec: log.append("ran"))])))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert log == []


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
