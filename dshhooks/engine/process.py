"""Running one foreign process: fed, read without limit and kept within one, ended with everything it started."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import anyio
from attrs import frozen

from dshhooks.engine.process_child import Child
from dshhooks.engine.process_pipes import Input, Output, Watch
from dshhooks.engine.process_tree import ProcessTree

__all__ = ["Command", "Ended", "run_process"]

# What survives SIGKILL this long sits in the kernel; waiting on would hang the caller as well.
_UNKILLABLE_AFTER: Final = 2.0
# Without handles for children (no Linux, or an old one), one is looked after at least this often, in seconds.
_LONGEST_PAUSE: Final = 0.04


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
        exit_code: Its exit code; negative for the number of the signal that ended it; ``None``: nobody can say, it
            cannot be ended, or the host lets somebody else collect its children.
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
    with ProcessTree(command.env) as tree:
        return await _run(command, tree)


async def _run(command: Command, tree: ProcessTree) -> Ended:
    with (
        Output(command.stdout_limit) as out,
        Output(command.stderr_limit) as err,
        Input(command.stdin) as given,
        Watch() as watch,  # before there is a process: who has no file left for it does not start one
    ):
        finished = False
        with _start(command, tree.environment, given, out, err) as child:
            tree.leader = child.pid
            try:
                with anyio.move_on_after(command.timeout) as limit:
                    await _follow(child, watch, given, out, err, command.drain_grace)
                finished = not limit.cancelled_caught
            finally:
                if not finished:
                    await _end(child, watch, tree, (out, err), command.kill_grace)
            return Ended(child.code, bytes(out.kept), bytes(err.kept), out.truncated, err.truncated,
                         finished and not (out.ended and err.ended), not finished)  # fmt: skip


def _start(command: Command, env: Mapping[str, str], given: Input, out: Output, err: Output) -> Child:
    try:
        return Child(command.argv, command.cwd, env, (given.theirs, out.theirs, err.theirs))
    finally:
        given.close_theirs()  # the other two later: see `_follow`


async def _follow(child: Child, watch: Watch, given: Input, out: Output, err: Output, grace: float) -> None:
    if given.react():  # most payloads fit into the pipe
        given.close()
    else:
        watch.add(given)
    for output in (out, err):
        watch.add(output)
    await _exit(child, watch)
    # Only now: the end of each pipe would have woken us once more, just before the end of the child does.
    for output in (out, err):
        output.close_theirs()
        output.read_to_end()
    if not (out.ended and err.ended):  # a child of it holds a pipe, or there is more than fits into one
        with anyio.move_on_after(grace):
            while not (out.ended and err.ended):
                await watch.turn()


async def _exit(child: Child, watch: Watch) -> None:
    """Have the pipes react until the child has ended."""
    if child.fileno() >= 0:
        watch.add(child)
        while not child.ended:
            await watch.turn()
        return
    pause = 0.001
    while not child.react():
        with anyio.move_on_after(pause):
            await watch.turn()
        pause = min(pause * 2, _LONGEST_PAUSE)


async def _end(child: Child, watch: Watch, tree: ProcessTree, outputs: tuple[Output, ...], grace: float) -> None:
    """End all of it and collect the process itself, whatever happens meanwhile."""

    def read() -> None:
        for output in outputs:
            output.read_to_end()  # blocked in a write, it could not react to SIGTERM

    try:
        await tree.end(grace, patience=_UNKILLABLE_AFTER, meanwhile=read)
        with anyio.move_on_after(_UNKILLABLE_AFTER, shield=True):
            await _exit(child, watch)
    except BaseException:  # asyncio's own cancellation, once more, which knows no shield
        child.collect()
        raise
    read()
