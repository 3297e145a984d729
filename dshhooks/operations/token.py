"""Cancellation of one operation, derived from the one around it (spec/operations.md P5, P6).

A token can only be tightened: cancelled, or given an earlier deadline. Both reach the operations inside it, and nothing
reaches the one outside.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import anyio
from anyio.lowlevel import current_token

from dshhooks.engine.scope import tied_scope
from hookspecs.signal import CancelSignal, CancelSource

__all__ = ["FINISHED", "PAST_DEADLINE", "CancelToken"]

FINISHED: Final = "finished"
PAST_DEADLINE: Final = "deadline"

# One lock for all tokens: held for a few assignments only.
_links = threading.Lock()


class CancelToken:
    """Says whether an operation should stop, and by when. Safe to cancel from any thread.

    Args:
        parent: The token of the operation around it; its cancellation and deadline hold here too.
    """

    __slots__ = ("__weakref__", "_children", "_live", "_own_deadline", "_parent", "_source")

    def __init__(self, parent: CancelToken | None = None) -> None:
        self._source = CancelSource()
        self._parent = parent
        self._own_deadline = math.inf
        self._children: set[CancelToken] | None = None
        self._live: set[Callable[[float], None]] | None = None
        if parent is not None:
            parent._adopt(self)

    @property
    def signal(self) -> CancelSignal:
        """The same cancellation as a signal, to hand to code that watches one."""
        return self._source.signal

    @property
    def cancelled(self) -> bool:
        """True once this operation, or one around it, was cancelled; never goes back."""
        return self._source.signal.aborted

    @property
    def reason(self) -> Any:
        """What the first ``cancel`` was given; ``None`` before."""
        return self._source.signal.reason

    @property
    def deadline(self) -> float:
        """When the work is cancelled by itself, by :func:`anyio.current_time`; ``inf`` for never."""
        deadline, token = self._own_deadline, self._parent
        while token is not None:
            deadline, token = min(deadline, token._own_deadline), token._parent
        return deadline

    def cancel(self, reason: Any = None) -> bool:
        """Cancel the operation and every one inside it; returns whether this call did it."""
        first = self._source.abort(reason)
        with _links:
            children = tuple(self._children or ())
        for child in children:
            child.cancel(reason)
        return first

    def deadline_at_most(self, at: float) -> None:
        """Cancel the work at the latest at ``at``; an earlier deadline stays.

        Args:
            at: Seconds on the clock of :func:`anyio.current_time`.

        Raises:
            ValueError: It is not a number.
        """
        at = float(at)
        if math.isnan(at):
            raise ValueError("a deadline is a time on anyio.current_time()'s clock, not nan")
        with _links:
            self._own_deadline = min(self._own_deadline, at)
        self._lower(at)

    def release(self) -> None:
        """End it: whoever kept it sees itself cancelled, and the token around it forgets it."""
        self.cancel(FINISHED)
        self.unlink()

    def unlink(self) -> None:
        """Let the token around it forget it, without cancelling."""
        parent = self._parent
        if parent is not None:
            with _links:
                if parent._children is not None:
                    parent._children.discard(self)

    @contextmanager
    def tied(self) -> Iterator[anyio.CancelScope]:
        """Open a cancel scope around a stretch of work that ends with this token, or at its deadline."""
        with tied_scope(self._source.signal) as scope:
            lower = self._enter(scope)
            try:
                yield scope
            finally:
                with _links:
                    if self._live is not None:
                        self._live.discard(lower)

    def _enter(self, scope: anyio.CancelScope) -> Callable[[float], None]:
        home, loop = threading.get_ident(), current_token().native_token

        def lower(at: float) -> None:
            if threading.get_ident() == home:
                scope.deadline = min(scope.deadline, at)
                return
            # Only a note for the loop, which may be waiting for this very thread.
            soon: Any = getattr(loop, "call_soon_threadsafe", None) or getattr(loop, "run_sync_soon")  # noqa: B009
            soon(lower, at)

        with _links:
            if self._live is None:
                self._live = set()
            self._live.add(lower)
        # Only now: a deadline that was lowered in between is in one or the other.
        deadline = self.deadline
        if deadline != math.inf:
            scope.deadline = deadline
        return lower

    def _adopt(self, child: CancelToken) -> None:
        with _links:
            if self._children is None:
                self._children = set()
            self._children.add(child)
        # Only now: a cancellation in between has met the child, or is seen here.
        if self.cancelled:
            child.cancel(self.reason)

    def _lower(self, at: float) -> None:
        with _links:
            live, children = tuple(self._live or ()), tuple(self._children or ())
        for lower in live:
            lower(at)
        for child in children:
            child._lower(at)

    def __repr__(self) -> str:
        return f"<CancelToken {'cancelled' if self.cancelled else 'live'}>"
