"""What a deadline does to a call. Only what tests the deadline itself waits for one, and then for 50 ms."""

from __future__ import annotations

import threading

import anyio
import pytest
from dshhooks_timeout import Timeout, TimeoutOptions

from dshhooks import (
    CancelSource,
    HarnessError,
    HookContext,
    PluginSource,
    ToolCall,
    ToolDefinition,
    ToolOutput,
    ToolRegistry,
    ToolSuccess,
    hookimpl,
)

pytestmark = pytest.mark.anyio

SOON = 0.05
LATER = 60.0


def work(execute, name="work", **parts):
    """A tool whose value is a string."""
    output = ToolOutput({"type": "string"}, lambda _args, value: value)
    return ToolDefinition(name, "works", {"type": "object"}, output, execute, **parts)


def registry_of(definition, *plugins):
    """A registry with one tool; the first plugin is outermost."""
    registry = ToolRegistry()
    registry.register(definition)
    for plugin in reversed(plugins):
        registry.hooks.register(plugin)
    return registry


def code(result):
    return result.error.info.code if result.is_error and result.error.info else None


async def forever(_args, _exec):
    await anyio.sleep_forever()


async def done(_args, _exec):
    return "done"


class Wrap:
    """A wrapper made of a function."""

    def __init__(self, fn):
        self._fn = fn

    @hookimpl(wrapper=True)
    async def tools_execute(self, execution, *, call_next):
        return await self._fn(execution, call_next)


# -- the deadline passes -----------------------------------------------------------------------------------------------


async def test_late_body(anyio_backend):
    """Case 212: a cooperative body past its deadline is cancelled and the call fails with TOOL_TIMEOUT."""
    result = await registry_of(work(forever, timeout=SOON), Timeout()).call("work")
    assert result.error.info.name == "ToolTimeoutError"
    assert code(result) == "TOOL_TIMEOUT"
    assert "50 ms" in result.error.message
    assert result.content[0].text == f"Error: {result.error.message}"


async def test_abort_error_of_the_provider(anyio_backend):
    """Case 212: an error the body raises because its signal aborted is replaced too."""

    async def provider(_args, execution):
        await execution.signal.wait()
        raise HarnessError("stream closed", "PROVIDER_ABORT")

    result = await registry_of(work(provider, timeout=SOON, cancellation="signal"), Timeout()).call("work")
    assert code(result) == "TOOL_TIMEOUT"


async def test_late_success(anyio_backend):
    """Case 212: a success that comes after the deadline is replaced too."""

    async def stubborn(_args, execution):
        await execution.signal.wait()
        return "late"

    result = await registry_of(work(stubborn, timeout=SOON, cancellation="signal"), Timeout()).call("work")
    assert code(result) == "TOOL_TIMEOUT"


async def test_deferred_context_of_a_late_call(anyio_backend):
    """Case 212: what the body deferred before its time was up stays."""

    async def body(_args, execution):
        execution.defer_context(HookContext("half-way", PluginSource("test")))
        await anyio.sleep_forever()

    result = await registry_of(work(body, timeout=SOON), Timeout()).call("work")
    assert code(result) == "TOOL_TIMEOUT"
    assert [context.content[0].text for context in result.contexts] == ["half-way"]


async def test_late_body_is_awaited(anyio_backend):
    """The call ends only after the body has unwound."""
    unwound = False

    async def body(_args, _exec):
        nonlocal unwound
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.lowlevel.checkpoint()
            unwound = True

    assert code(await registry_of(work(body, timeout=SOON), Timeout()).call("work")) == "TOOL_TIMEOUT"
    assert unwound


async def test_late_thread(anyio_backend):
    """A plain function in a worker thread sees the signal abort, with the deadline as its reason."""
    seen = []

    def body(_args, execution):
        aborted = threading.Event()
        execution.signal.add_listener(aborted.set)
        aborted.wait(30)
        seen.append(execution.signal.reason)
        return "late"

    result = await registry_of(work(body, timeout=SOON), Timeout()).call("work")
    assert code(result) == "TOOL_TIMEOUT"
    assert (seen[0].code, seen[0].tool, seen[0].seconds) == ("TOOL_TIMEOUT", "work", SOON)


async def test_late_inner_wrapper(anyio_backend):
    """A wrapper further in sees the derived signal, and its time counts."""

    async def slow(execution, call_next):
        await execution.signal.wait()
        return await call_next()

    ran = []

    async def body(_args, _exec):
        ran.append(1)
        return "done"

    registry = registry_of(work(body, timeout=SOON), Timeout(), Wrap(slow))
    assert code(await registry.call("work")) == "TOOL_TIMEOUT"
    assert ran == []


# -- the caller, too ---------------------------------------------------------------------------------------------------


async def test_caller_first(anyio_backend):
    """Case 213: the caller aborts before the deadline; the result stays ABORTED."""
    source, started = CancelSource(), anyio.Event()

    async def body(_args, _exec):
        started.set()
        await anyio.sleep_forever()

    registry = registry_of(work(body, timeout=LATER), Timeout())
    results = []

    async def call():
        results.append(await registry.execute(ToolCall("c1", "work", signal=source.signal)))

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await started.wait()
        source.abort("enough")
    assert code(results[0]) == "ABORTED"


async def test_caller_after_the_timer(anyio_backend):
    """Case 213: the deadline passes first and the caller aborts afterwards; the result stays TOOL_TIMEOUT."""
    source = CancelSource()

    async def body(_args, execution):
        await execution.signal.wait()
        source.abort("too late to matter")
        return "late"

    registry = registry_of(work(body, timeout=SOON, cancellation="signal"), Timeout())
    result = await registry.execute(ToolCall("c1", "work", signal=source.signal))
    assert code(result) == "TOOL_TIMEOUT"


async def test_reason_of_the_caller(anyio_backend):
    """The derived signal carries the caller's reason when the caller aborts."""
    source, reasons = CancelSource(), []

    async def body(_args, execution):
        source.abort("enough")
        reasons.append(execution.signal.reason)
        return "done"

    registry = registry_of(work(body, timeout=LATER, cancellation="signal"), Timeout())
    assert code(await registry.execute(ToolCall("c1", "work", signal=source.signal))) == "ABORTED"
    assert reasons == ["enough"]


async def test_deadline_further_out(anyio_backend):
    """A shorter deadline of an outer wrapper is an ordinary cancel to the inner one; the outer one reports."""
    inner = []

    async def peek(_execution, call_next):
        inner.append(await call_next())
        return inner[0]

    outer = Timeout(TimeoutOptions(tools={"work": SOON}))
    registry = registry_of(work(forever), outer, Wrap(peek), Timeout(TimeoutOptions(default=LATER)))
    result = await registry.call("work")
    assert code(inner[0]) == "ABORTED"
    assert (code(result), "50 ms" in result.error.message) == ("TOOL_TIMEOUT", True)


# -- nothing happens ---------------------------------------------------------------------------------------------------


async def test_no_deadline(anyio_backend):
    """Without a deadline the signal is untouched."""
    source, seen = CancelSource(), []

    async def body(_args, execution):
        seen.append(execution.signal)
        return "done"

    registry = registry_of(work(body), Timeout())
    result = await registry.execute(ToolCall("c1", "work", signal=source.signal))
    assert (result.value, seen[0] is source.signal) == ("done", True)


async def test_in_time(anyio_backend):
    """A call in time brings the very result the tool made, and the caller's signal is back afterwards."""
    source, seen = CancelSource(), []

    async def outer(execution, call_next):
        result = await call_next()
        seen.append((result, execution.signal is source.signal))
        return result

    registry = registry_of(work(done, timeout=LATER), Wrap(outer), Timeout())
    result = await registry.execute(ToolCall("c1", "work", signal=source.signal))
    assert seen == [(result, True)]
    assert seen[0][0] is result


async def test_signal_is_left_alone_afterwards(anyio_backend):
    """No listener stays on the caller's signal."""
    source = CancelSource()
    registry = registry_of(work(done, timeout=LATER), Timeout())
    await registry.execute(ToolCall("c1", "work", signal=source.signal))
    assert not source.signal._listeners


async def test_unknown_tool(anyio_backend):
    """A tool nobody has is UNKNOWN_TOOL, whatever the default."""
    registry = registry_of(work(done), Timeout(TimeoutOptions(default=LATER)))
    assert code(await registry.call("wrok")) == "UNKNOWN_TOOL"


# -- which deadline ----------------------------------------------------------------------------------------------------


async def test_override_before_definition(anyio_backend):
    """``tools`` stands above what the tool declares."""
    registry = registry_of(work(forever, timeout=LATER), Timeout(TimeoutOptions(tools={"work": SOON})))
    assert code(await registry.call("work")) == "TOOL_TIMEOUT"


async def test_definition_before_default(anyio_backend):
    """What the tool declares stands above the default."""
    registry = registry_of(work(forever, timeout=SOON), Timeout(TimeoutOptions(default=LATER)))
    assert code(await registry.call("work")) == "TOOL_TIMEOUT"


async def test_default(anyio_backend):
    """The default is for tools that declare nothing."""
    registry = registry_of(work(forever), Timeout(TimeoutOptions(default=SOON)))
    assert code(await registry.call("work")) == "TOOL_TIMEOUT"


async def test_definition_of_the_agent(anyio_backend):
    """The deadline is that of the definition the calling agent sees."""
    agent = object()
    registry = registry_of(work(done, timeout=LATER), Timeout())
    registry.register(work(forever, timeout=SOON), agent=agent)
    assert code(await registry.call("work", agent=agent)) == "TOOL_TIMEOUT"
    assert (await registry.call("work")).value == "done"


async def test_declared_deadline_beyond_the_bound(anyio_backend):
    """A declared timeout above 2147483.647 s fails the call and says what to set instead; the body never runs."""
    ran = []

    async def body(_args, _exec):
        ran.append(1)
        return "done"

    result = await registry_of(work(body, timeout=2_147_483.648), Timeout()).call("work")
    assert code(result) == "CONFIG_ERROR"
    assert "plugin.timeout.tools.work" in result.error.message
    assert ran == []


# -- company -----------------------------------------------------------------------------------------------------------


def again(times):
    """A wrapper that calls ``times`` times at most, until a call works."""

    async def retry(_execution, call_next):
        for _ in range(times):
            result = await call_next()
            if not result.is_error:
                break
        return result

    return Wrap(retry)


async def test_inside_a_retry(anyio_backend):
    """Inside a retry wrapper every attempt has the whole time."""
    attempts = []

    async def body(_args, _exec):
        attempts.append(1)
        if len(attempts) < 3:
            await anyio.sleep_forever()
        return "third"

    registry = registry_of(work(body, timeout=SOON), again(3), Timeout())
    assert (await registry.call("work")).value == "third"
    assert len(attempts) == 3


async def test_outside_a_retry(anyio_backend):
    """Outside a retry wrapper all attempts share the time; those after it do not begin."""
    attempts = []

    async def body(_args, _exec):
        attempts.append(1)
        await anyio.sleep_forever()

    registry = registry_of(work(body, timeout=SOON), Timeout(), again(3))
    assert code(await registry.call("work")) == "TOOL_TIMEOUT"
    assert len(attempts) == 1


async def test_exception_of_an_inner_wrapper(anyio_backend):
    """What an inner wrapper raises comes out as it is and not in a group."""
    seen = []

    async def broken(_execution, _call_next):
        raise HarnessError("broken", "BROKEN")

    async def outer(_execution, call_next):
        try:
            return await call_next()
        except HarnessError as exc:
            seen.append(exc)
            return ToolSuccess("saved")

    registry = registry_of(work(done, timeout=LATER), Wrap(outer), Timeout(), Wrap(broken))
    assert (await registry.call("work")).value == "saved"
    assert seen[0].code == "BROKEN"


async def test_keyboard_interrupt(anyio_backend):
    """An interrupt passes through bare."""

    async def interrupted(_execution, _call_next):
        raise KeyboardInterrupt

    registry = registry_of(work(done, timeout=LATER), Timeout(), Wrap(interrupted))
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - a group would be caught as well, and fail below
        await registry.call("work")
    assert type(caught.value) is KeyboardInterrupt


async def test_cancelled_caller(anyio_backend):
    """A cancellation of the caller's own task is not turned into a result, and the body unwinds first."""
    started, events = anyio.Event(), []

    async def body(_args, _exec):
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            events.append("unwound")

    registry = registry_of(work(body, timeout=LATER), Timeout())

    async def call():
        try:
            await registry.call("work")
        except anyio.get_cancelled_exc_class():
            events.append("cancelled")
            raise

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await started.wait()
        group.cancel_scope.cancel()
    assert events == ["unwound", "cancelled"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_natively_cancelled_caller(anyio_backend):
    """``Task.cancel()`` passes through, and only once."""
    import asyncio

    started = asyncio.Event()

    async def body(_args, _exec):
        started.set()
        await asyncio.sleep(LATER)

    registry = registry_of(work(body, timeout=LATER), Timeout())
    task = asyncio.create_task(registry.call("work"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def test_calls_side_by_side(anyio_backend):
    """Each call has its own deadline."""
    results = {}

    async def body(args, _exec):
        if args["slow"]:
            await anyio.sleep_forever()
        return "done"

    registry = registry_of(work(body, timeout=SOON), Timeout())

    async def call(slow):
        results[slow] = await registry.call("work", {"slow": slow})

    async with anyio.create_task_group() as group:
        for slow in (True, False):
            group.start_soon(call, slow)
    assert (code(results[True]), results[False].value) == ("TOOL_TIMEOUT", "done")
