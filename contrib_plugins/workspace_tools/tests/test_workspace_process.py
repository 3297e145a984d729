"""Real commands: how they end, what they print, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import tracemalloc

import anyio
import pytest
from dshhooks_workspace_tools.process import Command, run_command

pytestmark = pytest.mark.anyio


def bash(source, cwd="/", timeout=30.0, limit=1000, **how):
    how.setdefault("kill_grace", 0.3)
    return Command(
        argv=("bash", "-c", "--", source),
        cwd=str(cwd),
        env=dict(os.environ),
        timeout=timeout,
        max_output_bytes=limit,
        **how,
    )


class Fifo:
    """Waits for what a command writes into it: the way to know that the command has come that far."""

    def __init__(self, path):
        self.path = path
        os.mkfifo(path)
        self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    async def pids(self):
        text = b""
        with anyio.fail_after(30):
            while not text.endswith(b"\n"):
                await anyio.wait_readable(self.fd)
                text += os.read(self.fd, 1000)
        return [int(word) for word in text.split()]


@pytest.fixture
def own_input():
    """Return a function that puts something to read on this process's standard input."""
    reader, writer = os.pipe()
    saved = os.dup(0)
    os.dup2(reader, 0)
    yield lambda data: os.write(writer, data)
    os.dup2(saved, 0)
    for fd in (reader, writer, saved):
        os.close(fd)


@pytest.fixture
def ready(tmp_path):
    fifo = Fifo(tmp_path / "ready")
    yield fifo
    os.close(fifo.fd)


async def cancelled_when(ready, command):
    """Run a command, cancel it when it says it is ready, and return the processes it named."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_command, command)
        pids = await ready.pids()
        tasks.cancel_scope.cancel()
    return pids


class TestEndings:
    async def test_success(self):
        """Both streams and the exit code."""
        done = await run_command(bash("echo out; echo err >&2"))
        assert (done.exit_code, done.signal, done.stdout, done.stderr) == (0, None, "out\n", "err\n")
        assert not done.truncated
        assert not done.timed_out

    async def test_exit_code(self):
        """A failing command is a result, not an exception."""
        assert (await run_command(bash("exit 7"))).exit_code == 7

    async def test_signal(self):
        """A command ended by a signal has its name and no exit code."""
        done = await run_command(bash("kill -KILL $$"))
        assert (done.exit_code, done.signal) == (None, "SIGKILL")

    async def test_realtime_signal(self):
        """A signal without a name is named by its number."""
        assert (await run_command(bash("kill -40 $$"))).signal == "SIG40"

    async def test_program_missing(self, open_fds):
        """What cannot be started raises, and leaves no descriptor."""
        await run_command(bash(":"))
        before = open_fds()
        with pytest.raises(FileNotFoundError):
            await run_command(Command(argv=("/nowhere/sh",), cwd="/", env={}, timeout=9, max_output_bytes=9))
        assert open_fds() == before

    async def test_no_input(self, own_input):
        """Standard input is empty: a command neither waits for it nor takes what is meant for the host."""
        own_input(b"for the host")
        assert (await run_command(bash("cat; read line || echo none"))).stdout == "none\n"

    async def test_own_session_and_no_terminal(self):
        """The command leads its own session and group and has no terminal to ask at."""
        done = await run_command(bash("ps -o pid=,pgid=,sid=,tty= -p $$; (: </dev/tty) 2>/dev/null || echo no-tty"))
        pid, group, session, tty = done.stdout.split("\n")[0].split()
        assert pid == group == session
        assert tty == "?"
        assert "no-tty" in done.stdout
        assert int(session) != os.getsid(0)

    async def test_starts_in_its_folder(self, tmp_path):
        """The working directory is the one asked for."""
        assert (await run_command(bash("pwd", cwd=tmp_path))).stdout == f"{tmp_path}\n"


class TestOutput:
    async def test_binary(self):
        """Bytes that are no text arrive as U+FFFD."""
        done = await run_command(bash(r"printf 'a\xff\x00\xed\xa0\x80z'"))
        assert done.stdout.startswith("a\ufffd\0")
        assert done.stdout.endswith("z")
        done.stdout.encode()

    async def test_flood_on_both_streams(self):
        """200 MB on each stream at once end quickly, in little memory, with head and tail."""
        source = "(echo first; head -c 200000000 /dev/zero; echo last) & (head -c 200000000 /dev/zero >&2) & wait"
        await run_command(bash(":"))
        tracemalloc.start()
        try:
            done = await run_command(bash(source, limit=10_000))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert done.truncated
        assert done.stdout.startswith("first\n")
        assert done.stdout.endswith("last\n")
        assert f"… {200_000_000 - 10_000} bytes omitted …" in done.stderr
        assert peak < 3_000_000

    async def test_endless_output_is_ended(self):
        """An endless writer is ended by its time limit and keeps the output so far."""
        done = await run_command(bash("yes", timeout=1))
        assert done.timed_out
        assert done.truncated
        assert done.stdout.startswith("y\ny\n")

    async def test_output_of_a_handler_is_read(self):
        """What a command prints because it is being ended belongs to its output, even more than a pipe holds."""
        source = "trap 'head -c 300000 /dev/zero; echo bye; exit 3' TERM; echo up; while :; do read -t 1 <> <(:); done"
        done = await run_command(bash(source, timeout=1, kill_grace=10))
        assert (done.timed_out, done.exit_code) == (True, 3)
        assert done.stdout.endswith("bye\n")


class TestTimeLimit:
    async def test_hanging_command(self):
        """A command that hangs is ended with SIGTERM."""
        started = time.monotonic()
        done = await run_command(bash("echo begun; sleep 1000", timeout=1))
        assert (done.timed_out, done.exit_code, done.signal, done.stdout) == (True, None, "SIGTERM", "begun\n")
        assert time.monotonic() - started < 10

    async def test_ignored_sigterm(self):
        """A command that ignores SIGTERM is ended with SIGKILL after the grace."""
        done = await run_command(bash("trap '' TERM; sleep 1000; sleep 1000", timeout=1))
        assert (done.timed_out, done.signal) == (True, "SIGKILL")

    async def test_stopped_command(self):
        """A command that stopped itself cannot hold anything up."""
        assert (await run_command(bash("kill -STOP $$", timeout=0.2))).signal in ("SIGTERM", "SIGKILL")


class TestBackground:
    async def test_holding_the_pipes(self, ready, running):
        """A background process that keeps the pipes does not delay the result by more than the grace, and is ended."""
        started = time.monotonic()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_command, bash(f"sleep 1000 & echo $! > {ready.path}; echo done", drain_grace=0.1))
            pids = await ready.pids()
        assert time.monotonic() - started < 10
        assert not any(running(pid) for pid in pids)

    async def test_late_output_is_still_read(self):
        """Output that comes within the grace after the shell has ended is part of the result."""
        done = await run_command(bash("(while kill -0 $$ 2>/dev/null; do :; done; echo late) &", drain_grace=20))
        assert done.stdout == "late\n"

    async def test_daemon_without_parents(self, tmp_path, running):
        """A daemon that left the session, whose parents are gone and that holds no pipe, is still found."""
        note = tmp_path / "pid"
        daemon = f"(setsid sh -c 'echo $$ > {note}; exec sleep 1000' >/dev/null 2>&1 &)"
        await run_command(bash(f"{daemon}; until [ -s {note} ]; do :; done"))
        assert not running(int(note.read_text()))

    async def test_kept_on_request(self, ready, running):
        """With ``keep_background`` a process that outlives the command is left alone."""
        source = f"sleep 1000 >/dev/null 2>&1 & echo $! > {ready.path}"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_command, bash(source, keep_background=True))
            (pid,) = await ready.pids()
        try:
            assert running(pid)
        finally:
            os.kill(pid, signal.SIGKILL)

    async def test_kept_never_beyond_the_time_limit(self, running):
        """A command whose time is over is ended with everything, ``keep_background`` or not."""
        done = await run_command(bash("sleep 1000 & echo $$ $!; wait", timeout=1, keep_background=True))
        assert done.timed_out
        assert not any(running(int(pid)) for pid in done.stdout.split())


class TestCancel:
    @pytest.mark.parametrize(
        "source",
        [
            "echo $$ > {ready}; sleep 1000",
            "sleep 1000 & echo $$ $! > {ready}; wait",
            "trap '' TERM; echo $$ > {ready}; while :; do sleep 1000; done",
            "(trap '' TERM HUP INT; sleep 1000) & echo $$ $! > {ready}; wait",
            "setsid sh -c 'echo $$ > {ready}; trap \"\" TERM; sleep 1000 & wait; wait'",
            "setsid --fork sh -c 'setsid sh -c \"echo \\$\\$ > {ready}; exec sleep 1000\"'; sleep 1000",
            "env -i setsid sh -c 'echo $$ > {ready}; exec sleep 1000' & wait",
            "env -i setsid sh -c 'trap \"\" TERM; echo $$ > {ready}; exec sleep 1000' & wait",
            "env -i PATH=$PATH bash -c 'set -m; sleep 1000 & echo $! > {ready}'; sleep 1000",
            "set -m; sleep 1000 & echo $$ $! > {ready}; wait",
            "nohup sleep 1000 >/dev/null 2>&1 & disown; echo $! > {ready}; sleep 1000",
            "kill -STOP $BASHPID & exec 3> {ready}; echo $$ >&3; exec 3>&-; kill -STOP $$",
            "yes & echo $$ $! > {ready}; wait",
        ],
        ids=[
            "plain",
            "background",
            "ignores-term",
            "child-ignores",
            "own-session",
            "daemon",
            "clean-env",
            "clean-env-ignores",
            "clean-env-orphan",
            "own-groups",
            "nohup",
            "stopped",
            "flood",
        ],
    )
    async def test_ends_the_whole_tree(self, ready, running, source):
        """When the cancellation returns, every process of the command is gone."""
        pids = await cancelled_when(ready, bash(source.format(ready=ready.path)))
        assert pids
        assert not any(running(pid) for pid in pids)

    async def test_grace_is_given(self, ready, tmp_path):
        """A command gets to clean up after SIGTERM before it is killed."""
        source = (
            f"trap 'echo cleaned > {tmp_path}/note; exit' TERM; echo $$ > {ready.path}; while :; do sleep 0.01; done"
        )
        await cancelled_when(ready, bash(source, kill_grace=20))
        assert (tmp_path / "note").read_text() == "cleaned\n"

    async def test_no_grace(self, ready, tmp_path):
        """With no grace the command is killed without being asked."""
        source = f"trap 'echo cleaned > {tmp_path}/note' TERM; echo $$ > {ready.path}; while :; do sleep 0.01; done"
        await cancelled_when(ready, bash(source, kill_grace=0))
        assert not (tmp_path / "note").exists()

    @pytest.mark.parametrize("anyio_backend", ["asyncio"])
    async def test_cancelled_a_second_time(self, ready, running):
        """Asyncio's own cancellation knows no shield: then the grace is over, and nothing is left all the same."""
        source = f"trap 'echo $$ > {ready.path}' TERM; echo $$ > {ready.path}; while :; do sleep 0.01; done"
        task = asyncio.ensure_future(run_command(bash(source, kill_grace=60)))
        await ready.pids()
        task.cancel()
        (pid,) = await ready.pids()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not running(pid)

    async def test_cancellation_goes_on(self):
        """The cancellation itself is not swallowed."""
        with anyio.move_on_after(0.2) as scope:
            await run_command(bash("sleep 1000"))
        assert scope.cancelled_caught

    async def test_cancelled_before_the_start(self, tmp_path):
        """Cancelled on entry, the command may start but does not go on."""
        with anyio.CancelScope() as scope:
            scope.cancel()
            await run_command(bash(f"sleep 1000; touch {tmp_path}/done"))
        assert scope.cancelled_caught
        assert not (tmp_path / "done").exists()

    async def test_only_its_own(self, ready, running):
        """Cancelling one command leaves another one alone."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run_command, bash(f"echo $$ > {ready.path}; sleep 1000"))
            (other,) = await ready.pids()
            with anyio.move_on_after(0.1):
                await run_command(bash("sleep 1000"))
            assert running(other)
            tasks.cancel_scope.cancel()
        assert not running(other)

    async def test_marks_add_up(self, monkeypatch):
        """A harness that runs inside a command hands on the outer command's mark."""
        monkeypatch.setenv("DSHHOOKS_COMMAND", "outer")
        assert (await run_command(bash("echo $DSHHOOKS_COMMAND"))).stdout.startswith("outer:")

    async def test_command_in_a_command(self, ready, running):
        """What a harness inside a command started is found by the outer one."""
        inner = f"DSHHOOKS_COMMAND=$DSHHOOKS_COMMAND:inner setsid sh -c 'echo $$ > {ready.path}; exec sleep 1000' &"
        pids = await cancelled_when(ready, bash(f"({inner}); sleep 1000"))
        assert not any(running(pid) for pid in pids)


HOST = """
import os, sys
import anyio
from dshhooks import lifeline
from dshhooks_workspace_tools.process import Command, run_command

command = Command(argv=("bash", "-c", "--", sys.argv[2]), cwd="/", env=dict(os.environ), timeout=600,
                  max_output_bytes=1000, keep_background=True)
with lifeline():
    anyio.run(run_command, command, backend=sys.argv[1])
"""


def host(backend, source):
    """Start a process that holds a lifeline and runs a command."""
    return subprocess.Popen([sys.executable, "-c", HOST, backend, source])


class TestHostKilled:
    async def test_ends_the_whole_tree(self, ready, running, anyio_backend):
        """A command whose host is killed is ended with everything, ``keep_background`` or not."""
        source = f"setsid sleep 1000 & echo $$ $! > {ready.path}; wait"
        with host(anyio_backend, source) as process:
            pids = await ready.pids()
            process.kill()
        with anyio.fail_after(30):
            while any(running(pid) for pid in pids):  # noqa: ASYNC110 - another process cannot set an event
                await anyio.sleep(0.005)


class TestNothingLeft:
    async def test_descriptors(self, ready, open_fds):
        """Success, failure, time-out and cancellation all close what they opened."""
        await run_command(bash(":"))
        before = open_fds()
        await run_command(bash("echo hi; exit 3"))
        await run_command(bash("sleep 1000 &", drain_grace=0.05))
        await run_command(bash("sleep 1000", timeout=0.05))
        await cancelled_when(ready, bash(f"echo $$ > {ready.path}; sleep 1000"))
        assert open_fds() == before

    async def test_children_are_collected(self, ready, has_children):
        """No zombie of ours remains."""
        await run_command(bash("sleep 1000", timeout=0.05))
        await cancelled_when(ready, bash(f"echo $$ > {ready.path}; sleep 1000"))
        assert not has_children()

    async def test_many_at_once(self, open_fds):
        """Commands side by side do not mix."""
        await run_command(bash(":"))
        before = open_fds()
        results = {}

        async def one(index):
            results[index] = (await run_command(bash(f"echo {index}; exit {index}"))).stdout

        async with anyio.create_task_group() as tasks:
            for index in range(20):
                tasks.start_soon(one, index)
        assert results == {index: f"{index}\n" for index in range(20)}
        assert open_fds() == before
