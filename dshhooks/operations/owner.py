"""What owners share whose operation has stretches in several tasks and an aftermath (spec/operations.md P2, P6, P7)."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextvars import Context
from typing import Any

import anyio

from dshhooks.operations.call import Call, Cause, Coordinates, begun, now
from dshhooks.operations.context import CurrentOperation, enter
from dshhooks.operations.errors import OperationCanceled
from dshhooks.operations.kinds import Operation
from dshhooks.operations.payloads import Payload
from dshhooks.operations.place import Place, current_place
from dshhooks.operations.runner import Runner
from dshhooks.operations.scope import IdleScope, Scope
from dshhooks.operations.snapshot import freeze, only_plain
from dshhooks.operations.token import PAST_DEADLINE

__all__ = ["begin_here", "check", "outliving", "start_here", "through"]


async def start_here(runner: Runner, operation: Operation, payload: Payload) -> Scope:
    """Start an operation where this code runs.

    Raises:
        SnapshotError, BaseException: As for :meth:`Runner.start`.
    """
    guards = runner.guards(operation)
    scope = begin_here(runner, operation, payload)
    return await runner.asked(scope, guards) if guards else scope


def begin_here(runner: Runner, operation: Operation, payload: Payload) -> Scope:
    """Do the same without a wait, for an operation that no guard may refuse, or before its guards are asked.

    Raises:
        SnapshotError, BaseException: As for :meth:`Runner.begin_frozen`.
    """
    if not runner.handles(operation):
        place = current_place()
        return IdleScope(Call(operation, payload, place.coordinates, place.agent_name, place.cause))
    shown = payload if only_plain(payload) else freeze(payload)
    _, where, name, cause = _shown(current_place())
    return runner.begin_frozen(begun(operation, shown, where, name, cause, now()))


_last: tuple[Place | None, Coordinates, str, Cause | None] = None, Coordinates(), "", None


def _shown(place: Place) -> tuple[Place | None, Coordinates, str, Cause | None]:
    """Return a place and what it says, frozen; remembered, as every operation of a step is at the same one."""
    global _last
    last = _last
    if last[0] is not place:
        _last = last = place, freeze(place.coordinates), freeze(place.agent_name), freeze(place.cause)
    return last


async def through(scope: Scope, body: Callable[..., Any], *args: Any) -> Any:
    """Run a stretch of an operation's work; after its cancellation none begins, not even one that never waits.

    Raises:
        OperationCanceled: It was cancelled, and nothing around it.
    """
    check(scope)
    return await scope.run(body, *args)


def check(scope: Scope) -> None:
    """Raise what ``scope.run`` would, for an operation that was cancelled or whose deadline has passed.

    Raises:
        OperationCanceled: It was.
    """
    if type(scope) is IdleScope:
        return
    token = scope.token
    deadline = token.deadline
    if deadline != math.inf and deadline <= anyio.current_time():
        token.cancel(PAST_DEADLINE)
    if token.cancelled:
        raise OperationCanceled(scope.call.operation, token.reason)


def outliving(scope: Scope, outer: CurrentOperation | None) -> Context:
    """Return a context for what must still happen after a cancellation: the operation's values, ``outer``'s lifetime.

    Otherwise the cancellation would stop, or colour, the very records that say how the operation ended (P7).
    """
    if type(scope) is IdleScope or not scope.cancelled:
        return scope.context
    context = scope.context.copy()
    enter(context, outer)
    return context
