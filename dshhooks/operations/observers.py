"""Observers: told of begin and finish, contained, unable to change anything (spec/operations.md 1.8, 1.9, 1.11).

What goes wrong in one is one log record with its place and nothing it said: no text, no traceback, no payload.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator
from contextvars import Context
from inspect import isawaitable
from types import FunctionType, GeneratorType
from typing import Any

from attrs import frozen

from dshhooks.engine.faults import discard
from dshhooks.operations.context import CURRENT, CurrentOperation, run_in
from dshhooks.operations.declare import Around
from dshhooks.operations.kinds import Operation
from dshhooks.operations.verdict import is_containable
from hookspecs.errors import InvalidDecisionError

__all__ = ["Begun", "Failed", "ObserverFault", "Report", "begin_all", "finish_all", "report_to"]

log = logging.getLogger("dshhooks.operations")

Finish = Callable[[Any], Any] | Generator[Any, Any, Any]  # a generator is finished by what it is sent
Begun = tuple[int, Finish, str]  # the observer's place in the whole list, what it wants to be told at the end, whose
Failed = tuple[int, str, BaseException]  # the observer's place, whose it is, what it raised
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


def begin_all(operation: CurrentOperation, told: Iterator[tuple[int, Around]], begun: list[Begun]) -> Failed | None:
    """Tell observers that an operation begins, in order, until one fails; called in the operation's own context.

    Flat, and one entry into the context for all of them: this runs for every operation, the appends included.

    Args:
        operation: The operation, from here on the current one of its context.
        told: Those that are left to be told.
        begun: Gets what each of them wants to be told at the end.

    Returns:
        Who failed, and how; the caller reports it where no exception is being handled, so that nobody who logs can add
        its text, and calls again for those still left. ``None`` when all were told.

    Raises:
        BaseException: Only what passes through every boundary, such as ``KeyboardInterrupt``.
    """
    CURRENT.set(operation)
    call = operation.call
    for index, around in told:
        try:
            answer = around.begin(call)
            if type(answer) is GeneratorType:
                if next(answer, _ENDED) is _ENDED:
                    continue
            elif answer is None:
                continue
            elif type(answer) is not FunctionType:
                _check(answer)
        except BaseException as exc:
            if not is_containable(exc):
                raise
            return index, around.plugin, exc
        begun.append((index, answer, around.plugin))
    return None


def _check(answer: Any) -> None:
    if isawaitable(answer) or not callable(answer):
        discard(answer)
        raise InvalidDecisionError(f"begin returned {type(answer).__name__}; it may return finish(result) or None")


def finish_all(context: Context, begun: list[Begun], result: Any, report: Report) -> BaseException | None:
    """Tell the observers, last begun first; each is told, whatever the others do, and taken out of the list.

    Returns:
        The first exception that has to be raised on once everything is released.
    """
    intact = _Keeper(result.error) if result.error is not None else None
    passing = None
    while begun:
        failed = _tell_in(context, begun, result, intact)
        if failed is None:
            continue
        index, plugin, fault = failed
        if is_containable(fault):
            report(ObserverFault(result.operation, "finish", index, plugin), fault)
        elif passing is None:
            passing = fault
    return passing


def _tell_in(context: Context, begun: list[Begun], result: Any, intact: _Keeper | None) -> Failed | None:
    last = begun[-1]
    try:
        try:
            return context.run(_tell_rest, begun, result, intact)
        except RuntimeError:  # it raises nothing, so the context is entered already
            return run_in(context, _tell_rest, begun, result, intact)
    except BaseException as exc:  # noqa: BLE001 - the stack is full, or an interrupt came in between; judged by the caller
        if begun and begun[-1] is last:
            begun.pop()
        return last[0], last[2], exc


def _tell_rest(begun: list[Begun], result: Any, intact: _Keeper | None) -> Failed | None:
    """Tell those that are left until one fails: who, and how. Flat, for the reason ``begin_all`` is."""
    while begun:
        index, finish, plugin = begun.pop()
        try:
            if type(finish) is not GeneratorType:
                _call(finish, result)
                continue
            try:
                finish.send(result)
            except StopIteration:
                continue
            finish.close()
            raise InvalidDecisionError("an observer yields once; this one did twice")
        except BaseException as exc:  # noqa: BLE001 - judged by finish_all, and the others are told all the same
            return index, plugin, exc
        finally:
            if intact is not None:
                intact.restore()
    return None


def _call(finish: Any, result: Any) -> None:
    answer = finish(result)
    if answer is not None and isawaitable(answer):
        discard(answer)
        raise InvalidDecisionError("finish is called where nobody can wait; use a plain `def`")


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
