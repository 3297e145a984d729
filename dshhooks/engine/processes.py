"""The processes of this machine as ``/proc`` shows them, read once for all who ask at the same time (A.6.3)."""

from __future__ import annotations

import os
import re
import threading
from functools import cached_property
from typing import Final

from attrs import frozen

__all__ = ["MARK", "ProcessEntry", "is_the_same", "newest"]

# The variable of the environment that says which commands a process belongs to.
MARK: Final = "DSHHOOKS_COMMAND"

_PROC: Final = "/proc"
_MARKS: Final = re.compile(rb"(?:^|\0)%s=([^\0]*)" % MARK.encode())


@frozen(slots=False, eq=False)
class ProcessEntry:
    """One process.

    Args:
        pid: Its number.
        parent: That of its parent.
        group: That of its group.
        session: That of its session.
        started: When it started, in ticks of the kernel: numbers are used again, both together are not.
    """

    pid: int
    parent: int
    group: int
    session: int
    started: int

    @cached_property
    def marks(self) -> bytes:
        """The marks of the commands it belongs to; empty: none, or it is gone, or somebody else's.

        Raises:
            OSError: No file is left to read them with.
        """
        found = _MARKS.search(_content(f"{_PROC}/{self.pid}/environ"))
        return found[1] if found else b""


class _Scans:
    """Whoever ends many commands at once would read the whole of ``/proc`` for each, and each again and again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun = 0
        self._last: list[ProcessEntry] = []

    def newest(self) -> list[ProcessEntry]:
        """Return what ran at a moment after the call."""
        wanted = self._begun + 1
        with self._lock:
            if self._begun < wanted:
                self._begun += 1
                self._last = _running()
            return self._last

    def forget(self) -> None:
        """After a fork the lock may be held by a thread that is not there any more."""
        self._lock = threading.Lock()


_scans: Final = _Scans()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_scans.forget)


def newest() -> list[ProcessEntry]:
    """Return the processes that run, at a moment after the call.

    Raises:
        OSError: ``/proc`` cannot be read: this is no Linux, or no file is left to read it with.
    """
    return _scans.newest()


def is_the_same(entry: ProcessEntry) -> bool:
    """Say whether a process still runs, and its number is not another one's by now.

    Raises:
        OSError: No file is left to find out with.
    """
    now = _entry(entry.pid)
    return now is not None and now.started == entry.started


def _running() -> list[ProcessEntry]:
    os.stat(f"{_PROC}/self/stat")  # other systems have a folder of that name as well
    found = (_entry(int(name)) for name in os.listdir(_PROC) if name.isdecimal())
    return [entry for entry in found if entry is not None]


def _entry(pid: int) -> ProcessEntry | None:
    """Read one process; ``None``: it is gone, or ended and not yet collected."""
    line = _content(f"{_PROC}/{pid}/stat")
    state, *numbers = line[line.rfind(b")") + 2 :].split() or [b"X"]  # the name before may hold spaces and parentheses
    if state in (b"Z", b"X"):
        return None
    return ProcessEntry(pid, int(numbers[0]), int(numbers[1]), int(numbers[2]), int(numbers[18]))


def _content(path: str) -> bytes:
    """Read a file; nothing if its process is gone or hides it. That no file is left for us is another matter."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""
