"""Containment: how somebody is told without being able to change anything.

The only place that swallows a fault, and it says so on the ``dshhooks.observe`` logger.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from inspect import isawaitable
from typing import Any

from dshhooks.engine.faults import CONFIDENTIAL, discard, is_fault
from dshhooks.engine.logs import Log
from dshhooks.engine.plan import Implementation, Plan
from hookspecs.errors import error_chain

__all__ = ["contained", "contained_now", "described", "observe", "observe_now"]

log = Log("dshhooks.observe")


async def observe(plan: Plan, args: tuple[Any, ...]) -> None:
    """Tell every implementation, one by one; each one's fault is logged and goes nowhere (spec/core.md 0.2)."""
    for impl in plan.implementations:
        await contained(impl, args)


async def contained(impl: Implementation, args: tuple[Any, ...]) -> Any:
    """Call one implementation; return its answer, or the exception it raised after logging it."""
    try:
        answer = impl.fn(*args)
        if answer is not None and isawaitable(answer):
            answer = await answer
    except BaseException as exc:
        if not is_fault(exc):
            raise
        return _logged(impl, exc)
    return answer


def contained_now(impl: Implementation, args: tuple[Any, ...]) -> Any:
    """Like :func:`contained`, for a hook whose call site cannot await: an awaitable is answered with a failure."""
    try:
        answer = impl.fn(*args)
        if isawaitable(answer):
            discard(answer)
            raise TypeError(f"{type(answer).__name__} was returned where nobody can wait")
    except BaseException as exc:
        if not is_fault(exc):
            raise
        return _logged(impl, exc)
    return answer


def observe_now(
    plan: Plan, args: tuple[Any, ...], spawn: Callable[[Coroutine[Any, Any, Any]], object] | None = None
) -> None:
    """Tell every implementation from code that cannot await.

    Plain functions have run when this returns. What has to wait is handed to ``spawn``, contained; without one it is a
    fault of the implementation.
    """
    for impl in plan.implementations:
        try:
            answer = impl.fn(*args)
            if answer is not None and isawaitable(answer):
                _start(impl, answer, spawn)
        except BaseException as exc:
            if not is_fault(exc):
                raise
            _logged(impl, exc)


def _start(impl: Implementation, answer: Any, spawn: Callable[[Coroutine[Any, Any, Any]], object] | None) -> None:
    if spawn is None:
        discard(answer)
        raise TypeError(f"{type(answer).__name__} was returned where nobody can wait")
    waiting = _waited_for(impl, answer)
    try:
        spawn(waiting)
    except BaseException:
        waiting.close()
        discard(answer)
        raise


async def _waited_for(impl: Implementation, answer: Any) -> None:
    try:
        await answer
    except BaseException as exc:
        if not is_fault(exc):
            raise
        _logged(impl, exc)


def _logged(impl: Implementation, exc: BaseException) -> BaseException:
    said = type(exc).__name__ if impl.hook in CONFIDENTIAL else described(exc)
    log.warning("plugin %r failed in hook %r and was ignored: %s", impl.plugin, impl.hook, said)
    return exc


def described(exc: BaseException) -> str:
    """Return ``Type: message`` with causes, for a log line; never raises."""
    return f"{type(exc).__name__}: {error_chain(exc)}"
