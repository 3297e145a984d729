"""The command line as a whole: help, usage, version, the table of hooks, pipes, and what is not imported."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import dshhooks

VERBS = ["call", "demo", "hooks", "plugins", "version"]


def test_the_version(project):
    """One line."""
    done = project.run("version")
    assert (done.code, done.out) == (0, f"dshhooks {dshhooks.__version__}\n")


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], *([verb, "--help"] for verb in VERBS)], ids=" ".join)
def test_help_everywhere(project, words):
    """On stdout, exit 0; without a verb the help is shown too."""
    done = project.run(*words)
    assert "Usage: dshhooks" in done.out + done.err
    assert done.code == (0 if words else 1)


def test_help_lists_the_verbs(project):
    """Each with a line of its own."""
    out = project.run("--help").out
    assert all(any(line.strip().startswith(f"{verb} ") for line in out.splitlines()) for verb in VERBS)


@pytest.mark.parametrize(
    "words",
    [["nonsense"], ["--nonsense"], ["call"], ["call", "a", "{}", "extra"], ["plugins", "nonsense"],
     ["plugins", "chain"], ["version", "extra"], ["--config"]],
    ids=" ".join,
)  # fmt: skip
def test_wrong_usage_is_exit_1(project, words):
    """2 means denied, so usage cannot be 2; the message is on stderr."""
    done = project.run(*words)
    assert (done.code, done.out) == (1, "")
    assert "Error: " in done.err


def test_a_broken_configuration_does_not_break_what_needs_none(project):
    """version, hooks and help work in a folder with a broken file."""
    project.configure("[plugins")
    assert [project.run(*words).code for words in (["version"], ["hooks"], ["--help"])] == [0, 0, 0]


def test_the_table_of_hooks(project):
    """As data and for people; both have every hook."""
    rows = project.run("hooks", "--json").json
    assert {"name", "canonical", "authority", "parameters", "returns"} <= rows[0].keys()
    assert [row["name"] for row in rows] == [row.name for row in dshhooks.hookspecs_table()]
    out = project.run("hooks").out
    assert all(f"{row['name']}(" in out for row in rows)
    assert "\x1b" not in out


def test_hooks_do_not_load_plugins(project):
    """The table is the contract's, not the plugins'."""
    project.install("loud", "raise AssertionError('imported')")
    assert project.run("hooks", "--json", env={"DSHHOOKS_NO_PLUGINS": "maybe"}).code == 0


def test_a_reader_that_goes_away(project):
    """`dshhooks hooks | head -0`: nobody gets the output, which is exit 1, without a traceback or noise."""
    read, write = os.pipe()
    os.close(read)
    process = project.start("hooks", stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, b"")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk(project):
    """What cannot be written is an error in one line."""
    with open("/dev/full", "wb") as full:
        process = project.start("hooks", stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"No space left" in err
    assert b"Traceback" not in err


def test_a_closed_stdin(project):
    """A job without stdin can call; it can just not be asked."""
    words = ["call", "nothing", "{}", "--no-plugins"]
    process = project.start(*words, stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(0))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"Traceback" not in err
    assert b"UNKNOWN_TOOL" in err


def test_the_version_imports_next_to_nothing(project):
    """A verb loads what it needs: no pluggy, no cattrs, no event loop for `version`."""
    code = (
        "import json, sys\nfrom dshhooks.cli.main import main\n"
        "try:\n    main(['version'])\nexcept SystemExit:\n    pass\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout
    loaded = set(json.loads(out.splitlines()[-1]))
    assert not {"pluggy", "cattrs", "anyio", "httpx", "rich", "dshhooks.engine.hooks", "dshhooks.cli.demo"} & loaded
