"""Sessions in a directory: one file a session, a header line, then one event a line (spec/core.md 5.7).

::

    root/no-project/<id>/session.jsonl        sessions without a working directory
    root/at-<cwd>/<id>/session.jsonl          the others
    root/at-<cwd>/<id>/ledger.json            its openings, if there is more to say than that it was opened once
    root/.locks/<id>.lock                     while somebody writes
"""

from __future__ import annotations

import errno
import os
import secrets
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from attrs import define

from dshhooks.session.event import Event
from dshhooks.session.lease import FileLeases
from dshhooks.session.ledger import Ledger, ledger_from_text, ledger_to_text
from dshhooks.session.log import SessionHeader
from dshhooks.session.names import project, segment
from dshhooks.session.records import BadRecord, Reader, event_text, header_from_wire, header_to_wire
from dshhooks.session.repair import scan
from dshhooks.session.store import FileStore
from dshhooks.session.stored import RawLog, SessionSnapshot
from dshhooks.session.text import dumps, loads
from hookspecs.errors import HarnessError

__all__ = ["JsonlStore"]

_NAME: Final = "session.jsonl"
_LEDGER: Final = "ledger.json"
_TAIL: Final = 4096
_NO_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


@define
class _Known:
    """What this object last saw of a file; true as long as the file still ends there."""

    path: Path
    length: int
    end: int


class JsonlStore(FileStore):
    """Keeps sessions in files that any tool can read.

    Args:
        directory: The root; made when something is first stored.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._root = Path(directory)
        super().__init__(FileLeases(self._root / ".locks"))
        self._known: dict[str, _Known] = {}

    def locate(self, header: SessionHeader) -> Path:
        """Return the session's file."""
        return self._root / project(header.cwd) / segment(header.id) / _NAME

    def has(self, session_id: str) -> bool:
        """Say whether a session of that id is stored or created."""
        return session_id in self._created or self._find(session_id) is not None

    def _find(self, session_id: str) -> Path | None:
        known = self._known.get(session_id)
        if known is not None and known.path.exists():
            return known.path
        name = segment(session_id)
        for directory in self._projects():
            path = directory / name / _NAME
            if path.exists():
                return path
        return None

    def _projects(self) -> list[Path]:
        try:
            return sorted(Path(entry) for entry in os.scandir(self._root) if entry.is_dir() and entry.name[0] != ".")
        except FileNotFoundError:
            return []

    # -- reading ---------------------------------------------------------------------------------------------------

    def _length(self, session_id: str) -> int | None:
        path = self._find(session_id)
        if path is None:
            return None
        known = self._known.get(session_id)
        if known is not None and known.path == path and path.stat().st_size == known.end:
            return known.length
        log = self._read(session_id)
        if log is not None and log.hole is not None:
            raise HarnessError(
                f"{path}: the log has a torn tail ({log.hole.reason}); load the session, which repairs it",
                "SESSION_CORRUPT",
            )
        return None if log is None else len(log.events)

    def _read(self, session_id: str) -> RawLog | None:
        path = self._find(session_id)
        if path is None:
            return None
        data = path.read_bytes()
        try:
            log = self._parse(data)
            if log.header.id != session_id:
                raise HarnessError(f"it is the log of session {log.header.id!r}", "SESSION_CORRUPT")
        except HarnessError as exc:
            raise HarnessError(f"{path}: {exc.message}", exc.code) from exc
        if log.hole is None:
            self._known[session_id] = _Known(path, len(log.events), len(data))
        return log

    def _parse(self, data: bytes) -> RawLog:
        lines, torn = _lines(data)
        try:
            if not lines:
                raise BadRecord("there is no header line")
            header = header_from_wire(_loads(lines[0]))
        except BadRecord as exc:
            raise HarnessError(f"this is no session log: {exc}", "SESSION_CORRUPT") from exc
        record = Reader(self.codec).record
        rows: list[str | bytes | None] = lines[1:]
        if torn:
            rows.append(None)
        events, hole = scan(rows, lambda row, seq: record(_loads(row), seq))
        end = len(data) if hole is None else _offset(data, hole.seq + 1)
        return RawLog(header, events, hole, self._revision(data[: data.find(b"\n") + 1], data[-_TAIL:], len(data)), end)

    def _revision(self, first: bytes, tail: bytes, size: int) -> str:
        return f"{self._root}:{zlib.crc32(first):08x}:{size}:{zlib.crc32(tail):08x}"

    def _read_ledger(self, session_id: str) -> Ledger | None:
        path = self._find(session_id)
        try:
            return None if path is None else _ledger_at(path.with_name(_LEDGER))
        except FileNotFoundError:
            return None

    def _snapshots(self) -> list[SessionSnapshot]:
        paths = (path for directory in self._projects() for path in sorted(directory.glob(f"*/{_NAME}")))
        return [snapshot for path in paths if (snapshot := self._snapshot(path)) is not None]

    def _snapshot(self, path: Path) -> SessionSnapshot | None:
        try:
            with path.open("rb") as file:
                first = file.readline()
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _TAIL))
                tail = file.read()
            header = header_from_wire(_loads(first.rstrip(b"\n")))
        except FileNotFoundError:
            return None
        except (BadRecord, HarnessError) as exc:
            self._skipped(str(path), exc)
            return None
        return SessionSnapshot(header, self._revision(first, tail, size))

    # -- writing ---------------------------------------------------------------------------------------------------

    def _write(self, session_id: str, header: SessionHeader | None, events: Sequence[Event]) -> None:
        body = _body(events)
        if header is not None:
            path, start = self.locate(header), 0
            # First: a log without the ledger it began with would be held to nothing; the other way round is no session.
            _start_ledger(path.with_name(_LEDGER), self._starting.get(session_id))
            body = f"{dumps(header_to_wire(header))}\n".encode("ascii") + body
            _publish(self._root, path, body)
        else:
            known = self._known.pop(session_id)  # unknown again, should anything fail from here on
            path, start = known.path, known.end
            _append(path, start, body)
        self._known[session_id] = _Known(path, events[-1].seq + 1, start + len(body))

    def _write_ledger(self, session_id: str, ledger: Ledger) -> None:
        path = self._find(session_id)
        assert path is not None
        _put_ledger(path.with_name(_LEDGER), ledger)

    def _mend(self, log: RawLog, added: Sequence[Event]) -> None:
        path = self._find(log.header.id)
        assert path is not None
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            os.ftruncate(descriptor, log.end)
            _write_all(descriptor, _body(added))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _lines(data: bytes) -> tuple[list[Any], bool]:
    """Return the complete lines, as text unless they are none, and whether something follows them."""
    end = data.rfind(b"\n") + 1
    lines: list[Any]
    try:
        lines = data[:end].decode("utf-8").split("\n")
    except UnicodeDecodeError:
        lines = list(data[:end].split(b"\n"))
    lines.pop()
    return lines, end < len(data)


def _loads(line: str | bytes | None) -> Any:
    if line is None:
        raise BadRecord("the last line has no end")
    try:
        return loads(line if isinstance(line, str) else line.decode("utf-8"))
    except ValueError as exc:
        raise BadRecord(f"it is no JSON: {exc}") from exc


def _offset(data: bytes, lines: int) -> int:
    at = 0
    for _ in range(lines):
        at = data.index(b"\n", at) + 1
    return at


def _body(events: Sequence[Event]) -> bytes:
    return "".join([f"{event_text(event)}\n" for event in events]).encode("ascii")


def _append(path: Path, start: int, body: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        if os.fstat(descriptor).st_size != start:
            raise HarnessError(f"{path}: somebody else wrote to it", "SESSION_CHANGED")
        try:
            _write_all(descriptor, body)
            os.fsync(descriptor)
        except BaseException:
            os.ftruncate(descriptor, start)
            os.fsync(descriptor)
            raise
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, body: bytes) -> None:
    view = memoryview(body)
    while view:
        view = view[os.write(descriptor, view) :]


def _publish(root: Path, path: Path, body: bytes) -> None:
    """Make the file appear with all of its content, or not at all."""
    with _written_beside(path, body) as temporary:
        _link(temporary, path)
    for directory in (path.parent, path.parent.parent, root):
        _sync_directory(directory)


@contextmanager
def _written_beside(path: Path, body: bytes) -> Iterator[Path]:
    """Write a temporary file, durably, for the block to move to ``path``."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for stale in path.parent.glob(f"{path.name}.*.tmp"):  # a process that died here; the session is ours now
        stale.unlink(missing_ok=True)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            _write_all(descriptor, body)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _start_ledger(path: Path, ledger: Ledger | None) -> None:
    if ledger is None:
        path.unlink(missing_ok=True)  # of a process that died before its log was there
    else:
        _put_ledger(path, ledger)


def _put_ledger(path: Path, ledger: Ledger) -> None:
    with _written_beside(path, f"{ledger_to_text(ledger)}\n".encode("ascii")) as temporary:
        os.replace(temporary, path)
    _sync_directory(path.parent)


def _ledger_at(path: Path) -> Ledger:
    try:
        text = path.read_text(encoding="ascii")
    except UnicodeDecodeError as exc:
        raise HarnessError(f"{path}: this is no record of a session's openings: {exc}", "SESSION_CORRUPT") from exc
    return ledger_from_text(text.rstrip("\n"), str(path))


def _link(temporary: Path, path: Path) -> None:
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise HarnessError(f"{path}: there already is a session", "SESSION_ALREADY_EXISTS") from None
    except OSError as exc:
        if exc.errno not in _NO_LINKS:
            raise
        os.replace(temporary, path)  # the lease keeps everybody else out, and nothing was there a moment ago


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
