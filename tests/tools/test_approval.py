"""Asking: what becomes of an ``Ask`` (spec/core.md 3.2, 7; decisions 3.14, 7.9)."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import anyio
import pytest

from hookspecs.decisions import ApprovalOutcome, Ask
from hookspecs.execution import ApprovalRequest, ToolResult
from hookspecs.signal import CancelSource
from tests.tools.kit import Agent, Plugin, aborted_source, code, execute, message, registry, tool, wrap

pytestmark = pytest.mark.anyio

ALLOWED, REJECTED = ApprovalOutcome.ALLOWED_ONCE, ApprovalOutcome.REJECTED
AGENT = Agent()


def asking(reason: str | None = "sure?", **hooks: Any) -> Plugin:
    return Plugin("asking", tools_pre_execute=lambda execution: Ask(reason), **hooks)


def answering(answer: Any, name: str = "answering") -> Plugin:
    return Plugin(name, approval_request=lambda request: answer)


async def ask(*plugins: object, **call: Any) -> ToolResult:
    call.setdefault("agent", AGENT)
    return await execute(registry(asking(), *plugins), **call)


async def test_without_anybody_to_ask_the_call_is_denied() -> None:
    """Case 60: with the ask's own reason, or with one naming the tool."""
    assert message(await ask()) == "sure?"
    nameless = await execute(registry(asking(None)), agent=AGENT)
    assert "'echo'" in message(nameless)
    assert code(nameless) is None


async def test_nobody_is_asked_about_a_call_without_an_agent() -> None:
    """Case 61: there is nowhere to route the question, so the call is denied."""
    asked: list[Any] = []
    result = await ask(Plugin(approval_request=lambda request: asked.append(request)), agent=None)
    assert code(result) is None
    assert "no agent" in message(result)
    assert asked == []


async def test_an_allowed_call_runs_and_the_request_says_what_was_asked() -> None:
    """Case 62, decision 3.14: agent, tool, call id, reason, the same signal, token and digest."""
    source, requests, executions = CancelSource(), [], []

    def approve(request: ApprovalRequest) -> ApprovalOutcome:
        requests.append(request)
        return ALLOWED

    observer = Plugin("observer", tools_result=lambda execution, result: executions.append(execution))
    arguments = {"b": 1, "a": [True, None, "é"]}
    result = await ask(Plugin(approval_request=approve), observer, arguments=arguments, signal=source.signal)
    assert result.value == arguments
    (request,), (execution,) = requests, executions
    assert (request.agent, request.tool_name, request.call_id, request.reason) == (AGENT, "echo", "c1", "sure?")
    assert request.signal is source.signal
    assert request.token is execution.token
    text = json.dumps({"arguments": arguments, "name": "echo"}, sort_keys=True, separators=(",", ":"))
    assert request.digest == hashlib.sha256(text.encode()).hexdigest()


async def test_the_digest_follows_the_arguments_and_not_their_order() -> None:
    """Decision 3.14: canonical JSON, so key order does not matter and values do."""
    digests: list[str] = []

    def note(request: ApprovalRequest) -> ApprovalOutcome:
        digests.append(request.digest)
        return REJECTED

    for arguments in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 3}):
        await ask(Plugin(approval_request=note), arguments=arguments)
    assert digests[0] == digests[1] != digests[2]


async def test_the_three_refusals_differ() -> None:
    """Case 63: rejected, cancelled and unavailable are three messages, all naming the tool, none with a code."""
    refused = [outcome for outcome in ApprovalOutcome if outcome is not ALLOWED]
    results = [await ask(answering(outcome)) for outcome in refused]
    assert len({message(result) for result in results} | {message(await ask())}) == 4
    assert all("'echo'" in message(result) and code(result) is None for result in results)


async def test_an_abort_while_asking_ends_the_call_before_its_body() -> None:
    """Case 64: the late grant is dropped, and guards are not asked any more."""
    source, guarded, unwound = CancelSource(), [], []

    async def approve(request: ApprovalRequest) -> ApprovalOutcome:
        source.abort("user")
        try:
            await anyio.sleep_forever()
        finally:
            unwound.append(request)
        return ALLOWED

    guard = Plugin("guard", tools_guard=lambda execution: guarded.append(execution))
    result = await ask(Plugin(approval_request=approve), guard, signal=source.signal)
    assert code(result) == "ABORTED_BEFORE_DISPATCH"
    assert guarded == []
    assert len(unwound) == 1


async def test_a_grant_given_after_the_abort_does_not_count() -> None:
    """Case 64: an answerer that aborts and grants in one breath grants nothing."""
    source = CancelSource()

    def approve(request: ApprovalRequest) -> ApprovalOutcome:
        source.abort("user")
        return ALLOWED

    assert code(await ask(Plugin(approval_request=approve), signal=source.signal)) == "ABORTED_BEFORE_DISPATCH"


async def test_an_abort_from_another_thread_ends_the_asking() -> None:
    """Decision 3.6: whichever thread aborts, and however it is being waited for."""
    source = CancelSource()

    async def approve(request: ApprovalRequest) -> ApprovalOutcome:
        await anyio.to_thread.run_sync(source.abort, "user")
        await anyio.sleep_forever()
        return ALLOWED

    assert code(await ask(Plugin(approval_request=approve), signal=source.signal)) == "ABORTED_BEFORE_DISPATCH"


async def test_a_guard_denies_what_a_person_allowed() -> None:
    """Case 67: guards come after the approval and cannot be approved away."""
    guard = Plugin("guard", tools_guard=lambda execution: "guarded")
    assert message(await ask(answering(ALLOWED), guard)) == "guarded"


@pytest.mark.parametrize("answer", [True, "allowed-once", "yes", 1, object()])
async def test_an_answer_that_is_no_outcome_is_no_permission(answer: Any) -> None:
    """Spec 7: off-vocabulary answers count as unavailable."""
    assert message(await ask(answering(answer))) == message(await ask(answering(ApprovalOutcome.UNAVAILABLE)))
    own = await ask(agent=None, approver=lambda request: answer)
    assert message(own) == message(await ask(answering(ApprovalOutcome.UNAVAILABLE)))


@pytest.mark.parametrize("raised", [ValueError("no"), SystemExit(1)])
async def test_an_answerer_that_raises_is_unavailable(raised: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    """Spec 7: sync or async, a failing answerer denies; the log says what happened."""

    def broken(request: ApprovalRequest) -> Any:
        raise raised

    async def broken_later(request: ApprovalRequest) -> Any:
        raise raised

    expected = message(await ask(answering(ApprovalOutcome.UNAVAILABLE)))
    for answerer in (broken, broken_later):
        assert message(await ask(Plugin(approval_request=answerer))) == expected
        assert message(await ask(agent=None, approver=answerer)) == expected
    assert caplog.text.count(type(raised).__name__) == 4


async def test_the_first_answerer_with_an_opinion_decides() -> None:
    """Decision 3.4: approval_request is firstresult; None leaves it to the next."""
    assert not (await ask(answering(None, "a"), answering(ALLOWED, "b"), answering(REJECTED, "c"))).is_error


async def test_a_wrapper_may_replace_the_answer() -> None:
    """Hookspec: wrappers stand around the answerers."""

    async def four_eyes(request: ApprovalRequest, *, call_next: Any) -> ApprovalOutcome:
        assert await call_next() is ALLOWED
        return REJECTED

    assert (await ask(Plugin("eyes", approval_request=wrap(four_eyes)), answering(ALLOWED))).is_error


async def test_a_grant_is_for_one_execution() -> None:
    """Decision 3.14: the next call with the same arguments is asked about again."""
    asked: list[Any] = []

    def approve(request: ApprovalRequest) -> ApprovalOutcome:
        asked.append(request.token)
        return ALLOWED

    tools = registry(asking(approval_request=approve))
    for _ in range(2):
        assert not (await execute(tools, agent=AGENT)).is_error
    assert asked[0] is not asked[1]


async def test_policy_never_rejects_without_asking() -> None:
    """Spec 7: decided before anybody is asked, so not even the outermost answerer can bypass it."""
    asked: list[Any] = []
    tools = registry(asking(approval_request=lambda request: asked.append(request)))
    tools.approvals.policy = "never"
    result = await execute(tools, agent=AGENT)
    assert message(result) == message(await ask(answering(REJECTED)))
    assert (await execute(tools, approver=lambda request: ALLOWED)).is_error
    assert asked == []


async def test_a_cancelled_call_is_not_asked_about() -> None:
    """Spec 3.5: a call that was aborted during policy reaches nobody."""
    source, asked = CancelSource(), []

    def policy(execution: Any) -> Ask:
        source.abort("user")
        return Ask("sure?")

    tools = registry(Plugin("p", tools_pre_execute=policy, approval_request=lambda request: asked.append(request)))
    assert code(await execute(tools, agent=AGENT, signal=source.signal)) == "ABORTED_BEFORE_DISPATCH"
    assert asked == []


async def test_a_call_aborted_before_it_began_is_not_asked_about() -> None:
    """Case 79: no phase at all."""
    asked: list[Any] = []
    result = await ask(Plugin(approval_request=lambda request: asked.append(request)), signal=aborted_source().signal)
    assert code(result) == "ABORTED_BEFORE_DISPATCH"
    assert asked == []


@pytest.mark.parametrize("form", ["sync", "async"])
async def test_a_call_without_an_agent_may_bring_its_approver(form: str) -> None:
    """Decision 7.9: sync or async; it sees the request with everything in it."""
    seen: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> ApprovalOutcome:
        seen.append(request)
        return ALLOWED

    async def approve_later(request: ApprovalRequest) -> ApprovalOutcome:
        await anyio.lowlevel.checkpoint()
        return approve(request)

    result = await ask(agent=None, approver=approve if form == "sync" else approve_later)
    assert not result.is_error
    assert (seen[0].agent, seen[0].tool_name, len(seen[0].digest)) == (None, "echo", 64)


async def test_the_approver_of_a_call_with_an_agent_is_not_asked() -> None:
    """Decision 7.9: an agent's calls go to the answerers, not to whoever made the call."""

    def approve(request: ApprovalRequest) -> ApprovalOutcome:
        raise AssertionError("asked")

    assert message(await ask(answering(REJECTED), approver=approve)) == message(await ask(answering(REJECTED)))


async def test_an_approver_that_promises_a_promise_is_unavailable() -> None:
    """Spec 7: what comes of awaiting must be an outcome; nothing is left unawaited."""

    async def later() -> ApprovalOutcome:
        return ALLOWED

    async def approve(request: ApprovalRequest) -> Any:
        return later()

    assert (await ask(agent=None, approver=approve)).is_error


async def test_a_cancelled_caller_cancels_the_question() -> None:
    """Decision 3.6: cancellation of the caller's own task is not an answer; it propagates."""
    unwound: list[str] = []

    async def approve(request: ApprovalRequest) -> ApprovalOutcome:
        scope.cancel()
        try:
            await anyio.sleep_forever()
        finally:
            unwound.append("approver")
        return ALLOWED

    with anyio.CancelScope() as scope:
        await ask(agent=None, approver=approve, signal=CancelSource().signal)
        raise AssertionError("not reached")
    assert unwound == ["approver"]


async def test_deep_arguments_can_be_asked_about() -> None:
    """Spec 0.4: the digest works at any depth."""
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    tools = registry(asking(), answering(ALLOWED), tools=[tool(render=lambda args, value: "deep")])
    assert not (await execute(tools, agent=AGENT, arguments={"deep": deep})).is_error


# -- on the record -----------------------------------------------------------------------------------------------------


class Journal:
    """Records questions and answers, as a session log would."""

    def __init__(self, policy: Any = None) -> None:
        self.records: list[Any] = []
        self.fails = ""
        self._policy = policy

    def asked(self, request: ApprovalRequest) -> str:
        self._record("asked", request.digest)
        return "a1"

    def decided(self, asked: str, outcome: ApprovalOutcome) -> None:
        self._record("decided", (asked, outcome))

    def policy(self) -> Any:
        return self._policy

    def _record(self, what: str, detail: Any) -> None:
        if self.fails == what:
            raise RuntimeError("the log is closed")
        self.records.append((what, detail))


async def ask_on_record(journal: Journal, answer: Any = ALLOWED, **call: Any) -> ToolResult:
    tools = registry(asking(), answering(answer))
    tools.approvals.journal_of = lambda agent: journal
    return await execute(tools, agent=AGENT, **call)


async def test_a_question_and_its_answer_are_on_record() -> None:
    """Spec 7: asked before anybody is asked, decided after; the record says what was asked."""
    journal = Journal()
    assert not (await ask_on_record(journal)).is_error
    (asked, digest), (decided, answer) = journal.records
    assert (asked, decided, answer) == ("asked", "decided", ("a1", ALLOWED))
    assert len(digest) == 64


async def test_a_decision_without_asking_is_on_record_too() -> None:
    """Spec 7: the log's own policy stands above the configured one."""
    journal = Journal("never")
    assert (await ask_on_record(journal)).is_error
    assert [what for what, _ in journal.records] == ["asked", "decided"]
    assert journal.records[-1][1] == ("a1", REJECTED)


@pytest.mark.parametrize("record", ["asked", "decided"])
async def test_a_call_whose_approval_cannot_be_recorded_does_not_run(record: str) -> None:
    """Spec 7, decision 7.21: no unlogged decision; the failure is the call's."""

    async def never(_args: Any, _exec: Any) -> Any:
        raise AssertionError("the body ran")

    journal = Journal()
    journal.fails = record
    tools = registry(asking(), answering(ALLOWED), tools=[tool(execute=never)])
    tools.approvals.journal_of = lambda agent: journal
    assert "the log is closed" in message(await execute(tools, agent=AGENT))


async def test_a_cancelled_caller_leaves_a_decided_question() -> None:
    """Spec 7: whatever ends the waiting, the record is complete: cancelled."""
    journal = Journal()

    async def approve(request: ApprovalRequest) -> ApprovalOutcome:
        scope.cancel()
        await anyio.sleep_forever()
        return ALLOWED

    tools = registry(asking(approval_request=approve))
    tools.approvals.journal_of = lambda agent: journal
    with anyio.CancelScope() as scope:
        await execute(tools, agent=AGENT)
        raise AssertionError("not reached")
    assert journal.records[-1] == ("decided", ("a1", ApprovalOutcome.CANCELLED))
