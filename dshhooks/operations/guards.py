"""Asking guards: the first refusal wins, and whatever is not plainly a yes blocks (spec/operations.md 1.8, 1.11)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextvars import Context
from inspect import isawaitable
from typing import Any

import anyio

from dshhooks.engine.faults import discard, is_fault
from dshhooks.operations.context import Driven, run_in
from dshhooks.operations.declare import Guard
from dshhooks.operations.errors import GuardError, OperationCanceled
from dshhooks.operations.token import CancelToken
from dshhooks.operations.verdict import as_denial, is_containable, is_genuine_cancellation
from hookspecs.errors import InvalidDecisionError
from hookspecs.operations import Denial

__all__ = ["Refusal", "ask"]

Refusal = Denial | GuardError | OperationCanceled


async def ask(
    guards: Sequence[tuple[int, Guard]], call: Any, context: Context, token: CancelToken, limit: float | None
) -> Refusal | None:
    """Ask the guards in order, one at a time, until one refuses.

    Args:
        guards: Each with its place in the whole list.
        call: The frozen call.
        context: The operation's, in which they run.
        token: The operation's; its cancellation ends a guard that waits.
        limit: Seconds a guard may wait before that is its failure; ``None`` for as long as it likes.

    Returns:
        A fresh :class:`Denial`; a :class:`GuardError`; :class:`OperationCanceled`; or ``None``: all agree.

    Raises:
        BaseException: A genuine cancellation, or what passes through every boundary.
    """
    for index, guard in guards:
        answer, fault = _asked(guard, call, context)
        if fault is None and answer is not None and not _is_denial(answer):
            answer, fault = await _waited(answer, context, token, limit)
            if type(fault) is _Interrupted:
                return OperationCanceled(call.operation, token.reason)
        if answer is not None or fault is not None:
            return _judged(call, index, guard.plugin, answer, fault)
    return None


def _asked(guard: Guard, call: Any, context: Context) -> tuple[Any, BaseException | None]:
    try:
        return run_in(context, guard.check, call), None
    except BaseException as exc:
        if not is_containable(exc):
            raise
        return None, exc


class _Interrupted(Exception):
    """Internal: the operation was cancelled while a guard waited."""


async def _waited(
    answer: Any, context: Context, token: CancelToken, limit: float | None
) -> tuple[Any, BaseException | None]:
    try:
        with token.tied() as derived, anyio.move_on_after(limit) as waiting:
            if isawaitable(answer):
                answer = await Driven(context, answer)
    except BaseException as exc:
        # Out here, once the scopes have taken what was theirs out of a group.
        if not _is_made_up(exc) and (is_genuine_cancellation(exc) or not is_containable(exc)):
            raise
        return None, exc
    if derived.caught:
        return None, _Interrupted()
    if waiting.cancelled_caught:
        return None, TimeoutError(f"the guard had not answered after {limit} s")
    return answer, None


def _is_made_up(exc: BaseException) -> bool:
    """Say whether nobody has cancelled anything: taken for genuine, it would end the turn and be logged as it is."""
    return is_fault(exc) and anyio.current_effective_deadline() != -math.inf


def _is_denial(answer: Any) -> bool:
    return issubclass(type(answer), Denial)


def _judged(call: Any, index: int, plugin: str, answer: Any, fault: BaseException | None) -> Refusal:
    if fault is None and not _is_denial(answer):
        discard(answer)
        fault = InvalidDecisionError(f"a guard answered with {type(answer).__name__}; expected a Denial or None")
    claimed = answer if fault is None else fault
    return as_denial(claimed) or GuardError(call.operation, index, claimed, plugin)
