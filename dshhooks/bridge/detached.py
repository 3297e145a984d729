"""Hooks nobody waits for (``async``): they run beside the host, in a loop of their own, until they end or we close."""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager
from typing import Any, Final

from anyio.from_thread import BlockingPortal, start_blocking_portal

from dshhooks.engine.observe import described

__all__ = ["Detached"]

log = logging.getLogger("dshhooks.bridge")

_LONGEST_CLOSE: Final = 5.0


class Detached:
    """Keeps the runs that were started and not waited for.

    The dispatch that starts one returns at once, and the host's loop may end before the run does: so they have a
    thread with a loop, made with the first of them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._portal: BlockingPortal | None = None
        self._context: AbstractContextManager[BlockingPortal] | None = None
        self._running: dict[Future[Any], str] = {}

    def __len__(self) -> int:
        return len(self._running)

    def start(self, run: Callable[[], Awaitable[object]], owner: str = "") -> None:
        """Start a run for ``owner``, a session or nobody; what it raises is logged."""
        with self._lock:
            if self._portal is None:
                self._context = start_blocking_portal()
                self._portal = self._context.__enter__()
            future = self._portal.start_task_soon(run)
            self._running[future] = owner
        future.add_done_callback(self._done)

    def _done(self, future: Future[Any]) -> None:
        self._running.pop(future, None)
        if not future.cancelled() and (exc := future.exception()) is not None:
            log.warning("a hook that runs on its own failed: %s", described(exc))

    def abort(self, owner: str) -> None:
        """Cancel the runs of one owner; their processes are ended."""
        for future, whose in tuple(self._running.items()):
            if whose == owner:
                future.cancel()

    def close(self, *, drain: bool = False) -> None:
        """End all runs and wait for that, for a bounded time. Blocks; call it from a worker thread.

        Args:
            drain: Let them come to their own end, however long that takes.
        """
        with self._lock:
            context, self._context, self._portal = self._context, None, None
        if context is None:
            return
        running = tuple(self._running)
        if drain:
            wait(running)
        for future in running:
            future.cancel()
        wait(running, timeout=_LONGEST_CLOSE)
        context.__exit__(None, None, None)
