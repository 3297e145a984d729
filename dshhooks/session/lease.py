"""One writer a session, across processes: a lock file per session, held with ``flock``.

The kernel lets go of the lock when its process ends, however that happens, so there are no stale leases to judge: not
by process ids that may have been reused, nor by clocks, nor by host names that a container changes.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from dshhooks.session.log import now_ms
from dshhooks.session.names import segment
from hookspecs.errors import HarnessError

__all__ = ["FileLeases", "locked"]

_PATIENCE: Final = 5.0  # seconds to wait for somebody who only does one thing and then lets go
_LOOK_AGAIN: Final = 0.005


def locked(session_id: str, pid: Any, host: Any, since: Any) -> HarnessError:
    """Return the refusal of a second writer, naming the first."""
    when = "?"
    if type(since) is int:
        when = datetime.fromtimestamp(since / 1000, UTC).isoformat(timespec="seconds")
    return HarnessError(
        f"session {session_id!r} is being written by process {pid} on {host} since {when}; "
        "close it there, or use another session",
        "SESSION_LOCKED",
    )


class FileLeases:
    """The leases of one store object.

    Args:
        directory: Where the lock files stand; made when the first one is needed.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._held: dict[str, int] = {}
        self._mutex = threading.Lock()

    def holds(self, session_id: str) -> bool:
        """Say whether the session is claimed here."""
        return session_id in self._held

    def claim(self, session_id: str) -> None:
        """Take a session until it is released; ``SESSION_LOCKED`` if anybody has it."""
        descriptor = self._acquire(session_id, claim=True)
        with self._mutex:
            self._held[session_id] = descriptor

    def release(self, session_id: str) -> None:
        """Give a session back; does nothing if it was not taken here."""
        with self._mutex:
            descriptor = self._held.pop(session_id, None)
        if descriptor is not None:
            self._let_go(session_id, descriptor)

    @contextmanager
    def guard(self, session_id: str) -> Iterator[None]:
        """Keep others out while the block runs, unless the session is taken here anyway."""
        if self.holds(session_id):
            yield
            return
        descriptor = self._acquire(session_id, claim=False)
        try:
            yield
        finally:
            self._let_go(session_id, descriptor)

    def _path(self, session_id: str) -> Path:
        return self._directory / f"{segment(session_id)}.lock"

    def _acquire(self, session_id: str, *, claim: bool) -> int:
        path, deadline = self._path(session_id), time.monotonic() + _PATIENCE
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        before: dict[str, Any] = {}
        while True:
            descriptor = _try(path)
            if descriptor is not None:
                _sign(descriptor, claim)
                return descriptor
            holder = _holder(path)
            # Seen twice: the first time it may be the note of a dead process, about to be written over.
            if (holder.get("claim") and holder == before) or time.monotonic() > deadline:
                raise locked(session_id, holder.get("pid", "?"), holder.get("host", "?"), holder.get("since"))
            before = holder
            time.sleep(_LOOK_AGAIN)

    def _let_go(self, session_id: str, descriptor: int) -> None:
        # Unlinked while it is still locked: whoever opened it meanwhile sees that it is gone and opens a new one.
        try:
            os.unlink(self._path(session_id))
        except OSError:
            pass
        os.close(descriptor)


def _try(path: Path) -> int | None:
    """Return a locked descriptor of the file at ``path``, or ``None`` if somebody else has it."""
    import fcntl  # here, so that the memory store works where there is no fcntl

    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _same(descriptor, path):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # it was unlinked between our open and our lock


def _same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _sign(descriptor: int, claim: bool) -> None:
    note = {"pid": os.getpid(), "host": socket.gethostname(), "since": now_ms(), "claim": claim}
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(note).encode(), 0)


def _holder(path: Path) -> dict[str, Any]:
    try:
        note = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}  # gone, or being written
    return note if isinstance(note, dict) else {}
