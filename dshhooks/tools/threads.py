"""Running a plain function in a worker thread without ever leaving it behind (decisions.md 3.6)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import anyio
from anyio import to_thread

__all__ = ["run_in_thread"]

# Set in the thread of a tool, and in whatever is called from there.
_inside: ContextVar[bool] = ContextVar("dshhooks_tool_thread", default=False)


async def run_in_thread(fn: Callable[..., Any], *args: Any) -> Any:
    """Return ``fn(*args)``, run in a worker thread.

    However the waiting ends, it ends after ``fn`` has: a scope's cancellation is held back by anyio itself, asyncio's
    own ``Task.cancel()`` goes through that shield and is held back here.

    A call made from inside such a thread does not queue for one: those that it would wait for may all be waiting for
    calls like it.
    """
    limiter = anyio.CapacityLimiter(1) if _inside.get() else None
    claim, finished = threading.Lock(), threading.Event()

    def work() -> list[Any]:
        if not claim.acquire(blocking=False):
            return []  # nobody waits any more
        _inside.set(True)  # in this thread's copy of the context
        try:
            # In a list, because trio refuses a function that returns a coroutine; ours may, and it is awaited later.
            return [fn(*args)]
        except StopIteration as exc:
            # A StopIteration cannot cross a future; async bodies get the same error from Python itself.
            raise RuntimeError("the tool raised StopIteration") from exc
        finally:
            finished.set()

    try:
        return (await to_thread.run_sync(work, limiter=limiter))[0]
    except BaseException:
        if not finished.is_set() and not claim.acquire(blocking=False):
            await _outlast(finished)
        raise


async def _outlast(finished: threading.Event) -> None:
    """Wait for a thread that is past stopping, however often this task is cancelled meanwhile."""
    cancelled, limiter = anyio.get_cancelled_exc_class(), anyio.CapacityLimiter(1)
    while not finished.is_set():
        try:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(finished.wait, limiter=limiter)
        except cancelled:  # the one that is being held back, once more
            pass
