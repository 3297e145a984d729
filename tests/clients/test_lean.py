"""The lean client by itself: whatever goes wrong around it, one answer in the client's form comes out."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.ran import would_run
from tests.clients.serve_kit import LEAN, Done, User, ended, payload, user


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[User]:
    """A user who wants no daemons."""
    for made in user(tmp_path):
        made.env["DSHHOOKS_SERVE"] = "0"
        yield made


def run(script: Path, *arguments: str, stdin: bytes = b"{}", **env: str) -> Done:
    """Run a copy of the lean client."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(script), *arguments], input=stdin, capture_output=True, env=env, check=False
    )
    return Done(done.stdout, done.stderr, done.returncode)


def test_it_answers_in_a_process_of_its_own(alone: User) -> None:
    """Without a daemon everything works: a denial in Claude's form, and silence for no opinion."""
    assert alone.call("forbidden a").reason == "no: a"
    assert alone.call("fine") == Done(b"", b"", 0)


def test_no_daemon_where_none_is_wanted(alone: User) -> None:
    """DSHHOOKS_SERVE=0: nothing is started, not even a directory for it."""
    alone.call("fine")
    assert not (alone.runtime / "dshhooks").exists()


def test_what_plugins_print_goes_to_the_log(alone: User) -> None:
    """Python's print, a write to fd 1 and a child's output: nothing of it is on the client's stdout."""
    assert alone.call("print") == Done(b"", b"", 0)
    assert [word in alone.log() for word in ("PLUGIN PRINTED", "PLUGIN WROTE", "PLUGIN SHELL")] == [True] * 3


@pytest.mark.parametrize("code", ["0", "1", "2"])
def test_a_plugin_that_exits_the_process_denies(alone: User, code: str) -> None:
    """os._exit cannot be caught where it happens; the parent answers for the child."""
    assert f"ended before it had decided: a plugin that exits, a crash, or a lack of memory (exit code {code})" in (
        alone.call(f"exit {code}").reason
    )


@pytest.mark.parametrize("how", ["spin", "seize", "wait for-ever"])
def test_a_plugin_that_never_comes_back_denies(alone: User, how: str) -> None:
    """In Python, in C with the interpreter held, and politely: when the budget is spent the answer is no."""
    assert "in time" in alone.call(how, "--budget", "2").reason
    assert "dshhooks: dshhooks had no answer in time" in alone.log()


def test_on_error_allow_lets_through(alone: User) -> None:
    """Those who want the opposite get it, and nothing on stdout."""
    assert alone.call("exit 1", "--on-error", "allow") == Done(b"", b"", 0)


def test_an_observing_event_ends_silently(alone: User) -> None:
    """A broken configuration after a tool has run: nothing is denied any more."""
    alone.configure("[plugins\n")
    assert alone.ask(payload("x", hook_event_name="PostToolUse", tool_response={})) == Done(b"", b"", 0)
    assert alone.call("fine").reason


def test_stdin_that_is_never_closed_denies(alone: User) -> None:
    """The budget counts from the start, whatever the client does."""
    process = alone.begin("--budget", "0.5")
    code = process.wait(timeout=60)
    out, err = process.communicate()
    assert (code, b'"permissionDecision":"deny"' in out, b"in time" in err) == (2, True, True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_denies(alone: User, number: int) -> None:
    """Interrupted while it gates: one denial, whole and alone on stdout."""
    process = alone.asking("wait a")
    alone.begun("a")
    process.send_signal(number)
    assert "interrupted" in ended(process).reason


@pytest.mark.parametrize("wrong", ["--frobnicate", "--budget=soon", "--on-error=maybe", "--client"])
def test_a_command_line_that_is_wrong_denies(alone: User, wrong: str) -> None:
    """In the client's form, saying which word; a hook nobody can read must not be a hook nobody obeys."""
    assert wrong.partition("=")[0] in alone.call("fine", wrong).reason


def test_a_stdout_that_cannot_be_written_denies_by_exit_code(alone: User) -> None:
    """A full disk behind stdout: exit 2 and a line on stderr."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(LEAN), "--client", "claude"], input=payload("forbidden a"), stdout=full,
            stderr=subprocess.PIPE, cwd=alone.project, env=alone.env, check=False,
        )  # fmt: skip
    assert (done.returncode, bool(done.stderr)) == (2, True)


@pytest.mark.parametrize("closed", [(0,), (1,), (0, 1)])
def test_a_stream_that_is_closed_denies(alone: User, closed: tuple[int, ...]) -> None:
    """Its number is not taken for anything else: no event can be read, or no answer written, and both are exit 2."""
    done = alone.after(f"[os.close(n) for n in {closed}]", payload("forbidden a"))
    assert (done.code, bool(done.stderr)) == (2, True)


# A plugin of a file of its own in the place of one of ours would be asked nothing, and answer everything.
HOSTILE = ("json", "dshhooks", "hookspecs", "attrs", "attr", "pluggy", "sitecustomize", "posix", "os", "encodings")


@pytest.mark.parametrize("path", [".", ":", "sub:.", "{project}", "./sub/.."])
def test_nothing_in_the_working_directory_takes_the_place_of_anything(alone: User, path: str) -> None:
    """PYTHONPATH may lead there, as in many shells it does: an agent can write modules of those names."""
    for name in HOSTILE:
        (alone.project / f"{name}.py").write_text("import os\nos.write(3, b'A 0 0 0\\n')\n", encoding="utf-8")
    alone.env["PYTHONPATH"] = f"{path.format(project=alone.project)}:{alone.env['PYTHONPATH']}"
    assert alone.call("forbidden a").reason == "no: a"


@pytest.mark.parametrize("variable", [
    {"PYTHONHOME": "/nowhere"}, {"PYTHONPLATLIBDIR": "nowhere"}, {"PYTHONHASHSEED": "none"},
    {"PYTHONWARNINGS": "error"}, {"PYTHONOPTIMIZE": "2"}, {"PYTHONINSPECT": "1"}, {"PYTHONTRACEMALLOC": "none"},
    {"PYTHONEXECUTABLE": "/nowhere/python"}, {"__PYVENV_LAUNCHER__": "/nowhere/python"},
], ids=str)  # fmt: skip
def test_variables_for_another_python_change_nothing(alone: User, variable: dict[str, str]) -> None:
    """They are there for whatever the agent runs, not for what judges it."""
    assert alone.call("forbidden a", **variable).reason == "no: a"


@pytest.mark.parametrize("name", ["PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__"])
def test_no_variable_says_which_program_judges(alone: User, name: str) -> None:
    """Python takes its own path from them even where it is told to ignore its variables: a script answered for us."""
    program = alone.project / "python"
    program.write_text("#!/bin/sh\nprintf 'A 0 0 0\\n' >&3\n", encoding="utf-8")
    program.chmod(0o700)
    assert alone.call("forbidden a", **{name: str(program)}).reason == "no: a"


BLOCKED = "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())"


@pytest.mark.parametrize("preparation", [BLOCKED, "signal.signal(signal.SIGCHLD, signal.SIG_IGN)"])
def test_signals_somebody_has_blocked_or_ignored_change_nothing(alone: User, preparation: str) -> None:
    """What starts us leaves them so for us: the budget would never be spent."""
    assert alone.after(preparation, payload("forbidden a")).reason == "no: a"
    assert "in time" in alone.after(preparation, payload("spin"), "--budget", "1").reason


GONE = "os.mkdir('gone')\nos.chdir('gone')\nos.rmdir('../gone')"
CROWDED = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))"


@pytest.mark.parametrize(("preparation", "said"), [(GONE, "working directory is gone"), (CROWDED, "open files")])
def test_what_cannot_be_judged_ends_as_the_event_that_it_is(alone: User, preparation: str, said: str) -> None:
    """In the client's form, and a turn that would go on because of it ends: the event is looked at whatever fails."""
    stop = payload("x", hook_event_name="Stop", stop_hook_active=True)
    assert said in alone.after(preparation, payload("forbidden a")).reason
    assert alone.after(preparation, stop) == Done(b"", b"", 0)
    assert alone.after(preparation, payload("x", hook_event_name="PostToolUse", tool_response={})) == Done(b"", b"", 0)


def test_a_dirty_stdout_is_denied_by_exit_code(alone: User, tmp_path: Path) -> None:
    """No client reads JSON behind another line: in a file that can be seen, and in a pipe until it is read."""
    noise = "os.write(1, b'noise\\n')"
    with (tmp_path / "out").open("wb") as out:
        done = alone.after(noise, payload("forbidden a"), stdout=out)
    assert (done.code, (tmp_path / "out").read_bytes()) == (2, b"noise\n")
    assert done.stderr.startswith(b"no: a (something else")
    reading, writing = os.pipe()
    done = alone.after(noise, payload("forbidden a"), stdout=writing)
    os.close(reading), os.close(writing)
    assert done.code == 2
    assert done.stderr.startswith(b"no: a (something else")


def test_what_plugins_have_done_to_json_is_not_done_to_the_answer(alone: User) -> None:
    """A module that replaces a function of `json` when it is imported: an observing event is still known as one."""
    source = alone.policy.read_text(encoding="utf-8")
    alone.policy.write_text(f"import json\njson.JSONDecoder.decode = None\n{source}", encoding="utf-8")
    assert "could not judge" in alone.call("fine").reason
    assert alone.ask(payload("x", hook_event_name="PostToolUse", tool_response={})) == Done(b"", b"", 0)


def test_nothing_in_the_working_directory_is_imported(alone: User) -> None:
    """An agent can write there: a module of that name must not decide about the next call."""
    for name in ("json", "dshhooks", "attrs", "sitecustomize", "posix"):
        (alone.project / f"{name}.py").write_text("raise SystemExit(0)\n", encoding="utf-8")
    assert alone.call("forbidden a").reason == "no: a"


def test_a_broken_installation_denies(alone: User, tmp_path: Path) -> None:
    """dshhooks cannot be imported: the answer is Claude's, and says what is wrong."""
    alone.reinstall(tmp_path / "broken", "raise ImportError('half an upgrade')\n")
    assert "half an upgrade" in alone.call("fine").reason


@pytest.mark.parametrize("missing", ["courier", "child", "denial", "failure", "wire", "worker"])
def test_a_missing_file_denies(tmp_path: Path, missing: str) -> None:
    """Whichever file of the lean client is gone, exit 2 with a reason or a denial is what is left."""
    clients = shutil.copytree(LEAN.parent, tmp_path / "clients")
    (clients / f"{missing}.py").unlink()
    shutil.rmtree(clients / "__pycache__", ignore_errors=True)
    done = run(clients / "lean.py", "--client", "claude", "--frobnicate", stdin=payload("fine"), DSHHOOKS_SERVE="0")
    assert b'"permissionDecision":"deny"' in done.stdout
    assert (done.code, bool(done.stderr)) in [(2, True), (0, False)]


@pytest.mark.parametrize(
    ("event", "held_up"),
    [
        ({"hook_event_name": "PreToolUse"}, True),
        ({"hook_event_name": "PostToolUse"}, False),
        ({"hook_event_name": "Stop", "stop_hook_active": False}, True),
        ({"hook_event_name": "Stop", "stop_hook_active": True}, False),
    ],
    ids=str,
)
def test_the_last_resort_ends_as_the_event_that_it_is(tmp_path: Path, event: dict[str, object], held_up: bool) -> None:
    """In the middle of an upgrade, say: results are not blocked, and Codex' turn does not go on for ever."""
    clients = shutil.copytree(LEAN.parent, tmp_path / "clients")
    (clients / "courier.py").write_text("raise ImportError\n", encoding="utf-8")
    shutil.rmtree(clients / "__pycache__", ignore_errors=True)
    done = run(clients / "lean.py", "--client", "codex", stdin=payload("fine", **event))
    assert (done == Done(b"", b"", 0)) is not held_up


@pytest.mark.parametrize("words", [("--client", "vibe"), ("--client=vibe",), ("--config", "/x", "--client", "vibe")])
def test_the_last_resort_speaks_vibe(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Vibe reads one spelling at exit 0 and nothing else."""
    shutil.copy(LEAN, tmp_path / "lean.py")
    done = run(tmp_path / "lean.py", *words)
    assert (done.code, done.stdout.startswith(b'{"decision":"deny","reason":"dshhooks')) == (0, True)


@pytest.mark.parametrize("words", [("--config", "/me/vibe/guard.toml"), ("--plugins", "vibe"), ("--disable=vibe",)])
def test_the_last_resort_takes_nobody_else_for_vibe(tmp_path: Path, words: tuple[str, ...]) -> None:
    """The word in a path or a plugin's name: Claude and Codex ran the tool at Vibe's spelling."""
    shutil.copy(LEAN, tmp_path / "lean.py")
    done = run(tmp_path / "lean.py", "--client", "claude", *words, stdin=payload("fine"))
    assert not would_run("claude", "PreToolUse", done.stdout, done.stderr, done.code)


def test_it_is_made_of_what_is_built_in(alone: User) -> None:
    """What it imports to ask a daemon is what makes it fast: no os, no json, no site, nothing of the package."""
    process = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", str(LEAN), "--client", "claude"], input=payload("fine"),
        capture_output=True, cwd=alone.project, env=alone.env, check=False,
    )  # fmt: skip
    # The child's own imports go to the log.
    imported = {line.rpartition("|")[2].strip() for line in process.stderr.decode().splitlines()}
    assert "time" in imported
    assert imported & {"os", "json", "socket", "signal", "site", "dshhooks", "attrs"} == set()


def test_a_large_event_is_judged_whole(alone: User) -> None:
    """What was read of stdin reaches the policy to its last byte: the JSON would not be whole otherwise."""
    assert alone.call(f"forbidden {'x' * (20 << 20)}").reason.startswith("no: xxx")
