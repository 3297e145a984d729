"""A journal whose appends are observed, once each, and not changed by it (spec/operations.md 1.15)."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import Context
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, TypeVar

import anyio
from attrs import frozen

from dshhooks.operations.call import Coordinates, begun, now
from dshhooks.operations.context import Driven, run_in
from dshhooks.operations.kinds import Operation, Outcome
from dshhooks.operations.payloads import append_data
from dshhooks.operations.runner import Runner, handles
from dshhooks.operations.scope import Scope
from dshhooks.operations.snapshot import freeze
from dshhooks.operations.token import FINISHED, CancelToken
from dshhooks.operations.verdict import is_genuine_cancellation

__all__ = ["FAMILIES", "Append", "Record", "begin_append", "begin_described", "describe_event", "observed_write",
           "with_hooks"]  # fmt: skip

T = TypeVar("T")

FAMILIES: Final = ("event", "command", "gate_prepared", "fence")


@frozen
class Record:
    """What may be said of a record: its family and its id, never its text."""

    family: str
    id: str


Describe = Callable[[Any], Record | None]


def describe_event(event: Any) -> Record | None:
    """Describe a session event: its id is its sequence number (decisions.md 7.23)."""
    seq = event.seq
    return Record("event", str(seq)) if type(seq) is int else None


def with_hooks(journal: Any, runner: Runner | None, session_id: str, describe: Describe = describe_event) -> Any:
    """Return the journal with its appends observed; the very same object when nobody is registered for them (J1).

    Each append reaches the journal exactly once, in the operation's context, and its value or exception comes back
    unchanged, whatever observers do. Cancelling the operation does not stop a write: nobody is left with a record that
    may or may not be there. Everything else the journal has, it still has.

    Args:
        journal: Has ``async append(record)``, and may have ``async append_idempotent(id, record)``; ``None`` stays
            ``None``, so that bad wiring is found where it would be without.
        runner: Whom to tell.
        session_id: Goes into the coordinates.
        describe: Says what a record is; one it cannot describe is appended unobserved.
    """
    if journal is None or not handles(runner, Operation.JOURNAL_APPEND):
        return journal
    assert runner is not None
    kind = _IdempotentJournal if callable(getattr(journal, "append_idempotent", None)) else _ObservedJournal
    return kind(journal, runner, session_id, describe)


class _ObservedJournal:
    def __init__(self, journal: Any, runner: Runner, session_id: str, describe: Describe) -> None:
        self._journal = journal
        self._runner = runner
        self._session_id = session_id
        self._describe = describe

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def append(self, record: Any) -> Any:
        """Append a record, observed."""
        return await self._observed(record, lambda: self._journal.append(record))

    async def _observed(self, record: Any, write: Callable[[], Awaitable[Any]]) -> Any:
        try:
            found = self._describe(record)
        except Exception:  # noqa: BLE001 - what cannot be described is written all the same (J3)
            found = None
        return await observed_write(map(begin_append, [Append(self._runner, found, self._session_id)]), write)


class _IdempotentJournal(_ObservedJournal):
    async def append_idempotent(self, id_: Any, record: Any) -> Any:
        """Append a record once, observed; a repetition that changes nothing has completed (J5)."""
        return await self._observed(record, lambda: self._journal.append_idempotent(id_, record))


@frozen
class Append:
    """One record that is about to be written, and whom to tell.

    Args:
        runner: Whom.
        record: What it is; one that is no :class:`Record` of a known family is written unobserved.
        session_id: Whose journal.
        context: A copy of what it was appended in, if that was elsewhere; becomes its operation's own.
    """

    runner: Runner
    record: Any
    session_id: str
    context: Context | None = None


async def observed_write(begun: Iterable[Scope | None], write: Callable[[], Awaitable[T]]) -> T:
    """Write records with one write, each observed for itself: all begin before it and finish after it, in order.

    A single record is written in its operation's context; several have no context in common, so those are written in
    the caller's.

    Args:
        begun: Begins the operations while it is read; ``None`` for what is written unobserved.
        write: The write.

    Returns:
        What the write returned.

    Raises:
        BaseException: What the write raised, unchanged; or an interrupt that came while observers were told, and then
            nothing is known to be written.
    """
    scopes: list[Scope] = []
    try:
        for scope in begun:
            if scope is not None:
                scopes.append(scope)
        value = await _written(scopes, write)
    except BaseException as exc:
        _end(scopes, exc)
        raise
    _end(scopes, None)
    return value


@lru_cache(maxsize=256)
def _journal_of(session_id: str) -> Coordinates:
    where: Coordinates = freeze(Coordinates(session=session_id))
    return where


def begin_append(append: Append) -> Scope | None:
    """Begin the operation of one append; return ``None`` for what cannot be described."""
    record = append.record
    if type(record) is not Record or type(record.family) is not str or record.family not in FAMILIES:
        return None
    if type(record.id) is not str or not record.id:
        return None
    return begin_described(append.runner, append.session_id, record.family, record.id, append.context, now())


def begin_described(
    runner: Runner, session_id: str, family: str, id: str, context: Context | None, at: datetime
) -> Scope | None:
    """Do the same for one whose family and id are known to be right."""
    try:
        # No agent and no cause: an append belongs to its session (1.5).
        call = begun(Operation.JOURNAL_APPEND, append_data(family, id), _journal_of(session_id), "", None, at)
        return runner.begin_frozen(call, context)
    except Exception:  # noqa: BLE001 - what cannot be observed is written all the same (J2, J3)
        return None


async def _written(scopes: Sequence[Scope], write: Callable[[], Awaitable[T]]) -> T:
    if len(scopes) != 1:
        return await write()
    # Not through scope.run: the observers' cancellation must not turn the journal's answer into another.
    return await Driven(scopes[0].context, run_in(scopes[0].context, write))  # type: ignore[no-any-return]  # any awaitable


def _end(scopes: Sequence[Scope], error: BaseException | None) -> None:
    passing: BaseException | None = None
    at = now()  # of the one answer for all of them
    for scope in scopes:
        try:
            scope.finish_at(at, Outcome.COMPLETED if error is None else _outcome(scope, error), error)
        except BaseException as exc:  # noqa: BLE001 - an interrupt; raised once the others have been told
            passing = exc if passing is None else passing
    if passing is not None:
        raise passing


def _outcome(scope: Scope, error: BaseException) -> Outcome:
    """Apply the journal's own rule: success is success, an error under cancellation is a cancellation (1.10)."""
    canceled = isinstance(error, Exception) and (_cancelled(scope.token) or _cancelled_outside())
    return Outcome.CANCELED if canceled or is_genuine_cancellation(error) else Outcome.FAILED


def _cancelled(token: CancelToken) -> bool:
    # A write in the background often outlives the operation it was appended in; that one finished, nobody cancelled it.
    return token.cancelled and token.reason is not FINISHED


def _cancelled_outside() -> bool:
    return anyio.current_effective_deadline() == -math.inf
