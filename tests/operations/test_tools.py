"""ToolCall and ToolExecution: where they begin, how they end, what observers get (spec/operations.md 1.13, B1-B3)."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from dshhooks import content_text
from dshhooks import tool as make_tool
from dshhooks.operations import Coordinates, Operation, Outcome, Place, current_operation, deny
from dshhooks.operations.errors import OperationCanceled
from dshhooks.operations.place import enter_place
from hookspecs.decisions import Accept, Allow, Block, Deny
from hookspecs.execution import ToolCall
from hookspecs.json import MISSING
from hookspecs.signal import CancelSource
from tests.operations.watch import VALUES, Guarding, Watch
from tests.tools.kit import Phases, Plugin, aborted_source, code, execute, message, never, registry, text, tool, wrap

pytestmark = pytest.mark.anyio

CALL, EXECUTION = Operation.TOOL_CALL, Operation.TOOL_EXECUTION
BOTH = (CALL, EXECUTION)
COMPLETED, DENIED, FAILED, CANCELED = Outcome.COMPLETED, Outcome.DENIED, Outcome.FAILED, Outcome.CANCELED


def boom(*_args: Any) -> Any:
    """A part that breaks."""
    raise ValueError("boom")


# -- admission -------------------------------------------------------------------------------------------------------


async def test_a_refused_call_meets_nobody_but_its_observers() -> None:
    """Case 85: lookup, prepare, access and run counts are zero, the result shows the reason."""
    watch, phases, asked = Watch(*BOTH), Phases(), []
    pre = Plugin("pre", tools_pre_execute=lambda execution: asked.append(execution))
    tools = registry(
        watch, Guarding(lambda _call: deny("test.no", "not today")), phases.plugin, pre, tools=[tool(execute=never)]
    )
    result = await execute(tools)
    assert (text(result), code(result), asked) == ("Error: denied: not today", None, [])
    assert phases.reached == ["result"]
    assert watch.log == ["begin tool_call", "finish tool_call denied"]
    finished = watch.one()
    assert (finished.error.code, finished.payload.permission_effect, finished.payload.is_error) == ("test.no", "", True)


@pytest.mark.parametrize("raised", [ValueError("s3cret"), SystemExit("s3cret"), TimeoutError("s3cret")])
async def test_a_failing_guard_shows_nothing_of_what_it_said(raised: BaseException) -> None:
    """Case 86: fixed text for the model, the original for the observers; a time-out is a failure, too."""

    def fail(_call: Any) -> Any:
        raise raised

    watch = Watch(CALL)
    result = await execute(registry(watch, Guarding(fail, "keeper"), tools=[tool(execute=never)]))
    assert text(result) == "Error: tool_call was blocked: plugin 'keeper' failed in hook 'operation_guard'"
    assert code(result) == "PLUGIN_FAILED"
    assert watch.outcomes() == [FAILED]
    assert watch.one().error.cause is raised


@pytest.mark.parametrize("answer", [False, True, "no", 0, Deny("no")])
async def test_a_guard_of_the_hosts_own_that_answers_nonsense_blocks(answer: Any) -> None:
    """Case 86: whatever is neither a denial nor None is a failure of the guard; without a plugin, GUARD_FAILED."""
    from dshhooks.operations import Guard, OperationSet

    tools = registry(tools=[tool(execute=never)])
    tools.operations.adopt(OperationSet("v1", [Guard(CALL, lambda _call: answer)]))
    assert code(await execute(tools)) == "GUARD_FAILED"


async def test_a_guards_refusal_stands_above_a_call_that_has_no_identity() -> None:
    """Case 89, B3: the guard is asked first, and sees empty ids."""
    seen: list[Any] = []

    def refuse(call: Any) -> Any:
        seen.append((call.payload.execution_id, call.payload.call_id))
        return deny("test.no", "not today")

    tools = registry(Guarding(refuse))
    assert message(await tools.execute(ToolCall(7, "echo"))) == "denied: not today"  # type: ignore[arg-type]
    assert seen == [("", "")]


async def test_both_positions_of_guards_are_in_the_trace() -> None:
    """Spec 2: admission guards come before policy, final guards after it."""
    from dshhooks.engine.trace import Trace

    tools = registry(Guarding(lambda _call: None, "first"), Plugin("last", tools_guard=lambda execution: "no"))
    with tools.hooks.trace() as trace:
        await execute(tools)
    assert isinstance(trace, Trace)
    records = [(record.hook, record.plugin, record.outcome, record.depth) for record in trace.records]
    assert records == [
        ("operation_guard", "first", "abstain", 0),
        ("admission", "echo", "allow", 0),
        ("policy", "echo", "deny", 0),
        ("tools_guard", "last", "deny", 1),
    ]


async def test_a_call_cancelled_at_its_admission_was_not_denied() -> None:
    """Spec 2: the trace tells a guard's no from an observer that cancelled while guards were asked."""

    async def ask(_call: Any) -> None:
        current_operation().cancel("enough")  # type: ignore[union-attr]
        await anyio.sleep_forever()

    tools = registry(Guarding(ask), tools=[tool(execute=never)])
    with tools.hooks.trace() as trace:
        result = await execute(tools)
    assert code(result) == "ABORTED_BEFORE_DISPATCH"
    assert [record.outcome for record in trace.records if record.hook == "admission"] == ["aborted"]


async def test_an_async_guard_waits_and_a_cancelled_caller_ends_it() -> None:
    """1.11: what begins is finished as canceled when the caller's own task is cancelled in a guard."""
    watch = Watch(CALL)

    async def ask(_call: Any) -> None:
        scope.cancel()
        await anyio.sleep_forever()

    tools = registry(watch, Guarding(ask), tools=[tool(execute=never)])
    with anyio.CancelScope() as scope:
        await execute(tools)
        raise AssertionError("not reached")
    assert watch.outcomes() == [CANCELED]


# -- nesting and payloads --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threaded", [False, True])
async def test_observers_values_reach_the_tool(threaded: bool) -> None:
    """Case 87: the two nest, and what their begins set is seen by the body, in a worker thread as well."""
    watch, seen = Watch(*BOTH), []

    async def body(_args: Any, _exec: Any) -> str:
        seen.append(VALUES.get())
        return "done"

    def plain(_args: Any, _exec: Any) -> str:
        seen.append(VALUES.get())
        return "done"

    await execute(registry(watch, tools=[tool(execute=plain if threaded else body)]))
    assert seen == [("tool_call", "tool_execution")]
    assert VALUES.get() == ()
    assert watch.log == [
        "begin tool_call",
        "begin tool_execution",
        "finish tool_execution completed",
        "finish tool_call completed",
    ]


async def test_a_finish_has_what_became_of_the_call() -> None:
    """Case 87: one minted id, raw arguments, summary, permission, the full result and its preview."""
    watch = Watch(*BOTH)
    await execute(registry(watch), arguments={"b": [1], "a": None})
    begun, called, ran = watch.calls[0].payload, watch.one(CALL).payload, watch.one(EXECUTION).payload
    assert (begun.summary, begun.result, begun.is_error) == ("echo", None, None)
    assert begun.execution_id == called.execution_id == ran.execution_id != ""
    assert (called.call_id, called.tool_name, called.arguments) == ("c1", "echo", '{"a":null,"b":[1]}')
    assert called.summary == 'echo {"a":null,"b":[1]}'
    assert (called.permission_effect, called.permission_reason, called.is_error) == ("approve", "", False)
    assert called.result.value == {"a": None, "b": [1]}
    assert called.preview == ran.preview == text(called.result)


async def test_two_calls_have_two_execution_ids() -> None:
    """1.5: the execution id is minted by us and not derived from the model's call id."""
    watch = Watch(CALL)
    tools = registry(watch)
    await execute(tools)
    await execute(tools)
    first, second = (result.payload.execution_id for result in watch.of(CALL))
    assert first != second


async def test_a_nested_call_is_inside_the_execution_that_makes_it() -> None:
    """1.12: a call made by a tool inherits its execution's values, and where that is."""
    watch, seen = Watch(*BOTH), []

    async def outer(_args: Any, execution: Any) -> Any:
        inner = ToolCall("c2", "inner", {}, execution.signal, parent=execution.token)
        return (await tools.execute(inner)).value  # type: ignore[union-attr]

    async def inner(_args: Any, _exec: Any) -> str:
        seen.append(VALUES.get())
        return "in"

    async def at_a_place() -> None:
        enter_place(Place(Coordinates("s", "l", "1", "2"), "reviewer"))
        await execute(tools, "outer")

    tools = registry(watch, tools=[tool("outer", outer), tool("inner", inner)])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(at_a_place)
    assert seen == [("tool_call", "tool_execution") * 2]
    assert {call.coordinates for call in watch.calls} == {Coordinates("s", "l", "1", "2")}
    assert {call.agent_name for call in watch.calls} == {"reviewer"}


async def test_a_call_outside_every_loop_has_no_coordinates() -> None:
    """1.5: absent parts are empty."""
    watch = Watch(*BOTH)
    await execute(registry(watch))
    assert {(call.coordinates, call.agent_name, call.cause) for call in watch.calls} == {(Coordinates(), "", None)}


async def test_hooks_get_the_full_result_and_the_model_the_shaped_one() -> None:
    """Case 94: what post-execute or the tool's last word cuts is whole for the observers; the preview is bounded."""
    watch, long = Watch(*BOTH), "x" * 5000
    cut = Plugin("cut", tools_post_execute=lambda execution, result: Accept(content=content_text(result.content)[:10]))

    async def body(_args: Any, _exec: Any) -> Any:
        return {"nested": [long]}

    tools = registry(watch, cut, tools=[tool(execute=body, finalize_content=lambda _exec, result: "y")])
    result = await execute(tools)
    assert text(result) == "y"
    for operation in BOTH:
        payload = watch.one(operation).payload
        assert payload.result.value == {"nested": [long]}
        assert long in text(payload.result)
    assert watch.one(CALL).payload.preview == "y"
    assert len(watch.one(EXECUTION).payload.preview.encode()) <= 1024


async def test_a_block_is_no_shaping() -> None:
    """Case 94: another outcome is another result: the call's is the block, the execution's the tool's."""
    watch = Watch(*BOTH)
    block = Plugin("block", tools_post_execute=lambda execution, result: Block("hidden"))
    await execute(registry(watch, block))
    assert text(watch.one(CALL).payload.result) == "hidden"
    assert not watch.one(EXECUTION).payload.is_error


HOSTILE = ("a" * 5000, "é" * 3000, "\x00\x1b[31m\r\nred\x7f\x85", "lone \ud800 surrogate", "\U0001f600" * 2000)


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("source", ["tool", "policy", "error"])
async def test_hostile_diagnostics_are_shown_bounded(hostile: str, source: str) -> None:
    """Case 95: at most 1024 bytes of valid text without control characters, whoever said it."""
    watch = Watch(*BOTH)

    async def body(_args: Any, _exec: Any) -> str:
        if source == "error":
            raise ValueError(hostile)
        return hostile

    policy = Plugin("policy", tools_pre_execute=lambda execution: Deny(hostile) if source == "policy" else Allow())
    await execute(registry(watch, policy, tools=[tool(execute=body)]), arguments={"a": hostile})
    for result in watch.results:
        shown = [
            result.payload.preview,
            *(getattr(result.payload, name, "") for name in ("summary", "permission_reason")),
        ]
        assert any(shown)
        for line in shown:
            assert len(line.encode()) <= 1024
            assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in line)


# -- how they end ----------------------------------------------------------------------------------------------------


async def returns_nothing(_args: Any, _exec: Any) -> None:
    """A body that forgets its value."""


async def crashes(_args: Any, _exec: Any) -> None:
    """A body that breaks."""
    raise ValueError("boom")


async def exits(_args: Any, _exec: Any) -> None:
    """A body that thinks it is a script."""
    raise SystemExit(3)


@pytest.mark.parametrize(("body", "error"), [(crashes, ValueError), (returns_nothing, None), (exits, SystemExit)])
async def test_a_failing_tool_fails_the_execution_and_completes_the_call(body: Any, error: Any) -> None:
    """Case 88: ToolExecution failed with the original exception, ToolCall completed with is_error."""
    watch = Watch(*BOTH)
    result = await execute(registry(watch, tools=[tool(execute=body, schema={"type": "integer"})]))
    assert result.is_error
    assert (watch.outcomes(EXECUTION), watch.outcomes(CALL)) == ([FAILED], [COMPLETED])
    assert watch.one(EXECUTION).payload.is_error
    assert watch.one(CALL).payload.is_error
    if error is not None:
        assert type(watch.one(EXECUTION).error) is error


async def test_a_retried_tool_has_failed_only_if_its_last_attempt_has() -> None:
    """Case 88: the error of an attempt that did not count is not the execution's."""
    watch, attempts = Watch(*BOTH), []

    async def body(_args: Any, _exec: Any) -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise ValueError("boom")
        return "done"

    async def retry(execution: Any, *, call_next: Any) -> Any:
        await call_next()
        return await call_next()

    await execute(registry(watch, Plugin("retry", tools_execute=wrap(retry)), tools=[tool(execute=body)]))
    assert watch.outcomes(EXECUTION) == [COMPLETED]
    assert watch.one(EXECUTION).error is None


@make_tool
async def strict(n: int) -> int:
    """A tool with an opinion on its arguments."""
    return n


@pytest.mark.parametrize(
    ("call", "outcome", "error"),
    [
        (ToolCall(7, "strict", {"n": 1}), FAILED, TypeError),  # type: ignore[arg-type]
        (ToolCall("c1", "nobody", {}), COMPLETED, None),
        (ToolCall("c1", "strict", {"n": "x"}), COMPLETED, None),
        (ToolCall("c1", "strict", {"n": {1}}), COMPLETED, None),
        (ToolCall("c1", "denied", {}), COMPLETED, None),
        (ToolCall("c1", "guarded", {}), COMPLETED, None),
    ],
    ids=["id", "unknown", "arguments", "unsealable", "policy", "guard"],
)
async def test_domain_failures_are_completed_calls(call: ToolCall, outcome: Outcome, error: Any) -> None:
    """Case 89: only a call without an identity has failed; unknown tools, bad arguments and a no have completed."""
    watch = Watch(CALL)
    policy = Plugin(
        "policy",
        tools_pre_execute=lambda execution: Deny("no") if execution.name == "denied" else None,
        tools_guard=lambda execution: "no" if execution.name == "guarded" else None,
    )
    result = await registry(watch, policy, tools=[strict, tool("denied"), tool("guarded")]).execute(call)
    assert result.is_error
    assert watch.outcomes() == [outcome]
    assert type(watch.one().error) is (error or type(None))
    assert watch.one().payload.is_error


@pytest.mark.parametrize("where", ["tools_pre_execute", "tools_guard"])
async def test_a_no_is_a_permission_that_was_denied(where: str) -> None:
    """Case 87, spec 2: policy and final guards decide the permission, with their reason."""
    watch = Watch(CALL)
    answer = Deny("house rule") if where == "tools_pre_execute" else "house rule"
    await execute(registry(watch, Plugin("policy", **{where: lambda execution: answer})))
    payload = watch.one().payload
    assert (payload.permission_effect, payload.permission_reason) == ("deny", "house rule")


def broken(hook: str) -> Plugin:
    """A plugin that breaks in one hook."""
    if hook == "tools_post_execute":
        return Plugin("broken", tools_post_execute=lambda execution, result: boom())
    return Plugin("broken", **{hook: lambda execution: boom()})


@pytest.mark.parametrize("hook", ["tools_pre_execute", "tools_guard", "tools_post_execute"])
async def test_a_plugin_that_breaks_around_the_execution_fails_the_call(hook: str) -> None:
    """Case 92: a fixed kind of error result, one failed finish with the original error, no permission decided by it."""
    watch = Watch(CALL)
    result = await execute(registry(watch, broken(hook)))
    assert code(result) == "PLUGIN_FAILED"
    assert watch.outcomes() == [FAILED]
    assert type(watch.one().error) is ValueError
    assert watch.one().payload.permission_effect == ("approve" if hook == "tools_post_execute" else "")


async def test_a_registry_guard_that_breaks_fails_the_call() -> None:
    """Case 92: the guard's failure is GUARD_FAILED, and the call's own."""
    watch = Watch(CALL)
    tools = registry(watch)
    tools.guard(boom)
    assert code(await execute(tools)) == "GUARD_FAILED"
    assert watch.outcomes() == [FAILED]


async def test_a_last_word_that_breaks_fails_the_call() -> None:
    """Case 92: the tool ran; what broke is the dependency that finishes its result."""
    watch = Watch(*BOTH)
    await execute(registry(watch, tools=[tool(finalize_content=boom)]))
    assert (watch.outcomes(EXECUTION), watch.outcomes(CALL)) == ([COMPLETED], [FAILED])


async def test_a_wrapper_that_breaks_fails_the_execution() -> None:
    """Case 92, 1.13: wrappers run inside the ToolExecution, so their failure is that operation's."""
    watch = Watch(*BOTH)

    async def wrapper(execution: Any, *, call_next: Any) -> Any:
        raise ValueError("boom")

    assert code(await execute(registry(watch, Plugin("w", tools_execute=wrap(wrapper))))) == "PLUGIN_FAILED"
    assert (watch.outcomes(EXECUTION), watch.outcomes(CALL)) == ([FAILED], [COMPLETED])
    assert type(watch.one(EXECUTION).error) is ValueError


async def test_an_interrupt_passes_and_everything_is_finished() -> None:
    """1.11: a KeyboardInterrupt in the body ends both as failed and is the same object outside."""
    watch, interrupt = Watch(*BOTH), KeyboardInterrupt()

    async def body(_args: Any, _exec: Any) -> None:
        raise interrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        await execute(registry(watch, tools=[tool(execute=body)]))
    assert caught.value is interrupt
    assert (watch.outcomes(EXECUTION), watch.outcomes(CALL)) == ([FAILED], [FAILED])
    assert watch.one(CALL).error is interrupt


# -- cancellation ----------------------------------------------------------------------------------------------------


async def test_a_call_that_was_cancelled_before_it_began_is_canceled() -> None:
    """Case 90: the caller's signal had aborted; no policy, no execution."""
    watch, phases = Watch(*BOTH), Phases()
    result = await execute(registry(watch, phases.plugin), signal=aborted_source().signal)
    assert code(result) == "ABORTED_BEFORE_DISPATCH"
    assert (watch.outcomes(CALL), watch.of(EXECUTION)) == ([CANCELED], [])


async def test_a_call_whose_caller_aborts_is_canceled_with_its_execution() -> None:
    """B2: both are canceled when the caller's signal ends the body."""
    watch, source = Watch(*BOTH), CancelSource()

    async def body(_args: Any, _exec: Any) -> None:
        source.abort("enough")
        await anyio.sleep_forever()

    result = await execute(registry(watch, tools=[tool(execute=body)]), signal=source.signal)
    assert code(result) == "ABORTED"
    assert (watch.outcomes(EXECUTION), watch.outcomes(CALL)) == ([CANCELED], [CANCELED])


async def test_nothing_detaches_an_execution_from_its_caller() -> None:
    """Case 96: whatever a ToolExecution observer does, the outer scope's cancellation ends both, as canceled."""

    def detach(call: Any) -> None:
        operation = current_operation()
        assert operation is not None
        with suppress(AttributeError):
            operation.token = None  # type: ignore[misc]
        operation.deadline_at_most(float("inf"))

    watch = Watch(*BOTH, begin=detach)

    async def body(_args: Any, _exec: Any) -> None:
        scope.cancel()
        await anyio.sleep_forever()

    with anyio.CancelScope() as scope:
        await execute(registry(watch, tools=[tool(execute=body)]))
        raise AssertionError("not reached")
    assert (watch.outcomes(EXECUTION), watch.outcomes(CALL)) == ([CANCELED], [CANCELED])


def cancels(operation: Operation) -> Any:
    """A begin that cancels one kind of operation at once."""

    def begin(call: Any) -> None:
        if call.operation is operation:
            current_operation().cancel("observer")  # type: ignore[union-attr]

    return begin


@pytest.mark.parametrize("operation", BOTH)
async def test_an_observer_cancels_before_the_body(operation: Operation) -> None:
    """1.14, P5: an operation cancelled in its begin runs nothing, not even a body that never waits."""
    watch, told = Watch(*BOTH, begin=cancels(operation)), []
    listener = Plugin("listener", tools_result=lambda execution, result: told.append(result))
    result = await execute(registry(watch, listener, tools=[tool(execute=never)]))
    assert code(result) == "ABORTED_BEFORE_DISPATCH"
    assert told == [result]
    assert watch.outcomes(CALL) == [CANCELED]
    assert watch.outcomes(EXECUTION) == ([CANCELED] if operation is EXECUTION else [])
    assert type(watch.one(operation).error) is OperationCanceled


@pytest.mark.parametrize("operation", BOTH)
@pytest.mark.parametrize("kind", ["async", "signal", "thread"])
async def test_an_observer_cancels_a_running_body(operation: Operation, kind: str) -> None:
    """1.14: the body ends, by its scope or by the signal it watches; the caller goes on and has an error result."""
    current: dict[Operation, Any] = {}
    watch = Watch(*BOTH, begin=lambda call: current.setdefault(call.operation, current_operation()))
    running, seen = anyio.Event(), threading.Event()

    async def waits(_args: Any, _exec: Any) -> None:
        running.set()
        await anyio.sleep_forever()

    async def watches(_args: Any, execution: Any) -> str:
        running.set()
        await execution.signal.wait()
        return "partly"

    def blocks(_args: Any, execution: Any) -> str:
        execution.signal.add_listener(seen.set)
        anyio.from_thread.run_sync(running.set)
        seen.wait()
        return "partly"

    body = {"async": waits, "signal": watches, "thread": blocks}[kind]
    options: dict[str, Any] = {"cancellation": "signal"} if kind == "signal" else {}
    tools = registry(watch, tools=[tool(execute=body, **options)])

    async def cancel() -> None:
        await running.wait()
        current[operation].cancel("observer")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cancel)
        result = await execute(tools)
    assert code(result) == "ABORTED"
    assert (watch.outcomes(EXECUTION), watch.outcomes(CALL)) == ([CANCELED], [CANCELED])


async def test_a_value_that_comes_with_the_cancellation_stands() -> None:
    """D9: the body had returned; nobody has to decide about it any more."""
    watch = Watch(*BOTH)

    async def body(_args: Any, _exec: Any) -> str:
        current_operation().cancel("late")  # type: ignore[union-attr]
        return "done"

    result = await execute(registry(watch, tools=[tool(execute=body)]))
    assert text(result) == "done"
    assert (watch.outcomes(EXECUTION), watch.outcomes(CALL)) == ([COMPLETED], [COMPLETED])


async def test_a_result_post_execute_could_not_judge_is_not_shown() -> None:
    """Nothing fails open: when the call was cancelled before post-execute was asked, its value is gone."""
    current: list[Any] = []
    watch = Watch(CALL, begin=lambda call: current.append(current_operation()))

    async def body(_args: Any, _exec: Any) -> str:
        current[0].cancel("late")
        return "unjudged"

    judge = Plugin("judge", tools_post_execute=lambda execution, result: Accept())
    result = await execute(registry(watch, judge, tools=[tool(execute=body)]))
    assert code(result) == "ABORTED"
    assert watch.outcomes() == [CANCELED]


async def test_a_deadline_ends_the_execution() -> None:
    """P5: an observer may lower the deadline; one that is over lets nothing begin."""
    watch = Watch(*BOTH, begin=lambda call: current_operation().deadline_at_most(0.0))  # type: ignore[union-attr]
    result = await execute(registry(watch, tools=[tool(execute=never)]))
    assert code(result) == "ABORTED_BEFORE_DISPATCH"
    assert watch.outcomes() == [CANCELED]


# -- who takes part --------------------------------------------------------------------------------------------------


async def test_without_anybody_a_call_has_no_operation() -> None:
    """1.7: no runner, no scope, no payload; and so again once the last one has gone."""
    seen: list[Any] = []

    async def body(_args: Any, execution: Any) -> None:
        seen.append(execution._run.operation)

    tools = registry(tools=[tool(execute=body)])
    await execute(tools)
    watching = tools.hooks.register(Watch(CALL))
    await execute(tools)
    watching.dispose()
    await execute(tools)
    assert [operation is None for operation in seen] == [True, False, True]


@pytest.mark.parametrize("only", [Operation.TURN, Operation.TOOL_CALL, Operation.TOOL_EXECUTION])
async def test_who_watches_one_operation_changes_nothing_about_a_call(only: Operation) -> None:
    """C5: an operation nobody registered for is not described, and the result is what it would be."""
    from dshhooks.operations import Around, OperationSet

    results: list[Any] = []
    tools = registry(tools=[tool()])
    tools.operations.adopt(OperationSet(around=[Around(only, lambda _call: results.append)]))
    assert text(await execute(tools, arguments={"a": 1})) == text(await execute(registry(), arguments={"a": 1}))
    assert [result.operation for result in results] == ([] if only is Operation.TURN else [only])


async def test_an_observer_of_one_agent_hears_of_that_agents_calls() -> None:
    """1.7: a plugin registered for one agent takes part in that agent's operations only."""
    watch, mine = Watch(CALL), object()
    tools = registry()
    tools.hooks.register(watch, agent=mine)
    await execute(tools)
    await execute(tools, agent=mine)
    assert len(watch.of(CALL)) == 1


async def test_arguments_nobody_can_seal_are_absent() -> None:
    """C2: absent stays absent; there is no text of arguments that are no JSON."""
    watch = Watch(CALL)
    await execute(registry(watch), arguments={"a": {1}})
    assert watch.one().payload.arguments is MISSING
