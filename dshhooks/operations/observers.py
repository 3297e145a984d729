"""Observers: told of begin and finish, contained, unable to change anything (spec/operations.md 1.8, 1.9, 1.11).

What goes wrong in one is one log record with its place and nothing it said: no text, no traceback, no payload.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Sequence
from contextvars import Context
from inspect import isawaitable
from types import FunctionType, GeneratorType
from typing import Any

from attrs import frozen

from dshhooks.engine.faults import discard
from dshhooks.operations.context import run_in
from dshhooks.operations.declare import Around
from dshhooks.operations.kinds import Operation
from dshhooks.operations.verdict import is_containable
from hookspecs.errors import InvalidDecisionError

__all__ = ["Begun", "ObserverFault", "Report", "begin", "finish_all", "report_to"]

log = logging.getLogger("dshhooks.operations")

Finish = Callable[[Any], Any] | Generator[Any, Any, Any]  # a generator is finished by what it is sent
Begun = tuple[int, Finish, str]  # the observer's place in the whole list, what it wants to be told at the end, whose
_ENDED = object()


@frozen
class ObserverFault:
    """Where an observer failed.

    Args:
        operation: Of which operation it was told.
        phase: ``"begin"``, ``"finish"`` or ``"snapshot"``.
        callback_index: Its place in the whole list of observers; -1 when it is about none of them.
        plugin: Whose it is; empty for the host's own.
    """

    operation: Operation
    phase: str
    callback_index: int
    plugin: str = ""


Report = Callable[[ObserverFault, BaseException], None]


def report_to(debug: Callable[[BaseException, ObserverFault], object] | None) -> Report:
    """Return how faults are reported: a bare log record, and the exception itself to ``debug``, if there is one."""

    def report(where: ObserverFault, exc: BaseException) -> None:
        log.error(
            "%san observer of %s failed in its %s and was ignored: around[%d]",
            f"plugin {where.plugin!r}: " if where.plugin else "",
            where.operation,
            where.phase,
            where.callback_index,
            extra={"operation": str(where.operation), "phase": where.phase, "callback_index": where.callback_index},
        )
        if debug is not None:
            try:
                debug(exc, where)
            except Exception:  # noqa: BLE001 - what watches the watchers cannot change the work either
                log.error("on_observer_error itself failed")

    return report


def begin(context: Context, index: int, around: Around, call: Any, report: Report) -> Finish | None:
    """Tell one observer that an operation begins; return its finish, if it has one.

    Raises:
        BaseException: Only what passes through every boundary, such as ``KeyboardInterrupt``.
    """
    try:
        return context.run(_begun, around.begin, call)  # nobody is in it yet: the operation only begins
    except BaseException as exc:
        if not is_containable(exc):
            raise
        fault = exc
    # Out here no exception is being handled, so nobody who logs can add its text.
    report(ObserverFault(call.operation, "begin", index, around.plugin), fault)
    return None


def _begun(fn: Callable[[Any], Any], call: Any) -> Finish | None:
    answer = fn(call)
    if answer is None or type(answer) is FunctionType:
        return answer
    if type(answer) is GeneratorType:
        return None if next(answer, _ENDED) is _ENDED else answer
    if isawaitable(answer) or not callable(answer):
        discard(answer)
        raise InvalidDecisionError(f"begin returned {type(answer).__name__}; it may return finish(result) or None")
    return answer  # type: ignore[no-any-return]


def finish_all(context: Context, begun: Sequence[Begun], result: Any, report: Report) -> BaseException | None:
    """Tell the observers, last begun first; each is told, whatever the others do.

    Returns:
        The first exception that has to be raised on once everything is released.
    """
    intact = _Keeper(result.error) if result.error is not None else None
    passing = None
    for index, finish, plugin in reversed(begun):
        fault = _finish(context, finish, result)
        if intact is not None:
            intact.restore()
        if fault is None:
            continue
        if is_containable(fault):
            report(ObserverFault(result.operation, "finish", index, plugin), fault)
        elif passing is None:
            passing = fault
    return passing


def _finish(context: Context, finish: Finish, result: Any) -> BaseException | None:
    try:
        try:
            context.run(_tell, finish, result)
        except RuntimeError as exc:
            if exc.__traceback__ is None or exc.__traceback__.tb_next is not None:
                raise
            run_in(context, _tell, finish, result)  # nothing further in raised it: the context is entered already
    except BaseException as exc:  # noqa: BLE001 - judged by the caller, after the others were told
        return exc
    return None


def _tell(finish: Finish, result: Any) -> None:
    if not isinstance(finish, GeneratorType):
        answer = finish(result)  # type: ignore[operator]  # it is no generator
        if answer is not None and isawaitable(answer):
            discard(answer)
            raise InvalidDecisionError("finish is called where nobody can wait; use a plain `def`")
        return
    try:
        finish.send(result)
    except StopIteration:
        return
    finish.close()
    raise InvalidDecisionError("an observer yields once; this one did twice")


class _Keeper:
    """Keeps an exception as its owner has it: an observer that raises it again would leave its marks (1.6)."""

    __slots__ = ("_error", "_notes", "_slots")

    _NAMES = ("__context__", "__cause__", "__suppress_context__", "__traceback__")  # setting a cause sets the third
    _SLOTS = tuple(BaseException.__dict__[name] for name in _NAMES)
    _FIELDS: Any = BaseException.__dict__["__dict__"].__get__

    def __init__(self, error: BaseException) -> None:
        self._error = error
        self._slots = tuple(slot.__get__(error) for slot in self._SLOTS)
        notes = self._FIELDS(error).get("__notes__")
        self._notes = list(notes) if isinstance(notes, list) else None

    def restore(self) -> None:
        error, fields = self._error, self._FIELDS(self._error)
        for slot, value in zip(self._SLOTS, self._slots, strict=True):
            slot.__set__(error, value)
        if self._notes is not None:
            fields["__notes__"] = list(self._notes)
        else:
            fields.pop("__notes__", None)
