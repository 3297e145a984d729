"""GateWait: the time somebody is truly waited for, and what a cancelled wait leaves (spec/operations.md 1.14)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from dshhooks.config import ApprovalConfig
from dshhooks.operations import Operation, Outcome, current_operation
from dshhooks.operations.errors import OperationCanceled
from hookspecs.decisions import ApprovalOutcome, Ask
from hookspecs.execution import ApprovalRequest, ToolCall
from hookspecs.signal import CancelSource
from tests.agent.kit import CallTools, Gate, Plugin, Say, data, host, kinds, reasons, tool
from tests.operations.watch import VALUES, Watch
from tests.tools.kit import aborted_source, code, execute, message, never, registry, text

pytestmark = pytest.mark.anyio

CALL, EXECUTION, WAIT = Operation.TOOL_CALL, Operation.TOOL_EXECUTION, Operation.GATE_WAIT
COMPLETED, FAILED, CANCELED = Outcome.COMPLETED, Outcome.FAILED, Outcome.CANCELED
ALLOWED, REJECTED = ApprovalOutcome.ALLOWED_ONCE, ApprovalOutcome.REJECTED
CANCELLED, UNAVAILABLE = ApprovalOutcome.CANCELLED, ApprovalOutcome.UNAVAILABLE

ONE_CALL = (CallTools([("echo", {"a": 1})]), Say("x"))


def asking(answer: Any = None, **hooks: Callable[..., Any]) -> Plugin:
    """A policy that asks about every call, and a person with an answer."""

    async def approval_request(request: Any) -> Any:
        if isinstance(answer, Gate):
            await answer()
        return answer if isinstance(answer, ApprovalOutcome) else ALLOWED

    hooks = {"approval_request": approval_request, **hooks}
    return Plugin("asking", tools_pre_execute=lambda execution: Ask("really?"), **hooks)


class Held:
    """Keeps the handle of every wait that begins, for a test that cancels it later."""

    def __init__(self) -> None:
        self.waits: list[Any] = []

    def __call__(self, call: Any) -> None:
        if call.operation is WAIT:
            VALUES.set(("wait",))
            self.waits.append(current_operation())

    def cancel(self) -> None:
        """Cancel the last one."""
        self.waits[-1].cancel("observer")


def approved_by(answer: Any) -> Callable[[ApprovalRequest], Any]:
    """A call's own approver."""
    return lambda _request: answer


# -- the wait ------------------------------------------------------------------------------------------------------


async def test_a_wait_begins_when_the_question_is_public_and_ends_with_the_answer() -> None:
    """Case 98: asked is in the log and was heard of before; the answer and its source are on the finish."""
    watch = Watch(CALL, WAIT, EXECUTION)

    def session_event(event: Any) -> None:
        if event.type.startswith("approval/"):
            watch.log.append(event.type)

    plugins = (Plugin("events", session_event=session_event), watch, asking(ALLOWED))
    async with host(*plugins, steps=ONE_CALL, tools=[tool()]) as h:
        agent = await h.run("go")
        (asked,) = data(agent.session, "approval/asked")
    assert watch.log == [
        "begin tool_call",
        "approval/asked",
        "begin gate_wait",
        "finish gate_wait completed",
        "approval/decided",
        "begin tool_execution",
        "finish tool_execution completed",
        "finish tool_call completed",
    ]
    waited = watch.one(WAIT).payload
    assert (waited.gate_id, waited.gate_kind, waited.resolver) == (asked.id, "approval", "approval_request")
    assert text_of(waited.blocks) == "really?"
    assert (waited.answer.gate_id, waited.answer.action, waited.answer.source) == (asked.id, "allowed-once", "")
    called = watch.one(CALL).payload
    assert (called.permission_effect, called.permission_reason) == ("approve", "really?")


def text_of(blocks: Any) -> str:
    """What blocks say."""
    return "".join(block.text for block in blocks)


async def test_a_question_the_log_refuses_has_no_wait() -> None:
    """Case 98: without an acknowledged record nobody is waited for; the call has failed."""
    watch = Watch(CALL, WAIT)

    def refuse(event: Any) -> None:
        if event.type == "approval/asked":
            raise ValueError("no room")

    async with host(watch, asking(ALLOWED), steps=ONE_CALL, tools=[tool(execute=never)]) as h:
        agent = await h.agent()
        agent.session.add_validator(refuse)
        await h.run("go", agent=agent)
    assert (watch.outcomes(CALL), watch.of(WAIT)) == ([FAILED], [])


async def test_a_question_the_log_refuses_leaves_nothing_open() -> None:
    """FIX 1 and 2: the other calls of the batch, the step and the turn are finished, each once."""
    watch = Watch(CALL, WAIT, Operation.STEP, Operation.TURN)

    def refuse(event: Any) -> None:
        if event.type == "approval/asked" and not watch.results:
            raise ValueError("no room")

    calls = (CallTools([("echo", {"a": n}) for n in range(3)]), Say("x"))
    async with host(watch, asking(ALLOWED), steps=calls, tools=[tool()]) as h:
        agent = await h.agent()
        agent.session.add_validator(refuse)
        await h.run("go", agent=agent)
        assert reasons(agent.session) == ["completed"]
    assert watch.outcomes(CALL) == [FAILED, COMPLETED, COMPLETED]
    assert watch.outcomes(Operation.STEP) == [COMPLETED, COMPLETED]
    assert watch.outcomes(Operation.TURN) == [COMPLETED]


@pytest.mark.parametrize("answer", [ALLOWED, REJECTED])
async def test_an_approver_of_the_calls_own_is_waited_for(answer: ApprovalOutcome) -> None:
    """Case 98: a call without an agent brings its approver; the wait has a minted id."""
    watch = Watch(WAIT)
    await execute(registry(watch, asking()), approver=approved_by(answer))
    waited = watch.one(WAIT).payload
    assert (waited.resolver, waited.answer.action) == ("approver", answer.value)
    assert waited.gate_id == waited.answer.gate_id != ""


async def test_a_wait_nobody_answers_has_no_answer() -> None:
    """Case 98: everybody abstained: completed, denied, and no answer that anybody gave."""
    watch = Watch(CALL, WAIT)
    await execute(registry(watch, asking(UNAVAILABLE)), agent=object())
    assert watch.outcomes(WAIT) == [COMPLETED]
    assert watch.one(WAIT).payload.answer is None
    assert watch.one(CALL).payload.permission_effect == "deny"


@pytest.mark.parametrize("answer", ["yes", True, None])
async def test_a_reply_that_is_no_answer_is_a_failed_wait(answer: Any) -> None:
    """1.14.3: it counts as unavailable, so the call is denied."""
    watch = Watch(CALL, WAIT)
    assert (await execute(registry(watch, asking()), approver=approved_by(answer))).is_error
    assert (watch.outcomes(WAIT), watch.outcomes(CALL)) == ([FAILED], [COMPLETED])
    assert watch.one(WAIT).payload.answer is None


async def test_an_asker_that_breaks_is_a_failed_wait_with_its_own_exception() -> None:
    """D6: the original is on the wait, and the model reads only that nobody could be asked."""
    watch, fault = Watch(WAIT), ValueError("s3cret")

    def fail(request: Any) -> Any:
        raise fault

    result = await execute(registry(watch, asking(approval_request=fail)), agent=object())
    assert "s3cret" not in text(result)
    assert watch.outcomes(WAIT) == [FAILED]
    assert watch.one(WAIT).error is fault


async def test_a_decision_without_waiting_is_no_wait() -> None:
    """Case 105: policy never, an aborted call, and nobody to ask: no GateWait."""
    watch = Watch(CALL, WAIT)
    never_ask = ApprovalConfig("never")
    async with host(watch, asking(ALLOWED), steps=ONE_CALL, tools=[tool(execute=never)], approval=never_ask) as h:
        agent = await h.run("go")
        assert kinds(agent.session).count("approval/asked") == 1
    nobody = Plugin("policy", tools_pre_execute=lambda execution: Ask("really?"))
    await execute(registry(watch, nobody), agent=object())
    await execute(registry(watch, asking(ALLOWED)), agent=object(), signal=aborted_source().signal)
    assert len(watch.of(CALL)) == 3
    assert watch.of(WAIT) == []


async def test_a_permission_wait_is_inside_the_call_and_a_tools_question_inside_its_execution() -> None:
    """Case 104: the wait of a call a tool makes is inside that tool's execution."""
    waits: list[Any] = []

    def begin(call: Any) -> None:
        VALUES.set((*VALUES.get(), str(call.operation)))
        if call.operation is WAIT:
            waits.append(VALUES.get())

    async def outer(_args: Any, execution: Any) -> Any:
        inner = ToolCall("c2", "inner", {}, execution.signal, parent=execution.token, approver=approved_by(ALLOWED))
        return (await tools.execute(inner)).value  # type: ignore[union-attr]

    policy = Plugin("policy", tools_pre_execute=lambda execution: Ask("really?"))
    tools = registry(Watch(CALL, EXECUTION, WAIT, begin=begin), policy, tools=[tool("outer", outer), tool("inner")])
    await execute(tools, "outer", approver=approved_by(ALLOWED))
    assert waits == [
        ("tool_call", "gate_wait"),
        ("tool_call", "tool_execution", "tool_call", "gate_wait"),
    ]


# -- a cancelled wait ----------------------------------------------------------------------------------------------


async def test_an_observer_cancels_a_wait() -> None:
    """Case 99, 100: the question is closed before the wait ends, the tool never runs, the call is an error result."""
    gate, held, closed_in = Gate(), Held(), []
    watch = Watch(CALL, WAIT, EXECUTION, begin=held)

    def session_event(event: Any) -> None:
        if event.type == "approval/decided":
            watch.log.append(f"{event.type} {event.data.outcome}")
            closed_in.append(VALUES.get())

    plugins = (Plugin("events", session_event=session_event), watch, asking(gate))
    async with host(*plugins, steps=ONE_CALL, tools=[tool(execute=never)]) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        held.cancel()
        await agent.when_idle()
        (result,) = data(agent.session, "tool/result")
        assert "was cancelled before anybody answered" in result.content[0].text
        assert reasons(agent.session) == ["completed"]
    assert watch.log == [
        "begin tool_call",
        "begin gate_wait",
        "approval/decided cancelled",
        "finish gate_wait canceled",
        "finish tool_call completed",
    ]
    assert closed_in == [("wait",)]  # the wait's values (P7)
    assert type(watch.one(WAIT).error) is OperationCanceled
    called = watch.one(CALL).payload
    # 1.5: nobody has decided anything.
    assert (called.permission_effect, called.permission_reason, called.is_error) == ("", "", True)


@pytest.mark.parametrize("by_approver", [False, True])
async def test_an_answer_that_was_cancelled_is_no_decision(by_approver: bool) -> None:
    """1.5: the effect stays empty if no decision was reached, whoever gave up; an answer to another call is one."""
    watch = Watch(CALL, WAIT)
    answers = [CANCELLED, REJECTED]
    if by_approver:
        tools = registry(watch, asking(), tools=[tool(execute=never)])
        for _ in range(2):
            assert (await execute(tools, approver=lambda _request: answers.pop(0))).is_error
    else:
        tools = registry(watch, asking(approval_request=lambda request: answers.pop(0)), tools=[tool(execute=never)])
        for _ in range(2):
            assert (await execute(tools, agent=object())).is_error
    effects = [result.payload.permission_effect for result in watch.of(CALL)]
    assert (effects, watch.outcomes(WAIT)) == (["", "deny"], [CANCELED, COMPLETED])
    assert watch.outcomes(CALL) == [COMPLETED, COMPLETED]


async def test_the_record_of_a_cancelled_wait_is_not_cancelled_with_it() -> None:
    """P7: it is appended with the wait's values under the call's lifetime."""
    gate, held, alive = Gate(), Held(), []

    def session_event(event: Any) -> None:
        if event.type == "approval/decided":
            alive.append((current_operation().call.operation, current_operation().cancelled))  # type: ignore[union-attr]

    plugins = (Plugin("events", session_event=session_event), Watch(CALL, WAIT, begin=held), asking(gate))
    async with host(*plugins, steps=ONE_CALL, tools=[tool(execute=never)]) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        held.cancel()
        await agent.when_idle()
    assert alive == [(CALL, False)]


async def test_a_cancelled_wait_whose_question_cannot_be_closed_has_failed() -> None:
    """Case 103: that failure is the wait's error and the call's."""
    gate, held, fault = Gate(), Held(), ValueError("no room")
    watch = Watch(CALL, WAIT, begin=held)

    def refuse(event: Any) -> None:
        if event.type == "approval/decided":
            raise fault

    async with host(watch, asking(gate), steps=ONE_CALL, tools=[tool(execute=never)], balanced=False) as h:
        agent = await h.agent()
        agent.session.add_validator(refuse)
        agent.followup("go")
        await gate.reached.wait()
        held.cancel()
        await agent.when_idle()
        assert "no room" in data(agent.session, "tool/result")[0].content[0].text
    assert (watch.outcomes(WAIT), watch.outcomes(CALL)) == ([FAILED], [FAILED])
    assert watch.one(WAIT).error is watch.one(CALL).error is fault
    assert watch.one(CALL).payload.permission_effect == ""  # nobody decided anything


async def test_an_answer_stands_against_a_cancellation_that_came_with_it() -> None:
    """D9: who has answered is heard."""
    held = Held()
    watch = Watch(WAIT, begin=held)

    async def answer(request: Any) -> Any:
        held.cancel()
        return ALLOWED

    result = await execute(registry(watch, asking(approval_request=answer)), agent=object())
    assert not result.is_error
    assert watch.outcomes(WAIT) == [COMPLETED]


async def test_a_wait_cancelled_in_its_begin_asks_nobody() -> None:
    """1.14.4: there is nothing to wait for any more."""

    def cancel(call: Any) -> None:
        current_operation().cancel("observer")  # type: ignore[union-attr]

    async def fail(request: Any) -> Any:
        raise AssertionError("somebody was asked")

    watch = Watch(WAIT, begin=cancel)
    assert "was cancelled" in message(await execute(registry(watch, asking(approval_request=fail)), agent=object()))
    assert watch.outcomes(WAIT) == [CANCELED]


async def test_a_cancelled_task_ends_the_wait_itself() -> None:
    """Case 101: the wait is canceled first; closing the question is teardown and no request of the waiter."""
    watch = Watch(CALL, WAIT, begin=detach)

    async def hang(request: Any) -> Any:
        scope.cancel()
        await anyio.sleep_forever()

    class Journal:
        def asked(self, request: Any) -> str:
            return "q1"

        def decided(self, asked: str, outcome: ApprovalOutcome) -> None:
            watch.log.append(f"decided {outcome.value}")

        def policy(self) -> Any:
            return None

    tools = registry(watch, asking(approval_request=hang), tools=[tool(execute=never)])
    tools.approvals.journal_of = lambda _agent: Journal()
    with anyio.CancelScope() as scope:
        await execute(tools, agent=object())
        raise AssertionError("not reached")
    assert watch.log[-3:] == ["finish gate_wait canceled", "decided cancelled", "finish tool_call canceled"]


def detach(_call: Any) -> None:
    """An observer that tries to keep its operation alive."""
    current_operation().deadline_at_most(float("inf"))  # type: ignore[union-attr]


async def test_a_turn_cancelled_while_a_person_thinks_cancels_the_wait() -> None:
    """Case 101: the call's own signal ends the wait; the log has the question closed, the tool never runs."""
    watch, gate = Watch(CALL, WAIT, begin=detach), Gate()
    async with host(watch, asking(gate), steps=ONE_CALL, tools=[tool(execute=never)]) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        agent.cancel()
        await agent.when_idle()
        assert [decided.outcome for decided in data(agent.session, "approval/decided")] == ["cancelled"]
    assert (watch.outcomes(WAIT), watch.outcomes(CALL)) == ([CANCELED], [CANCELED])


async def test_an_answer_after_the_callers_abort_is_not_heard() -> None:
    """Core case 64: the caller's own abort stands above the answer; the wait has none."""
    watch, source = Watch(CALL, WAIT), CancelSource()

    async def answer(request: Any) -> Any:
        source.abort("enough")
        return ALLOWED

    tools = registry(watch, asking(approval_request=answer), tools=[tool(execute=never)])
    assert code(await execute(tools, agent=object(), signal=source.signal)) == "ABORTED_BEFORE_DISPATCH"
    assert (watch.outcomes(WAIT), watch.outcomes(CALL)) == ([CANCELED], [CANCELED])
    assert watch.one(WAIT).payload.answer is None


async def test_a_cancelled_call_takes_its_wait_along() -> None:
    """1.12: the wait is inside the call; what cancels the call ends both, and the question is closed."""
    calls: list[Any] = []
    watch = Watch(CALL, WAIT, begin=lambda call: calls.append(current_operation()))
    gate = Gate()
    async with host(watch, asking(gate), steps=ONE_CALL, tools=[tool(execute=never)]) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        calls[0].cancel("observer")
        await agent.when_idle()
        (decided,) = data(agent.session, "approval/decided")
        (result,) = data(agent.session, "tool/result")
        assert (decided.outcome, result.error.code) == ("cancelled", "ABORTED_BEFORE_DISPATCH")
    assert (watch.outcomes(WAIT), watch.outcomes(CALL)) == ([CANCELED], [CANCELED])
