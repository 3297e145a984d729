"""The wait for an approval as an operation: only the time somebody is truly waited for (spec/operations.md 1.14)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from dshhooks.operations.context import current_operation, run_in
from dshhooks.operations.errors import OperationCanceled
from dshhooks.operations.kinds import Operation, Outcome
from dshhooks.operations.owner import begin_here, outliving, through
from dshhooks.operations.payloads import GateAnswer, GateWaitData
from dshhooks.operations.runner import Runner
from dshhooks.operations.scope import Scope
from dshhooks.operations.verdict import classify
from dshhooks.tools.question import Question
from hookspecs.decisions import ApprovalOutcome
from hookspecs.values import TextBlock

__all__ = ["wait"]

_ANSWERS = (ApprovalOutcome.ALLOWED_ONCE, ApprovalOutcome.REJECTED)


async def wait(
    runner: Runner, question: Question, resolver: str, ask: Callable[[], Awaitable[ApprovalOutcome]]
) -> ApprovalOutcome:
    """Wait for an answer, observed.

    Args:
        runner: Whom to tell.
        question: What is asked; written down already.
        resolver: Who is asked: ``"approver"`` or ``"approval_request"``.
        ask: Waits.

    Returns:
        The outcome; ``CANCELLED`` when an observer cancelled the wait, and the question is closed as that by then.

    Raises:
        Exception: The question of a cancelled wait could not be closed.
    """
    scope = begin_here(runner, Operation.GATE_WAIT, _described(question, resolver))
    outcome, error = ApprovalOutcome.CANCELLED, None
    closing: BaseException | None = None
    try:
        outcome = await through(scope, ask)
        error = question.fault
    except OperationCanceled as exc:
        closing = _abandon(scope, question)
        error = closing or exc
    except BaseException as exc:
        error = exc
        raise
    finally:
        scope.finish(_ended(outcome, error), error, answer=_answer(question, outcome))
        error = None  # its traceback holds this frame
    if closing is not None:
        try:
            raise closing
        finally:
            del closing
    return outcome


def _described(question: Question, resolver: str) -> GateWaitData:
    reason = question.request.reason
    blocks = (TextBlock(reason),) if reason else ()
    return GateWaitData(question.id, "approval", resolver, blocks, ApprovalOutcome.ALLOWED_ONCE.value)


def _abandon(scope: Scope, question: Question) -> BaseException | None:
    """Close the question before the wait ends, in its context; return why that failed, if it did."""
    try:
        run_in(outliving(scope, current_operation()), question.close, ApprovalOutcome.CANCELLED)
    except (Exception, SystemExit) as exc:  # noqa: BLE001 - it becomes the wait's own error (1.14.5)
        return exc
    return None


def _ended(outcome: ApprovalOutcome, error: BaseException | None) -> Outcome:
    # Without an exception only the call's own signal ends a wait like that.
    return Outcome.CANCELED if error is None and outcome is ApprovalOutcome.CANCELLED else classify(error)


def _answer(question: Question, outcome: ApprovalOutcome) -> GateAnswer | None:
    # Whether a person or a program said so, nobody here knows: the source stays unknown.
    return GateAnswer(question.id, outcome.value) if outcome in _ANSWERS else None
