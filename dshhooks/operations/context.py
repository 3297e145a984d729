"""One private context per operation: what observers set is seen by the work inside, and by nobody else (P1-P3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextvars import Context, ContextVar
from types import CoroutineType
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import field, frozen

from dshhooks.operations.token import CancelToken

if TYPE_CHECKING:
    from dshhooks.operations.call import Call

__all__ = ["CurrentOperation", "Driven", "adopt", "current_operation", "enter", "run_in"]

T = TypeVar("T")


@frozen(eq=False)
class CurrentOperation:
    """The operation some code runs in. It can be tightened; nothing loosens, shields or detaches it (P5).

    Args:
        call: Its frozen description.
        token: Its cancellation.
    """

    call: Call
    token: CancelToken = field(repr=False)

    def cancel(self, reason: Any = None) -> None:
        """Cancel this operation and what runs inside it; the work around it goes on."""
        self.token.cancel(reason)

    def deadline_at_most(self, at: float) -> None:
        """Cancel it at the latest at ``at``, a time of :func:`anyio.current_time`; an earlier deadline stays."""
        self.token.deadline_at_most(at)

    @property
    def cancelled(self) -> bool:
        """True once it, or one around it, was cancelled."""
        return self.token.cancelled

    @property
    def deadline(self) -> float:
        """The earliest deadline that holds here; ``inf`` for none."""
        return self.token.deadline


_current: ContextVar[CurrentOperation | None] = ContextVar("dshhooks_operation", default=None)
_probe: ContextVar[object] = ContextVar("dshhooks_operation_probe")


def current_operation() -> CurrentOperation | None:
    """Return the innermost observed operation this code runs in, or ``None``."""
    return _current.get()


def enter(context: Context, operation: CurrentOperation | None) -> None:
    """Make an operation the current one of its context."""
    context.run(_current.set, operation)


def adopt(operation: CurrentOperation | None) -> None:
    """Say inside which operation the running task works from now on.

    For a task that outlives who began it: without, it would be cancelled when that one's operation finishes.
    """
    _current.set(operation)


def run_in(context: Context, fn: Callable[..., T], *args: Any) -> T:
    """Call ``fn`` in a context that may be entered already: by this very code, further out, or in another thread.

    A context cannot be entered twice. Inside itself the call is direct; elsewhere it gets a copy.
    """
    begun = False

    def call() -> T:
        nonlocal begun
        begun = True
        return fn(*args)

    try:
        return context.run(call)
    except RuntimeError:
        if begun:
            raise
    return fn(*args) if _is_current(context) else context.copy().run(fn, *args)


def _is_current(context: Context) -> bool:
    mark = object()
    token = _probe.set(mark)
    try:
        return context.get(_probe) is mark
    finally:
        _probe.reset(token)


class Driven:
    """Awaits a coroutine whose every step runs in a given context; cancel scopes and task groups work as ever.

    Args:
        context: The context.
        awaitable: Any awaitable.
    """

    __slots__ = ("_context", "_coroutine")

    def __init__(self, context: Context, awaitable: Awaitable[Any]) -> None:
        self._context = context
        self._coroutine = awaitable if type(awaitable) is CoroutineType else _awaited(awaitable)

    def __await__(self) -> Generator[Any, Any, Any]:
        context, coroutine = self._context, self._coroutine
        step: Callable[..., Any] = coroutine.send
        value: Any = None
        while True:
            try:
                asked = _step(context, step, value)
            except StopIteration as stop:
                return stop.value
            try:
                value = yield asked
                step = coroutine.send
            except BaseException as exc:  # noqa: BLE001 - whatever it is, it is for the coroutine, closing included
                step, value = coroutine.throw, exc


def _step(context: Context, step: Callable[..., Any], value: Any) -> Any:
    """Like :func:`run_in` without its closure: a coroutine always leaves a frame of its own when it raises."""
    try:
        return context.run(step, value)
    except RuntimeError as exc:
        if exc.__traceback__ is None or exc.__traceback__.tb_next is not None:
            raise
    return run_in(context, step, value)


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
