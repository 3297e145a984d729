"""One child process: started in a session of its own, waited for in any event loop, collected once (A.6.3).

Not by the backends: asyncio takes a thread for each child before Python 3.12, and both call an end they could not see
an exit code, which a caller might take for an answer.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Mapping
from types import TracebackType
from typing import ClassVar, Final

__all__ = ["Child"]

# Where there is no waiting, its end is looked for so often, with so many seconds between.
_LOOKS: Final = 100
_PAUSE: Final = 0.005


class Child:
    """A child that runs. Leaving the block gives up the handle it is waited for with, not the child.

    Args:
        argv: Program and arguments.
        cwd: The folder it starts in.
        env: Its environment, whole.
        files: Its stdin, stdout and stderr.

    Attributes:
        pid: Its number, and that of its session and group.
        code: Its exit code, negative for the number of a signal; ``None``: it runs, or somebody else collected it.
        ended: It has ended and was collected.
        events: What its handle is watched for.

    Raises:
        OSError: It could not be started.
        ValueError: The same; an argument or a variable holds a NUL.
    """

    events: ClassVar[int] = selectors.EVENT_READ

    def __init__(self, argv: tuple[str, ...], cwd: str, env: Mapping[str, str], files: tuple[int, int, int]) -> None:
        stdin, stdout, stderr = files
        # It returns once the program is there, which Linux does without copying us (vfork): no work for a thread.
        self._popen = subprocess.Popen(argv, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, env=env,
                                       start_new_session=True)  # fmt: skip
        self.pid: Final = self._popen.pid
        self.code: int | None = None
        self.ended = False
        self._handle = _handle_of(self.pid)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Give up the handle."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def fileno(self) -> int:
        """Return the handle, which becomes readable when it ends; -1: there is none, one has to look repeatedly."""
        return self._handle

    def react(self) -> bool:
        """Collect it if it has ended, and say whether it has."""
        if self.ended:
            return True
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            # The host ignores SIGCHLD, or waits for children that are not its own: how it ended nobody knows.
            self._popen.returncode = 0  # or Popen would look for it, and complain
            self.ended = True
            return True
        if pid == self.pid:
            self.code = self._popen.returncode = os.waitstatus_to_exitcode(status)
            self.ended = True
        return self.ended

    def collect(self) -> None:
        """Collect it as soon as it has ended, in this thread, and wait for that half a second at most."""
        for _ in range(_LOOKS):
            if self.react():
                return
            time.sleep(_PAUSE)


def _handle_of(pid: int) -> int:
    """Return what becomes readable when a child ends; -1: there is no such thing here."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1  # an old kernel, another system, or a sandbox that forbids it
