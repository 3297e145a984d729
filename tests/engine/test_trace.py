"""Tracing: one record for everything that ran, nested as it ran, and nothing when nobody collects."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from dshhooks.engine.hooks import Hooks
from dshhooks.engine.trace import Trace, current_trace, outcome_of, phase
from hookspecs.decisions import Accept, Allow, ApprovalOutcome, Ask, Block, BlockPrompt, Deny
from hookspecs.execution import ErrorInfo, ToolCall, ToolError, ToolFailure, ToolSuccess
from hookspecs.operations import deny
from tests.tools.kit import Agent, Plugin, execute, registry, tool, wrap

pytestmark = pytest.mark.anyio


def shape(trace: Trace) -> list[tuple[int, str, str, str]]:
    """Depth, hook, plugin and outcome of every record, in order."""
    return [(record.depth, record.hook, record.plugin, record.outcome) for record in trace.records]


def generator(execution: Any) -> Any:
    return (yield)


async def asynchronous(execution: Any, *, call_next: Any) -> Any:
    return await call_next()


async def test_nothing_is_recorded_when_nobody_collects() -> None:
    """Neither before nor after a trace, and plans carry no timing code then."""
    tools = registry(Plugin(tools_pre_execute=lambda execution: None))
    plain = tools.hooks.plan("tools_pre_execute").implementations[0].fn
    with tools.hooks.trace() as trace:
        assert tools.hooks.tracing
        assert tools.hooks.plan("tools_pre_execute").implementations[0].fn is not plain
    await execute(tools)
    assert trace.records == []
    assert not tools.hooks.tracing
    assert tools.hooks.plan("tools_pre_execute").implementations[0].fn is plain
    assert current_trace() is None


async def test_a_whole_call_is_recorded_as_it_nested() -> None:
    """Every phase, hook and guard of one call, with depth and outcome."""
    plugin = Plugin(
        "p",
        tools_pre_execute=lambda execution: Allow(),
        tools_guard=lambda execution: None,
        tools_post_execute=lambda execution, result: Accept(),
        tools_result=lambda execution, result: None,
    )
    tools = registry(
        Plugin("a", tools_execute=wrap(asynchronous)), Plugin("g", tools_execute=wrap(generator)), plugin,
        tools=[tool(finalize_content=lambda exec, result: None)],
    )  # fmt: skip
    tools.guard(lambda execution: None)
    with tools.hooks.trace() as trace:
        await execute(tools)
    assert shape(trace) == [
        (0, "policy", "echo", "allow"),
        (1, "tools_pre_execute", "p", "allow"),
        (1, "guard", "test_a_whole_call_is_recorded_as_it_nested.<locals>.<lambda>", "abstain"),
        (1, "tools_guard", "p", "abstain"),
        (0, "tools_execute", "a", "ok"),
        (1, "tools_execute", "g", "ok"),
        (2, "dispatch", "echo", "ok"),
        (0, "tools_post_execute", "p", "accept"),
        (0, "finalize_content", "echo", "kept"),
        (0, "tools_result", "p", "abstain"),
    ]


async def test_a_record_has_kind_time_and_detail() -> None:
    """Kinds are those of the chain; time includes what is inside; detail says why."""
    tools = registry(Plugin("w", tools_pre_execute=wrap(generator)), Plugin("i", tools_pre_execute=lambda: Deny("no")))
    with tools.hooks.trace() as trace:
        await execute(tools)
    outer, inner = trace.records[1:3]
    assert [(outer.kind, inner.kind)] == [("wrapper", "implementation")]
    assert [(record.outcome, record.detail) for record in (outer, inner)] == [("deny", "no")] * 2
    assert outer.seconds >= inner.seconds >= 0


async def test_what_an_async_hook_does_nests_in_it() -> None:
    """A call made from inside an awaiting implementation is deeper than the implementation."""

    async def policy(execution: Any) -> None:
        await checkpoint()
        if execution.name == "echo":
            await tools.execute(ToolCall("c2", "inner"))

    tools = registry(Plugin("p", tools_pre_execute=policy), tools=[tool(), tool("inner")])
    with tools.hooks.trace() as trace:
        await execute(tools)
    assert [(record.depth, record.hook, record.plugin) for record in trace.records] == [
        (0, "policy", "echo"),
        (1, "tools_pre_execute", "p"),
        (2, "policy", "inner"),
        (3, "tools_pre_execute", "p"),
        (2, "dispatch", "inner"),
        (0, "dispatch", "echo"),
    ]
    assert all(record.outcome != "running" for record in trace.records)


async def test_what_a_body_does_nests_in_its_dispatch() -> None:
    """A composite tool's inner call shows inside the outer one."""

    async def outer(_args: Any, exec: Any) -> None:
        await tools.execute(ToolCall("c2", "inner", parent=exec.token))

    tools = registry(tools=[tool("outer", outer), tool("inner")])
    with tools.hooks.trace() as trace:
        await execute(tools, "outer")
    assert [(r.depth, r.hook, r.plugin) for r in trace.records] == [
        (0, "policy", "outer"), (0, "dispatch", "outer"), (1, "policy", "inner"), (1, "dispatch", "inner"),
    ]  # fmt: skip


async def test_each_attempt_of_a_retry_is_recorded() -> None:
    """call_next() twice is two inner records."""

    async def twice(execution: Any, *, call_next: Any) -> Any:
        await call_next()
        return await call_next()

    tools = registry(Plugin("retry", tools_execute=wrap(twice)), Plugin("g", tools_execute=wrap(generator)))
    with tools.hooks.trace() as trace:
        await execute(tools)
    assert [(r.depth, r.plugin) for r in trace.records if r.hook != "policy"] == [
        (0, "retry"), (1, "g"), (2, "echo"), (1, "g"), (2, "echo"),
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["plain", "async", "generator", "async wrapper"])
async def test_a_failure_is_recorded_where_it_was_raised(form: str) -> None:
    """Outcome "raised", with type and text; the result is the same as without a trace."""

    def plain(execution: Any) -> Any:
        raise ValueError("broken")

    async def later(execution: Any) -> Any:
        await checkpoint()
        raise ValueError("broken")

    def wrapper(execution: Any) -> Any:
        yield
        raise ValueError("broken")

    async def async_wrapper(execution: Any, *, call_next: Any) -> Any:
        await call_next()
        raise ValueError("broken")

    hook = {"plain": plain, "async": later, "generator": wrap(wrapper), "async wrapper": wrap(async_wrapper)}[form]
    tools = registry(Plugin("p", tools_pre_execute=hook))
    untraced = await execute(tools)
    with tools.hooks.trace() as trace:
        assert await execute(tools) == untraced
    (record,) = [record for record in trace.records if record.plugin == "p"]
    assert (record.outcome, record.detail) == ("raised", "ValueError: broken")


async def test_concurrent_traces_do_not_mix() -> None:
    """Each context collects its own calls; one without a trace collects nothing."""
    gates = {name: anyio.Event() for name in "abc"}
    traces: dict[str, Trace] = {}

    async def body(args: Any, _exec: Any) -> None:
        await gates[args["who"]].wait()

    async def policy(execution: Any) -> None:
        await checkpoint()

    tools = registry(Plugin("p", tools_pre_execute=policy), tools=[tool(execute=body)])

    async def traced(who: str) -> None:
        with tools.hooks.trace() as traces[who]:
            await execute(tools, arguments={"who": who})

    async with anyio.create_task_group() as tasks:
        for who in "ab":
            tasks.start_soon(traced, who)
        tasks.start_soon(lambda: execute(tools, arguments={"who": "c"}))
        for _ in range(10):
            await checkpoint()
        for who in "bca":  # the first to begin is not the first to end
            gates[who].set()
            await checkpoint()
    for trace in traces.values():
        assert [record.hook for record in trace.records] == ["policy", "tools_pre_execute", "dispatch"]


async def test_a_nested_trace_collects_for_itself() -> None:
    """The inner block's records are the inner trace's; the outer goes on afterwards."""
    tools = registry()
    with tools.hooks.trace() as outer:
        with tools.hooks.trace() as inner:
            await execute(tools)
        await execute(tools)
    assert len(inner.records) == len(outer.records) == 2


async def test_tasks_started_inside_collect_into_the_trace() -> None:
    """Context is inherited: what a batch does in child tasks is part of it."""
    tools = registry()
    with tools.hooks.trace() as trace:
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(execute, tools)
    assert len(trace.records) == 6


async def test_a_cancelled_call_closes_its_records() -> None:
    """A trace of a call that was torn down says so, and the next call starts at depth 0 again."""

    async def wait(execution: Any) -> None:
        scope.cancel()
        await anyio.sleep_forever()

    tools = registry(Plugin("g", tools_execute=wrap(generator)), Plugin("p", tools_execute=wait))
    with tools.hooks.trace() as trace:
        with anyio.CancelScope() as scope:
            await execute(tools)
        await execute(registry())
        await tools.execute(ToolCall("c2", "nobody", agent=Agent(), arguments={"f": print}))
    assert [record.outcome for record in trace.records if record.plugin in ("g", "p")] == ["raised", "raised"]


async def test_a_guard_that_answers_later_is_closed_under_a_trace() -> None:
    """The coroutine nobody awaits is closed although the trace stood in between."""

    async def later() -> str:
        return "no"

    tools = registry(Plugin("late", tools_guard=lambda: later()))
    with tools.hooks.trace():
        assert (await execute(tools)).is_error


def test_a_phase_without_a_trace_yields_nothing() -> None:
    """Call sites ask for no record when nobody collects."""
    with phase("anything") as record:
        assert record is None


@pytest.mark.parametrize(
    ("answer", "hook", "expected"),
    [
        (None, "", ("abstain", "")),
        (Allow(), "", ("allow", "")),
        (Deny("why"), "", ("deny", "why")),
        (Ask("sure?"), "", ("ask", "sure?")),
        (Ask(), "", ("ask", "")),
        (BlockPrompt("why"), "", ("block", "why")),
        (Accept(), "", ("accept", "")),
        (Block("bad"), "", ("block", "bad")),
        (ToolSuccess(1), "", ("ok", "")),
        (ToolFailure(ToolError("m")), "", ("failure", "m")),
        (ToolFailure(ToolError("m", ErrorInfo("E", "CODE"))), "", ("failure", "CODE: m")),
        (ApprovalOutcome.REJECTED, "approval_request", ("rejected", "")),
        ("why", "tools_guard", ("deny", "why")),
        ("a system prompt", "system_prompt_assemble", ("str", "")),
        (deny("budget", "used up"), "operation_guard", ("deny", "budget: used up")),
        (ValueError("broken"), "", ("raised", "ValueError: broken")),
        ([1], "", ("list", "")),
    ],
)
def test_answers_are_put_into_words(answer: Any, hook: str, expected: tuple[str, str]) -> None:
    """A word and a detail for people, for every kind of answer."""
    assert outcome_of(answer, hook) == expected


async def test_tracing_survives_a_plugin_that_comes_and_goes() -> None:
    """Plans compiled under a trace are instrumented, whenever the plugin came."""
    hooks = Hooks()
    with hooks.trace() as trace:
        with hooks.register(Plugin("late", session_flush=lambda: None)):
            await hooks.call("session_flush", session=None)
        await hooks.call("session_flush", session=None)
    assert [record.plugin for record in trace.records] == ["late"]
