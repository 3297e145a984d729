"""One private context per operation: what observers set is seen by the work inside, and by nobody else (P1-P3)."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextvars import Context, ContextVar
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from dshhooks.operations.token import CancelToken

if TYPE_CHECKING:
    from dshhooks.operations.call import Call

__all__ = ["CURRENT", "CurrentOperation", "Driven", "adopt", "advance", "current_operation", "enter", "run_in"]

T = TypeVar("T")


# One lock for all operations, held for one assignment.
_making: Final = threading.Lock()


class CurrentOperation:
    """The operation some code runs in. It can be tightened; nothing loosens, shields or detaches it (P5).

    Args:
        call: Its frozen description.
        outer: The operation around it.
    """

    __slots__ = ("_call", "_outer", "_over", "_token")

    def __init__(self, call: Call, outer: CurrentOperation | None) -> None:
        self._call, self._outer = call, outer
        self._token: CancelToken | None = None  # most operations are over before anybody asks for it
        self._over = False

    @property
    def call(self) -> Call:
        """Its frozen description."""
        return self._call

    @property
    def token(self) -> CancelToken:
        """Its cancellation; dead after the finish."""
        return self._token or self._made()

    def _made(self) -> CancelToken:
        made = CancelToken(self._outer.token if self._outer is not None else None)
        with _making:
            token = self._token = self._token or made
        if token is not made:  # another thread was faster
            made.release()
        if self._over:  # looked at only now: whoever ends it in between has met the token
            token.release()
        return token

    def release(self) -> None:
        """End its cancellation: whoever has the token, or asks for it from now on, sees itself cancelled (F3)."""
        self._over = True
        if self._token is not None:
            self._token.release()

    def cancel(self, reason: Any = None) -> None:
        """Cancel this operation and what runs inside it; the work around it goes on."""
        self.token.cancel(reason)

    def deadline_at_most(self, at: float) -> None:
        """Cancel it at the latest at ``at``, a time of :func:`anyio.current_time`; an earlier deadline stays."""
        self.token.deadline_at_most(at)

    @property
    def cancelled(self) -> bool:
        """True once it, or one around it, was cancelled."""
        if self._token is not None:
            return self._token.cancelled
        return self._over or (self._outer is not None and self._outer.cancelled)

    @property
    def deadline(self) -> float:
        """The earliest deadline that holds here; ``inf`` for none."""
        return self.token.deadline

    def __repr__(self) -> str:
        return f"CurrentOperation(call={self._call!r})"


# For the rest of this package; set as the first thing in an operation's own context.
CURRENT: Final[ContextVar[CurrentOperation | None]] = ContextVar("dshhooks_operation", default=None)
_probe: ContextVar[object] = ContextVar("dshhooks_operation_probe")


def current_operation() -> CurrentOperation | None:
    """Return the innermost observed operation this code runs in, or ``None``."""
    return CURRENT.get()


def enter(context: Context, operation: CurrentOperation | None) -> None:
    """Make an operation the current one of its context."""
    context.run(CURRENT.set, operation)


def adopt(operation: CurrentOperation | None) -> None:
    """Say inside which operation the running task works from now on.

    For a task that outlives who began it: without, it would be cancelled when that one's operation finishes.
    """
    CURRENT.set(operation)


def run_in(context: Context, fn: Callable[..., T], *args: Any) -> T:
    """Call ``fn`` in a context that may be entered already: by this very code, further out, or in another thread.

    A context cannot be entered twice. Inside itself the call is direct; elsewhere it gets a copy.
    """
    try:
        return context.run(_called, fn, args)
    except RuntimeError as exc:
        if exc.__traceback__ is None or exc.__traceback__.tb_next is not None:
            raise
    # Nothing further in raised it: the context could not be entered.
    return fn(*args) if _is_current(context) else context.copy().run(fn, *args)


def _called(fn: Callable[..., T], args: tuple[Any, ...]) -> T:
    return fn(*args)  # from a frame of its own, which an exception shows to have been reached


def _is_current(context: Context) -> bool:
    mark = object()
    token = _probe.set(mark)
    try:
        return context.get(_probe) is mark
    finally:
        _probe.reset(token)


async def _nothing() -> AsyncGenerator[None, None]:
    yield


_item: Any = anext(_nothing())
_item.close()  # nobody awaits it, and since 3.13 that is a warning
# What can be sent to and thrown into as it is: a coroutine, and the next item of an asynchronous generator.
_DRIVABLE: Final = frozenset({CoroutineType, type(_item)})
_BEFORE: Final = object()  # its first step


class Driven:
    """Awaits a coroutine whose every step runs in a given context; cancel scopes and task groups work as ever.

    Args:
        context: The context.
        awaitable: Any awaitable.
        asked: What it waits for, if it is on its way already.
    """

    __slots__ = ("_asked", "_context", "_coroutine")

    def __init__(self, context: Context, awaitable: Awaitable[Any], asked: Any = _BEFORE) -> None:
        self._context, self._asked = context, asked
        self._coroutine: Any = awaitable if type(awaitable) in _DRIVABLE else _awaited(awaitable)

    def __await__(self) -> Generator[Any, Any, Any]:
        context, coroutine, asked = self._context, self._coroutine, self._asked
        step: Callable[..., Any] = coroutine.send
        value: Any = None
        while True:
            if asked is _BEFORE:
                try:
                    asked = _step(context, step, value)
                except StopIteration as stop:
                    return stop.value
            try:
                value = yield asked
                step = coroutine.send
            except BaseException as exc:  # noqa: BLE001 - whatever it is, it is for the coroutine, closing included
                step, value = coroutine.throw, exc
            asked = _BEFORE


def advance(context: Context, items: Any) -> Any:
    """Ask a generator for its next item in a context.

    Returns:
        The item; or, if it has to be waited for, a :class:`Driven` that comes to it.

    Raises:
        StopAsyncIteration: There is none.
        Exception: What the generator raised.
    """
    item: Any = anext(items)
    try:
        return Driven(context, item, context.run(item.send, None))
    except StopIteration as stop:  # it is there already, as most are
        return stop.value
    except RuntimeError as exc:
        if exc.__traceback__ is None or exc.__traceback__.tb_next is not None:
            raise
    return Driven(context, item)  # which finds out what to do about a context that is entered already


def _step(context: Context, step: Callable[..., Any], value: Any) -> Any:
    """Like :func:`run_in`: a coroutine leaves a frame of its own when it raises."""
    try:
        return context.run(step, value)
    except RuntimeError as exc:
        if exc.__traceback__ is None or exc.__traceback__.tb_next is not None:
            raise
    return run_in(context, step, value)


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
