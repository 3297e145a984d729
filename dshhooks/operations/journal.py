"""A journal whose appends are observed, once each, and not changed by it (spec/operations.md 1.15)."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio
from attrs import frozen

from dshhooks.operations.call import Call, Coordinates
from dshhooks.operations.context import Driven, run_in
from dshhooks.operations.kinds import Operation, Outcome
from dshhooks.operations.payloads import JournalAppendData
from dshhooks.operations.runner import Runner, handles
from dshhooks.operations.scope import Scope
from dshhooks.operations.verdict import is_genuine_cancellation

__all__ = ["FAMILIES", "Record", "describe_event", "with_hooks"]

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
        scope = await self._start(record)
        return await (write() if scope is None else _written(scope, write))

    async def _start(self, record: Any) -> Scope | None:
        try:
            found = self._describe(record)
            if type(found) is not Record or found.family not in FAMILIES or type(found.id) is not str or not found.id:
                return None
            data = JournalAppendData(found.family, found.id)
            # No agent and no cause: an append belongs to its session (1.5).
            call = Call(Operation.JOURNAL_APPEND, data, Coordinates(session=self._session_id))
            return await self._runner.start(call)
        except Exception:  # noqa: BLE001 - what cannot be observed is written all the same (J2, J3)
            return None


class _IdempotentJournal(_ObservedJournal):
    async def append_idempotent(self, id_: Any, record: Any) -> Any:
        """Append a record once, observed; a repetition that changes nothing has completed (J5)."""
        return await self._observed(record, lambda: self._journal.append_idempotent(id_, record))


async def _written(scope: Scope, write: Callable[[], Awaitable[Any]]) -> Any:
    try:
        # Not through scope.run: the observers' cancellation must not turn the journal's answer into another.
        value = await Driven(scope.context, run_in(scope.context, write))
    except BaseException as exc:
        canceled = isinstance(exc, Exception) and (scope.token.cancelled or _cancelled_outside())
        scope.finish(Outcome.CANCELED if canceled or is_genuine_cancellation(exc) else Outcome.FAILED, exc)
        raise
    scope.finish(Outcome.COMPLETED)
    return value


def _cancelled_outside() -> bool:
    return anyio.current_effective_deadline() == -math.inf
