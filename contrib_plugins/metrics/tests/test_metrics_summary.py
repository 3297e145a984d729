"""The summary in memory: what counts as what, and that it stays small."""

from __future__ import annotations

import gc
import sys
import weakref

import anyio
import pytest
from dshhooks_metrics import Metrics, MetricsOptions, ToolSummary

from dshhooks import (
    MISSING,
    Block,
    CancelSource,
    Deny,
    HarnessError,
    ToolCall,
    ToolError,
    ToolFailure,
    ToolSuccess,
    hookimpl,
)

pytestmark = pytest.mark.anyio


def outcomes(metrics):
    """The summary without times: ``{name: (ok, failed, denied, aborted)}``."""
    lines = metrics.summary()
    assert all(line.calls == line.ok + line.failed + line.denied + line.aborted for line in lines)
    return {line.name: (line.ok, line.failed, line.denied, line.aborted) for line in lines}


async def test_nothing_yet(anyio_backend):
    """Without a call there is no line."""
    assert Metrics().summary() == []


async def test_ok(anyio_backend, work, registry_of):
    """A call that works is counted, with its time."""
    metrics = Metrics()
    await registry_of(work(), metrics).call("work")
    (line,) = metrics.summary()
    assert isinstance(line, ToolSummary)
    assert (line.name, line.calls, line.ok, line.failed, line.denied, line.aborted) == ("work", 1, 1, 0, 0, 0)
    assert 0 < line.seconds_max <= line.seconds_total


@pytest.mark.parametrize("error", [HarnessError("no", "BROKEN"), RuntimeError("foreign")])
async def test_failed(anyio_backend, work, registry_of, error):
    """A tool that raises has failed, whether its error has a code or not."""

    async def broken(_args, _exec):
        raise error

    metrics = Metrics()
    await registry_of(work(broken), metrics).call("work")
    assert outcomes(metrics) == {"work": (0, 1, 0, 0)}


async def test_denied_by_policy(anyio_backend, work, registry_of):
    """A denied call is counted though it never reaches a wrapper; it takes no time."""

    class Policy:
        @hookimpl
        def tools_pre_execute(self):
            return Deny("no")

    metrics = Metrics()
    await registry_of(work(), metrics, Policy()).call("work")
    assert outcomes(metrics) == {"work": (0, 0, 1, 0)}
    assert metrics.summary()[0].seconds_total == 0


async def test_denied_by_guard(anyio_backend, work, registry_of):
    """A guard's refusal is a denial."""
    metrics = Metrics()
    registry = registry_of(work(), metrics)
    registry.guard(lambda execution: "no")
    await registry.call("work")
    assert outcomes(metrics) == {"work": (0, 0, 1, 0)}


async def test_broken_policy(anyio_backend, work, registry_of):
    """A policy that raises refuses nothing: the call has failed."""

    class Policy:
        @hookimpl
        def tools_pre_execute(self):
            raise RuntimeError("oops")

    metrics = Metrics()
    await registry_of(work(), metrics, Policy()).call("work")
    assert outcomes(metrics) == {"work": (0, 1, 0, 0)}


async def test_unreadable_arguments(anyio_backend, work, registry_of):
    """Arguments that are no JSON are a failure and not a denial."""
    metrics = Metrics()
    await registry_of(work(), metrics).call("work", {"a": object()})
    assert outcomes(metrics) == {"work": (0, 1, 0, 0)}


async def test_blocked(anyio_backend, work, registry_of):
    """A success that post-execute blocks counts as what it became."""

    class Blocker:
        @hookimpl
        def tools_post_execute(self):
            return Block("no")

    metrics = Metrics()
    await registry_of(work(), metrics, Blocker()).call("work")
    assert outcomes(metrics) == {"work": (0, 1, 0, 0)}


@pytest.mark.parametrize("early", [True, False])
async def test_aborted(anyio_backend, work, registry_of, early):
    """A cancelled call is counted apart, before and after it began."""
    source = CancelSource()

    async def body(_args, _exec):
        source.abort("enough")
        return "done"

    if early:
        source.abort("enough")
    metrics = Metrics()
    registry = registry_of(work(body), metrics)
    await registry.execute(ToolCall("c1", "work", signal=source.signal))
    assert outcomes(metrics) == {"work": (0, 0, 0, 1)}


async def test_answer_of_an_outer_wrapper(anyio_backend, work, registry_of, wrap):
    """A call an outer wrapper answers itself is counted by its result."""

    async def cached(_execution, _call_next):
        return ToolSuccess("cached")

    metrics = Metrics()
    await registry_of(work(), wrap(cached), metrics).call("work")
    assert outcomes(metrics) == {"work": (1, 0, 0, 0)}


async def test_attempts_of_a_retry(anyio_backend, work, registry_of, wrap):
    """Inside a retry plugin a call counts once, with the time of all its attempts."""

    async def three_times(_execution, call_next):
        for _ in range(3):
            result = await call_next()
        return result

    metrics = Metrics()
    await registry_of(work(), wrap(three_times), metrics).call("work")
    assert outcomes(metrics) == {"work": (1, 0, 0, 0)}


# -- it changes nothing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("result", [MISSING, ToolFailure(ToolError("no"))])
async def test_very_same_result(anyio_backend, work, registry_of, wrap, result):
    """The result is the very object that came, a success or a failure."""
    seen = []

    async def inner(_execution, call_next):
        seen.append(await call_next() if result is MISSING else result)
        return seen[-1]

    async def outer(_execution, call_next):
        seen.append(await call_next())
        return seen[-1]

    await registry_of(work(), wrap(outer), Metrics(), wrap(inner)).call("work")
    assert seen[0] is seen[1]


async def test_exception_of_an_inner_wrapper(anyio_backend, work, registry_of, wrap):
    """What an inner wrapper raises passes through, and the call has failed."""
    error, seen = HarnessError("broken", "BROKEN"), []

    async def inner(_execution, _call_next):
        raise error

    async def outer(_execution, call_next):
        try:
            return await call_next()
        except HarnessError as exc:
            seen.append(exc)
            raise

    metrics = Metrics()
    await registry_of(work(), wrap(outer), metrics, wrap(inner)).call("work")
    assert seen == [error]
    assert outcomes(metrics) == {"work": (0, 1, 0, 0)}


async def test_cancelled_caller(anyio_backend, work, registry_of):
    """A cancellation of the caller's own task passes through; such a call has no result and is not counted."""
    started, ended = anyio.Event(), []

    async def body(_args, _exec):
        started.set()
        await anyio.sleep_forever()

    metrics = Metrics()
    registry = registry_of(work(body), metrics)

    async def call():
        try:
            await registry.call("work")
        except anyio.get_cancelled_exc_class():
            ended.append("cancelled")
            raise

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await started.wait()
        group.cancel_scope.cancel()
    assert (ended, metrics.summary()) == (["cancelled"], [])


# -- it stays small ----------------------------------------------------------------------------------------------------


async def test_made_up_names(anyio_backend, work, registry_of):
    """Names that are no tool share one line, however many a model makes up."""
    metrics = Metrics()
    registry = registry_of(work(), metrics)
    for number in range(50):
        await registry.call(f"made-up-{number}")
    assert outcomes(metrics) == {"(unknown)": (0, 50, 0, 0)}


async def test_more_tools_than_lines(anyio_backend, work, registry_of):
    """Beyond ``max_tools`` further tools share one line; those before keep theirs."""
    metrics = Metrics(MetricsOptions(max_tools=2))
    registry = registry_of(work(), metrics)
    for name in ("b", "a", "c"):
        registry.register(work(name=name))
    for name in ("b", "a", "c", "work", "b"):
        await registry.call(name)
    assert outcomes(metrics) == {"(other)": (2, 0, 0, 0), "a": (1, 0, 0, 0), "b": (2, 0, 0, 0)}


async def test_tool_that_is_gone(anyio_backend, work, registry_of):
    """A tool that was unregistered keeps its line."""
    metrics = Metrics()
    registry = registry_of(work(), metrics)
    with registry.register(work(name="brief")):
        await registry.call("brief")
    await registry.call("brief")
    assert outcomes(metrics) == {"brief": (1, 1, 0, 0)}


async def test_no_execution_is_kept(anyio_backend, work, registry_of):
    """Nothing of a call is kept after it, not even when it had no result."""
    executions = []

    class Observer:
        @hookimpl
        def tools_result(self, execution):
            executions.append(weakref.ref(execution))

    registry = registry_of(work(), Metrics(), Observer())
    await registry.call("work", {"a": 1})
    gc.collect()
    assert [reference() for reference in executions] == [None]


async def test_without_opentelemetry(anyio_backend, work, registry_of, monkeypatch):
    """Without OpenTelemetry the summary still works."""
    for name in [name for name in sys.modules if name.split(".")[0] == "opentelemetry"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    metrics = Metrics()
    await registry_of(work(), metrics).call("work")
    assert outcomes(metrics) == {"work": (1, 0, 0, 0)}
