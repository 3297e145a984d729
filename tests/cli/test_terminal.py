"""In front of a person: colour, the question, and Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.kit import ASK, PATIENCE, Terminal
from tests.plugins.kit import DENY, TOOL

# A plugin class `Plugin` with a tool that starts a child process, says its id, and waits for it.
HANGING = """
import os, subprocess, sys
import anyio
from dshhooks import hookimpl, tool

@tool
async def hang(fifo: str) -> str:
    async with await anyio.open_process([sys.executable, "-c", "import time; time.sleep(600)"]) as child:
        with open(fifo, "w") as out:
            out.write(str(child.pid))
        await child.wait()
    return "never"

class Plugin:
    @hookimpl
    def register_tools(self, registry):
        registry.register(hang)
"""


@pytest.fixture
def terminal():
    """A pseudo-terminal."""
    with Terminal() as made:
        yield made


def on(terminal, project, *words, **streams):
    """Start a command on the terminal, entirely unless some of its streams go elsewhere."""
    slave = terminal.slave
    process = project.start(
        *words, **{"stdin": slave, "stdout": slave, "stderr": slave, **streams}, env={"TERM": "xterm"}
    )
    terminal.detach()
    return process


def running(pid: int) -> bool:
    """Whether a process is there and not only a zombie nobody has asked about."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def waiting(pid: int) -> bool:
    """Whether a process has nothing to do but wait."""
    return "State:\tS" in Path(f"/proc/{pid}/status").read_text()


# -- colour --------------------------------------------------------------------------------------------------------


def test_the_tree_is_coloured_on_a_terminal(terminal, project):
    """Red for a denial."""
    project.install("strict", DENY)
    project.install("greeter", TOOL)
    project.enable("strict", "greeter")
    process = on(terminal, project, "call", "greet", '{"name": "you"}', "--trace")
    screen = terminal.rest()
    assert process.wait(PATIENCE) == 2
    assert "\x1b[31mdeny\x1b[0m" in screen


def test_the_tree_is_plain_when_only_stderr_is_a_terminal(terminal, project):
    """Colour is decided for the stream that is written to."""
    project.install("greeter", TOOL)
    project.enable("greeter")
    words = ["call", "greet", '{"name": "you"}', "--trace"]
    process = on(terminal, project, *words, stdout=subprocess.PIPE)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert b"policy" in out
    assert b"\x1b" not in out


def test_a_document_is_never_coloured(terminal, project):
    """--json on a terminal is the same document."""
    project.install("greeter", TOOL)
    project.enable("greeter")
    process = on(terminal, project, "call", "greet", '{"name": "you"}', "--json")
    screen = terminal.rest()
    assert process.wait(PATIENCE) == 0
    assert "\x1b" not in screen


# -- asking --------------------------------------------------------------------------------------------------------


@pytest.fixture
def asking(project):
    """A project where every call is asked about."""
    project.install("ask", ASK)
    project.install("greeter", TOOL)
    project.enable("ask", "greeter")
    return project


@pytest.mark.parametrize(
    ("answer", "code"), [("y\n", 0), ("YES\n", 0), ("n\n", 2), ("\n", 2), ("yess\n", 2), ("\x04", 2)]
)
def test_the_person_is_asked(terminal, asking, answer, code):
    """Anything but yes is no; the end of input too."""
    process = on(terminal, asking, "call", "greet", '{"name": "you"}')
    terminal.wait_for("Allow once? [y/N]")
    assert "greet: is this fine?" in terminal.seen
    terminal.type(answer)
    screen = terminal.rest()
    assert process.wait(PATIENCE) == code
    assert ("hello you" in screen) is (code == 0)


def test_the_question_does_not_disturb_the_document(terminal, asking):
    """It is on stderr; stdout is one document."""
    process = on(terminal, asking, "call", "greet", '{"name": "you"}', "--json", stdout=subprocess.PIPE)
    terminal.wait_for("Allow once? [y/N]")
    terminal.type("y\n")
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert out.startswith(b'{"is_error": false')


def test_a_question_cannot_be_drawn_over(terminal, project):
    """What a plugin quotes from a model is shown, not obeyed."""
    project.install("ask", ASK.replace("is this fine?", r"\x1b[2Jharmless\rx"))
    project.install("greeter", TOOL)
    project.enable("ask", "greeter")
    process = on(terminal, project, "call", "greet", '{"name": "you"}')
    terminal.wait_for("Allow once? [y/N]")
    assert "\\x1b[2Jharmless\\rx" in terminal.seen
    assert "\x1b[2J" not in terminal.seen
    terminal.type("n\n")
    terminal.rest()
    assert process.wait(PATIENCE) == 2


def test_a_question_can_be_interrupted(terminal, asking):
    """Ctrl-C at the prompt ends the command; it does not wait for Enter."""
    process = on(terminal, asking, "call", "greet", '{"name": "you"}', start_new_session=True)
    terminal.wait_for("Allow once? [y/N]")
    while not waiting(process.pid):
        pass
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130
    assert "hello" not in terminal.rest()


# -- interrupting --------------------------------------------------------------------------------------------------


def started(fifo: Path) -> int:
    """Wait for a child to say its process id."""
    return int(fifo.read_text())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_an_interrupted_call_leaves_no_process(project, number, code):
    """Ctrl-C, a polite kill, a terminal that is closed: the tool unwinds, its child is gone."""
    project.install("hanging", HANGING)
    project.enable("hanging")
    fifo = project.folder / "fifo"
    os.mkfifo(fifo)
    process = project.start("call", "hang", f'{{"fifo": "{fifo}"}}', stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    pid = started(fifo)
    assert running(pid)
    process.send_signal(number)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert not running(pid)
    assert (b"interrupted" in err) is (code == 130)
    assert b"Traceback" not in err


def test_an_interrupted_shell_command_leaves_no_process(project):
    """The same with the shell of the workspace tools, for a grandchild."""
    project.configure("[plugins]\nenable = ['workspace-tools']\n")
    fifo = project.folder / "fifo"
    os.mkfifo(fifo)
    command = f'{{"command": "sleep 600 & echo $! > {fifo}; wait"}}'
    process = project.start("call", "bash", command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    pid = started(fifo)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert not running(pid)


def test_nohup_outlives_its_terminal(project):
    """A hang-up that was ignored when the command started stays ignored."""
    project.install("hanging", HANGING)
    project.enable("hanging")
    fifo = project.folder / "fifo"
    os.mkfifo(fifo)
    process = project.start(
        "call", "hang", f'{{"fifo": "{fifo}"}}', stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )  # fmt: skip
    pid = started(fifo)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    assert not running(pid)
