"""What is tried again, what is not, and how a pause ends."""

from __future__ import annotations

import logging

import anyio
import pytest
from dshhooks_retry import Retry, RetryOptions

from dshhooks import (
    AbortError,
    Block,
    CancelSource,
    Deny,
    ErrorInfo,
    HarnessError,
    HookContext,
    PluginSource,
    ToolArgsError,
    ToolCall,
    ToolDefinition,
    ToolError,
    ToolFailure,
    ToolOutput,
    ToolRegistry,
    hookimpl,
)

pytestmark = pytest.mark.anyio


class FlakyError(HarnessError):
    """A failure that passes."""


def at_once(**options):
    """A plugin that does not pause and retries FLAKY."""
    return Retry(RetryOptions(**{"initial_delay": 0, "jitter": 0, "codes": ["FLAKY"], **options}))


class Tool:
    """A tool that fails with the given errors, one a call, and then works; it counts its calls."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.calls = 0

    async def execute(self, _args, _exec):
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return "done"

    def definition(self, **parts):
        output = ToolOutput({"type": "string"}, lambda _args, value: value)
        parts = {"idempotent": True, **parts}
        return ToolDefinition("work", "works", {"type": "object"}, output, self.execute, **parts)


def flaky(times=1):
    return [FlakyError("try again", "FLAKY") for _ in range(times)]


def registry_of(definition, *plugins):
    """A registry with one tool; the first plugin is outermost."""
    registry = ToolRegistry()
    registry.register(definition)
    for plugin in reversed(plugins):
        registry.hooks.register(plugin)
    return registry


class Wrap:
    """A wrapper made of a function."""

    def __init__(self, fn):
        self._fn = fn

    @hookimpl(wrapper=True)
    async def tools_execute(self, execution, *, call_next):
        return await self._fn(execution, call_next)


# -- what is tried again -----------------------------------------------------------------------------------------------


async def test_failure_that_passes(anyio_backend):
    """A listed failure of an idempotent tool is tried again, and the result that counts is the last."""
    tool = Tool(*flaky(2))
    assert (await registry_of(tool.definition(), at_once()).call("work")).value == "done"
    assert tool.calls == 3


async def test_last_result_as_it_is(anyio_backend):
    """After the last attempt its very result is returned."""
    tool, results = Tool(*flaky(9)), []

    async def note(_execution, call_next):
        results.append(await call_next())
        return results[-1]

    final = []

    async def outer(_execution, call_next):
        final.append(await call_next())
        return final[-1]

    result = await registry_of(tool.definition(), Wrap(outer), at_once(), Wrap(note)).call("work")
    assert (tool.calls, len(results), result.error.info.code) == (3, 3, "FLAKY")
    assert final[0] is results[-1]


async def test_success_is_the_object_of_the_tool(anyio_backend):
    """A success passes through as the very object that was made."""
    seen = []

    async def note(_execution, call_next):
        seen.append(await call_next())
        return seen[-1]

    result = await registry_of(Tool().definition(), at_once(), Wrap(note)).call("work")
    assert result is seen[0]


async def test_error_class_name(anyio_backend):
    """A failure may be listed by the name of its error class."""
    tool = Tool(*flaky())
    plugin = at_once(codes=[], names=["FlakyError"])
    assert (await registry_of(tool.definition(), plugin).call("work")).value == "done"


async def test_tool_listed_by_name(anyio_backend):
    """A tool that declares nothing is tried again when it is listed."""
    tool = Tool(*flaky())
    registry = registry_of(tool.definition(idempotent=False), at_once(tools=["work"]))
    assert (await registry.call("work")).value == "done"


async def test_definition_of_the_agent(anyio_backend):
    """Whether a tool may run twice is said by the definition the calling agent sees."""
    agent, tool = object(), Tool(*flaky())
    registry = registry_of(Tool().definition(), at_once())
    registry.register(tool.definition(idempotent=False), agent=agent)
    assert (await registry.call("work", agent=agent)).is_error
    assert tool.calls == 1


async def test_deferred_contexts(anyio_backend):
    """Contexts deferred by every attempt come with the result, in order."""
    tool = Tool(*flaky())
    inner = tool.execute

    async def execute(args, execution):
        execution.defer_context(HookContext(f"attempt {tool.calls + 1}", PluginSource("test")))
        return await inner(args, execution)

    tool.execute = execute
    result = await registry_of(tool.definition(), at_once()).call("work")
    assert [context.content[0].text for context in result.contexts] == ["attempt 1", "attempt 2"]


async def test_inner_wrappers_run_again(anyio_backend):
    """Case 77: every attempt runs the whole rest of the chain."""
    tool, count = Tool(*flaky()), []

    async def counting(_execution, call_next):
        count.append(1)
        return await call_next()

    await registry_of(tool.definition(), at_once(), Wrap(counting)).call("work")
    assert (tool.calls, len(count)) == (2, 2)


async def test_log(anyio_backend, caplog):
    """Each repetition is logged with tool and call, without arguments."""
    with caplog.at_level(logging.INFO, "dshhooks.retry"):
        await registry_of(Tool(*flaky()).definition(), at_once()).call("work", {"secret": "s3cret"})
    (record,) = [record for record in caplog.records if record.name == "dshhooks.retry"]
    assert "attempt 1 of tool 'work'" in record.getMessage()
    assert "s3cret" not in record.getMessage()


# -- what is not -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("idempotent", [False, 1, "yes"])
async def test_tool_that_may_not_run_twice(anyio_backend, idempotent):
    """Without exactly ``idempotent=True`` and unlisted, a tool is called once."""
    tool = Tool(*flaky())
    assert (await registry_of(tool.definition(idempotent=idempotent), at_once()).call("work")).is_error
    assert tool.calls == 1


@pytest.mark.parametrize(
    "error",
    [
        HarnessError("no", "OTHER"),
        RuntimeError("foreign exceptions have neither code nor name"),
        ToolArgsError("bad arguments"),
        AbortError("stopped"),
        AbortError("stopped", "ABORTED_BEFORE_DISPATCH"),
    ],
    ids=lambda error: f"{type(error).__name__}-{getattr(error, 'code', '')}",
)
async def test_failures_that_do_not_pass(anyio_backend, error):
    """Unlisted and foreign failures, invalid arguments and aborts are not tried again, not even by class name."""
    tool = Tool(error)
    plugin = at_once(names=["ToolArgsError", "AbortError", "RuntimeError"])
    assert (await registry_of(tool.definition(), plugin).call("work")).is_error
    assert tool.calls == 1


async def test_denial_by_policy(anyio_backend):
    """A denied call never comes here: the tool is not called, and the policy is asked once."""
    asked = []

    class Policy:
        @hookimpl
        def tools_pre_execute(self, execution):
            asked.append(execution.name)
            return Deny("no")

    tool = Tool()
    assert (await registry_of(tool.definition(), at_once(), Policy()).call("work")).is_error
    assert (tool.calls, len(asked)) == (0, 1)


async def test_denial_by_a_wrapper(anyio_backend):
    """A failure without a code, as a denial is, is not tried again."""
    count = []

    async def refuse(_execution, _call_next):
        count.append(1)
        return ToolFailure(ToolError("no"))

    await registry_of(Tool().definition(), at_once(), Wrap(refuse)).call("work")
    assert len(count) == 1


async def test_block_after_the_call(anyio_backend):
    """What post-execute blocks is not tried again."""

    class Blocker:
        @hookimpl
        def tools_post_execute(self):
            return Block("no")

    tool = Tool()
    assert (await registry_of(tool.definition(), at_once(), Blocker()).call("work")).is_error
    assert tool.calls == 1


async def test_one_attempt(anyio_backend):
    """``attempts = 1`` switches the plugin off."""
    tool = Tool(*flaky())
    assert (await registry_of(tool.definition(), at_once(attempts=1)).call("work")).is_error
    assert tool.calls == 1


async def test_exception_of_an_inner_wrapper(anyio_backend):
    """What an inner wrapper raises passes through as it is, on the first attempt."""
    count = []

    async def broken(_execution, _call_next):
        count.append(1)
        raise FlakyError("broken", "FLAKY")

    seen = []

    async def outer(_execution, call_next):
        try:
            return await call_next()
        except FlakyError as exc:
            seen.append(exc)
            raise

    result = await registry_of(Tool().definition(), Wrap(outer), at_once(), Wrap(broken)).call("work")
    assert (result.error.info, len(count), len(seen)) == (ErrorInfo("FlakyError", "FLAKY"), 1, 1)


# -- pauses ------------------------------------------------------------------------------------------------------------


def pauses_of(monkeypatch):
    """Keep what each pause would have taken, and take none."""
    import dshhooks_retry.plugin as module

    taken = []

    async def pause(seconds, _signal):
        taken.append(seconds)

    monkeypatch.setattr(module, "_pause", pause)
    return taken


async def test_pauses_double(anyio_backend, monkeypatch):
    """Each pause is twice the one before, up to the longest."""
    pauses = pauses_of(monkeypatch)
    plugin = at_once(attempts=6, initial_delay=1, max_delay=5)
    await registry_of(Tool(*flaky(9)).definition(), plugin).call("work")
    assert pauses == [1, 2, 4, 5, 5]


async def test_jitter(anyio_backend, monkeypatch):
    """Jitter is added to every pause, the longest ones too."""
    pauses = pauses_of(monkeypatch)
    plugin = at_once(attempts=40, initial_delay=1, max_delay=1, jitter=0.5)
    await registry_of(Tool(*flaky(99)).definition(), plugin).call("work")
    assert len(pauses) == 39
    assert all(1 <= pause <= 1.5 for pause in pauses)
    assert len(set(pauses[20:])) > 1


async def test_abort_during_a_pause(anyio_backend):
    """An abort of the caller ends a pause; the last result is returned and the tool is not called again."""
    source, failed, results = CancelSource(), anyio.Event(), []
    tool = Tool(*flaky(9))

    async def signalling(_execution, call_next):
        result = await call_next()
        failed.set()
        return result

    registry = registry_of(tool.definition(), at_once(initial_delay=600, max_delay=600), Wrap(signalling))

    async def call():
        results.append(await registry.execute(ToolCall("c1", "work", signal=source.signal)))

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await failed.wait()
        await anyio.wait_all_tasks_blocked()  # it pauses by now
        source.abort("enough")
    assert (tool.calls, results[0].error.info.code) == (1, "FLAKY")


async def test_abort_during_an_attempt(anyio_backend):
    """A listed failure that comes after the caller aborted is not tried again, and there is no pause."""
    source, tool = CancelSource(), Tool(*flaky(9))

    async def aborting(_execution, call_next):
        source.abort("enough")
        return await call_next()

    async def replaced(_execution, call_next):
        await call_next()
        return ToolFailure(ToolError("flaky", ErrorInfo("FlakyError", "FLAKY")))

    plugin = at_once(initial_delay=600, max_delay=600)
    registry = registry_of(tool.definition(), plugin, Wrap(replaced), Wrap(aborting))
    result = await registry.execute(ToolCall("c1", "work", signal=source.signal))
    assert (tool.calls, result.error.info.code) == (0, "FLAKY")


async def test_cancelled_caller(anyio_backend):
    """A cancellation of the caller's own task passes through a pause."""
    failed, ended = anyio.Event(), []

    async def signalling(_execution, call_next):
        result = await call_next()
        failed.set()
        return result

    registry = registry_of(Tool(*flaky(9)).definition(), at_once(initial_delay=600, max_delay=600), Wrap(signalling))

    async def call():
        try:
            await registry.call("work")
        except anyio.get_cancelled_exc_class():
            ended.append("cancelled")
            raise

    async with anyio.create_task_group() as group:
        group.start_soon(call)
        await failed.wait()
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert ended == ["cancelled"]


async def test_cancelled_attempt(anyio_backend):
    """A cancellation of the caller's own task passes through an attempt."""
    started, ended = anyio.Event(), []
    tool = Tool()

    async def forever(_args, _exec):
        started.set()
        await anyio.sleep_forever()

    tool.execute = forever
    registry = registry_of(tool.definition(), at_once())

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
    assert ended == ["cancelled"]


async def test_calls_side_by_side(anyio_backend):
    """Calls that run at once count their attempts apart."""
    calls = {"a": 0, "b": 0, "c": 0}
    tool = Tool()

    async def execute(args, _exec):
        calls[args["who"]] += 1
        await anyio.lowlevel.checkpoint()
        raise FlakyError("no", "FLAKY")

    tool.execute = execute
    registry = registry_of(tool.definition(), at_once())
    async with anyio.create_task_group() as group:
        for who in calls:
            group.start_soon(registry.call, "work", {"who": who})
    assert calls == {"a": 3, "b": 3, "c": 3}


# -- with deadlines ----------------------------------------------------------------------------------------------------


@pytest.fixture
def deadline():
    """The timeout plugin, where it is installed too."""
    return pytest.importorskip("dshhooks_timeout").Timeout()


async def test_deadline_of_each_attempt(anyio_backend, deadline):
    """Around a timeout plugin, a late attempt is tried again with the whole time."""
    tool = Tool()

    async def execute(_args, _exec):
        tool.calls += 1
        if tool.calls < 3:
            await anyio.sleep_forever()
        return "third"

    tool.execute = execute
    plugin = at_once(codes=["TOOL_TIMEOUT"])
    registry = registry_of(tool.definition(timeout=0.05), plugin, deadline)
    assert (await registry.call("work")).value == "third"


async def test_deadline_of_all_attempts(anyio_backend, deadline):
    """Inside a timeout plugin, the deadline ends the pause and there is no further attempt."""
    tool = Tool(*flaky(9))
    plugin = at_once(initial_delay=600, max_delay=600)
    registry = registry_of(tool.definition(timeout=0.05), deadline, plugin)
    result = await registry.call("work")
    assert (tool.calls, result.error.info.code) == (1, "TOOL_TIMEOUT")
