"""From the plugins' ``operation`` and ``operation_guard`` hooks to a set (decisions.md 5.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dshhooks.engine.plan import Implementation, Plan
from dshhooks.engine.shadow import ask_shadow
from dshhooks.operations.declare import Around, Guard, OperationSet
from dshhooks.operations.kinds import Operation

__all__ = ["declared_by"]

# A revision names what a session was started under; guards that came for one agent at run time have none.
_DYNAMIC = "dynamic"


def declared_by(own: OperationSet | None, observers: Plan, guards: Plan, revision: str) -> OperationSet:
    """Return the host's own set with every plugin's observers and guards behind it, in the order they are asked.

    Args:
        own: The host's own, or ``None``.
        observers: The chain of ``operation``.
        guards: The chain of ``operation_guard``; shadowed ones are asked first, written down, and not obeyed.
        revision: The composed revision.
    """
    asked = (*(own.guards if own is not None else ()), *_guards(guards))
    told = (*(own.around if own is not None else ()), *_around((*observers.wrappers, *observers.implementations)))
    return OperationSet(revision or _DYNAMIC if asked else "", asked, told)


def _guards(plan: Plan) -> Iterator[Guard]:
    shadows = [_Shadow(impl) for impl in plan.shadows]
    for operation in Operation:
        if operation.guardable:
            yield from (Guard(operation, shadow, shadow.impl.plugin) for shadow in shadows)
            yield from (Guard(operation, impl.fn, impl.plugin) for impl in plan.implementations)


def _around(links: Iterable[Implementation]) -> Iterator[Around]:
    told = tuple(links)
    for operation in Operation:
        yield from (Around(operation, impl.fn, impl.plugin) for impl in told)


class _Shadow:
    """Asks a shadowed guard, writes down what it would have said, and has no objection."""

    def __init__(self, impl: Implementation) -> None:
        self.impl = impl

    async def __call__(self, call: Any) -> None:
        await ask_shadow(self.impl, (call,))
