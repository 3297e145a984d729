"""A cancel scope tied to a signal: how cooperative cancellation reaches a body that only awaits (decisions.md 3.6)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

from hookspecs.signal import CancelSignal

__all__ = ["tied_scope"]


@contextmanager
def tied_scope(signal: CancelSignal) -> Iterator[anyio.CancelScope]:
    """Open a cancel scope that is cancelled when ``signal`` aborts, from whichever thread."""
    home, token = threading.get_ident(), current_token()

    with anyio.CancelScope() as scope:

        def cancel() -> None:
            if threading.get_ident() == home:
                scope.cancel()
            else:
                from_thread.run_sync(scope.cancel, token=token)

        untie = signal.add_listener(cancel)
        try:
            yield scope
        finally:
            untie()
