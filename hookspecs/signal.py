"""Cooperative cancellation: a signal others can read, a source its owner aborts (spec/core.md 0.3, 2.4).

The first abort wins and its reason never changes. Listeners run synchronously, in order, each contained. Work is
drained, not torn down: what ties a signal to an anyio cancel scope lives in the registry, not here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

__all__ = ["NEVER", "CancelSignal", "CancelSource", "fuse"]

Listener = Callable[[], object]

# One lock for all signals: held for a few assignments only, and a signal stays small without its own.
_flip = threading.Lock()


class CancelSignal:
    """Tells whether, and why, work should stop. Made by a :class:`CancelSource`; read-only for everybody else."""

    __slots__ = ("__weakref__", "_aborted", "_listeners", "_reason")

    def __init__(self) -> None:
        self._aborted = False
        self._reason: Any = None
        self._listeners: dict[object, Listener] | None = None

    @property
    def aborted(self) -> bool:
        """True once the source was aborted; never goes back."""
        return self._aborted

    @property
    def reason(self) -> Any:
        """What the first ``abort`` was given; ``None`` while not aborted."""
        return self._reason

    def add_listener(self, fn: Listener) -> Callable[[], None]:
        """Call ``fn()`` once when the signal aborts; at once when it already has.

        ``fn`` runs in the thread that aborts. What it raises is logged and goes nowhere.

        Returns:
            A function that removes the listener; calling it again does nothing.
        """
        key = object()
        with _flip:
            if not self._aborted:
                if self._listeners is None:
                    self._listeners = {}
                self._listeners[key] = fn
                return lambda: self._drop(key)
        _notify(fn)
        return _nothing

    def _drop(self, key: object) -> None:
        with _flip:
            if self._listeners is not None:
                self._listeners.pop(key, None)

    async def wait(self) -> Any:
        """Wait until the signal aborts and return its reason; on every anyio backend, whichever thread aborts."""
        # anyio is the one thing waiting cannot do without; everything else here works with no event loop at all.
        import anyio
        from anyio.lowlevel import current_token

        event, home, loop = anyio.Event(), threading.get_ident(), current_token().native_token
        # Both only leave a note for the loop: the thread that aborts may be one this loop is waiting for, or run a
        # loop of its own, and must not wait for us.
        soon: Any = getattr(loop, "call_soon_threadsafe", None) or getattr(loop, "run_sync_soon")  # noqa: B009

        def wake() -> None:
            if threading.get_ident() == home:
                event.set()
            else:
                soon(event.set)

        remove = self.add_listener(wake)
        try:
            await event.wait()
        finally:
            remove()
        return self._reason

    def _abort(self, reason: Any) -> bool:
        with _flip:
            if self._aborted:
                return False
            self._reason, self._aborted = reason, True
            listeners, self._listeners = self._listeners, None
        _notify_all(iter(tuple(listeners.values()) if listeners else ()))
        return True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {f'aborted: {self._reason!r}' if self._aborted else 'live'}>"


class _Never(CancelSignal):
    """The signal of a call that brought none: it never aborts, so it keeps no listeners."""

    __slots__ = ()

    def add_listener(self, fn: Listener) -> Callable[[], None]:
        return _nothing

    def _abort(self, reason: Any) -> bool:
        return False


NEVER: Final[CancelSignal] = _Never()


class CancelSource:
    """Owns a signal and is the only way to abort it."""

    __slots__ = ("_signal",)

    def __init__(self) -> None:
        self._signal = CancelSignal()

    @property
    def signal(self) -> CancelSignal:
        """The signal to hand out."""
        return self._signal

    def abort(self, reason: Any = None) -> bool:
        """Abort the signal. Safe from any thread.

        Args:
            reason: Kept as it is on ``signal.reason``.

        Returns:
            True when this call aborted it, False when an earlier one had (that one's reason stays).
        """
        return self._signal._abort(reason)


def fuse(first: CancelSignal, second: CancelSignal) -> tuple[CancelSignal, Callable[[], None]]:
    """Return a signal that aborts with whichever of the two does, and a function that unties it again.

    The same object, or one that never aborts, needs no third signal: the other is returned itself. When both are
    already aborted the reason is ``first``'s (spec/core.md 2.4).
    """
    if first is second or second is NEVER:
        return first, _nothing
    if first is NEVER:
        return second, _nothing
    both = CancelSignal()
    remove_first = first.add_listener(lambda: both._abort(first.reason))
    remove_second = second.add_listener(lambda: both._abort(second.reason))

    def untie() -> None:
        remove_first()
        remove_second()

    return both, untie


def _notify_all(listeners: Iterator[Listener]) -> None:
    try:
        for fn in listeners:
            _notify(fn)
    except BaseException:
        # Only KeyboardInterrupt and its kin come here; they pass on, but nobody is left waiting for an abort that was.
        _notify_all(listeners)
        raise


def _notify(fn: Listener) -> None:
    try:
        fn()
    except (Exception, SystemExit) as exc:  # noqa: BLE001 - one listener's fault must not keep the others from hearing
        import logging  # not at the top: importing a decision, or judging one call, must not import it

        logging.getLogger("dshhooks.signal").warning("a cancel listener raised %s; it was ignored", type(exc).__name__)


def _nothing() -> None:
    return None
