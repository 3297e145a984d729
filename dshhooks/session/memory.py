"""The store that keeps sessions as long as the process lives."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import define, field

from dshhooks.session.event import Event
from dshhooks.session.lease import locked
from dshhooks.session.ledger import Ledger
from dshhooks.session.log import SessionHeader, now_ms
from dshhooks.session.store import SessionStore
from dshhooks.session.stored import RawLog, SessionSnapshot
from dshhooks.session.text import dumps

__all__ = ["MemoryStore"]

_numbers = itertools.count(1)


@define
class _Kept:
    header: SessionHeader
    incarnation: int
    events: list[Event] = field(factory=list)
    revision: int = 0
    ledger: Ledger | None = None


class _MemoryLeases:
    def __init__(self) -> None:
        self.since: dict[str, int] = {}

    def claim(self, session_id: str) -> None:
        if session_id in self.since:
            raise locked(session_id, os.getpid(), socket.gethostname(), self.since[session_id])
        self.since[session_id] = now_ms()

    def release(self, session_id: str) -> None:
        self.since.pop(session_id, None)

    @contextmanager
    def guard(self, session_id: str) -> Iterator[None]:
        yield


class MemoryStore(SessionStore):
    """Keeps sessions in memory; everything else is as with the stores that keep them on disk."""

    def __init__(self) -> None:
        super().__init__()
        self._leases = _MemoryLeases()
        self._kept: dict[str, _Kept] = {}
        self._name = f"memory-{next(_numbers)}"

    def locate(self, header: SessionHeader) -> Path | None:
        """Return ``None``: there are no files."""
        return None

    def has(self, session_id: str) -> bool:
        """Say whether a session of that id is stored or created."""
        return session_id in self._kept or session_id in self._created

    @property
    def leases(self) -> _MemoryLeases:
        """Who writes what, in this process."""
        return self._leases

    def _claimed(self, session_id: str) -> bool:
        return session_id in self._leases.since

    def _length(self, session_id: str) -> int | None:
        kept = self._kept.get(session_id)
        return None if kept is None else len(kept.events)

    def _read(self, session_id: str) -> RawLog | None:
        kept = self._kept.get(session_id)
        if kept is None:
            return None
        # New events: what the kept ones' data was structured to may be another host's classes.
        events = [self._read_again(event) for event in kept.events]
        return RawLog(kept.header, events, None, self._revision(kept))

    def _read_again(self, event: Event) -> Event:
        return Event(
            event.seq,
            event.type,
            event.time,
            self.codec,
            wire=event.wire,
            surface_op=event.surface_op,
            source_event_seqs=event.source_event_seqs,
        )

    def _write(self, session_id: str, header: SessionHeader | None, events: Sequence[Event]) -> None:
        for event in events:
            dumps(event.wire)  # what another store would refuse is refused here, too
        if header is not None:
            self._kept[session_id] = _Kept(header, next(_numbers), ledger=self._starting.get(session_id))
        kept = self._kept[session_id]
        kept.events += events
        kept.revision += 1

    def _mend(self, log: RawLog, added: Sequence[Event]) -> None:
        self._write(log.header.id, None, added)

    def _read_ledger(self, session_id: str) -> Ledger | None:
        kept = self._kept.get(session_id)
        return None if kept is None else kept.ledger

    def _write_ledger(self, session_id: str, ledger: Ledger) -> None:
        self._kept[session_id].ledger = ledger

    def _snapshots(self) -> list[SessionSnapshot]:
        return [SessionSnapshot(kept.header, self._revision(kept)) for kept in self._kept.values()]

    def _revision(self, kept: _Kept) -> str:
        return f"{self._name}:{kept.incarnation}:{kept.revision}"
