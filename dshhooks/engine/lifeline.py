"""Who ends the processes we run when we are killed ourselves: a helper that reads from us and outlives us (A.10).

Nothing in a process can answer SIGKILL, and what it ran would go on without anybody who limits its time.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from dshhooks.engine.process_members import Members

__all__ = ["hold", "lifeline", "release"]

# Whoever was being started when we were killed bears its mark only a moment later.
_LOOKS: Final = 10
_PAUSE: Final = 0.05


class _Line:
    """The helper, and our end of the pipe to it; there is neither before there is something to hold.

    Forked, and not started anew: that takes a tenth of the time, and needs no program to start.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted = 0
        self._helper = 0
        self._writes = -1

    def want(self) -> None:
        """Have it, from the first mark on."""
        with self._lock:
            self._wanted += 1

    def drop(self) -> None:
        """Have it no longer; when that is said as often as it was wanted, the helper goes."""
        with self._lock:
            self._wanted -= 1
            if not self._wanted and self._writes >= 0:
                self._dismiss()

    def hold(self, mark: str) -> None:
        """Let the helper know of a mark, if it is wanted.

        Raises:
            OSError: It cannot be started.
        """
        with self._lock:
            if self._wanted and self._writes < 0:
                self._start()
            self._tell(b"+" + mark.encode())

    def release(self, mark: str) -> None:
        """Let the helper forget a mark."""
        with self._lock:  # closed by another thread meanwhile, its number would be another file's
            self._tell(b"-" + mark.encode())

    def forget(self) -> None:
        """After a fork the helper is the other's, and the pipe must end with that one; a thread may hold the lock."""
        self._lock = threading.Lock()
        if self._writes >= 0:
            os.close(self._writes)
            self._helper, self._writes = 0, -1

    def _tell(self, word: bytes) -> None:
        if self._writes < 0:
            return
        try:
            os.write(self._writes, word + b"\n")
        except OSError:
            return  # somebody killed or stopped the helper: we still end what we run, as long as we live

    def _start(self) -> None:
        from dshhooks.engine.process_members import Members  # not in the helper: another thread may be importing

        reads, writes = os.pipe()
        os.set_blocking(writes, False)
        # Our handlers must not run in the helper, nor may a Ctrl-C in the terminal end it before it has left.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            helper = _fork()
            if not helper:
                _outlive(reads, Members)
            self._helper, self._writes = helper, writes
        except BaseException:
            os.close(writes)
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            os.close(reads)

    def _dismiss(self) -> None:
        """End the helper and collect it; before the pipe ends, which would tell it that we were killed."""
        helper, writes = self._helper, self._writes
        self._helper, self._writes = 0, -1
        try:
            if os.waitpid(helper, os.WNOHANG) == (0, 0):  # it is there: its number is nobody else's
                os.kill(helper, signal.SIGKILL)
                os.waitpid(helper, 0)
        except ChildProcessError:
            pass  # the host lets somebody else collect its children
        finally:
            os.close(writes)


_line: Final = _Line()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_line.forget)


@contextmanager
def lifeline() -> Iterator[None]:
    """While the block runs, the commands that run are ended with all they started when this process is killed.

    That is whatever a hook runs, and what runs within a ``ProcessTree`` block. A helper process sees to it: forked when
    the first of them is started, and gone with the block. On Linux; elsewhere it does nothing.
    """
    if sys.platform != "linux":
        yield
        return
    _line.want()
    try:
        yield
    finally:
        _line.drop()


def hold(mark: str) -> None:
    """Hold the command with this mark by the line, if somebody wants one.

    Raises:
        OSError: The helper cannot be started.
    """
    _line.hold(mark)


def release(mark: str) -> None:
    """Let go of it."""
    _line.release(mark)


def _fork() -> int:
    with warnings.catch_warnings():
        # Since 3.12 one about threads: what they hold is held for ever in the helper. It needs nothing of theirs.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _outlive(reads: int, members: type[Members]) -> NoReturn:
    """What the helper does, to its end. It keeps nothing of ours: a pipe it held open would never report its end."""
    try:
        os.setsid()
        os.dup2(reads, 3)  # first: it is one of the streams, if we were started without them
        null = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(null, stream)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        _end([members(mark) for mark in _left_running(3)])
    finally:
        os._exit(0)


def _left_running(reads: int) -> list[str]:
    """Return the marks of what ran when the other end was gone."""
    running: dict[str, None] = {}
    with os.fdopen(reads, "rb") as words:
        for word in words:
            mark = word[1:-1].decode()
            if word.startswith(b"+"):
                running[mark] = None
            else:
                running.pop(mark, None)
    return list(running)


def _end(commands: list[Members]) -> None:
    for _ in range(_LOOKS if commands else 0):
        for command in commands:
            command.send(signal.SIGKILL)
        time.sleep(_PAUSE)
