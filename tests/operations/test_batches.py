"""ToolCalls of the loop: one for every call of a step, from before its record to behind its result's (1.13, B1)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dshhooks.agent import handle
from dshhooks.agent.batch import Batch
from dshhooks.operations import Around, Operation, OperationSet, Outcome, current_operation, deny
from dshhooks.operations.errors import OperationCanceled
from hookspecs.decisions import Deny
from hookspecs.values import ToolCallBlock
from tests.agent.kit import CallTools, Gate, Plugin, Say, data, host, kinds, reasons, safe_tool, tool
from tests.operations.watch import VALUES, Guarding, Watch
from tests.tools.kit import aborted_source, never

pytestmark = pytest.mark.anyio

CALL, EXECUTION = Operation.TOOL_CALL, Operation.TOOL_EXECUTION
COMPLETED, DENIED, FAILED, CANCELED = Outcome.COMPLETED, Outcome.DENIED, Outcome.FAILED, Outcome.CANCELED


def calls(*names: str) -> tuple[Any, ...]:
    """A model that asks for these tools, then stops."""
    return CallTools([(name, {"n": n}) for n, name in enumerate(names, 1)]), Say("x")


def result_texts(session: Any) -> list[str]:
    """What the model reads of each call."""
    return [result.content[0].text for result in data(session, "tool/result")]


class Log:
    """Hears of the log's events in between the operations."""

    name = "log"

    def __init__(self, log: list[str]) -> None:
        from hookspecs.markers import hookimpl

        def session_event(event: Any) -> None:
            if event.type.startswith(("tool/", "approval/")):
                log.append(event.type)

        self.session_event = hookimpl(session_event)


async def test_a_refused_call_has_its_two_records() -> None:
    """Case 85: one started and one completed event, the reason for the model, nobody else asked."""
    watch, asked = Watch(CALL, EXECUTION), []
    policy = Plugin("policy", tools_pre_execute=lambda execution: asked.append(execution))
    guard = Guarding(lambda call: deny("test.no", f"not {call.payload.arguments}"))
    async with host(Log(watch.log), watch, guard, policy, steps=calls("echo"), tools=[tool(execute=never)]) as h:
        agent = await h.run("go")
        assert result_texts(agent.session) == ['Error: denied: not {"n":1}']
        assert [name for name, _ in h.recorder.results] == ["echo"]
    assert asked == []
    assert watch.log == ["begin tool_call", "tool/call", "tool/result", "finish tool_call denied"]


async def test_a_call_ends_when_its_result_is_in_the_log() -> None:
    """1.13: the records of a call stand inside its operation, the execution between them."""
    watch = Watch(CALL, EXECUTION)
    async with host(Log(watch.log), watch, steps=calls("echo"), tools=[tool()]) as h:
        await h.run("go")
    assert watch.log == [
        "begin tool_call",
        "tool/call",
        "begin tool_execution",
        "finish tool_execution completed",
        "tool/result",
        "finish tool_call completed",
    ]


async def test_records_of_a_call_are_written_in_its_context() -> None:
    """1.12: what a ToolCall observer set is there where the call's records are appended."""
    seen: list[Any] = []

    def session_event(event: Any) -> None:
        if event.type.startswith("tool/"):
            seen.append("tool_call" in VALUES.get())

    async with host(Plugin("events", session_event=session_event), Watch(), steps=calls("echo"), tools=[tool()]) as h:
        await h.run("go")
    assert seen == [True, True]


async def test_raw_arguments_are_the_models_own_text() -> None:
    """1.5: as the model wrote them, JSON or not, empty or not."""
    watch = Watch(CALL)
    raw = ('{"a" : 1}', "{oops", "")
    async with host(watch, steps=[CallTools([("echo", text) for text in raw]), Say("x")], tools=[tool()]) as h:
        await h.run("go")
    assert tuple(result.payload.arguments for result in watch.of(CALL)) == raw


async def test_twelve_calls_and_four_at_once() -> None:
    """Case 91: 24 finishes, results in the order of the calls, never more than four bodies."""
    watch, running, most = Watch(CALL, EXECUTION), [0], [0]
    full = anyio.Event()

    async def body(args: Any, _exec: Any) -> int:
        running[0] += 1
        most[0] = max(most[0], running[0])
        if running[0] == 4:
            full.set()
        await full.wait()
        running[0] -= 1
        return int(args["n"])

    steps, options = calls(*["echo"] * 12), {"max_parallel_tool_calls": 4}
    async with host(watch, steps=steps, tools=[safe_tool(execute=body)], **options) as h:
        agent = await h.run("go")
        assert result_texts(agent.session) == [str(n) for n in range(1, 13)]
    assert most == [4]
    assert watch.outcomes(CALL) == watch.outcomes(EXECUTION) == [COMPLETED] * 12
    assert len({call.payload.execution_id for call in watch.calls}) == 12


async def test_calls_beside_each_other_do_not_see_each_others_values() -> None:
    """P2: scopes opened one after another in one task and ended in others leak nothing to their siblings."""
    watch, seen = Watch(CALL, EXECUTION), []

    async def body(_args: Any, _exec: Any) -> None:
        await anyio.lowlevel.checkpoint()
        seen.append(VALUES.get())

    async with host(watch, steps=calls("echo", "echo", "echo"), tools=[safe_tool(execute=body)]) as h:
        await h.run("go")
    assert seen == [("tool_call", "tool_execution")] * 3


async def test_calls_begin_when_they_are_prepared() -> None:
    """Case 97: decisions.md 7.21 stands above the case: each call begins when it is prepared, in the model's order.

    Core 4.9 orders the rest: the parallel calls in front of a serial one run before it is prepared.
    """
    watch = Watch(CALL, begin=lambda call: order.append(f"begin {call.payload.call_id}"))
    order: list[str] = []
    policy = Plugin("policy", tools_pre_execute=lambda execution: order.append(f"policy {execution.call_id}"))

    async def body(_args: Any, execution: Any) -> None:
        order.append(f"run {execution.call_id}")

    tools = [safe_tool("safe", body), tool("alone", body)]
    async with host(watch, policy, steps=calls("safe", "safe", "alone"), tools=tools) as h:
        agent = await h.run("go")
        one, two, three = (call.call_id for call in data(agent.session, "tool/call"))
    assert [what for what in order if not what.startswith("run")] == [
        f"{what} {call}" for call in (one, two, three) for what in ("begin", "policy")
    ]
    assert order.index(f"begin {three}") > max(order.index(f"run {one}"), order.index(f"run {two}"))


async def test_calls_of_a_cancelled_batch_are_canceled() -> None:
    """Case 90: a call that is never started is a canceled ToolCall with its two records, and no policy sees it."""
    watch, gate, asked = Watch(CALL, EXECUTION), Gate(), []
    policy = Plugin("policy", tools_pre_execute=lambda execution: asked.append(execution.call_id))
    tools = [tool(execute=gate)]
    async with host(Log(watch.log), watch, policy, steps=calls("echo", "echo"), tools=tools) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        agent.cancel()
        await agent.when_idle()
        assert [end.error.code for end in data(agent.session, "tool/result")] == ["ABORTED", "ABORTED_BEFORE_DISPATCH"]
        assert len(h.recorder.results) == 1
    assert len(asked) == 1
    assert watch.outcomes(CALL) == [CANCELED, CANCELED]
    assert watch.outcomes(EXECUTION) == [CANCELED]
    assert watch.log[-4:] == ["begin tool_call", "tool/call", "tool/result", "finish tool_call canceled"]
    assert type(watch.results[-1].error) is OperationCanceled


async def test_a_turn_cancelled_before_its_batch_cancels_every_call() -> None:
    """Case 90: the answer was there and the turn was over: all calls are canceled, nothing runs."""
    watch = Watch(CALL, EXECUTION)

    def session_event(event: Any) -> None:
        if event.type == "assistant/message":
            agent.cancel()

    plugin = Plugin("cancel", session_event=session_event)
    async with host(watch, plugin, steps=calls("echo", "echo"), tools=[tool(execute=never)]) as h:
        agent = await h.agent()
        await h.run("go", agent=agent)
        assert [end.error.code for end in data(agent.session, "tool/result")] == ["ABORTED_BEFORE_DISPATCH"] * 2
        assert h.recorder.results == []
    assert watch.outcomes(CALL) == [CANCELED] * 2
    assert watch.of(EXECUTION) == []


@pytest.mark.parametrize("refused", ["tool/call", "tool/result"])
async def test_a_record_the_log_refuses_fails_its_call(refused: str) -> None:
    """Case 92: the call whose record broke has failed with that error; every begun call is finished."""
    watch, fault = Watch(CALL), ValueError("no room")

    def refuse(event: Any) -> None:
        if event.type == refused:
            raise fault

    async with host(watch, steps=calls("echo", "echo"), tools=[tool()], balanced=False) as h:
        agent = await h.agent()
        agent.session.add_validator(refuse)
        await h.run("go", agent=agent)
    assert watch.outcomes(CALL) == [FAILED]
    assert watch.one().error is fault


async def test_a_record_the_log_refuses_once_fails_its_call_all_the_same() -> None:
    """Case 92: the result that is logged in the end says so, and the first error is the call's."""
    watch, faults = Watch(CALL), [ValueError("no room")]
    (fault,) = faults

    def refuse(event: Any) -> None:
        if event.type == "tool/result" and faults:
            raise faults.pop()

    async with host(watch, steps=calls("echo"), tools=[tool()]) as h:
        agent = await h.agent()
        agent.session.add_validator(refuse)
        await h.run("go", agent=agent)
        assert [end.error.code for end in data(agent.session, "tool/result")] == ["TOOL_OUTCOME_UNKNOWN"]
    assert watch.outcomes() == [FAILED]
    assert watch.one().error is fault


async def test_an_interrupt_while_one_call_ends_leaves_no_other_open() -> None:
    """1.9 F4: what an observer's interrupt cuts short is cut short for that call only."""
    results: list[Any] = []

    def finish(result: Any) -> None:
        results.append(result)
        if len(results) == 1:
            raise KeyboardInterrupt

    async def agent_post_step(agent: Any, turn: int, step: int) -> None:
        blocks = [ToolCallBlock(f"late-{n}", "echo", "{}") for n in range(3)]
        with pytest.raises(KeyboardInterrupt):
            await Batch(agent, turn, step, aborted_source().signal).run(blocks)

    watching = OperationSet(around=[Around(CALL, lambda _call: finish)])
    async with host(Plugin("late", agent_post_step=agent_post_step), steps=[Say("x")], balanced=False) as h:
        h.harness.operations.adopt(watching)
        agent = await h.run("go")
        assert len(data(agent.session, "tool/result")) == 3
    assert [result.outcome for result in results] == [CANCELED] * 3


async def test_an_observer_cancels_one_call_of_a_batch() -> None:
    """1.14: that call ends as an error result; the others and the turn go on."""
    current: list[Any] = []
    watch = Watch(CALL, begin=lambda call: current.append(current_operation()))

    async def body(args: Any, _exec: Any) -> str:
        if args["n"] == 1:
            current[0].cancel("observer")
            await anyio.sleep_forever()
        return "done"

    async with host(watch, steps=calls("echo", "echo"), tools=[safe_tool(execute=body)]) as h:
        agent = await h.run("go")
        assert result_texts(agent.session) == ["Error: the call was cancelled while it ran", "done"]
        assert reasons(agent.session) == ["completed"]
    assert watch.outcomes() == [CANCELED, COMPLETED]
    assert type(watch.results[0].error) is OperationCanceled


async def test_a_hook_that_hangs_after_a_cancel_leaves_no_call_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """1.9 F4: a policy that never answers is stopped with the turn, and its call is finished as canceled."""
    monkeypatch.setattr(handle, "GRACE", 0.01)
    watch, gate = Watch(CALL), Gate()

    async def hang(execution: Any) -> None:
        await gate()

    policy = Plugin("policy", tools_pre_execute=hang)
    async with host(watch, policy, steps=calls("echo"), tools=[tool(execute=never)]) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        agent.cancel()
        await agent.when_idle()
        assert kinds(agent.session)[-4:] == ["tool/call", "tool/result", "step/end", "turn/end"]
    assert watch.outcomes() == [CANCELED]


async def test_an_admission_guard_that_comes_during_a_batch_is_asked() -> None:
    """Spec 2: guards added at run time count from the next call on."""

    async def body(_args: Any, _exec: Any) -> str:
        tools.hooks.register(Guarding(lambda _call: deny("test.no", "from now on")))
        return "done"

    async with host(steps=calls("echo", "echo"), tools=[tool(execute=body)]) as h:
        tools = h.harness.tools
        agent = await h.run("go")
        assert result_texts(agent.session) == ["done", "Error: denied: from now on"]


async def test_a_denied_call_beside_others_takes_its_place() -> None:
    """Spec 2: admission and final refusals in one batch; the outcome tells them apart."""
    watch = Watch(CALL)
    guard = Guarding(lambda call: deny("test.no", "admission") if '"n":1' in call.payload.arguments else None)
    policy = Plugin(
        "policy", tools_pre_execute=lambda execution: Deny("policy") if execution.arguments["n"] == 2 else None
    )
    async with host(watch, guard, policy, steps=calls(*["echo"] * 3), tools=[safe_tool()]) as h:
        agent = await h.run("go")
        assert result_texts(agent.session)[:2] == ["Error: denied: admission", "Error: policy"]
    assert watch.outcomes() == [DENIED, COMPLETED, COMPLETED]
    assert [result.payload.permission_effect for result in watch.results] == ["", "deny", "approve"]
