"""Running hooks without an event loop, where nobody waits for anything: importing one costs more than all the rest."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from dshhooks.engine.faults import discard
from dshhooks.engine.hooks import Hooks
from dshhooks.engine.plan import Implementation

__all__ = ["NeedsLoop", "run_directly"]

T = TypeVar("T")


class NeedsLoop(BaseException):
    """Something has to wait: all of it is to be run again, in an event loop.

    A ``BaseException``, so that no boundary takes it for a plugin's fault.
    """


def run_directly(hooks: Hooks, names: Iterable[str], work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run ``work()`` to its end in this thread, without an event loop.

    Args:
        hooks: The plugins it asks.
        names: The hooks it asks.
        work: Makes the coroutine.

    Raises:
        NeedsLoop: An implementation waits. Usually nothing was called by then; only a plain function that hands back
            an awaitable is found out by calling it, and will be called again.
    """
    for name in names:
        _watch(hooks, name)
    coroutine = work()
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]  # what a coroutine returns travels as Any
    coroutine.close()
    raise NeedsLoop


def _watch(hooks: Hooks, name: str) -> None:
    plan = hooks.plan(name)
    for impl in (*plan.wrappers, *plan.implementations, *plan.shadows):
        if impl.is_async or inspect.iscoroutinefunction(getattr(hooks.plugin(impl.plugin), name, None)):
            raise NeedsLoop
    for impl in (*plan.implementations, *plan.shadows):
        impl.fn = _watched(impl)


def _watched(impl: Implementation) -> Callable[..., Any]:
    function = impl.fn

    def call(*args: Any, **keywords: Any) -> Any:
        answer = function(*args, **keywords)
        if answer is not None and hasattr(type(answer), "__await__"):
            discard(answer)
            raise NeedsLoop
        return answer

    return call
