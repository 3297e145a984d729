"""The seam of an opening fence: a middleware delegates exactly once and changes nothing (spec/operations.md J6, J7).

A fence is written while the journal it opens is being made. So nothing can wrap that journal yet, and the middleware
must not append to it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Generic, TypeVar

from dshhooks.operations.journal import Append, begin_append, observed_write
from hookspecs.errors import HarnessError

__all__ = ["Delegate", "Middleware", "delegated_once", "observing"]

T = TypeVar("T")

Delegate = Callable[[], Awaitable[Any]]
Middleware = Callable[[Delegate], Delegate | None]


def observing(append: Append) -> Middleware:
    """Return the middleware that shows the fence to those who observe appends."""
    return lambda write: lambda: observed_write(map(begin_append, [append]), write)


async def delegated_once(middleware: Middleware, write: Callable[[], Awaitable[T]]) -> T:
    """Write a fence through a middleware, and trust nobody but the write about it.

    Args:
        middleware: Given the write, returns what is called in its place; that must call it exactly once. What it
            answers or raises afterwards is ignored. What is written is not its to choose: the write takes no argument.
        write: The real one, conflict retries included.

    Returns:
        What the write returned.

    Raises:
        HarnessError: ``FENCE_DELEGATION``: it was called not at all, so nothing is written, or called again, and the
            second call was refused.
        BaseException: What the write raised; or a cancellation or interrupt of the middleware's own.
    """
    once = _Once(write)
    failure: BaseException | None = None
    try:
        outer = middleware(once)
        if callable(outer):
            await outer()
    except BaseException as exc:
        failure = exc
        if not isinstance(exc, (Exception, SystemExit)) and exc is not once.error:
            raise
    try:
        return once.answer(failure)
    finally:
        del failure, once  # their tracebacks hold this frame


class _Once(Generic[T]):
    def __init__(self, write: Callable[[], Awaitable[T]]) -> None:
        self._write = write
        self._calls = 0
        self._values: list[T] = []
        self.error: BaseException | None = None

    async def __call__(self) -> T:
        self._calls += 1
        if self._calls > 1:
            raise _refused(_AGAIN)
        try:
            self._values.append(await self._write())
        except BaseException as exc:
            self.error = exc
            raise
        return self._values[0]

    def answer(self, failure: BaseException | None) -> T:
        if self._calls > 1:
            raise _refused(_AGAIN) from failure
        if self.error is not None:
            raise self.error
        if not self._values:
            raise _refused(_NEVER) from failure
        return self._values[0]


_AGAIN: Final = "called the write a second time, which was refused"
_NEVER: Final = "did not call the write and wait for it"


def _refused(what: str) -> HarnessError:
    return HarnessError(
        f"the middleware of an opening fence {what}; it must call what it is given exactly once", "FENCE_DELEGATION"
    )
