"""Running a process: fed, capped, timed, cancelled. What hooks do with it is in tests/bridge/test_shell_handler.py."""

from __future__ import annotations

import ast
import asyncio
import os
import signal
import sys
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from dshhooks.engine.process import Command, run_process
from tests.bridge.runtime_kit import alive, pid_in, until

pytestmark = pytest.mark.anyio


def python(source, folder, **more):
    """A command that runs a Python program."""
    given = {"argv": (sys.executable, "-c", source), "cwd": str(folder), "env": dict(os.environ), **more}
    return Command(**given)


async def test_what_comes_back(tmp_path):
    """Both streams, byte for byte, and the exit code."""
    source = "import sys; sys.stdout.buffer.write(b'\\xff\\x00'); sys.stderr.write(sys.stdin.read()); sys.exit(7)"
    ended = await run_process(python(source, tmp_path, stdin=b"given"))
    assert (ended.exit_code, ended.stdout, ended.stderr) == (7, b"\xff\x00", b"given")
    assert not any((ended.stdout_truncated, ended.stderr_truncated, ended.pipe_held, ended.timed_out))


@pytest.mark.parametrize(("size", "truncated"), [(99, False), (100, False), (101, True)])
async def test_the_limit_is_exact(tmp_path, size, truncated):
    """A stream that just fits is whole."""
    ended = await run_process(python(f"print('x' * {size}, end='')", tmp_path, stdout_limit=100))
    assert (len(ended.stdout), ended.stdout_truncated) == (min(size, 100), truncated)


async def test_a_program_that_is_not_there(tmp_path):
    """Raises, and leaves no file open."""
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(FileNotFoundError):
        await run_process(Command(argv=("no-such-program",), cwd=str(tmp_path), env={}))
    assert set(os.listdir("/proc/self/fd")) - before == set()


async def test_no_files_stay_open(tmp_path):
    """After a hundred of them neither."""
    await run_process(python("", tmp_path))
    before = len(os.listdir("/proc/self/fd"))
    async with anyio.create_task_group() as tasks:
        for _ in range(20):
            tasks.start_soon(run_process, Command(argv=("true",), cwd=str(tmp_path), env=dict(os.environ)))
    assert len(os.listdir("/proc/self/fd")) <= before


async def test_it_has_no_other_files(tmp_path):
    """Of ours it gets the three streams and nothing else."""
    reader, writer = os.pipe()
    os.set_inheritable(writer, True)
    try:
        source = "import os; print(sorted(map(int, os.listdir('/proc/self/fd')))[:3], len(os.listdir('/proc/self/fd')))"
        ended = await run_process(python(source, tmp_path))
    finally:
        os.close(reader)
        os.close(writer)
    assert ended.stdout.decode().strip() == "[0, 1, 2] 4"


async def test_it_has_no_terminal(tmp_path):
    """It leads a session of its own."""
    ended = await run_process(python("import os; print(os.getsid(0) == os.getpid())", tmp_path))
    assert ended.stdout == b"True\n"


async def test_what_it_said_before_its_time_was_over(tmp_path):
    """Is kept."""
    source = "import time; print('so far', flush=True); time.sleep(60)"
    ended = await run_process(python(source, tmp_path, timeout=0.5))
    assert (ended.timed_out, ended.stdout) == (True, b"so far\n")


async def test_it_may_clean_up(tmp_path):
    """The first signal is SIGTERM, and what it prints then is kept."""
    source = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("bye", flush=True), sys.exit(0)))
print("up", flush=True)
time.sleep(60)
"""
    ended = await run_process(python(source, tmp_path, timeout=0.5, kill_grace=5))
    assert (ended.timed_out, ended.stdout) == (True, b"up\nbye\n")


async def test_cancelled_at_once(tmp_path):
    """Before it has done anything: nothing is left of it."""
    with anyio.CancelScope() as scope:
        scope.cancel()
        await run_process(python("import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(60)", tmp_path))
    assert scope.cancelled_caught
    assert not alive(pid_in(tmp_path / "pid"))


def collected(pid):
    """Whether nothing of a process is left, not even how it ended."""
    return not os.path.exists(f"/proc/{pid}")


STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: open('asked', 'w').close())
open('pid', 'w').write(str(os.getpid()))
while True: time.sleep(60)
"""


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_cancelled_once_more_while_it_is_ended(tmp_path):
    """Asyncio's own cancellation knows no shield: then there is no grace any more, and still nothing is left."""
    task = asyncio.ensure_future(run_process(python(STUBBORN, tmp_path, kill_grace=20)))
    await until(lambda: pid_in(tmp_path / "pid"))
    task.cancel()
    await until((tmp_path / "asked").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert collected(pid_in(tmp_path / "pid"))


async def test_no_thread_is_left_to_end_it(tmp_path, monkeypatch):
    """It is ended in this one, and has timed out like any other."""

    def refuse(*_args, **_more):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(anyio.to_thread, "run_sync", refuse)
    assert (await run_process(python(STUBBORN, tmp_path, timeout=0.5))).timed_out
    assert not alive(pid_in(tmp_path / "pid"))


# Leaves so many files free and no more, and runs a command; nothing may be left of it.
FULL = """
import anyio, os, resource, sys
from dshhooks.engine.process import Command, run_process

async def run(free):
    holes = []
    try:
        while True:
            holes.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        for number in holes[:free]:
            os.close(number)
    command = Command(argv=("/bin/sh", "-c", f": > ran{free}; exec sleep 60"), cwd=".", env={}, stdin=b"x" * 200_000,
                      timeout=0.2)
    try:
        ended = (await run_process(command)).timed_out
    except OSError:
        ended = None
    for number in holes[free:]:
        os.close(number)
    return ended, os.path.exists(f"ran{free}")

async def main():
    await run_process(Command(argv=("/bin/true",), cwd=".", env={}))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    print([await run(free) for free in range(16)])
    try:
        print(os.waitpid(-1, os.WNOHANG))
    except ChildProcessError:
        print("none")

anyio.run(main, backend=sys.argv[1])
"""


async def test_too_few_files(tmp_path, anyio_backend):
    """Either nothing is started, or it is ended in time; and no child is left."""
    argv = (sys.executable, "-c", FULL, anyio_backend)
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = await run_process(Command(argv=argv, cwd=str(tmp_path), env=environ))
    tried, left = ended.stdout.decode().splitlines()
    assert set(ast.literal_eval(tried)) == {(None, False), (True, True)}, ended.stderr
    assert left == "none"


async def test_a_daemon_of_its_own_making(tmp_path):
    """Two forks and a session of its own: found by its mark."""
    source = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open('pid', 'w').write(str(os.getpid()))
        time.sleep(60)
    os._exit(0)
time.sleep(60)
"""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_process, python(source, tmp_path))
        await until(lambda: pid_in(tmp_path / "pid"))
        tasks.cancel_scope.cancel()
    assert not alive(pid_in(tmp_path / "pid"))


@pytest.mark.parametrize("size", [0, 300_000])
async def test_where_children_have_no_handles(tmp_path, monkeypatch, size):
    """An old kernel, another system: looked after again and again, to the same end."""
    monkeypatch.delattr(os, "pidfd_open")
    source = "import sys; sys.stdout.write(sys.stdin.read() * 2); sys.exit(7)"
    ended = await run_process(python(source, tmp_path, stdin=b"x" * size))
    assert (ended.exit_code, len(ended.stdout), ended.pipe_held) == (7, size * 2, False)


async def test_no_handle_and_no_time(tmp_path, monkeypatch):
    """There, too, it is ended when its time is over."""
    monkeypatch.delattr(os, "pidfd_open")
    ended = await run_process(python("import time; time.sleep(60)", tmp_path, timeout=0.2))
    assert (ended.timed_out, ended.exit_code) == (True, -signal.SIGTERM)


async def test_a_host_that_collects_its_children_itself(tmp_path):
    """How it ended nobody knows, and that is what is said: it is no exit code 0."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        ended = await run_process(python("import sys; print('said'); sys.exit(2)", tmp_path))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert (ended.exit_code, ended.stdout, ended.timed_out) == (None, b"said\n", False)


async def test_it_closes_its_output_long_before_its_end(tmp_path):
    """It is waited for, and what it was given later than it read is no error."""
    source = "import os, sys; [os.close(number) for number in (0, 1, 2)]; import time; time.sleep(0.2); os._exit(4)"
    ended = await run_process(python(source, tmp_path, stdin=b"x" * 300_000))
    assert (ended.exit_code, ended.stdout, ended.pipe_held) == (4, b"", False)
