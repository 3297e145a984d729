"""A cancel scope tied to a signal: how cooperative cancellation reaches a body that only awaits (decisions.md 3.6)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import anyio
from anyio.lowlevel import current_token

from hookspecs.signal import CancelSignal

__all__ = ["current_loop", "is_in_task_of", "run_soon", "tied_scope"]

# Tasks whose loop holds them weakly only.
_running: Final[set[Any]] = set()


def current_loop() -> Any:
    """Return the loop this code runs in, as its backend knows it."""
    return current_token().native_token


def is_in_task_of(loop: Any) -> bool:
    """Say whether this code runs in a task of a loop: not in another thread, nor in a bare callback of asyncio.

    In such a callback, a signal handler for example, nobody can tell which backend runs, and so nothing can be started.
    """
    try:
        return current_token().native_token is loop
    except RuntimeError:
        return False


def run_soon(loop: Any, fn: Callable[[], object]) -> None:
    """Have a function called in a task of a loop, from whichever thread or callback."""
    if hasattr(loop, "run_sync_soon"):  # trio's callbacks are in a task
        loop.run_sync_soon(fn)
    else:
        loop.call_soon_threadsafe(_begin, loop, fn)


def _begin(loop: Any, fn: Callable[[], object]) -> None:
    async def called() -> None:
        fn()

    task = loop.create_task(called())
    _running.add(task)
    task.add_done_callback(_running.discard)


@contextmanager
def tied_scope(
    signal: CancelSignal, *, grace: float = 0.0, on_abort: Callable[[anyio.CancelScope], object] | None = None
) -> Iterator[anyio.CancelScope]:
    """Open a cancel scope that is cancelled when ``signal`` aborts, from whichever thread.

    Args:
        signal: Cancels it; one that has aborted already does so at once.
        grace: Seconds the block still has to come to its own end before it is cancelled.
        on_abort: Called in the loop instead of all that; cancels the scope when it sees fit.
    """
    home, loop = threading.get_ident(), current_loop()
    open_, direct = True, on_abort is None and not grace

    with anyio.CancelScope() as scope:

        def stop() -> None:
            if on_abort is not None:
                on_abort(scope)
            elif grace:
                scope.deadline = anyio.current_time() + grace
            else:
                scope.cancel()

        def cancel() -> None:
            if threading.get_ident() == home and (direct or is_in_task_of(loop)):
                stop()
            else:
                # Only a note for the loop: the thread that aborts may be one this loop waits for, and must not wait.
                run_soon(loop, cancel_if_open)

        def cancel_if_open() -> None:
            if open_:
                stop()

        untie = signal.add_listener(cancel)
        try:
            yield scope
        finally:
            untie()
            open_ = False
