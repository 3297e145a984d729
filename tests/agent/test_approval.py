"""Asking a person inside a turn: the asked/decided pair, the policy, what binds an answer (spec/core.md 7)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dshhooks.agent.approvals import set_approval_policy
from dshhooks.agent.handle import Agent
from dshhooks.config import ApprovalConfig
from dshhooks.session.events import ApprovalAsked, ApprovalDecided
from dshhooks.tools.approval import request_digest
from hookspecs.decisions import ApprovalOutcome, Ask
from hookspecs.errors import HarnessError
from hookspecs.execution import ToolCall
from hookspecs.json import MISSING
from hookspecs.markers import hookimpl
from tests.agent.kit import CallTools, Gate, Host, Plugin, Say, data, host, kinds, reasons, safe_tool, said, tool

pytestmark = pytest.mark.anyio

ONE_CALL = (CallTools([("echo", {"a": 1})]), Say("x"))


def asking(reason: str | None = "really?") -> Plugin:
    """A policy that asks about every call."""
    return Plugin("policy", tools_pre_execute=lambda: Ask(reason))


class Person:
    """Answers questions, and keeps them."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.requests: list[Any] = []

    @hookimpl(tryfirst=True)
    async def approval_request(self, request: Any) -> Any:
        self.requests.append(request)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def result_text(h: Host) -> str:
    """What the model read of the only call."""
    (result,) = data(h.recorder.sessions[0], "tool/result")
    return str(result.content[0].text)


async def test_an_answer_is_written_down_around_the_call() -> None:
    """Spec 7: asked and decided stand between the call and its result, with one id; the grant lets the body run."""
    person = Person(ApprovalOutcome.ALLOWED_ONCE)
    async with host(asking(), person, steps=ONE_CALL, tools=[tool()]) as h:
        agent = await h.run("go")
        assert kinds(agent.session)[5:9] == ["tool/call", "approval/asked", "approval/decided", "tool/result"]
        (asked,), (decided,) = data(agent.session, "approval/asked"), data(agent.session, "approval/decided")
        (request,) = person.requests
        assert asked == ApprovalAsked(asked.id, "echo", "call-1", "really?", request.digest)
        assert decided == ApprovalDecided(asked.id, "allowed-once")
        assert result_text(h) == "{'a': 1}"


async def test_a_question_shows_no_arguments_and_binds_them() -> None:
    """Spec 7, decision 3.14: the request has the execution's token, signal and digest, not its arguments."""
    person = Person(ApprovalOutcome.ALLOWED_ONCE)
    seen: list[Any] = []
    watcher = Plugin("watcher", tools_result=lambda execution: seen.append(execution))
    async with host(asking(), person, watcher, steps=ONE_CALL, tools=[tool()]) as h:
        agent = await h.run("go")
        (request,), (execution,) = person.requests, seen
        assert (request.agent, request.tool_name, request.call_id) == (agent, "echo", "call-1")
        assert request.token is execution.token
        assert request.digest == request_digest(execution)
        assert not hasattr(request, "arguments")


async def test_what_was_not_said_is_not_logged() -> None:
    """Spec 7: an ask without a reason has no ``reason`` in the log."""
    async with host(asking(None), Person(ApprovalOutcome.REJECTED), steps=ONE_CALL, tools=[tool()]) as h:
        agent = await h.run("go")
        assert data(agent.session, "approval/asked")[0].reason is MISSING
        (event,) = [event for event in agent.session.events if event.type == "approval/asked"]
        assert "reason" not in event.wire


async def test_every_refusal_says_why_and_runs_nothing() -> None:
    """Case 63 through the loop: three outcomes, three messages, no body."""
    bodies: list[Any] = []

    async def execute(args: Any, _exec: Any) -> Any:
        bodies.append(args)

    texts = set()
    for outcome in (ApprovalOutcome.REJECTED, ApprovalOutcome.CANCELLED, ApprovalOutcome.UNAVAILABLE):
        async with host(asking(), Person(outcome), steps=ONE_CALL, tools=[tool("echo", execute)]) as h:
            agent = await h.run("go")
            assert [event.outcome for event in data(agent.session, "approval/decided")] == [outcome.value]
            texts.add(result_text(h))
    assert len(texts) == 3
    assert bodies == []


# -- policy never ------------------------------------------------------------------------------------------------------


async def test_policy_never_asks_nobody() -> None:
    """Case 210: even an answerer that stands first is not called; the pair is logged as rejected."""
    person = Person(ApprovalOutcome.ALLOWED_ONCE)
    never = ApprovalConfig("never")
    async with host(person, asking(), steps=ONE_CALL, tools=[tool()], approval=never) as h:
        agent = await h.run("go")
        assert person.requests == []
        (asked,), (decided,) = data(agent.session, "approval/asked"), data(agent.session, "approval/decided")
        assert (decided.id, decided.outcome) == (asked.id, "rejected")
        assert "refused" in result_text(h)


async def test_the_sessions_policy_beats_the_configured_one() -> None:
    """Case 210: the last ``approval/policy`` event is in force, in both directions, for that session only."""
    person = Person(ApprovalOutcome.ALLOWED_ONCE)
    script = [step for _ in range(3) for step in ONE_CALL]

    def agent_pre_step(agent: Agent, turn: int, step: int) -> None:
        policy = {1: "never", 2: "ask"}.get(turn) if step == 1 and agent is first else None
        if policy is not None:
            set_approval_policy(agent.session, policy)

    plugins = (asking(), person, Plugin("switch", agent_pre_step=agent_pre_step))
    async with host(*plugins, steps=script, tools=[tool()]) as h:
        first = await h.agent()
        await h.run("one", "two", agent=first)
        assert [event.outcome for event in data(first.session, "approval/decided")] == ["rejected", "allowed-once"]
        other = await h.run("three")
        assert [event.outcome for event in data(other.session, "approval/decided")] == ["allowed-once"]


@pytest.mark.parametrize("policy", ["always", "", None, True])
async def test_a_policy_nobody_knows_is_refused(policy: Any) -> None:
    """Spec 7: TypeError, and the log is unchanged."""
    async with host() as h:
        agent = await h.agent()
        with pytest.raises(TypeError, match="approval policy"):
            set_approval_policy(agent.session, policy)
        assert kinds(agent.session) == []


# -- answers that are none ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [RuntimeError("no terminal"), SystemExit(1), "yes", True, object()],
    ids=lambda value: type(value).__name__,
)
async def test_an_answerer_that_fails_is_no_channel(answer: Any) -> None:
    """Case 211: a raising or off-vocabulary answerer counts as unavailable; the turn goes on."""
    async with host(asking(), Person(answer), steps=ONE_CALL, tools=[tool()]) as h:
        agent = await h.run("go")
        assert [event.outcome for event in data(agent.session, "approval/decided")] == ["unavailable"]
        assert reasons(agent.session) == ["completed"]


async def test_a_call_cancelled_before_it_was_asked_about_asks_nobody() -> None:
    """Case 211: the signal was aborted by then: cancelled, and the pair is logged."""
    person = Person(ApprovalOutcome.ALLOWED_ONCE)

    def tools_pre_execute(execution: Any) -> Ask:
        execution.agent.cancel()
        return Ask()

    async with host(Plugin(tools_pre_execute=tools_pre_execute), person, steps=ONE_CALL, tools=[tool()]) as h:
        agent = await h.run("go")
        assert person.requests == []
        assert [event.outcome for event in data(agent.session, "approval/decided")] == ["cancelled"]
        assert data(agent.session, "tool/result")[0].error.code == "ABORTED_BEFORE_DISPATCH"
        assert reasons(agent.session) == ["aborted"]


async def test_nothing_is_asked_between_turns() -> None:
    """Case 211: on an idle session the call fails, nothing is logged and nobody is asked."""
    person = Person(ApprovalOutcome.ALLOWED_ONCE)
    async with host(asking(), person, tools=[tool()]) as h:
        agent = await h.agent()
        result = await h.harness.tools.execute(ToolCall("c1", "echo", {}, agent=agent))
        assert result.is_error
        assert result.error.info is not None
        assert result.error.info.code == "NO_OPEN_TURN"
        assert kinds(agent.session) == []
        assert person.requests == []


async def test_a_cancel_answers_a_pending_question() -> None:
    """Spec 7: cancelled at once, a late answer is discarded; the pair is logged before the result."""
    gate = Gate()
    late: list[str] = []

    async def approval_request() -> ApprovalOutcome:
        with anyio.CancelScope(shield=True):
            await gate()
        late.append("answered")
        return ApprovalOutcome.ALLOWED_ONCE

    async with host(asking(), Plugin(approval_request=approval_request), steps=ONE_CALL, tools=[tool()]) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        agent.cancel()
        gate.open()
        await agent.when_idle()
        assert late == ["answered"]
        assert kinds(agent.session)[5:9] == ["tool/call", "approval/asked", "approval/decided", "tool/result"]
        assert [event.outcome for event in data(agent.session, "approval/decided")] == ["cancelled"]
        assert h.recorder.results[0][1].error.info.code == "ABORTED_BEFORE_DISPATCH"


# -- a log that refuses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("refused", ["approval/asked", "approval/decided"])
async def test_no_decision_counts_that_could_not_be_logged(refused: str) -> None:
    """Spec 7, decision 7.21: the call fails, its body does not run, and the turn goes on."""
    bodies: list[Any] = []

    async def execute(args: Any, _exec: Any) -> str:
        bodies.append(args)
        return "ran"

    def refuse(event: Any) -> None:
        if event.type == refused:
            raise HarnessError("audit is down", "AUDIT_DOWN")

    person = Person(ApprovalOutcome.ALLOWED_ONCE)
    async with host(asking(), person, steps=ONE_CALL, tools=[tool("echo", execute)]) as h:
        agent = await h.agent()
        agent.session.add_validator(refuse)
        await h.run("go", agent=agent)
        assert data(agent.session, "tool/result")[0].error.code == "AUDIT_DOWN"
        assert (bodies, reasons(agent.session)) == ([], ["completed"])
        assert len(person.requests) == (0 if refused == "approval/asked" else 1)


async def test_an_observer_that_fails_on_the_pair_changes_nothing() -> None:
    """Spec 7: faults after the commit do not matter."""

    def session_event(event: Any) -> None:
        if event.type.startswith("approval/"):
            raise RuntimeError("observer")

    plugins = (asking(), Person(ApprovalOutcome.ALLOWED_ONCE), Plugin("watcher", session_event=session_event))
    async with host(*plugins, steps=ONE_CALL, tools=[tool()]) as h:
        await h.run("go")
        assert result_text(h) == "{'a': 1}"


async def test_a_question_holds_up_later_calls_and_no_earlier_body() -> None:
    """Spec 4.9: asking belongs to prepare, which is ordered; what was dispatched runs on meanwhile."""
    gate, body = Gate(), Gate()

    def tools_pre_execute(execution: Any) -> Ask | None:
        return Ask() if execution.call_id == "call-2" else None

    async def approval_request() -> ApprovalOutcome:
        await gate()
        return ApprovalOutcome.ALLOWED_ONCE

    async def execute(args: Any, _exec: Any) -> Any:
        if args["n"] == 1:
            await body()
        return args["n"]

    plugin = Plugin(tools_pre_execute=tools_pre_execute, approval_request=approval_request)
    answer = CallTools([("echo", {"n": n}) for n in (1, 2, 3)])
    async with host(plugin, steps=[answer, Say("x")], tools=[safe_tool("echo", execute)]) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        await body.reached.wait()
        agent.inject("meanwhile")
        assert len(data(agent.session, "tool/call")) == 2
        body.open()
        gate.open()
        await agent.when_idle()
        assert [result.call_id for result in data(agent.session, "tool/result")] == ["call-1", "call-2", "call-3"]
        assert said(agent.session) == ["go", "meanwhile"]
