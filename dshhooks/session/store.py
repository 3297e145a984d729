"""Where sessions are kept: what every store does, on top of the few things each does its own way (spec/core.md 5.7).

::

    memory:                 MemoryStore      for tests, and for hosts that keep nothing
    jsonl:///dir            JsonlStore       a directory; one file a session, one event a line
    sqlite:///file.db       SqliteStore      one database file

A path after three slashes is relative, after four absolute. One writer a session: who claimed it (a live session is
claimed) keeps every other store object out, in this process and in others.
"""

from __future__ import annotations

import builtins
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio
from anyio.lowlevel import cancel_shielded_checkpoint
from attrs import define

from dshhooks.session.codec import Codec
from dshhooks.session.event import Event
from dshhooks.session.lease import FileLeases
from dshhooks.session.ledger import Ledger
from dshhooks.session.log import SessionHeader
from dshhooks.session.records import check_header, event_text
from dshhooks.session.repair import Repair, plan
from dshhooks.session.stored import Leases, RawLog, SessionSnapshot, StoredSession
from dshhooks.session.threads import Workers
from dshhooks.session.variants import Variants
from hookspecs.errors import ConfigError, HarnessError

__all__ = ["FileStore", "SessionStore", "any_store", "open_store"]

log = logging.getLogger("dshhooks.session")

T = TypeVar("T")

_THREADS: Final = 8


class SessionStore(ABC):
    """Keeps sessions. All methods may be called from any task; a store object serves one event loop at a time.

    Operations on one session run one after the other, in the order they were called; one that failed leaves nothing
    behind and does not hold up the next. Cancellation lets a write that has begun end first.

    ``codec`` structures what is read; a host sets its own, which knows the variants of its plugins.
    """

    def __init__(self) -> None:
        self.codec = Codec(Variants())
        self._created: dict[str, SessionHeader] = {}
        self._starting: dict[str, Ledger] = {}  # of created sessions; stored together with the first append
        self._writing: set[str] = set()  # claimed here and written to since
        self._turns: dict[str, _Turn] = {}

    # -- what each store does its own way; the blocking ones run in a worker thread --------------------------------

    @abstractmethod
    def locate(self, header: SessionHeader) -> Path | None:
        """Return the file a session has, or would have, to itself; ``None`` if there is no such file. No I/O."""

    @abstractmethod
    def has(self, session_id: str) -> bool:
        """Say whether a session of that id is stored or created; a quick look that waits for nobody."""

    @property
    @abstractmethod
    def leases(self) -> Leases:
        """Who writes what."""

    @abstractmethod
    def _read(self, session_id: str) -> RawLog | None: ...

    @abstractmethod
    def _length(self, session_id: str) -> int | None:
        """Return how many events are stored, or ``None`` for an unknown session."""

    @abstractmethod
    def _write(self, session_id: str, header: SessionHeader | None, events: Sequence[Event]) -> None:
        """Write a batch that fits, durably and all or nothing; with a header it is the first.

        The first one brings ``self._starting.get(session_id)`` with it, and leaves no older ledger of that id.
        """

    @abstractmethod
    def _mend(self, log: RawLog, added: Sequence[Event]) -> None:
        """Drop what is behind the readable part and write ``added``, durably."""

    @abstractmethod
    def _read_ledger(self, session_id: str) -> Ledger | None: ...

    @abstractmethod
    def _write_ledger(self, session_id: str, ledger: Ledger) -> None:
        """Replace the ledger of a stored session, durably and all or nothing."""

    @abstractmethod
    def _snapshots(self) -> builtins.list[SessionSnapshot]: ...

    def _close(self) -> None:  # noqa: B027 - there may be nothing to let go of
        """Let go of files; whatever is called next opens them again."""

    # -- the store -------------------------------------------------------------------------------------------------

    async def create(self, header: SessionHeader) -> None:
        """Make room for a session; nothing is stored before its first append.

        Raises:
            HarnessError: ``SESSION_ALREADY_EXISTS``, ``SESSION_FORMAT``, ``INVALID_HEADER``.
        """
        check_header(header)
        async with self._turn(header.id):
            if header.id in self._created or await self._run(lambda: self.has(header.id)):
                raise HarnessError(
                    f"there already is a session {header.id!r}; resume it, or choose another id",
                    "SESSION_ALREADY_EXISTS",
                )
            self._created[header.id] = header

    async def append(self, session_id: str, events: Iterable[Event]) -> None:
        """Add events to a session's stored log; when this returns they are durable. The first append stores the header.

        Args:
            session_id: A session that was created here or is stored.
            events: What follows what is stored: the first seq is the stored length, the others count up.

        Raises:
            HarnessError: ``INVALID_SEQUENCE``, ``SESSION_NOT_FOUND``, ``SESSION_LOCKED``, ``SESSION_CORRUPT`` (a torn
                tail must be loaded, and so repaired, first).
        """
        batch = tuple(events)
        if not batch:
            return
        async with self._turn(session_id):
            await cancel_shielded_checkpoint()  # a store that never waits would be handed every event by itself
            await self._run(lambda: self._append(session_id, batch))

    async def append_idempotent(self, session_id: str, event: Event) -> bool:
        """Add one event unless exactly it is stored at its place already; return whether it was added.

        For who does not know whether an earlier attempt succeeded.

        Raises:
            HarnessError: As :meth:`append`; ``INVALID_SEQUENCE`` if another event stands there.
        """
        async with self._turn(session_id):
            return await self._run(lambda: self._append_once(session_id, event))

    async def load(self, session_id: str) -> StoredSession:
        """Return a session, after repairing its stored log if its writer died: durable, the same result every time.

        A live session is returned as stored while no turn is open in it, and refused otherwise.

        Raises:
            HarnessError: ``SESSION_NOT_FOUND``, ``SESSION_CORRUPT``, ``SESSION_FORMAT``; ``SESSION_LOCKED`` if it needs
                repair and somebody else has it; ``SESSION_LIVE`` if it is being written here.
        """
        async with self._turn(session_id):
            return await self._run(lambda: self._load(session_id))

    async def inspect(self, session_id: str) -> StoredSession:
        """Return a session as it is stored, up to its first hole; ``.repair`` says what :meth:`load` would do.

        Changes nothing, whatever it finds.

        Raises:
            HarnessError: ``SESSION_NOT_FOUND``, ``SESSION_CORRUPT``, ``SESSION_FORMAT``.
        """
        async with self._turn(session_id):
            return await self._run(lambda: self._inspect(session_id))

    async def length(self, session_id: str) -> int | None:
        """Return how many events are stored of a session; ``None`` if it is not stored."""
        async with self._turn(session_id):
            return await self._run(lambda: self._length(session_id))

    async def list(self) -> builtins.list[SessionHeader]:
        """Return the headers of the stored sessions, oldest first."""
        return [snapshot.header for snapshot in await self.list_snapshots()]

    async def list_snapshots(self) -> builtins.list[SessionSnapshot]:
        """Return headers and revisions of the stored sessions, oldest first."""
        found = await self._run(self._snapshots)
        return sorted(found, key=lambda snapshot: (snapshot.header.created_at, snapshot.header.id))

    async def ledger(self, session_id: str) -> Ledger:
        """Return what is kept of a session's openings; for one that nothing is kept of, that it was opened once.

        Raises:
            HarnessError: ``SESSION_CORRUPT``.
        """
        async with self._turn(session_id):
            return await self._run(lambda: self._ledger(session_id))

    async def record(self, session_id: str, ledger: Ledger) -> None:
        """Replace what is kept of a session's openings: durable on return, or, until its first append, with that.

        Raises:
            HarnessError: ``SESSION_NOT_FOUND``, ``SESSION_LOCKED``.
        """
        async with self._turn(session_id):
            if session_id in self._created:
                self._starting[session_id] = ledger
            else:
                await self._run(lambda: self._record(session_id, ledger))

    async def claim(self, session_id: str) -> None:
        """Become the one writer of a session, until it is released or the process ends, however it does.

        Raises:
            HarnessError: ``SESSION_LOCKED``; it says which process has it, where and since when.
        """
        async with self._turn(session_id):
            await self._run(lambda: self.leases.claim(session_id))
            self._writing.discard(session_id)

    async def release(self, session_id: str) -> None:
        """Give a claimed session back; one that was created and never written is forgotten."""
        async with self._turn(session_id):
            self._started(session_id)
            self._writing.discard(session_id)
            await self._run(lambda: self.leases.release(session_id))

    async def aclose(self) -> None:
        """Let go of open files. The store can be used again."""
        await self._run(self._close)

    # -- shared parts ----------------------------------------------------------------------------------------------

    def _append(self, session_id: str, batch: Sequence[Event]) -> None:
        with self.leases.guard(session_id):
            self._put(session_id, batch, self._length(session_id))

    def _put(self, session_id: str, batch: Sequence[Event], length: int | None) -> None:
        header = self._created.get(session_id)
        if length is None and header is None:
            raise not_found(session_id)
        if length is not None and header is not None:
            raise HarnessError(f"there already is a session {session_id!r}", "SESSION_ALREADY_EXISTS")
        for seq, event in enumerate(batch, length or 0):
            if event.seq != seq:
                raise HarnessError(
                    f"session {session_id!r} has {length or 0} events: event {seq} comes next, not {event.seq}",
                    "INVALID_SEQUENCE",
                )
        self._write(session_id, header, batch)
        self._started(session_id)
        self._writing.add(session_id)

    def _started(self, session_id: str) -> None:
        self._created.pop(session_id, None)
        self._starting.pop(session_id, None)

    def _ledger(self, session_id: str) -> Ledger:
        return self._starting.get(session_id) or self._read_ledger(session_id) or Ledger()

    def _record(self, session_id: str, ledger: Ledger) -> None:
        with self.leases.guard(session_id):
            if not self.has(session_id):
                raise not_found(session_id)
            self._write_ledger(session_id, ledger)

    def _append_once(self, session_id: str, event: Event) -> bool:
        with self.leases.guard(session_id):
            length = self._length(session_id)
            if length is None or event.seq >= length:
                self._put(session_id, (event,), length)
                return True
            log = self._read(session_id)
        if log is None or event.seq >= len(log.events) or not _same(log.events[event.seq], event):
            raise HarnessError(f"session {session_id!r} has another event {event.seq}", "INVALID_SEQUENCE")
        if self._created.get(session_id) == log.header:
            self._started(session_id)  # its first write was reported as failed, and was there nevertheless
        return False

    def _found(self, session_id: str) -> tuple[RawLog, tuple[Repair, ...]]:
        log = self._read(session_id)
        if log is None:
            raise not_found(session_id)
        return log, plan(log.events, log.hole, self.codec)

    def _inspect(self, session_id: str) -> StoredSession:
        log, repair = self._found(session_id)
        return StoredSession(log.header, tuple(log.events), repair, log.revision)

    def _load(self, session_id: str) -> StoredSession:
        log, repair = self._found(session_id)
        if not repair:
            return StoredSession(log.header, tuple(log.events), (), log.revision)
        if session_id in self._writing and self._claimed(session_id):
            raise HarnessError(f"session {session_id!r} is live and in the middle of a turn", "SESSION_LIVE")
        with self.leases.guard(session_id):
            log, repair = self._found(session_id)  # again: before, somebody may have been writing
            if repair:
                self._mend(log, [step.event for step in repair if step.event is not None])
        after = self._inspect(session_id)
        return StoredSession(after.header, after.events, repair, after.revision)

    @abstractmethod
    def _claimed(self, session_id: str) -> bool:
        """Say whether this store object holds the claim."""

    async def _run(self, fn: Callable[[], T]) -> T:
        """Run a blocking part; shielded, so that what has begun ends before anybody goes on."""
        return fn()

    @asynccontextmanager
    async def _turn(self, session_id: str) -> AsyncIterator[None]:
        """Wait for one's turn with a session; made for the moment, so that no event loop outlives its use in here."""
        turn = self._turns.get(session_id)
        if turn is None:
            turn = self._turns[session_id] = _Turn(anyio.Lock(fast_acquire=True))
        turn.users += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.users -= 1
            if not turn.users and self._turns.get(session_id) is turn:
                del self._turns[session_id]


class FileStore(SessionStore):
    """A store on disk: leases are lock files, and what blocks runs in worker threads."""

    def __init__(self, leases: FileLeases) -> None:
        super().__init__()
        self._leases = leases
        self._workers = Workers(_THREADS)

    @property
    def leases(self) -> FileLeases:
        """Who writes what, on this machine."""
        return self._leases

    def _claimed(self, session_id: str) -> bool:
        return self._leases.holds(session_id)

    async def _run(self, fn: Callable[[], T]) -> T:
        return await self._workers.run(fn)

    def _skipped(self, where: str, exc: Exception) -> None:
        log.warning("%s is left out of the list: %s", where, exc)


@define
class _Turn:
    lock: anyio.Lock
    users: int = 0


def _same(one: Event, other: Event) -> bool:
    return event_text(one) == event_text(other)


def not_found(session_id: str) -> HarnessError:
    """Return the error for an id nobody knows."""
    return HarnessError(f"there is no session {session_id!r}", "SESSION_NOT_FOUND")


def open_store(url: str | None) -> SessionStore:
    """Return the store a URL names; nothing is opened or created yet.

    Args:
        url: ``sqlite:///relative.db``, ``sqlite:////absolute.db``, ``jsonl:///dir``, ``memory:``; ``None`` is memory.

    Raises:
        ConfigError: It names none.
    """
    if url is None or url in ("memory:", "memory://"):
        from dshhooks.session.memory import MemoryStore

        return MemoryStore()
    scheme, mark, path = url.partition(":///") if isinstance(url, str) else ("", "", "")
    if mark and os.path.basename(path) not in ("", ".", "..", ":memory:"):
        if scheme == "sqlite":
            from dshhooks.session.sqlite import SqliteStore

            return SqliteStore(path)
        if scheme == "jsonl":
            from dshhooks.session.jsonl import JsonlStore

            return JsonlStore(path)
    raise ConfigError(
        f"store url {url!r}: expected 'sqlite:///file.db' or 'jsonl:///dir', with four slashes for an absolute path, "
        "or 'memory:'"
    )


def any_store(value: Any) -> SessionStore:
    """Return a store for a store, a URL or ``None``."""
    return value if isinstance(value, SessionStore) else open_store(value)
