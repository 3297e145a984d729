"""Asking: what becomes of an ``Ask`` (spec/core.md 3.2, 7; decisions.md 3.14, 7.9).

An answer counts for the one execution it was asked about. Whatever goes wrong on the way, the call is denied.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from inspect import isawaitable
from typing import Any

from dshhooks.engine.faults import discard, is_fault
from dshhooks.engine.hooks import Hooks
from dshhooks.engine.observe import described
from dshhooks.engine.scope import tied_scope
from dshhooks.engine.trace import phase
from dshhooks.tools.question import ApprovalJournal, ApprovalPolicy, Question
from hookspecs.decisions import Allow, ApprovalOutcome, Ask, Deny
from hookspecs.errors import InvalidDecisionError
from hookspecs.execution import ApprovalRequest, Approver, ToolExecution
from hookspecs.json import canonical
from hookspecs.signal import NEVER

__all__ = ["ApprovalJournal", "ApprovalPolicy", "Approvals", "request_digest"]

log = logging.getLogger("dshhooks.approval")

_REFUSALS = {
    ApprovalOutcome.REJECTED: "the user refused to let tool {!r} run",
    ApprovalOutcome.CANCELLED: "approval of tool {!r} was cancelled before anybody answered",
    ApprovalOutcome.UNAVAILABLE: "tool {!r} needs approval and there is no channel to ask on",
}


def request_digest(execution: ToolExecution) -> str:
    """Return SHA-256 (hex) over canonical JSON of the tool's name and its sealed arguments."""
    asked = canonical({"arguments": execution.arguments, "name": execution.name})
    return hashlib.sha256(asked.encode("ascii")).hexdigest()


class Approvals:
    """Resolves ``Ask`` decisions, by the ``approval_request`` hooks or the call's own approver."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self.policy: ApprovalPolicy = "ask"
        # Set by whoever keeps session logs; without one, nothing is written down.
        self.journal_of: Callable[[Any], ApprovalJournal | None] = lambda _agent: None

    async def resolve(self, ask: Ask, execution: ToolExecution, approver: Approver | None) -> Allow | Deny | None:
        """Turn an ``Ask`` into ``Allow`` or ``Deny``; ``None`` when the call was cancelled meanwhile."""
        plan = self._hooks.plan("approval_request", execution.agent)
        own = approver if execution.agent is None else None
        if own is None and not (plan.wrappers or plan.implementations):
            return Deny(ask.reason or f"tool {execution.name!r} needs approval and nobody here can give it")
        if own is None and execution.agent is None:
            return Deny(f"tool {execution.name!r} needs approval and the call has no agent to route the question")
        operation = execution._run.operation
        outcome = await self._outcome(self._request(ask, execution), own, operation)
        if outcome is ApprovalOutcome.ALLOWED_ONCE:
            if operation is not None:
                operation.reason = ask.reason or ""
            return Allow()
        if outcome is ApprovalOutcome.CANCELLED:
            if execution.signal.aborted:
                return None
            if operation is not None:
                operation.undecided = True
        return Deny(_REFUSALS[outcome].format(execution.name))

    def _request(self, ask: Ask, execution: ToolExecution) -> ApprovalRequest:
        return ApprovalRequest(
            agent=execution.agent,
            tool_name=execution.name,
            call_id=execution.call_id,
            reason=ask.reason,
            signal=execution.signal,
            token=execution.token,
            digest=request_digest(execution),
        )

    async def _outcome(self, request: ApprovalRequest, own: Approver | None, operation: Any) -> ApprovalOutcome:
        journal = self.journal_of(request.agent)
        question = Question(request, journal)
        outcome = ApprovalOutcome.CANCELLED  # what stands in the log if this task is cancelled while it waits
        try:
            policy = (journal.policy() if journal is not None else None) or self.policy
            outcome = await self._decide(question, own, policy, operation)
        finally:
            question.close(outcome)
        return outcome

    async def _decide(
        self, question: Question, own: Approver | None, policy: ApprovalPolicy, operation: Any
    ) -> ApprovalOutcome:
        if (question.request.signal or NEVER).aborted:
            return ApprovalOutcome.CANCELLED
        if policy == "never":
            return ApprovalOutcome.REJECTED
        with phase("approval", "") as record:
            outcome = await self._wait(question, own, operation)
            if record is not None:
                record.outcome = outcome.value
            return outcome

    async def _wait(self, question: Question, own: Approver | None, operation: Any) -> ApprovalOutcome:
        if operation is None:
            return await self._tied(question, own)
        from dshhooks.tools.waiting import wait

        resolver = "approval_request" if own is None else "approver"
        return await wait(operation.runner, question, resolver, lambda: self._tied(question, own))

    async def _tied(self, question: Question, own: Approver | None) -> ApprovalOutcome:
        signal, outcome = question.request.signal or NEVER, ApprovalOutcome.CANCELLED
        with tied_scope(signal):
            outcome = await self._ask(question, own)
        return ApprovalOutcome.CANCELLED if signal.aborted else outcome

    async def _ask(self, question: Question, own: Approver | None) -> ApprovalOutcome:
        request = question.request
        try:
            answer: Any = await self._ask_approver(request, own) if own is not None else await self._ask_hooks(request)
        except BaseException as exc:
            if not is_fault(exc):
                raise
            log.warning("approval of tool %r failed and counts as unavailable: %s", request.tool_name, described(exc))
            question.fault = exc
            return ApprovalOutcome.UNAVAILABLE
        if type(answer) is ApprovalOutcome:
            return answer
        discard(answer)
        kind = type(answer).__name__
        log.warning("approval of tool %r was answered with a %s and counts as unavailable", request.tool_name, kind)
        question.fault = InvalidDecisionError(f"an approval was answered with {kind}; expected an ApprovalOutcome")
        return ApprovalOutcome.UNAVAILABLE

    async def _ask_hooks(self, request: ApprovalRequest) -> Any:
        plan = self._hooks.plan("approval_request", request.agent)
        return await plan.run(plan, (request,), ApprovalOutcome.UNAVAILABLE)

    async def _ask_approver(self, request: ApprovalRequest, own: Approver) -> Any:
        answer = own(request)
        return await answer if isawaitable(answer) else answer
