"""What an abort does to a call, and what the end of the caller's own task does (spec/core.md 3.5, decision 3.6)."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import attrs
import pytest
from anyio.lowlevel import checkpoint

from hookspecs.errors import HarnessError
from hookspecs.execution import ToolSuccess
from hookspecs.signal import CancelSource
from tests.tools.kit import Plugin, aborted_source, code, context, execute, never, registry, tool, wrap

pytestmark = pytest.mark.anyio


BEFORE, ABORTED = "ABORTED_BEFORE_DISPATCH", "ABORTED"


def around(function: Any, name: str = "around") -> Plugin:
    return Plugin(name, tools_execute=wrap(function))


def meta_of(results: Any) -> list[Any]:
    return [item.meta for item in results.contexts]


async def deferring(_args: Any, exec: Any) -> str:
    exec.defer_context(context("deferred", n=1))
    return "done"


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


async def test_an_abort_between_two_attempts_does_not_claim_that_nothing_ran() -> None:
    """Spec 3.9: ABORTED_BEFORE_DISPATCH says the body was not invoked; a retried body was."""
    source = CancelSource()
    runs: list[int] = []

    async def body(_args: Any, _exec: Any) -> None:
        runs.append(1)
        raise HarnessError("flaky", "FLAKY")

    async def retry(execution: Any, *, call_next: Any) -> Any:
        await call_next()
        source.abort("user")
        return await call_next()

    result = await execute(registry(around(retry), tools=[tool(execute=body)]), signal=source.signal)
    assert (code(result), len(runs)) == (ABORTED, 1)


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
