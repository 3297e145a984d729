"""The loop's work inside its operations: where it runs, and what its end means (spec/operations.md 1.13).

Imported only when somebody takes part.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from dshhooks.agent.ends import Interrupted, RequestFailed
from dshhooks.engine.faults import is_fault
from dshhooks.operations.call import Cause, Coordinates
from dshhooks.operations.context import Driven, current_operation, run_in
from dshhooks.operations.errors import GuardError, OperationCanceled
from dshhooks.operations.kinds import Operation, Outcome
from dshhooks.operations.owner import outliving, through
from dshhooks.operations.place import Place, current_place, enter_place
from dshhooks.operations.scope import Scope
from dshhooks.operations.verdict import classify
from hookspecs.errors import HarnessError
from hookspecs.signal import CancelSignal
from hookspecs.values import UserSource

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent
    from dshhooks.agent.inbox import Item

__all__ = ["Within", "at_place", "ended", "place_of", "safe_error"]

T = TypeVar("T")


class Within:
    """Inside a started operation: in its context, and what may be cancelled under its token.

    Args:
        scope: The operation.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope, self._outer = scope, current_operation()

    async def run(self, body: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Run work that ends when the operation is cancelled.

        Raises:
            Interrupted: The operation was cancelled, and nothing around it was.
        """
        try:
            value: T = await through(self._scope, body, *args)
        except OperationCanceled as exc:
            if exc.operation is not self._scope.call.operation or not self._scope.token.cancelled:
                raise
            canceled = exc
        else:
            return value
        raise Interrupted(canceled)

    def call(self, fn: Callable[..., T], *args: Any) -> T:
        """Call plain code in the operation's context."""
        return run_in(outliving(self._scope, self._outer), fn, *args)

    async def outlast(self, body: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Run work in the operation's context that its cancellation does not end."""
        context = outliving(self._scope, self._outer)
        value: T = await Driven(context, run_in(context, body, *args))
        return value


async def at_place(place: Place, body: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Run a body at a place; the one before is back afterwards."""
    before = current_place()
    enter_place(place)
    try:
        return await body(*args)
    finally:
        enter_place(before)


def place_of(agent: Agent, turn: int, item: Item) -> Place:
    """Return where the work of a turn is, and what caused it."""
    within = agent.driver.within
    execution = getattr(within.call.payload, "execution_id", "") if within is not None else ""
    # What a subagent is told comes from the agent that spawned it, whoever its source is said to be.
    human = isinstance(item.message.source, UserSource) and agent.parent is None
    cause = Cause(str(item.message.id), tool_execution_id=execution, human=human)
    return Place(Coordinates(agent.id, agent.id, str(turn)), agent.agent_type, cause)


def ended(operation: Operation, exc: BaseException, signal: CancelSignal) -> tuple[Outcome, BaseException]:
    """Return what an exception of the loop means for an operation, and the exception its observers get."""
    if isinstance(exc, Interrupted):
        return Outcome.CANCELED, exc.cause or OperationCanceled(operation, signal.reason)
    original = exc.error if isinstance(exc, RequestFailed) else exc
    # Whatever broke after a cancel broke because of it.
    return Outcome.CANCELED if signal.aborted and is_fault(exc) else classify(original), original


def safe_error(operation: Operation, refusal: BaseException) -> HarnessError:
    """Return what the outside is told of a refusal: which operation, and which plugin if its guard broke (X2).

    Args:
        operation: What was refused.
        refusal: The scope's ``refusal``, which is for trusted code.
    """
    if isinstance(refusal, GuardError):
        return HarnessError(str(refusal), refusal.code)
    if isinstance(refusal, OperationCanceled):
        return OperationCanceled(operation)
    return HarnessError(f"{operation} was denied by a guard", "OPERATION_DENIED")
