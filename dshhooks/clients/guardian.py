"""The process a client talks to: it runs no plugin, so nothing a plugin does can take its answer away.

::

    client ► guardian: reads stdin, holds the real stdout and stderr, watches the clock
                └─► child: stdin empty, stdout and stderr to the log; imports, judges, sends one answer through a pipe

A child that dies (``os._exit``, a segmentation fault, out of memory), hangs in C code, or talks nonsense is answered
for by the guardian (decisions.md 7.26). What the child's own children hold is never the client's pipe.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from types import FrameType
from typing import Final, NoReturn

from dshhooks.clients import wire
from dshhooks.clients.stdout import write
from dshhooks.clients.wire import Wire

__all__ = [
    "Died",
    "Interrupted",
    "Spent",
    "emit",
    "fill_descriptors",
    "guarded",
    "read_stdin",
    "settle",
    "until_signal",
]

# Seconds a child that has answered gets to end by itself; nobody waits for its answer any more then.
_GRACE: Final = 1.0
_CHUNK: Final = 1 << 20


class Interrupted(BaseException):
    """A signal asked this process to end while something waited for its answer."""


class Spent(Exception):
    """The time budget was spent."""


class Died(Exception):
    """The child ended, or sent something else, without an answer."""


_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def until_signal() -> None:
    """Turn SIGTERM, SIGINT and SIGHUP into :class:`Interrupted`, once; a second one changes nothing."""

    def stop(number: int, _frame: FrameType | None) -> None:
        settle()
        raise Interrupted(f"the hook was interrupted by {signal.Signals(number).name}")

    for each in _SIGNALS:
        signal.signal(each, stop)
    # What a client leaves blocked or ignored is inherited: no budget would ever be spent, no child waited for.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (*_SIGNALS, signal.SIGALRM))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def settle() -> None:
    """Ignore signals from here on: one answer is being written, and a second one would undo it."""
    for each in _SIGNALS:
        signal.signal(each, signal.SIG_IGN)


def fill_descriptors() -> None:
    """Put ``/dev/null`` where a client closed stdin, stdout or stderr: no pipe of ours may get one of their numbers.

    Stdout is opened for reading then, so that writing the answer fails and is noticed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if number < 2 else os.O_WRONLY)


def read_stdin(deadline: float, into: bytearray) -> None:
    """Read stdin to its end into ``into``; what came by then is kept when this raises.

    Raises:
        Spent: It was not closed by the deadline (``time.monotonic()``).
        OSError: There is no stdin.
    """
    while chunk := _next(0, deadline, "stdin was not closed in time"):
        into += chunk


def _next(descriptor: int, deadline: float, late: str) -> bytes:
    _await(descriptor, deadline, late)
    return os.read(descriptor, _CHUNK)


def _await(descriptor: int, deadline: float, late: str) -> None:
    # poll and not select: a client may have more than 1024 files open, and its numbers are ours.
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP | select.POLLERR)
    if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        raise Spent(late)


def guarded(work: Callable[[], Wire], deadline: float) -> Wire:
    """Run ``work()`` in a child and return what it returned.

    Args:
        work: Returns the bytes for stdout, the bytes for stderr, the exit code.
        deadline: When there must be an answer, by ``time.monotonic()``.

    Raises:
        Spent: There was none by then; the child was killed.
        Died: The child ended without one; says how.
        OSError: No child could be made.
    """
    reading, writing = os.pipe()
    # An interrupt between fork and the child's own handlers would make two processes answer.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    child = os.fork()
    if not child:
        _child(work, reading, writing, before, deadline)
    grace = 0.0
    try:
        os.close(writing)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        answer = _received(reading, deadline)
        grace = _GRACE
    finally:
        status = _reaped(child, reading, time.monotonic() + grace)
        os.close(reading)
    if answer is None:
        raise Died(f"the hook process ended without an answer ({_how(status)})")
    return answer


def _received(reading: int, deadline: float) -> Wire | None:
    """Return the child's answer; ``None`` when it ended, or sent something else, before it was complete."""
    data = b""
    while (answer := wire.parse(data)) is None:
        chunk = _next(reading, deadline, "the plugins did not answer in time")
        if not chunk or len(data) > wire.LONGEST_ANSWER:
            return None
        data += chunk
    return answer


def _reaped(child: int, reading: int, deadline: float) -> int:
    """Let the child end by itself until the deadline, end it then, and return its status: nothing is left behind.

    Its number is its own until it is waited for here, so the signal cannot meet another process.
    """
    try:
        _until_ended(child, reading, deadline)
    except Spent:
        os.kill(child, signal.SIGKILL)  # without effect on one that has ended meanwhile
    return os.waitpid(child, 0)[1]


def _until_ended(child: int, reading: int, deadline: float) -> None:
    """Wait for the end of the child, or, where a system has no handles, for the end of its pipe.

    The pipe alone would not do: what a plugin forked without starting a program still holds it.

    Raises:
        Spent: It has not come by the deadline.
    """
    try:
        handle = os.pidfd_open(child)
    except (AttributeError, OSError):
        while _next(reading, deadline, ""):
            pass
        return
    try:
        _await(handle, deadline, "")
    finally:
        os.close(handle)


def _how(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"killed by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"exit code {os.waitstatus_to_exitcode(status)}"


def _child(
    work: Callable[[], Wire], reading: int, writing: int, mask: set[int | signal.Signals], deadline: float
) -> NoReturn:
    """Judge, answer, end. Whatever happens, control never comes back out of here."""
    code = 1
    try:
        os.close(reading)
        _detach()
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        # Should the guardian be killed, nobody else ends a plugin that never returns.
        signal.setitimer(signal.ITIMER_REAL, max(0.0, deadline - time.monotonic()) + _GRACE)
        message = wire.answer(work())
        while message:
            message = message[os.write(writing, message) :]
        code = 0
    except BaseException:  # noqa: BLE001 - the guardian answers for this; the log says what happened
        _leave_trace()
    finally:
        _end(code)


def _detach() -> None:
    """Give plugins, and whatever they start, an empty stdin and the log: the client's pipes are the guardian's."""
    from dshhooks.clients.state import open_log

    nothing, log = os.open(os.devnull, os.O_RDONLY), open_log()
    for descriptor, number in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(descriptor, number)
        os.set_inheritable(number, True)


def _leave_trace() -> None:
    import traceback

    traceback.print_exc()


def _end(code: int) -> NoReturn:
    """End without waiting for threads or collecting garbage, but let what was asked for at exit happen."""
    try:
        import atexit
        import sys

        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    finally:
        os._exit(code)


def emit(answer: Wire) -> int:
    """Write an answer and return the exit code.

    Raises:
        OSError: Stdout cannot be written, or something else is on it.
    """
    out, err, code = answer
    write(out)
    try:
        while err:
            err = err[os.write(2, err) :]
    except OSError:
        pass  # nobody reads stderr; the exit code, and stdout where a client reads it, still say no
    return code
