"""Asking: what becomes of an ``Ask`` (spec/core.md 3.2, 7; decisions.md 3.14, 7.9).

An answer counts for the one execution it was asked about. Whatever goes wrong on the way, the call is denied.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from inspect import isawaitable
from typing import Any, Literal, Protocol

from dshhooks.engine.faults import discard, is_fault
from dshhooks.engine.hooks import Hooks
from dshhooks.engine.observe import described
from dshhooks.engine.scope import tied_scope
from dshhooks.engine.trace import phase
from hookspecs.decisions import Allow, ApprovalOutcome, Ask, Deny
from hookspecs.execution import ApprovalRequest, Approver, ToolExecution
from hookspecs.json import canonical
from hookspecs.signal import NEVER

__all__ = ["ApprovalJournal", "ApprovalPolicy", "Approvals", "request_digest"]

log = logging.getLogger("dshhooks.approval")

ApprovalPolicy = Literal["ask", "never"]

_REFUSALS = {
    ApprovalOutcome.REJECTED: "the user refused to let tool {!r} run",
    ApprovalOutcome.CANCELLED: "approval of tool {!r} was cancelled before anybody answered",
    ApprovalOutcome.UNAVAILABLE: "tool {!r} needs approval and there is no channel to ask on",
}


class ApprovalJournal(Protocol):
    """Where questions and answers about one agent's calls are written down."""

    def asked(self, request: ApprovalRequest) -> str:
        """Record a question and return its id; raising ends the call, not the turn."""
        ...

    def decided(self, asked: str, outcome: ApprovalOutcome) -> None:
        """Record the answer."""
        ...

    def policy(self) -> ApprovalPolicy | None:
        """Return the policy in force for the agent, or ``None`` for the configured one."""
        ...


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
        outcome = await self._outcome(self._request(ask, execution), own)
        if outcome is ApprovalOutcome.ALLOWED_ONCE:
            return Allow()
        if outcome is ApprovalOutcome.CANCELLED and execution.signal.aborted:
            return None
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

    async def _outcome(self, request: ApprovalRequest, own: Approver | None) -> ApprovalOutcome:
        journal = self.journal_of(request.agent)
        if journal is None:
            return await self._decide(request, own, self.policy)
        asked = journal.asked(request)
        outcome = ApprovalOutcome.CANCELLED  # what stands in the log if this task is cancelled while it waits
        try:
            outcome = await self._decide(request, own, journal.policy() or self.policy)
        finally:
            journal.decided(asked, outcome)
        return outcome

    async def _decide(self, request: ApprovalRequest, own: Approver | None, policy: ApprovalPolicy) -> ApprovalOutcome:
        signal = request.signal or NEVER
        if signal.aborted:
            return ApprovalOutcome.CANCELLED
        if policy == "never":
            return ApprovalOutcome.REJECTED
        with phase("approval", "") as record:
            outcome: ApprovalOutcome = ApprovalOutcome.CANCELLED
            with tied_scope(signal):
                outcome = await self._ask(request, own)
            if signal.aborted:
                outcome = ApprovalOutcome.CANCELLED
            if record is not None:
                record.outcome = outcome.value
            return outcome

    async def _ask(self, request: ApprovalRequest, own: Approver | None) -> ApprovalOutcome:
        try:
            answer: Any = await self._ask_approver(request, own) if own is not None else await self._ask_hooks(request)
        except BaseException as exc:
            if not is_fault(exc):
                raise
            log.warning("approval of tool %r failed and counts as unavailable: %s", request.tool_name, described(exc))
            return ApprovalOutcome.UNAVAILABLE
        if type(answer) is ApprovalOutcome:
            return answer
        discard(answer)
        kind = type(answer).__name__
        log.warning("approval of tool %r was answered with a %s and counts as unavailable", request.tool_name, kind)
        return ApprovalOutcome.UNAVAILABLE

    async def _ask_hooks(self, request: ApprovalRequest) -> Any:
        plan = self._hooks.plan("approval_request", request.agent)
        return await plan.run(plan, (request,), ApprovalOutcome.UNAVAILABLE)

    async def _ask_approver(self, request: ApprovalRequest, own: Approver) -> Any:
        answer = own(request)
        return await answer if isawaitable(answer) else answer
