"""The tree of one command: known by its mark, ended as a whole. What a whole command does is in test_process.py."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import subprocess
import sys

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from dshhooks import ProcessTree
from dshhooks.engine.process_members import Members
from dshhooks.engine.process_tree import MARK
from tests.bridge.runtime_kit import alive, pid_in, until

pytestmark = pytest.mark.anyio

# It asks for SIGTERM and goes on.
STUBBORN = "trap 'echo asked > asked' TERM; echo $$ > pid; while :; do sleep 0.01; done"
# A daemon without parents, in a session of its own.
DAEMON = "(setsid sh -c 'echo $$ > daemon; exec sleep 60' &); until [ -s daemon ]; do :; done; echo $$ > pid; sleep 60"


class Started:
    """A command in a tree that has not ended."""

    def __init__(self, folder, source, *, led=True, **how):
        self.folder, self.tree = folder, ProcessTree(os.environ)
        how.update(cwd=folder, env=self.tree.environment, start_new_session=True)
        self.process = subprocess.Popen(["/bin/sh", "-c", source], **how)
        if led:
            self.tree.leader = self.process.pid

    async def up(self):
        """Wait until it says so."""
        await until(lambda: pid_in(self.folder / "pid"))

    def left(self, *names):
        """Which of the processes that said their numbers are there."""
        return [name for name in ("pid", *names) if alive(pid_in(self.folder / name))]


@pytest.fixture
def start(tmp_path):
    """Start a command in a tree; what a failing test leaves of it is ended."""
    started = []

    def make(source, **how):
        started.append(Started(tmp_path, source, **how))
        return started[-1]

    yield make
    for each in started:
        each.tree.kill()
        each.process.wait()


@pytest.mark.parametrize("led", [True, False])
async def test_all_of_it(start, led):
    """The command and its daemon, whether anybody has said which process leads or the start was cancelled before."""
    command = start(DAEMON, led=led)
    await command.up()
    assert await command.tree.end()
    assert command.left("daemon") == []


async def test_the_grace(start):
    """SIGTERM, and SIGKILL only when the grace is over."""
    command = start(STUBBORN)
    await command.up()
    assert await command.tree.end(0.2)
    assert (command.folder / "asked").exists()
    assert command.left() == []


async def test_no_grace(start):
    """SIGKILL at once."""
    command = start(STUBBORN)
    await command.up()
    assert await command.tree.end(0)
    assert not (command.folder / "asked").exists()


async def test_a_cancellation_waits(start):
    """It goes on when all of it is gone."""
    command = start(STUBBORN)
    await command.up()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await command.tree.end(0.2)
        await anyio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert (command.folder / "asked").exists()
    assert command.left() == []


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_second_cancellation(start):
    """Asyncio's own knows no shield: then there is no grace any more, and still nothing is left."""
    command = start(STUBBORN)
    await command.up()
    task = asyncio.ensure_future(command.tree.end(60))
    await until((command.folder / "asked").exists)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert command.left() == []


async def test_no_thread_is_left(start, monkeypatch):
    """It is ended in this one."""

    def refuse(*_args, **_more):
        raise RuntimeError("can't start new thread")

    command = start(DAEMON)
    await command.up()
    monkeypatch.setattr(anyio.to_thread, "run_sync", refuse)
    assert await command.tree.end()
    assert command.left("daemon") == []


async def test_pipes_are_read_meanwhile(start):
    """Blocked in a write, a command could not end in its own way."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    source = f"""
import os, signal

def bye(*_):
    os.write({writer}, bytes(300_000))
    open("bye", "w").close()
    os._exit(0)

signal.signal(signal.SIGTERM, bye)
open("pid", "w").write(str(os.getpid()))
while True:
    signal.pause()
"""
    command = start(shlex.join(["exec", sys.executable, "-c", source]), pass_fds=(writer,))
    await command.up()

    def read():
        with contextlib.suppress(BlockingIOError):
            os.read(reader, 100_000)

    assert await command.tree.end(30, meanwhile=read)
    assert (command.folder / "bye").exists()
    os.close(reader)
    os.close(writer)


async def test_from_a_thread(start):
    """Who is not in an event loop has SIGKILL for all of it."""
    command = start(DAEMON)
    await command.up()
    assert await anyio.to_thread.run_sync(command.tree.kill)
    assert command.left("daemon") == []


async def test_nothing_started():
    """Is nothing to end."""
    tree = ProcessTree({})
    assert tree.send(0) is False
    assert tree.kill()
    assert await tree.end()


async def test_the_block_ends_nothing(start):
    """Leaving it is no end; ending is for whoever started it to decide."""
    command = start(DAEMON)
    with command.tree:
        await command.up()
    assert command.left("daemon") == ["pid", "daemon"]


async def test_only_its_own(start):
    """Another command's processes are not touched."""
    command = start(DAEMON)
    await command.up()
    assert not ProcessTree(os.environ).send(signal.SIGKILL)
    assert command.left("daemon") == ["pid", "daemon"]


async def test_who_started_before_is_not_asked_for_a_mark(start):
    """It cannot bear it; what leads is known whenever it started."""
    command = start(DAEMON)
    await command.up()
    mark, later = command.tree.mark, 1 << 62
    assert Members(mark).send(0)
    assert not Members(mark, later).send(0)
    led = Members(mark, later)
    led.leader = command.process.pid
    assert led.send(0)


def test_marks_add_up():
    """What a nested run starts is found by both."""
    outer = ProcessTree({}).environment
    inner = ProcessTree(outer).environment
    assert inner[MARK].startswith(outer[MARK] + ":")
