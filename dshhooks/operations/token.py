"""Cancellation of one operation, derived from the one around it (spec/operations.md P5, P6).

A token can only be tightened: cancelled, or given an earlier deadline. Both reach the operations inside it, and nothing
reaches the one outside.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final

import anyio
from anyio.lowlevel import current_token
from attrs import frozen

from hookspecs.signal import CancelSignal, CancelSource

__all__ = ["FINISHED", "PAST_DEADLINE", "Bound", "CancelToken", "Tie"]

FINISHED: Final = "finished"
PAST_DEADLINE: Final = "deadline"

# One lock for all tokens: held for a few assignments only. What is tied, and which tokens are inside, is kept in sets
# without it: to add, to remove and to copy are one step each, and who adds looks afterwards whether it came too late.
_links = threading.Lock()


class CancelToken:
    """Says whether an operation should stop, and by when. Safe to cancel from any thread.

    Args:
        parent: The token of the operation around it; its cancellation and deadline hold here too.
    """

    __slots__ = (
        "__weakref__", "_cancelled", "_children", "_deadline", "_home", "_parent", "_reason", "_source", "_ties",
    )  # fmt: skip

    def __init__(self, parent: CancelToken | None = None) -> None:
        self._cancelled = False
        self._reason: Any = None
        self._source: CancelSource | None = None  # made when somebody asks for the signal
        self._parent = parent
        self._deadline = math.inf  # the earliest of its own and those around it
        self._children: set[CancelToken] = set()
        self._ties: set[Tie] = set()
        self._home: _Home | None = None
        if parent is not None:
            self._home = parent._home
            parent._adopt(self)

    @property
    def signal(self) -> CancelSignal:
        """The same cancellation as a signal, to hand to code that watches one."""
        with _links:
            if self._source is None:
                self._source = CancelSource()
            source = self._source
        if self.cancelled:
            source.abort(self._reason)
        return source.signal

    @property
    def cancelled(self) -> bool:
        """True once this operation, or one around it, was cancelled; never goes back."""
        return self._cancelled

    @property
    def reason(self) -> Any:
        """What the first ``cancel`` was given; ``None`` before."""
        return self._reason

    @property
    def deadline(self) -> float:
        """When the work is cancelled by itself, by :func:`anyio.current_time`; ``inf`` for never."""
        return self._deadline

    def cancel(self, reason: Any = None) -> bool:
        """Cancel the operation and every one inside it; returns whether this call did it."""
        with _links:
            if self._cancelled:
                return False
            # The flag last: whoever reads it without the lock finds the reason.
            self._reason, self._cancelled = reason, True
            source = self._source
        if source is not None:
            source.abort(reason)
        if self._ties:
            for tie in tuple(self._ties):
                tie.stop(-math.inf)
        if self._children:
            for child in tuple(self._children):
                child.cancel(reason)
        return True

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
        self._lower(at)

    def release(self) -> None:
        """End it: whoever kept it sees itself cancelled, and the token around it forgets it."""
        self.cancel(FINISHED)
        if self._parent is not None:
            self._parent._children.discard(self)

    def tied(self) -> Tie:
        """Return a ``with`` block around a stretch of work that is cancelled with this token, or at its deadline."""
        return Tie(self)

    def bind(self, scope: anyio.CancelScope) -> Bound:
        """Return a ``with`` block in which a scope that is open around it is cancelled with this token.

        For work that hands out values in between, which must not be inside a scope of its own: a stream.
        """
        return Bound(self, scope)

    def _adopt(self, child: CancelToken) -> None:
        self._children.add(child)
        # Only now: what was cancelled or lowered in between has met the child, or is seen here.
        if self._deadline != math.inf:
            child._lower(self._deadline)
        if self._cancelled:
            child.cancel(self._reason)

    def _lower(self, at: float) -> None:
        with _links:
            self._deadline = min(self._deadline, at)
        for tie in tuple(self._ties):
            tie.stop(at)
        for child in tuple(self._children):
            child._lower(at)

    def here(self) -> _Home:
        """Return the loop this runs on; asked once and handed down, as operations inside one another share one."""
        home, thread = self._home, threading.get_ident()
        if home is None or home.thread != thread:
            home = self._home = _Home(thread, current_token().native_token, type(anyio.CancelScope()))
        return home

    def __repr__(self) -> str:
        return f"<CancelToken {'cancelled' if self.cancelled else 'live'}>"


@frozen
class _Home:
    """A loop: its thread, itself, and its kind of cancel scope, which to find out costs as much as to make one."""

    thread: int
    loop: Any
    scope: type[anyio.CancelScope]


class Tie:
    """A stretch of work tied to a token; ``caught`` says afterwards that it ended by the token, not by itself."""

    __slots__ = ("_home", "_scope", "_token")

    def __init__(self, token: CancelToken) -> None:
        self._token = token

    def __enter__(self) -> Tie:
        self._home = self._token.here()
        scope = self._scope = self._home.scope()
        scope.__enter__()
        self._link(scope)
        return self

    def _link(self, scope: anyio.CancelScope) -> None:
        token = self._token
        token._ties.add(self)
        # Only now: what was cancelled or lowered in between has met this tie, or is seen here.
        if token._cancelled:
            scope.cancel()
        if token._deadline != math.inf:
            scope.deadline = min(token._deadline, scope.deadline)

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        self._token._ties.discard(self)
        return self._scope.__exit__(kind, exc, traceback)

    @property
    def caught(self) -> bool:
        """True when the token, or its deadline, cancelled the block and nothing around it did."""
        caught = self._scope.cancelled_caught
        if caught and not self._token.cancelled:
            self._token.cancel(PAST_DEADLINE)
        return caught

    def stop(self, at: float) -> None:
        """Cancel the block at ``at``, or at once for ``-inf``; from any thread."""
        if threading.get_ident() == self._home.thread:
            self._stop(at)
            return
        # Only a note for the loop, which may be waiting for this very thread.
        loop = self._home.loop
        soon: Callable[..., Any] = getattr(loop, "call_soon_threadsafe", None) or loop.run_sync_soon
        soon(self._stop, at)

    def _stop(self, at: float) -> None:
        if at == -math.inf:
            self._scope.cancel()
        else:
            self._scope.deadline = min(self._scope.deadline, at)


class Bound(Tie):
    """A tie to a scope somebody else has opened, and closes."""

    __slots__ = ()

    def __init__(self, token: CancelToken, scope: anyio.CancelScope) -> None:
        super().__init__(token)
        self._scope = scope

    def __enter__(self) -> Bound:
        self._home = self._token.here()
        self._link(self._scope)
        return self

    def __exit__(self, *_exc: object) -> None:
        self._token._ties.discard(self)

    def check_deadline(self) -> None:
        """Cancel the token if its deadline has passed; a scope says so only at the next wait."""
        token = self._token
        if not token.cancelled and token.deadline != math.inf and anyio.current_time() >= token.deadline:
            token.cancel(PAST_DEADLINE)

    @property
    def caught(self) -> bool:
        """True once the token was cancelled, or its deadline has passed."""
        self.check_deadline()
        return self._token.cancelled

    @property
    def cancelled(self) -> bool:
        """Whether the token was cancelled."""
        return self._token.cancelled

    @property
    def reason(self) -> Any:
        """What it was cancelled with."""
        return self._token.reason
