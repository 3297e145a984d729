"""Running one command to its end, whatever it does: floods, hangs, leaves children behind, is cancelled.

The pipes are read here and not by the backend's subprocess streams: those buffer without a limit this module could set,
and some versions of them do not report an exit before every holder of a pipe is gone.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from types import TracebackType

import anyio
import attrs
from anyio.abc import Process

from dshhooks import ProcessTree

from .output import CappedOutput

__all__ = ["Command", "Completed", "run_command"]

_PIECE = 64 * 1024
# A process that survives SIGKILL this long sits in the kernel; waiting on would only hang the caller as well.
_UNKILLABLE_AFTER = 5.0


@attrs.frozen(kw_only=True)
class Command:
    """What to run and how far to let it go.

    Args:
        argv: Program and arguments.
        cwd: Folder it starts in.
        env: Its environment, whole but for the mark it is known by.
        timeout: Seconds until it is ended.
        max_output_bytes: Bytes kept of stdout, and of stderr.
        kill_grace: Seconds between SIGTERM and SIGKILL.
        drain_grace: Seconds output is still read when the command has ended and something else holds its pipes.
        keep_background: Leave alone what still runs when the command ends by itself.
    """

    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    timeout: float
    max_output_bytes: int
    kill_grace: float = 2.0
    drain_grace: float = 0.5
    keep_background: bool = False


@attrs.frozen
class Completed:
    """How a command ended.

    Args:
        exit_code: Its exit code; None when a signal ended it.
        signal: The name of that signal; None when it exited.
        stdout: Its standard output, malformed UTF-8 as U+FFFD, shortened in the middle when too long.
        stderr: Its standard error, likewise.
        truncated: Whether either was shortened.
        timed_out: Whether it was ended because its time was over.
    """

    exit_code: int | None
    signal: str | None
    stdout: str
    stderr: str
    truncated: bool
    timed_out: bool


async def run_command(command: Command) -> Completed:
    """Run a command in a session of its own, with no input, and return when nothing of it is left.

    Cancellation ends the command like its time limit does: SIGTERM to every process it started, SIGKILL after the
    grace, and only then the cancellation goes on.

    Args:
        command: What to run.

    Raises:
        OSError: The program could not be started.
    """
    limit = command.max_output_bytes
    with ProcessTree(command.env) as tree, _Stream(limit) as out, _Stream(limit) as err:
        process: Process | None = None
        finished = False
        try:
            # Shielded: cancelled in the middle, a started process would be known by its mark only.
            with anyio.CancelScope(shield=True):
                process = await _start(command, tree.environment, out, err)
            assert process is not None  # nothing cancels a shielded scope
            tree.leader = process.pid
            with anyio.move_on_after(command.timeout) as time_limit:
                await _follow(process, (out, err), command.drain_grace)
            finished = not time_limit.cancelled_caught
        finally:
            if not (finished and command.keep_background):
                with anyio.CancelScope(shield=True):
                    await _end(process, tree, (out, err), command.kill_grace)
        return _completed(process.returncode, out, err, timed_out=not finished)


class _Stream:
    """A pipe: the command writes to ``writer``, what is read goes to ``output``."""

    def __init__(self, limit: int) -> None:
        self.output = CappedOutput(limit)
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close_writer()
        os.close(self.reader)

    def close_writer(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1

    async def drain(self) -> None:
        """Read until every holder of the writing end is gone."""
        while True:
            await anyio.wait_readable(self.reader)
            if self._read() is False:
                return

    def read_available(self) -> None:
        """Read what is there without waiting, at most what a pipe holds: a writer may go on for ever."""
        for _ in range(16):
            if self._read() is not True:
                return

    def _read(self) -> bool | None:
        """Read once: True for data, False for the end, None when there is nothing now."""
        try:
            data = os.read(self.reader, _PIECE)
        except BlockingIOError:
            return None
        except OSError:
            return False
        self.output.feed(data)
        return bool(data)


async def _start(command: Command, env: Mapping[str, str], out: _Stream, err: _Stream) -> Process:
    try:
        return await anyio.open_process(
            command.argv,
            stdin=subprocess.DEVNULL,
            stdout=out.writer,
            stderr=err.writer,
            cwd=command.cwd,
            env=env,
            start_new_session=True,
        )
    finally:
        # Held open here, the pipes would never report their end.
        out.close_writer()
        err.close_writer()


async def _follow(process: Process, streams: tuple[_Stream, ...], drain_grace: float) -> None:
    async with anyio.create_task_group() as tasks:
        for stream in streams:
            tasks.start_soon(stream.drain)
        await process.wait()
        tasks.cancel_scope.deadline = anyio.current_time() + drain_grace


async def _end(process: Process | None, tree: ProcessTree, streams: tuple[_Stream, ...], grace: float) -> None:
    """End what is left, and collect the process itself as well."""

    def read() -> None:
        for stream in streams:
            stream.read_available()

    await tree.end(grace, patience=_UNKILLABLE_AFTER, meanwhile=read)
    if process is not None:
        with anyio.move_on_after(_UNKILLABLE_AFTER):
            await process.wait()
    read()


def _completed(code: int | None, out: _Stream, err: _Stream, *, timed_out: bool) -> Completed:
    return Completed(
        exit_code=code if code is not None and code >= 0 else None,
        signal=_signal_name(-code) if code is not None and code < 0 else None,
        stdout=out.output.text(),
        stderr=err.output.text(),
        truncated=out.output.truncated or err.output.truncated,
        timed_out=timed_out,
    )


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
