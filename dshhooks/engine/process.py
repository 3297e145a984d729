"""Running one foreign process: fed, read without limit and kept within one, ended with everything it started.

The pipes are ours and not the backend's streams: those report an exit only when the last holder of a pipe is gone, so
a daemon started by the process would hold up whoever waits.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from types import TracebackType
from typing import Final

import anyio
from anyio.abc import Process
from attrs import frozen

from dshhooks.engine.process_tree import ProcessTree

__all__ = ["Command", "Ended", "run_process"]

_PIECE: Final = 64 * 1024
# What survives SIGKILL this long sits in the kernel; waiting on would hang the caller as well.
_UNKILLABLE_AFTER: Final = 2.0


@frozen(kw_only=True)
class Command:
    """A process to run, and how far to let it go.

    Args:
        argv: Program and arguments.
        cwd: The folder it starts in; it must exist.
        env: Its environment, whole.
        stdin: What it is given; its stdin is closed after that.
        timeout: Seconds until it is ended; ``None``: as long as it takes.
        stdout_limit: Bytes of stdout that are kept; the rest is read and dropped.
        stderr_limit: The same for stderr.
        kill_grace: Seconds between SIGTERM and SIGKILL.
        drain_grace: Seconds its pipes are still read when it has ended and a child of it holds them.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    stdin: bytes = b""
    timeout: float | None = None
    stdout_limit: int = 1 << 20
    stderr_limit: int = 1 << 16
    kill_grace: float = 0.3
    drain_grace: float = 0.5


@frozen
class Ended:
    """How a process ended.

    Args:
        exit_code: Its exit code; negative for the number of the signal that ended it.
        stdout: The beginning of what it printed.
        stderr: The same for stderr.
        stdout_truncated: Whether it printed more than is kept.
        stderr_truncated: The same for stderr.
        pipe_held: Whether a child of it still held a pipe when reading stopped.
        timed_out: Whether it was ended because its time was over.
    """

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    stdout_truncated: bool
    stderr_truncated: bool
    pipe_held: bool
    timed_out: bool


async def run_process(command: Command) -> Ended:
    """Run a process in a session of its own and return when it has ended.

    Children it leaves behind are left alone, unless its time was over or the caller was cancelled: then everything it
    started is ended, and only after that the cancellation goes on.

    Raises:
        OSError: It could not be started.
        ValueError: The same; an argument or a variable holds a NUL.
    """
    tree = ProcessTree(command.env)
    with _Output(command.stdout_limit) as out, _Output(command.stderr_limit) as err, _Input(command.stdin) as given:
        process: Process | None = None
        finished = False
        try:
            # Shielded: cancelled in the middle, a started process would be nobody's.
            with anyio.CancelScope(shield=True):
                process = await _start(command, tree.environment, given, out, err)
            assert process is not None  # nothing cancels a shielded scope
            tree.leader = process.pid
            with anyio.move_on_after(command.timeout) as limit:
                await _follow(process, given, out, err, command.drain_grace)
            finished = not limit.cancelled_caught
        finally:
            if not finished:
                with anyio.CancelScope(shield=True):
                    await _end(process, tree, (out, err), command.kill_grace)
        return Ended(process.returncode, bytes(out.kept), bytes(err.kept), out.truncated, err.truncated,
                     finished and not (out.ended and err.ended), not finished)  # fmt: skip


class _Pipe:
    """Our end of a pipe, which never blocks, and the process's."""

    def __init__(self, *, we_read: bool) -> None:
        reader, writer = os.pipe()
        self.ours, self.theirs = (reader, writer) if we_read else (writer, reader)
        os.set_blocking(self.ours, False)

    def close_theirs(self) -> None:
        if self.theirs >= 0:
            os.close(self.theirs)
            self.theirs = -1

    def close_ours(self) -> None:
        if self.ours >= 0:
            os.close(self.ours)
            self.ours = -1

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close_theirs()
        self.close_ours()


class _Output(_Pipe):
    def __init__(self, limit: int) -> None:
        super().__init__(we_read=True)
        self.kept = bytearray()
        self.truncated = self.ended = False
        self._limit = limit

    def __enter__(self) -> _Output:
        return self

    async def drain(self) -> None:
        """Read until every holder of the other end is gone."""
        while not self.ended:
            await anyio.wait_readable(self.ours)
            self.read()

    def read(self) -> bool:
        """Read once, without waiting; say whether there was anything."""
        try:
            data = os.read(self.ours, _PIECE)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        room = self._limit - len(self.kept)
        self.kept += data[:room]
        self.truncated = self.truncated or len(data) > room
        self.ended = not data
        return bool(data)

    def read_available(self) -> None:
        """Read what is there, at most what a pipe holds: a writer may go on for ever."""
        for _ in range(16):
            if self.ended or not self.read():
                return


class _Input(_Pipe):
    def __init__(self, data: bytes) -> None:
        super().__init__(we_read=False)
        self._data = memoryview(data)

    def __enter__(self) -> _Input:
        return self

    async def feed(self) -> None:
        """Write everything and close; a process that does not read is no error."""
        try:
            while self._data:
                await anyio.wait_writable(self.ours)
                try:
                    self._data = self._data[os.write(self.ours, self._data[:_PIECE]) :]
                except BlockingIOError:
                    continue
        except OSError:
            return  # it has closed its stdin, or is gone: its exit code decides
        finally:
            self.close_ours()


async def _start(command: Command, env: Mapping[str, str], given: _Input, out: _Output, err: _Output) -> Process:
    try:
        return await anyio.open_process(
            command.argv,
            stdin=given.theirs,
            stdout=out.theirs,
            stderr=err.theirs,
            cwd=command.cwd,
            env=env,
            start_new_session=True,
        )
    finally:
        for pipe in (given, out, err):  # held open here, they would never report their end
            pipe.close_theirs()


async def _follow(process: Process, given: _Input, out: _Output, err: _Output, grace: float) -> None:
    async with anyio.create_task_group() as tasks:
        for work in (given.feed, out.drain, err.drain):
            tasks.start_soon(work)
        await process.wait()
        tasks.cancel_scope.deadline = anyio.current_time() + grace


async def _end(process: Process | None, tree: ProcessTree, outputs: tuple[_Output, ...], grace: float) -> None:
    """SIGTERM to all of it, the grace, SIGKILL until nothing is left; then collect the process itself."""
    # A limiter of its own: with all worker threads taken, ending a process must not wait for them.
    limiter = anyio.CapacityLimiter(1)

    async def gone(number: int, seconds: float) -> bool:
        """Send a signal, again and again if it is SIGKILL, until nothing is left or the time is over."""
        pause, until, sending = 0.005, anyio.current_time() + seconds, number
        while await anyio.to_thread.run_sync(tree.send, sending, limiter=limiter):
            for output in outputs:
                output.read_available()  # blocked in a write, it could not react to SIGTERM
            if anyio.current_time() >= until:
                return False
            await anyio.sleep(pause)
            pause = min(pause * 2, 0.05)
            sending = number if number == signal.SIGKILL else 0
        return True

    if grace <= 0 or not await gone(signal.SIGTERM, grace):
        await gone(signal.SIGKILL, _UNKILLABLE_AFTER)
    if process is not None:
        with anyio.move_on_after(_UNKILLABLE_AFTER):
            await process.wait()
    for output in outputs:
        output.read_available()
