"""Sessions in one SQLite file: write-ahead log, every commit synced, one transaction a batch (spec/core.md 5.7).

Beside ``file.db`` stand SQLite's own ``-wal`` and ``-shm`` while it is open, and ``file.db-leases/`` with the locks.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import struct
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from dshhooks.session.codec import Codec
from dshhooks.session.event import Event, surface_op_to_wire
from dshhooks.session.lease import FileLeases
from dshhooks.session.ledger import Ledger, ledger_from_text, ledger_to_text
from dshhooks.session.log import SessionHeader
from dshhooks.session.records import BadRecord, Reader, check_header
from dshhooks.session.repair import scan
from dshhooks.session.store import FileStore
from dshhooks.session.stored import RawLog, SessionSnapshot
from dshhooks.session.text import dumps, loads
from hookspecs.errors import HarnessError

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "SqliteStore"]

APPLICATION_ID: Final = 0x44534848  # "DSHH"
SCHEMA_VERSION: Final = 1

_WAIT: Final = 10.0  # seconds for another process's transaction
_MAGIC: Final = b"SQLite format 3\0"

_SCHEMA: Final = (
    "CREATE TABLE store_identity (identity TEXT NOT NULL)",
    "CREATE TABLE sessions (id TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL, created_at INTEGER NOT NULL,"
    " cwd TEXT, parent_session TEXT, seed_length INTEGER, delegation_depth INTEGER NOT NULL,"
    " incarnation TEXT NOT NULL, revision INTEGER NOT NULL)",
    "CREATE TABLE events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, time INTEGER NOT NULL,"
    " data TEXT NOT NULL, source_event_seqs TEXT, surface_op TEXT, PRIMARY KEY (session_id, seq)) WITHOUT ROWID",
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)
# Made when there is first something to keep in it: releases that do not know it read and write such a file as well.
_LEDGERS: Final = "CREATE TABLE IF NOT EXISTS ledgers (session_id TEXT PRIMARY KEY NOT NULL, data TEXT NOT NULL)"
_INSERT: Final = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)"
_EVENTS: Final = (
    "SELECT seq, type, time, data, surface_op, source_event_seqs FROM events WHERE session_id = ? ORDER BY seq"
)
_SESSIONS: Final = (
    "SELECT id, version, created_at, cwd, parent_session, seed_length, delegation_depth,"
    " (SELECT identity FROM store_identity), incarnation, revision FROM sessions"
)
_LENGTH: Final = (
    "SELECT (SELECT COALESCE(MAX(seq), -1) + 1 FROM events WHERE session_id = sessions.id) FROM sessions WHERE id = ?"
)


class SqliteStore(FileStore):
    """Keeps sessions in a database file that only its owner can read; made when something is first stored.

    Args:
        path: The file.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        super().__init__(FileLeases(Path(f"{self._path}-leases")))
        self._mutex = threading.RLock()
        self._writer: _Connection | None = None
        self._peek_mutex = threading.Lock()
        self._peek: _Connection | None = None

    def locate(self, header: SessionHeader) -> Path | None:
        """Return ``None``: sessions share the file."""
        return None

    def has(self, session_id: str) -> bool:
        """Say whether a session of that id is stored or created."""
        if session_id in self._created:
            return True
        with self._peek_mutex, self._told():
            if self._peek is None and _is_there(self._path):
                self._peek = _Connection(self._path, write=False)
            if self._peek is None:
                return False
            found = self._peek.db.execute("SELECT 1 FROM sessions WHERE id = ?", (_text(session_id),))
            return found.fetchone() is not None

    # -- reading ---------------------------------------------------------------------------------------------------

    def _length(self, session_id: str) -> int | None:
        with self._reading() as db:
            row = None if db is None else db.execute(_LENGTH, (_text(session_id),)).fetchone()
            return None if row is None else int(row[0])

    def _read(self, session_id: str) -> RawLog | None:
        with self._reading() as db:
            if db is None:
                return None
            row = db.execute(f"{_SESSIONS} WHERE id = ?", (_text(session_id),)).fetchone()
            if row is None:
                return None
            found = self._snapshot(row)
            try:
                events, hole = scan(db.execute(_EVENTS, (_text(session_id),)), _parser(self.codec))
            except HarnessError as exc:
                raise HarnessError(f"{self._path}, session {session_id!r}: {exc.message}", exc.code) from exc
        return RawLog(found.header, events, hole, found.revision)

    def _read_ledger(self, session_id: str) -> Ledger | None:
        with self._reading() as db:
            if db is None or not _has_ledgers(db):
                return None
            row = db.execute("SELECT data FROM ledgers WHERE session_id = ?", (_text(session_id),)).fetchone()
        return None if row is None else ledger_from_text(row[0], f"{self._path}, session {session_id!r}")

    def _snapshots(self) -> list[SessionSnapshot]:
        found = []
        with self._reading() as db:
            for row in () if db is None else db.execute(_SESSIONS):
                try:
                    found.append(self._snapshot(row))
                except HarnessError as exc:
                    self._skipped(f"{self._path}, session {row[0]!r}", exc)
        return found

    def _snapshot(self, row: Sequence[Any]) -> SessionSnapshot:
        name, version, created_at, cwd, parent, seed_length, depth, identity, incarnation, revision = row
        header = SessionHeader(_str(name), created_at, version, _str(cwd), _str(parent), seed_length, depth)
        return SessionSnapshot(check_header(header), f"{identity}:{incarnation}:{revision}")

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """Yield a connection to read with: the one that writes, if it is open, or a read-only one for the moment."""
        with self._mutex, self._told():
            if self._writer is not None:
                yield self._writer.db
            elif not _is_there(self._path):
                yield None
            else:
                with closing(_Connection(self._path, write=False)) as reader:
                    yield reader.db

    # -- writing ---------------------------------------------------------------------------------------------------

    def _write(self, session_id: str, header: SessionHeader | None, events: Sequence[Event]) -> None:
        rows = [_row(session_id, event) for event in events]
        with self._transaction() as db:
            if header is not None:
                _insert_header(db, header)
                _start_ledger(db, session_id, self._starting.get(session_id))
            db.executemany(_INSERT, rows)
            self._bump(db, session_id)

    def _mend(self, log: RawLog, added: Sequence[Event]) -> None:
        name = log.header.id
        with self._transaction() as db:
            db.execute(
                "DELETE FROM events WHERE session_id = ? AND NOT (typeof(seq) = 'integer' AND seq BETWEEN 0 AND ?)",
                (_text(name), len(log.events) - 1),
            )
            db.executemany(_INSERT, [_row(name, event) for event in added])
            self._bump(db, name)

    def _write_ledger(self, session_id: str, ledger: Ledger) -> None:
        with self._transaction() as db:
            _put_ledger(db, session_id, ledger)

    def _bump(self, db: sqlite3.Connection, session_id: str) -> None:
        db.execute("UPDATE sessions SET revision = revision + 1 WHERE id = ?", (_text(session_id),))

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._mutex, self._told():
            if self._writer is None:
                self._writer = _Connection(self._path, write=True)
            db = self._writer.db
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as exc:
            raise HarnessError(f"{self._path}: {exc}", "STORE_ERROR") from exc

    def _close(self) -> None:
        with self._peek_mutex:
            if self._peek is not None:
                self._peek.close()
                self._peek = None
        with self._mutex:  # last: SQLite tidies its write-ahead log away when the last connection goes
            if self._writer is not None:
                self._writer.close()
                self._writer = None


class _Connection:
    """An open database that was checked to be ours; closed at the latest when it is collected."""

    def __init__(self, path: Path, *, write: bool) -> None:
        if write:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        _check_file(path)
        uri = f"{path.absolute().as_uri()}?mode={'rw' if write else 'ro'}"
        self.db = sqlite3.connect(uri, uri=True, timeout=_WAIT, isolation_level=None, check_same_thread=False)
        self.close = weakref.finalize(self, self.db.close)
        try:
            if write:
                _prepare(self.db)
        except BaseException:
            self.close()
            raise


def _prepare(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA synchronous = FULL")
    db.execute("BEGIN IMMEDIATE")
    if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
        for statement in _SCHEMA:
            db.execute(statement)
        db.execute("INSERT INTO store_identity VALUES (?)", (secrets.token_hex(16),))
    db.execute("COMMIT")
    db.execute("PRAGMA journal_mode = WAL")


def _is_there(path: Path) -> bool:
    try:
        if path.stat().st_size > 0 and Path(f"{path}-journal").exists():
            _roll_back(path)
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def _roll_back(path: Path) -> None:
    """Let SQLite undo what a process began that died while it made the file; a read-only connection cannot."""
    _check_file(path)
    with closing(sqlite3.connect(path, timeout=_WAIT)) as db:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _check_file(path: Path) -> None:
    """Refuse a file that is not ours by its first bytes: SQLite would touch it."""
    with path.open("rb") as file:
        head = file.read(100)
    if not head:
        return
    if len(head) < 100 or not head.startswith(_MAGIC):
        raise HarnessError(f"{path} is no SQLite database; choose another file", "STORE_FORMAT")
    (version,), (application,) = struct.unpack(">i", head[60:64]), struct.unpack(">i", head[68:72])
    if application != APPLICATION_ID:
        raise HarnessError(f"{path} is a database of something else; choose another file", "STORE_FORMAT")
    if version != SCHEMA_VERSION:
        raise HarnessError(
            f"{path} has schema version {version}; this release reads {SCHEMA_VERSION}: "
            "open it with the release that wrote it",
            "STORE_FORMAT",
        )


def _insert_header(db: sqlite3.Connection, header: SessionHeader) -> None:
    optional = (_text(header.cwd), _text(header.parent_session), header.seed_length)
    row = (_text(header.id), header.version, header.created_at, *optional, header.delegation_depth)
    try:
        db.execute("INSERT INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0)", (*row, secrets.token_hex(8)))
    except sqlite3.IntegrityError:
        raise HarnessError(f"there already is a session {header.id!r}", "SESSION_ALREADY_EXISTS") from None


def _has_ledgers(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'ledgers'").fetchone() is not None


def _put_ledger(db: sqlite3.Connection, session_id: str, ledger: Ledger) -> None:
    db.execute(_LEDGERS)
    db.execute("INSERT OR REPLACE INTO ledgers VALUES (?, ?)", (_text(session_id), ledger_to_text(ledger)))


def _start_ledger(db: sqlite3.Connection, session_id: str, ledger: Ledger | None) -> None:
    if ledger is not None:
        _put_ledger(db, session_id, ledger)
    elif _has_ledgers(db):
        db.execute("DELETE FROM ledgers WHERE session_id = ?", (_text(session_id),))


def _row(session_id: str, event: Event) -> tuple[Any, ...]:
    sources = None if event.source_event_seqs is None else dumps(list(event.source_event_seqs))
    operation = None if event.surface_op is None else dumps(surface_op_to_wire(event.surface_op))
    return (_text(session_id), event.seq, _text(event.type), event.time, dumps(event.raw), sources, operation)


def _parser(codec: Codec) -> Any:
    event = Reader(codec).event

    def parse(row: Sequence[Any], seq: int | None) -> Event:
        found, kind, time, data, operation, sources = row
        try:
            if operation is None and sources is None:
                return event(_str(kind), found, time, loads(data), seq)
            return event(
                _str(kind),
                found,
                time,
                loads(data),
                seq,
                None if operation is None else loads(operation),
                None if sources is None else loads(sources),
            )
        except BadRecord:
            raise
        except (ValueError, TypeError) as exc:
            raise BadRecord(f"it is no JSON: {exc}") from exc

    return parse


def _text(value: str | None) -> Any:
    """Return what SQLite stores for a str; a lone surrogate has no UTF-8, so such a str is kept as bytes."""
    try:
        if value is not None:
            value.encode("utf-8")
    except UnicodeEncodeError:
        return str(value).encode("utf-8", "surrogatepass")
    return value


def _str(value: Any) -> Any:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value
