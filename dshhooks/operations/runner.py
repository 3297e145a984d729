"""Starting operations: validate, freeze, tell observers, ask guards (spec/operations.md 1.7, 1.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import Context, copy_context
from typing import Any

import attrs

from dshhooks.operations.active import Active
from dshhooks.operations.call import Call, check_call, frozen_call
from dshhooks.operations.declare import Around, Guard, OperationSet, validate_set
from dshhooks.operations.guards import ask
from dshhooks.operations.kinds import Operation, Outcome
from dshhooks.operations.observers import ObserverFault, Report, report_to
from dshhooks.operations.scope import IdleScope, Scope
from dshhooks.operations.verdict import is_genuine_cancellation

__all__ = ["Runner", "compile_set", "handles", "start"]


Guards = tuple[tuple[int, Guard], ...]


@attrs.frozen
class _Plan:
    """Who is told of one operation, and who is asked; each with its place in the whole list."""

    around: tuple[tuple[int, Around], ...]
    guards: Guards


class Runner:
    """Starts operations for one set. Never changes; made by :func:`compile_set`; shared by everybody who runs work."""

    __slots__ = ("_plans", "_report", "_timeout", "policy_revision")

    def __init__(self, declared: OperationSet, report: Report, timeout: float | None) -> None:
        self._plans = dict(_plans(declared))
        self._report = report
        self._timeout = timeout
        self.policy_revision = declared.policy_revision

    def handles(self, operation: Operation) -> bool:
        """Say whether anybody is told of, or asked about, an operation; an owner may skip the work of describing it."""
        return operation in self._plans

    async def start(self, call: Call) -> Scope:
        """Begin an operation: observers are told in order, then guards are asked until one refuses.

        Returns:
            A scope; the owner finishes it on every path, also when ``scope.refusal`` says not to do the work.

        Raises:
            CallError: The call describes no operation; nothing was started.
            SnapshotError: Its payload cannot be frozen; nothing was started.
            BaseException: A guard was cancelled with everything around it, or an interrupt came; what had begun was
                finished.
        """
        check_call(call)
        return await self.start_frozen(frozen_call(call)) if self.handles(call.operation) else IdleScope(call)

    async def start_frozen(self, call: Call) -> Scope:
        """Do the same for a handled call that is known to be right, and frozen."""
        guards = self.guards(call.operation)  # now: an observer can write into the call with object.__setattr__
        scope = self.begin_frozen(call)
        return await self.asked(scope, guards) if guards else scope

    def guards(self, operation: Operation) -> Guards:
        """Return who is asked about an operation; to be looked up before its observers are told."""
        plan = self._plans.get(operation)
        return () if plan is None else plan.guards

    async def asked(self, scope: Scope, guards: Guards) -> Scope:
        """Ask the guards about an operation that was begun here, and keep their answer in its scope."""
        try:
            scope.refuse(await ask(guards, scope.call, scope.context, scope.token, self._timeout))
        except BaseException as exc:
            scope.finish(Outcome.CANCELED if is_genuine_cancellation(exc) else Outcome.FAILED, exc)
            raise
        return scope

    def begin_frozen(self, call: Call, context: Context | None = None) -> Scope:
        """Tell the observers only, without a wait: for operations that nobody may refuse.

        Args:
            call: What begins: handled, known to be right, and frozen.
            context: Becomes the operation's own; by default a copy of the current one.

        Raises:
            BaseException: An interrupt came out of an observer; what had begun was finished.
        """
        scope = Scope(call, copy_context() if context is None else context, self._report)
        scope.begin(self._plans[call.operation].around)
        return scope

    def operation(self, call: Call) -> Active:
        """Return ``async with``: start, tie the block to the token, finish by what the block raised.

        A refusal is raised once the operation has been finished as ``denied`` or ``failed``. What observers put into
        the context is seen by what runs through ``op.run(body)``.
        """
        return Active(self.start, call)

    def describe(self) -> dict[str, dict[str, int]]:
        """Return how many observers and guards each handled operation has; no names, no code."""
        return {
            str(operation): {"around": len(plan.around), "guards": len(plan.guards)}
            for operation, plan in self._plans.items()
        }

    def __repr__(self) -> str:
        return f"<Runner of {', '.join(self._plans) or 'nothing'}>"


def _plans(declared: OperationSet) -> Iterator[tuple[Operation, _Plan]]:
    for operation in Operation:
        around = tuple((at, entry) for at, entry in enumerate(declared.around) if entry.operation is operation)
        guards = tuple((at, entry) for at, entry in enumerate(declared.guards) if entry.operation is operation)
        if around or guards:
            yield operation, _Plan(around, guards)


def compile_set(
    declared: OperationSet,
    *,
    on_observer_error: Callable[[BaseException, ObserverFault], object] | None = None,
    guard_timeout: float | None = None,
) -> Runner:
    """Return a runner for a set, which it has checked and copied.

    Args:
        declared: Guards and observers.
        on_observer_error: For tests and debugging: given every exception an observer raised, unredacted.
        guard_timeout: Seconds an async guard may wait before it has failed; ``None`` for as long as it likes.

    Raises:
        OperationConfigError: The set's first problem.
    """
    validate_set(declared)
    return Runner(declared, report_to(on_observer_error), guard_timeout)


async def start(runner: Runner | None, call: Any) -> Scope:
    """Start an operation with a runner that may be missing; without one not even the call is looked at."""
    return IdleScope(call) if runner is None else await runner.start(call)


def handles(runner: Runner | None, operation: Operation) -> bool:
    """Say whether a runner, which may be missing, handles an operation."""
    return runner is not None and runner.handles(operation)
