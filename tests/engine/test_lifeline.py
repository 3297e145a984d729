"""What we run ends when we are killed: real processes, and a real SIGKILL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bridge.runtime_kit import alive, pid_in, until

ENVIRON = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

# Seconds nothing here may take; only a test that hangs meets it.
PATIENCE = 60

pytestmark = pytest.mark.anyio

# What every host below has: a command to run in the backend it is given, and a look at its own children.
START = """
import os, signal, subprocess, sys, threading, time
from pathlib import Path
import anyio
from attrs import evolve
from dshhooks import ProcessTree, lifeline
from dshhooks.engine.process import Command, run_process

backend, source = sys.argv[1:]
command = Command(argv=("/bin/sh", "-c", source), cwd=os.getcwd(), env=dict(os.environ))

def run():
    anyio.run(run_process, command, backend=backend)

def children():
    try:
        return os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return "none"

def only_child():
    return int(Path(f"/proc/self/task/{os.getpid()}/children").read_text())
"""

# It leaves its session, and says when both are there.
LASTING = "setsid sleep 60 & echo $! > away; echo $$ > pid; wait"

# It ends at once, and leaves somebody behind.
LEAVING = "sleep 60 >&- 2>&- & echo $! > left"


def host(folder, source, backend, command):
    """Start a host; it prints to a pipe, warnings as well."""
    argv = [sys.executable, "-W", "always", "-c", START + source, backend, command]
    return subprocess.Popen(argv, cwd=folder, env=ENVIRON, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def said(folder, source, backend="asyncio", command=":"):
    """The lines a host prints that ends by itself."""
    with host(folder, source, backend, command) as process:
        try:
            return process.communicate(timeout=PATIENCE)[0].splitlines()
        finally:
            process.kill()


def end(file):
    """Kill the process whose number is in a file, if it is there."""
    if alive(pid_in(file)):
        os.kill(pid_in(file), signal.SIGKILL)


async def all_gone(folder):
    """Wait until the command has ended, with what has left its session."""
    await until(lambda: not alive(pid_in(folder / "pid")) and not alive(pid_in(folder / "away")))


KILLED = {
    "plain": "with lifeline(): run()",
    "held twice": "with lifeline(), lifeline(): run()",
    "held by somebody else who leaves": """
with lifeline(), ProcessTree(os.environ) as tree:
    with subprocess.Popen(command.argv, env=tree.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        with lifeline():
            pass
""",
    "beside a thread": """
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
with lifeline(): run()
""",
    "when everybody was asked to go": """
with lifeline():
    with ProcessTree({}):
        helper = only_child()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(helper, number)
    run()
""",
    "in a thread": """
with lifeline():
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
""",
    "after a fork that lives on": """
with lifeline():
    with ProcessTree({}):
        child = os.fork()
        if not child:
            os.close(1)
            os.close(2)
            time.sleep(60)
            os._exit(0)
    Path("fork").write_text(str(child))
    run()
""",
    "after a fork that left the block": """
with lifeline():
    with ProcessTree({}):
        child = os.fork()
        if not child:
            sys.exit()
    os.waitpid(child, 0)
    run()
""",
    "with its streams closed": """
os.close(0)
os.close(2)
with lifeline():
    with ProcessTree({}):
        pass  # no event loop has taken their numbers yet
    run()
""",
}


@pytest.mark.parametrize("source", KILLED.values(), ids=KILLED)
async def test_killed(tmp_path, anyio_backend, source):
    """The command goes, and what has left its session; and nobody holds what the host held open."""
    with host(tmp_path, source, anyio_backend, LASTING) as process:
        await until(lambda: pid_in(tmp_path / "pid"))
        process.kill()
        printed = process.stdout.read()
    try:
        await all_gone(tmp_path)
    finally:
        end(tmp_path / "fork")
    assert printed == ""


async def test_a_fork_is_killed(tmp_path, anyio_backend):
    """It has a helper of its own, and its end is not the end of what the first one runs."""
    source = """
with lifeline(), ProcessTree({}):
    child = os.fork()
    if child:
        command = evolve(command, argv=("/bin/sh", "-c", "echo $$ > left; exec sleep 60"))
    else:
        Path("fork").write_text(str(os.getpid()))
    run()
"""
    with host(tmp_path, source, anyio_backend, LASTING) as process:
        await until(lambda: all(pid_in(tmp_path / name) for name in ("pid", "fork", "left")))
        end(tmp_path / "fork")
        await all_gone(tmp_path)
        assert alive(pid_in(tmp_path / "left"))
        process.kill()
    await until(lambda: not alive(pid_in(tmp_path / "left")))


async def test_a_good_end(tmp_path, anyio_backend):
    """What was left behind is left alone, and the helper is gone with the block."""
    source = "with lifeline(): run()\nprint(children())"
    assert said(tmp_path, source, anyio_backend, LEAVING) == ["none"]
    assert alive(pid_in(tmp_path / "left"))
    end(tmp_path / "left")


async def test_killed_later(tmp_path, anyio_backend):
    """What an earlier command left behind is left alone then, too."""
    source = """
with lifeline():
    run()
    command = evolve(command, argv=("/bin/sh", "-c", "echo $$ > pid; exec sleep 60"))
    run()
"""
    with host(tmp_path, source, anyio_backend, LEAVING) as process:
        await until(lambda: pid_in(tmp_path / "pid"))
        process.kill()
    await all_gone(tmp_path)
    assert alive(pid_in(tmp_path / "left"))
    end(tmp_path / "left")


@pytest.mark.parametrize("ending", ["os._exit(0)", "os.kill(os.getpid(), signal.SIGTERM)"])
async def test_an_end_that_does_not_leave_the_block(tmp_path, ending):
    """Is no better than SIGKILL for what runs in it."""
    source = f"""
with lifeline(), ProcessTree(os.environ) as tree:
    child = subprocess.Popen(["sleep", "60"], env=tree.environment, stdout=subprocess.DEVNULL)
    Path("pid").write_text(str(child.pid))
    {ending}
"""
    with host(tmp_path, source, "asyncio", ":") as process:
        process.stdout.read()
    await until(lambda: not alive(pid_in(tmp_path / "pid")))


def test_the_helper_comes_with_the_first_command(tmp_path):
    """Before, and without one, nothing is forked; one is enough for all."""
    source = """
print(children())
with lifeline():
    print(children())
    run()
    print(children())
    run()
print(children())
"""
    assert said(tmp_path, source) == ["none", "none", "(0, 0)", "none"]


def test_nobody_wants_a_line(tmp_path):
    """Then there is no helper, and a command runs like any other."""
    assert said(tmp_path, "run()\nprint(children())") == ["none"]


def test_a_helper_somebody_has_killed(tmp_path):
    """Is not missed, and nobody else is signalled in its place."""
    source = """
with lifeline():
    run()
    helper = only_child()
    os.kill(helper, signal.SIGKILL)
    os.waitpid(helper, 0)
    run()
print(children())
"""
    assert said(tmp_path, source) == ["none"]


def test_a_helper_somebody_has_stopped(tmp_path):
    """Neither holds up a command nor the end of the block."""
    source = """
with lifeline():
    run()
    helper = only_child()
    os.kill(helper, signal.SIGSTOP)
    for _ in range(10_000):
        with ProcessTree({}):
            pass
print(children())
"""
    assert said(tmp_path, source) == ["none"]


def test_no_process_is_left_for_it(tmp_path):
    """Then the command does not start either, and says so like one that cannot."""
    source = """
def refuse():
    raise BlockingIOError("no more processes")

os.fork = refuse
files = os.listdir("/proc/self/fd")
with lifeline():
    try:
        run()
    except OSError as exc:
        print(exc)
print(os.listdir("/proc/self/fd") == files, signal.pthread_sigmask(signal.SIG_BLOCK, []), children())
"""
    assert said(tmp_path, source, command="echo ran") == ["no more processes", "True set() none"]
