"""What we run ends when we are killed: real processes, and a real SIGKILL."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dshhooks.engine.lifeline import tethered
from tests.bridge.runtime_kit import alive, pid_in, until

ENVIRON = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}

pytestmark = pytest.mark.anyio

# A host that runs a command which leaves its session, and is killed; or ends well, with something left behind.
HOST = """
import os, sys
from functools import partial
import anyio
from dshhooks.engine.lifeline import lifeline
from dshhooks.engine.process import Command, run_process

command = Command(argv=("/bin/sh", "-c", sys.argv[2]), cwd=os.getcwd(), env=dict(os.environ))
with lifeline(), lifeline():
    print(os.getpid(), flush=True)
    anyio.run(run_process, command, backend=sys.argv[1])
"""


def host(folder, backend, command):
    """Start it."""
    arguments = [sys.executable, "-c", HOST, backend, command]
    return subprocess.Popen(arguments, cwd=folder, env=ENVIRON, stdout=subprocess.PIPE)


async def test_killed(tmp_path, anyio_backend):
    """The command goes, and what has left its session; and nobody holds what the host held open."""
    command = "setsid sleep 60 & echo $! > away; echo $$ > pid; wait"
    with host(tmp_path, anyio_backend, command) as process:
        await until(lambda: pid_in(tmp_path / "pid"))
        process.kill()
        assert process.stdout.read()
    await until(lambda: not alive(pid_in(tmp_path / "pid")) and not alive(pid_in(tmp_path / "away")))


async def test_a_good_end(tmp_path, anyio_backend):
    """What was left behind is left alone, and the helper is gone with the host."""
    with host(tmp_path, anyio_backend, "sleep 60 >&- 2>&- & echo $! > left") as process:
        assert process.wait() == 0
        assert process.stdout.read()
    left = pid_in(tmp_path / "left")
    assert alive(left)
    os.kill(left, 9)


def test_the_helper_goes_with_the_block():
    """It is collected: no child is left. In a process of its own, which has no other children."""
    source = """
import os
from dshhooks.engine.lifeline import lifeline
with lifeline():
    print(os.waitpid(-1, os.WNOHANG))
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("none")
"""
    done = subprocess.run([sys.executable, "-c", source], env=ENVIRON, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["(0, 0)", "none"]


def test_nobody_holds_the_line():
    """Then there is nobody to tell."""
    with tethered("mark"):
        pass
