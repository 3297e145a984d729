"""Appends to live sessions as operations: one observation an event, whatever the batching (spec/operations.md 1.15).

With nobody to tell, this costs one look per event, and the store is called as if it were not there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextvars import Context, ContextVar, copy_context
from typing import TYPE_CHECKING, Final, TypeVar

from dshhooks.session.event import Event
from dshhooks.session.log import Session
from dshhooks.session.store import SessionStore

if TYPE_CHECKING:
    from dshhooks.operations.fence import Middleware
    from dshhooks.operations.host import Operations
    from dshhooks.operations.journal import Append
    from dshhooks.operations.runner import Runner

    _Noted = tuple[Runner, Context]

__all__ = ["Journal"]

T = TypeVar("T")

_FENCE: Final = "fence"
_EVENT: Final = "event"

# The session whose append the running code is being told of.
_told_of: ContextVar[str | None] = ContextVar("dshhooks_journal", default=None)


class Journal:
    """A store's append path for the live sessions of a host.

    An event is observed by those who were registered when it was appended, in the context it was appended in. An event
    that an observer of an append appends itself, or has somebody append, is stored like every other, and not observed:
    the observer would be told for ever.

    Args:
        store: Where appends go.
        operations: Where a session's observers come from; ``None`` for nowhere.
    """

    def __init__(self, store: SessionStore, operations: Operations | None = None) -> None:
        self._store, self._operations = store, operations
        self._noted: dict[str, dict[int, _Noted]] = {}  # by the event's number: whom to tell, and where it was appended
        # The last runner, and whether it is told of appends: asked for every event.
        self._asked: Runner | None = None
        self._told = False

    # -- events ----------------------------------------------------------------------------------------------------

    def note(self, session: Session, event: Event) -> None:
        """Keep in mind who has to be told when an event that was just appended is written."""
        operations = self._operations
        if operations is None or not operations.attended:
            return
        runner = self._telling_runner(operations, session)
        if runner is None:
            return
        session_id = session.id
        if _told_of.get() == session_id:
            return
        noted = self._noted.get(session_id)
        if noted is None:
            noted = self._noted[session_id] = {}
        noted[event.seq] = runner, _telling(session_id)

    def note_all(self, session: Session, events: Iterable[Event]) -> None:
        """Do the same for what was appended before the session was live."""
        for event in events:
            self.note(session, event)

    def forget(self, session_id: str) -> None:
        """Forget a session, written or not."""
        self._noted.pop(session_id, None)

    async def append(self, session_id: str, events: Sequence[Event]) -> None:
        """Append to the store; each event is observed from before the write until it is acknowledged or has failed."""
        noted = self._noted.get(session_id)
        if not noted:
            await self._store.append(session_id, events)
            return
        await self._write(session_id, noted, events, lambda: self._store.append(session_id, events))

    async def append_idempotent(self, session_id: str, event: Event) -> bool:
        """Append to the store what may be there already; observed as one more attempt."""
        noted = self._noted.get(session_id)
        if not noted:
            return await self._store.append_idempotent(session_id, event)
        return await self._write(session_id, noted, (event,), lambda: self._store.append_idempotent(session_id, event))

    async def _write(
        self, session_id: str, noted: dict[int, _Noted], events: Sequence[Event], write: Callable[[], Awaitable[T]]
    ) -> T:
        from dshhooks.operations.call import now
        from dshhooks.operations.journal import begin_described, observed_write

        at = now()  # of the one write for all of them
        told = [event.seq for event in events if event.seq in noted]
        # Each attempt has a context of its own: what an observer put into an earlier one is gone.
        begun = (begin_described(noted[seq][0], session_id, _EVENT, str(seq), noted[seq][1].copy(), at) for seq in told)
        value = await observed_write(begun, write)
        for seq in told:
            noted.pop(seq, None)
        return value

    # -- openings --------------------------------------------------------------------------------------------------

    def fencing(self, session: Session, epoch: int) -> Middleware | None:
        """Return what an opening fence is written through; ``None`` when nobody wants to know."""
        append = self._record(session, _FENCE, str(epoch))
        if append is None:
            return None
        from dshhooks.operations.fence import observing

        return observing(append)

    async def decided(self, session: Session, record: str, write: Callable[[], Awaitable[T]]) -> T:
        """Write what was decided about a session that is being opened, observed; ``record`` is its id."""
        append = self._record(session, _EVENT, record)
        if append is None:
            return await write()
        from dshhooks.operations.journal import begin_append, observed_write

        return await observed_write(map(begin_append, [append]), write)

    def _record(self, session: Session, family: str, record_id: str) -> Append | None:
        runner = self._runner(session)
        if runner is None:
            return None
        from dshhooks.operations.journal import Append, Record

        return Append(runner, Record(family, record_id), session.id, _telling(session.id))

    def _runner(self, session: Session) -> Runner | None:
        operations = self._operations
        if operations is None or not operations.attended:
            return None
        return self._telling_runner(operations, session)

    def _telling_runner(self, operations: Operations, session: Session) -> Runner | None:
        runner = operations.runner(session.agent)
        if runner is not self._asked:
            self._asked, self._told = runner, _observes_appends(runner)
        return runner if self._told else None


def _observes_appends(runner: Runner | None) -> bool:
    from dshhooks.operations.kinds import Operation
    from dshhooks.operations.runner import handles

    return handles(runner, Operation.JOURNAL_APPEND)


def _telling(session_id: str) -> Context:
    context = copy_context()
    context.run(_told_of.set, session_id)
    return context
