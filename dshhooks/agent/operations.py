"""The loop's operations: where their work runs, and what their end means (spec/operations.md 1.13).

Without anybody to tell or ask nothing of :mod:`dshhooks.operations` is imported here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from dshhooks.agent.ends import Interrupted, RequestFailed
from dshhooks.engine.faults import is_fault
from hookspecs.errors import HarnessError
from hookspecs.signal import CancelSignal
from hookspecs.values import UserSource

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent
    from dshhooks.agent.inbox import Item
    from dshhooks.operations.kinds import Operation, Outcome
    from dshhooks.operations.place import Place
    from dshhooks.operations.runner import Runner
    from dshhooks.operations.scope import Scope

__all__ = ["DIRECT", "Stretch", "Within", "at_place", "ended", "place_of", "runner_of", "safe_error"]

T = TypeVar("T")


class Stretch(Protocol):
    """Where a piece of the loop's work runs."""

    async def run(self, body: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Run work that ends when its operation is cancelled."""

    def call(self, fn: Callable[..., T], *args: Any) -> T:
        """Call plain code that nothing cancels."""

    async def outlast(self, body: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Run work that must be done even when its operation was cancelled: the records of its end (B6)."""


class _Direct:
    """As if there were no operations."""

    async def run(self, body: Callable[..., Awaitable[T]], *args: Any) -> T:
        return await body(*args)

    def call(self, fn: Callable[..., T], *args: Any) -> T:
        return fn(*args)

    async def outlast(self, body: Callable[..., Awaitable[T]], *args: Any) -> T:
        return await body(*args)


DIRECT: Final[Stretch] = _Direct()


class Within:
    """Inside a started operation: in its context, and what may be cancelled under its token.

    Args:
        scope: The operation.
    """

    def __init__(self, scope: Scope) -> None:
        from dshhooks.operations.context import current_operation

        self._scope, self._outer = scope, current_operation()

    async def run(self, body: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Run work that ends when the operation is cancelled.

        Raises:
            Interrupted: The operation was cancelled, and nothing around it was.
        """
        from dshhooks.operations.errors import OperationCanceled
        from dshhooks.operations.owner import through

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
        from dshhooks.operations.context import run_in
        from dshhooks.operations.owner import outliving

        return run_in(outliving(self._scope, self._outer), fn, *args)

    async def outlast(self, body: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Run work in the operation's context that its cancellation does not end."""
        from dshhooks.operations.context import Driven, run_in
        from dshhooks.operations.owner import outliving

        context = outliving(self._scope, self._outer)
        value: T = await Driven(context, run_in(context, body, *args))
        return value


async def at_place(place: Place, body: Callable[..., Awaitable[T]], *args: Any) -> T:
    """Run a body at a place; the one before is back afterwards."""
    from dshhooks.operations.place import current_place, enter_place

    before = current_place()
    enter_place(place)
    try:
        return await body(*args)
    finally:
        enter_place(before)


def runner_of(agent: Agent) -> Runner | None:
    """Return who is told of, and asked about, this agent's operations; ``None`` when nobody is."""
    operations = agent.operations
    return operations.runner(agent) if operations.attended else None


def place_of(agent: Agent, turn: int, item: Item) -> Place:
    """Return where the work of a turn is, and what caused it."""
    from dshhooks.operations.call import Cause, Coordinates
    from dshhooks.operations.place import Place

    within = agent.driver.within
    execution = getattr(within.call.payload, "execution_id", "") if within is not None else ""
    # What a subagent is told comes from the agent that spawned it, whoever its source is said to be.
    human = isinstance(item.message.source, UserSource) and agent.parent is None
    cause = Cause(str(item.message.id), tool_execution_id=execution, human=human)
    return Place(Coordinates(agent.id, agent.id, str(turn)), agent.agent_type, cause)


def ended(operation: Operation, exc: BaseException, signal: CancelSignal) -> tuple[Outcome, BaseException]:
    """Return what an exception of the loop means for an operation, and the exception its observers get."""
    from dshhooks.operations.errors import OperationCanceled
    from dshhooks.operations.kinds import Outcome
    from dshhooks.operations.verdict import classify

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
    from dshhooks.operations.errors import GuardError, OperationCanceled

    if isinstance(refusal, GuardError):
        return HarnessError(str(refusal), refusal.code)
    if isinstance(refusal, OperationCanceled):
        return OperationCanceled(operation)
    return HarnessError(f"{operation} was denied by a guard", "OPERATION_DENIED")
