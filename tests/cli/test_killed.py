"""A command line that is killed leaves nothing running: real verbs, real commands, and a real SIGKILL."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest

from dshhooks.engine.processes import newest
from tests.bridge.kit import write
from tests.bridge.runtime_kit import alive, hooks_on, pid_in, shell, until

# It leaves its session, and says when both are there.
LASTING = "setsid sleep 60 >&- 2>&- & echo $! > away; echo $$ > pid; wait"
# Who the children of the command line are, the shell among them.
CHILDREN = "cat /proc/$PPID/task/$PPID/children > children; true"

# Tools that start nothing: which children there are.
TOOL = """
import os
from dshhooks import hookimpl, tool

@tool
async def children() -> str:
    try:
        return str(os.waitpid(-1, os.WNOHANG))
    except ChildProcessError:
        return "none"

class Plugin:
    @hookimpl
    def register_tools(self, registry):
        registry.register(children)
"""


def bash(command):
    """What the tool of the workspace tools is asked."""
    return json.dumps({"command": command})


RUN = ("run", "--provider", "scripted", "--json")
BRIDGE = ("--event", "PreToolUse", "--config", "hooks.json")

# How a command gets to run: the words of the command line, and what its hook does.
WAYS = {
    "call": lambda command: (["call", "bash", bash(command)], "true"),
    "call, a hook": lambda command: (["call", "bash", bash("true")], command),
    "run": lambda command: ([*RUN, f"call bash {bash(command)}"], "true"),
    "run, a hook": lambda command: ([*RUN, f"call bash {bash('true')}"], command),
    "bridge run": lambda command: (["bridge", "run", *BRIDGE], command),
    "bridge explain": lambda command: (["bridge", "explain", "--execute", *BRIDGE], command),
}

every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@pytest.fixture
def prepared(project):
    """Return a function that prepares a way for a command, and returns the words to start it with."""
    project.enable("claude-hooks", "workspace-tools", more="[plugin.claude-hooks]\nconfig_path = 'hooks.json'\n")

    def prepare(way, command):
        words, hook = way(command)
        write(project.folder / "hooks.json", hooks_on("PreToolUse", shell(hook)))
        return words

    return prepare


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the command line has one
@every_way
async def test_killed(project, prepared, way):
    """What it ran is ended with what has left its session, and who saw to that has gone, too."""
    process = project.start(*prepared(way, LASTING), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    await until(lambda: pid_in(project.folder / "pid"))
    theirs = [entry.pid for entry in newest() if entry.parent == process.pid] + [pid_in(project.folder / "away")]
    assert len(theirs) == 3
    process.kill()
    process.wait()
    await until(lambda: not any(alive(pid) for pid in theirs))


@every_way
def test_a_good_end(project, prepared, way):
    """Nobody says anything of a helper, and it is gone when the command line is."""
    done = project.run(*prepared(way, CHILDREN))
    assert (done.code, done.err) == (0, "")
    theirs = [int(word) for word in (project.folder / "children").read_text().split()]
    assert len(theirs) == 2
    assert not any(alive(pid) for pid in theirs)


def test_what_is_kept_in_the_background_outlives_a_good_end(project):
    """As it was asked for."""
    project.enable("workspace-tools", more="[plugin.workspace-tools]\nkeep_background = true\n")
    project.run("call", "bash", bash("sleep 60 >&- 2>&- & echo $! > left"))
    left = pid_in(project.folder / "left")
    assert alive(left)
    os.kill(left, signal.SIGKILL)


def test_a_call_that_starts_nothing_has_no_helper(project):
    """It comes with the first command."""
    project.install("children", TOOL)
    project.enable("children")
    assert project.run("call", "children").out == "none\n"
