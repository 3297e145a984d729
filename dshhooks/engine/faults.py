"""What counts as somebody's fault, and whose it is.

A fault is normalized into a result or a log line; everything else (cancellation, ``KeyboardInterrupt``) passes through
every boundary after cleanup (decisions.md 3.7). Each fault of a hook carries a :class:`HookNote`.
"""

from __future__ import annotations

import sys
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final

from hookspecs.errors import HarnessError, PluginFailedError, error_message

if TYPE_CHECKING:
    from dshhooks.engine.plan import Implementation

__all__ = [
    "CONFIDENTIAL",
    "HookNote",
    "add_note",
    "blamed",
    "discard",
    "for_host",
    "is_fault",
    "origin",
    "plugin_failed",
]

# What breaks in these hooks is logged and traced by its type only: a guard's exception may hold what it guards
# (spec/operations.md 1.9, X1).
CONFIDENTIAL: Final = frozenset({"operation", "operation_guard"})


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
    """Say on the exception where it was raised; once a place, however often the same object is raised there."""
    if not isinstance(exc, (Exception, SystemExit, BaseExceptionGroup)) and not is_fault(exc):
        return
    note, notes = HookNote(hook, plugin), _notes(exc)
    if note in notes:  # an exception object raised again: whoever raised it last is named last
        notes.remove(note)
        notes.append(note)
        return
    try:
        BaseException.add_note(exc, note)
    except Exception:  # noqa: BLE001 - a frozen exception refuses to be assigned to; its dict does not
        object.__getattribute__(exc, "__dict__")["__notes__"] = [*notes, note]


def _notes(exc: BaseException) -> list[Any]:
    # Read past whatever the class put in the way of its own attributes.
    notes = object.__getattribute__(exc, "__dict__").get("__notes__")
    return notes if isinstance(notes, list) else []


def origin(exc: BaseException) -> HookNote | None:
    """Return the note of the hook that raised the exception last, or ``None`` when no hook did."""
    for note in reversed(_notes(exc)):
        if isinstance(note, HookNote):
            return note
    return None


def blamed(exc: BaseException, impl: Implementation) -> BaseException:
    """Note who raised and return what to raise on; a StopIteration cannot leave a coroutine, so it becomes a cause.

    Returned and not raised here: a frame that held the exception would be part of its traceback, a cycle.
    """
    if isinstance(exc, (StopIteration, StopAsyncIteration)):
        error = RuntimeError(f"plugin {impl.plugin!r}, hook {impl.hook!r}: {type(exc).__name__} was raised")
        error.__cause__ = exc
        exc = error
    add_note(exc, impl.hook, impl.plugin)
    return exc


def plugin_failed(exc: BaseException, hook: str, plugin: str) -> PluginFailedError:
    """Return the error to raise from a fault of a plugin's hook where no result can carry it (decisions.md 3.7).

    Its code is ``PLUGIN_FAILED``, or the code the fault brought along.
    """
    what = f"plugin {plugin!r} failed in hook {hook!r}: {type(exc).__name__}: {error_message(exc)}"
    code = getattr(exc, "code", None) if isinstance(exc, HarnessError) else None
    return PluginFailedError(what, code if isinstance(code, str) else None)


def for_host(exc: BaseException) -> BaseException:
    """Return what to raise to the host from a hook: a plugin's ``SystemExit`` must not end it (decisions.md 3.7)."""
    note = origin(exc)
    if note is None or isinstance(exc, Exception) or not is_fault(exc):
        return exc
    error = plugin_failed(exc, note.hook, note.plugin)
    error.__cause__ = exc
    return error


def discard(answer: Any) -> None:
    """Close an answer that is a coroutine nobody will await, or Python would warn about it. Never raises."""
    try:
        if isawaitable(answer) and hasattr(answer, "close"):
            answer.close()
    except (Exception, SystemExit):  # noqa: BLE001 - the answer is refused already; how it goes is its own business
        pass
