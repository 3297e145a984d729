"""Blocking work of the stores, in worker threads of their own; whoever waits for it waits to its end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio import to_thread
from anyio.lowlevel import RunVar

__all__ = ["Workers"]

T = TypeVar("T")


class Workers:
    """Runs functions in a few threads that nothing else uses: tools that block all others cannot hold up a log."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._limiter: RunVar[anyio.CapacityLimiter] = RunVar("dshhooks.session.threads")

    async def run(self, fn: Callable[[], T]) -> T:
        """Return ``fn()``. However the waiting ends, ``fn`` has either ended by then or will never start."""
        claimed, ended = threading.Lock(), threading.Event()
        todo = [fn]  # taken out of it: a thread that lingers must not be the last to hold a store

        def work() -> list[T]:
            if not claimed.acquire(blocking=False):
                return []  # given up before it began
            try:
                return [todo.pop()()]
            finally:
                ended.set()

        try:
            return (await to_thread.run_sync(work, limiter=self._here()))[0]
        except BaseException:
            # A scope's cancellation waits for the thread; asyncio's own Task.cancel() does not, so this does.
            if not ended.is_set() and not claimed.acquire(blocking=False):
                await _outlast(ended)
            raise

    def _here(self) -> anyio.CapacityLimiter:
        """Return the limiter of the running event loop."""
        try:
            return self._limiter.get()
        except LookupError:
            limiter = anyio.CapacityLimiter(self._count)
            self._limiter.set(limiter)
            return limiter


async def _outlast(ended: threading.Event) -> None:
    cancelled = anyio.get_cancelled_exc_class()
    while not ended.is_set():
        try:
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(ended.wait)
        except cancelled:  # once more; it is raised again when the work is done
            pass
