"""Who ends the processes we run when we are killed ourselves: a helper that reads from us and outlives us (A.10).

Nothing in a process can answer SIGKILL, and what it ran would go on without anybody who limits its time.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, NoReturn

from dshhooks.engine.process_tree import ProcessTree

__all__ = ["lifeline", "tethered"]

# Whoever was being started when we were killed bears its mark only a moment later.
_LOOKS: Final = 10
_PAUSE: Final = 0.05


class _Lifeline:
    """The helper, and our end of the pipe to it. Forked, and not started anew: that takes a hundredth of the time."""

    def __init__(self) -> None:
        reads, self._writes = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            _outlive(reads)
        os.close(reads)

    def close(self) -> None:
        """Say that all is well, and collect the helper."""
        self._tell(b".")
        os.close(self._writes)
        try:
            os.waitpid(self._pid, 0)
        except ChildProcessError:
            return  # the host lets somebody else collect its children

    @contextmanager
    def holding(self, mark: str) -> Iterator[None]:
        """Let it know of a command while it runs."""
        self._tell(b"+" + mark.encode())
        try:
            yield
        finally:
            self._tell(b"-" + mark.encode())

    def _tell(self, word: bytes) -> None:
        try:
            os.write(self._writes, word + b"\n")  # one write: threads do not mix their words
        except OSError:
            return  # somebody killed the helper: we still end what we run, as long as we live


_held: _Lifeline | None = None


@contextmanager
def lifeline() -> Iterator[None]:
    """While the block runs, whatever `run_process` is running ends when this process is killed.

    Enter it before there are threads. Where processes cannot be forked it does nothing.
    """
    global _held
    if _held is not None or not hasattr(os, "fork"):
        yield
        return
    _held = line = _Lifeline()
    try:
        yield
    finally:
        _held = None
        line.close()


def tethered(mark: str) -> AbstractContextManager[None]:
    """Hold the command with this mark by the line, if there is one."""
    return nullcontext() if _held is None else _held.holding(mark)


def _outlive(reads: int) -> NoReturn:
    """What the helper does, to its end. It keeps nothing of ours: a pipe it held open would never report its end."""
    try:
        os.setsid()
        for asking in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(asking, signal.SIG_IGN)
        os.dup2(reads, 3)  # first: it is one of the streams, if we were started without them
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        _end(_left_running(3))
    finally:
        os._exit(0)


def _left_running(reads: int) -> list[str]:
    """Return the marks of what ran when the other end was gone; none after a good end."""
    running: dict[str, None] = {}
    with os.fdopen(reads, "rb") as words:
        for word in words:
            mark = word[1:-1].decode()
            if word.startswith(b"+"):
                running[mark] = None
            elif word.startswith(b"-"):
                running.pop(mark, None)
            else:
                return []
    return list(running)


def _end(marks: list[str]) -> None:
    for _ in range(_LOOKS if marks else 0):
        for mark in marks:
            ProcessTree.of(mark).send(signal.SIGKILL)
        time.sleep(_PAUSE)
