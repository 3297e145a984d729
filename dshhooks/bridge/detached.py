"""Hooks nobody waits for (``async``): they run beside the host, in a loop of their own, until they end or we close."""

from __future__ import annotations

import atexit
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, wait
from typing import Any, Final
from weakref import WeakSet

import anyio
from anyio.from_thread import BlockingPortal

from dshhooks.engine.observe import described

__all__ = ["Detached"]

log = logging.getLogger("dshhooks.bridge")

_LONGEST_CLOSE: Final = 5.0


class Detached:
    """Keeps the runs that were started and not waited for.

    The dispatch that starts one returns at once, and the host's loop may end before the run does: so they have a
    thread with a loop, made with the first of them.

    Args:
        most: How many run at the same time: an agent makes events faster than slow hooks end.
    """

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._lock = threading.Lock()
        self._loop: tuple[BlockingPortal, threading.Thread] | None = None
        self._running: dict[Future[Any], str] = {}

    def __len__(self) -> int:
        return len(self._running)

    def start(self, run: Callable[[], Awaitable[object]], owner: str = "") -> bool:
        """Start a run for ``owner``, a session or nobody; ``False``: too many run. What it raises is logged.

        Raises:
            OSError: There is no file left for a loop to run it in.
            RuntimeError: The same of threads, or that loop has just ended; nothing was started.
        """
        with self._lock:
            if len(self._running) >= self._most:
                return False
            if self._loop is None or not self._loop[1].is_alive():
                self._loop = _started()
                _open.add(self)
            future = self._loop[0].start_task_soon(run)
            self._running[future] = owner
        future.add_done_callback(self._done)
        return True

    def _done(self, future: Future[Any]) -> None:
        self._running.pop(future, None)
        if not future.cancelled() and (exc := future.exception()) is not None:
            log.warning("a hook that runs on its own failed: %s", described(exc))

    def abort(self, owner: str) -> None:
        """Cancel the runs of one owner; their processes are ended."""
        for future, whose in tuple(self._running.items()):
            if whose == owner:
                future.cancel()

    def drain(self) -> None:
        """Wait until all that runs now has ended. Blocks; call it from a worker thread."""
        wait(tuple(self._running))

    def close(self) -> None:
        """End all runs and wait for that, for a bounded time. Blocks; call it from a worker thread."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is None:
            return
        portal, thread = loop
        portal.start_task_soon(portal.stop, True)  # cancels them; the thread ends when all have unwound
        thread.join(_LONGEST_CLOSE)


def _started() -> tuple[BlockingPortal, threading.Thread]:
    """Start a thread with a loop, and return it with the way into it.

    A daemon thread: a host that forgets to close us ends when it ends, and not when the slowest hook does.

    Raises:
        OSError: The loop could not be made: no file is left.
        RuntimeError: The thread could not be.
    """
    ready: Future[BlockingPortal] = Future()

    async def serve() -> None:
        async with BlockingPortal() as portal:
            ready.set_result(portal)
            await portal.sleep_until_stopped()

    def run() -> None:
        try:
            anyio.run(serve)
        except BaseException as exc:
            if ready.done():
                raise
            ready.set_exception(exc)  # whoever waits for the loop would wait for ever

    thread = threading.Thread(target=run, name="dshhooks: hooks nobody waits for", daemon=True)
    thread.start()
    return ready.result(), thread


_open: WeakSet[Detached] = WeakSet()


@atexit.register
def _close_all() -> None:
    """End the processes of hosts that did not: they would go on without anybody who limits their time."""
    for detached in tuple(_open):
        detached.close()
