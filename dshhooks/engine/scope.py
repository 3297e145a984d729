"""A cancel scope tied to a signal: how cooperative cancellation reaches a body that only awaits (decisions.md 3.6)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
from anyio.lowlevel import current_token

from hookspecs.signal import CancelSignal

__all__ = ["tied_scope"]


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
    home, loop = threading.get_ident(), current_token().native_token
    open_ = True

    with anyio.CancelScope() as scope:

        def stop() -> None:
            if on_abort is not None:
                on_abort(scope)
            elif grace:
                scope.deadline = anyio.current_time() + grace
            else:
                scope.cancel()

        def cancel() -> None:
            if threading.get_ident() == home:
                stop()
                return
            # Only a note for the loop: the thread that aborts may be one this loop is waiting for, and must not wait.
            soon: Any = getattr(loop, "call_soon_threadsafe", None) or getattr(loop, "run_sync_soon")  # noqa: B009
            soon(cancel_if_open)

        def cancel_if_open() -> None:
            if open_:
                stop()

        untie = signal.add_listener(cancel)
        try:
            yield scope
        finally:
            untie()
            open_ = False
