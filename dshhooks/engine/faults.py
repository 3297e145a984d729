"""What counts as somebody's fault, and whose it is.

A fault is normalized into a result or a log line; everything else (cancellation, ``KeyboardInterrupt``) passes through
every boundary after cleanup (decisions.md 3.7). Each fault of a hook carries a :class:`HookNote`.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["HookNote", "add_note", "is_fault", "origin"]


class HookNote(str):
    """A note on an exception saying which hook of which plugin raised it."""

    __slots__ = ("hook", "plugin")
    hook: str
    plugin: str

    def __new__(cls, hook: str, plugin: str) -> HookNote:
        note = super().__new__(cls, f"raised in hook {hook!r} of plugin {plugin!r}")
        note.hook, note.plugin = hook, plugin
        return note


def is_fault(exc: BaseException) -> bool:
    """Say whether a boundary turns this exception into a failure.

    True for ``Exception``, for ``SystemExit`` (a script turned plugin calls ``sys.exit``), for groups of nothing but
    these, and for a ``CancelledError`` that no one asked for: a body that awaits a task somebody else cancelled.
    """
    if isinstance(exc, (Exception, SystemExit)):
        return True
    if isinstance(exc, BaseExceptionGroup):
        return all(is_fault(member) for member in exc.exceptions)
    return _is_stray_cancellation(exc)


def _is_stray_cancellation(exc: BaseException) -> bool:
    # Without asyncio loaded there is no CancelledError; trio's Cancelled cannot be made by hand.
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or not isinstance(exc, asyncio.CancelledError):
        return False
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return True
    return task is None or task.cancelling() == 0


def add_note(exc: BaseException, hook: str, plugin: str) -> None:
    """Say on the exception where it was raised; once, however often the same object is raised."""
    if not isinstance(exc, (Exception, SystemExit, BaseExceptionGroup)):
        return
    note = HookNote(hook, plugin)
    if note not in getattr(exc, "__notes__", ()):
        try:
            BaseException.add_note(exc, note)
        except Exception:  # noqa: BLE001, S110 - an exception class that refuses notes keeps its own text
            pass


def origin(exc: BaseException) -> HookNote | None:
    """Return the note of the hook that raised the exception last, or ``None`` when no hook did."""
    notes: Any = getattr(exc, "__notes__", ())
    if isinstance(notes, list):
        for note in reversed(notes):
            if isinstance(note, HookNote):
                return note
    return None
