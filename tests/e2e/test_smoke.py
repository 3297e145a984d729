"""The five-minute path with what is installed: it needs no checkout, so it runs against the built wheels as well."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.smoke

CONTRIB = {"metrics", "repeat-reminder", "retry", "shell-policy", "timeout", "workspace-tools"}


def test_the_version(dshhooks):
    """The command line and the package agree."""
    import dshhooks as package

    assert dshhooks("version").out == f"dshhooks {package.__version__}\n"


def test_the_script_is_installed():
    """Beside the interpreter."""
    assert shutil.which("dshhooks", path=str(Path(sys.executable).parent))


def test_the_table_of_hooks(dshhooks):
    """As data."""
    names = {row["name"] for row in dshhooks("hooks", "--json").json}
    assert {"tools_pre_execute", "tools_execute", "agent_prompt_submit", "operation_guard"} <= names


def test_the_contrib_plugins_are_found_by_entry_point(dshhooks):
    """Each is loaded, by name, from a distribution of its own."""
    done = dshhooks("plugins", "--json")
    assert done.code == 0, done.err
    loaded = {row["name"]: row for row in done.json if row["status"] == "loaded"}
    assert loaded.keys() >= CONTRIB
    assert {loaded[name]["distribution"] for name in CONTRIB} == {f"dshhooks-{name}" for name in CONTRIB}
    assert all(loaded[name]["hooks"] for name in CONTRIB)


@pytest.mark.parametrize("name", sorted(CONTRIB))
def test_the_contrib_plugins_keep_the_contract(dshhooks, name):
    """As everybody's plugin should."""
    done = dshhooks("plugins", "check", name)
    assert done.code == 0, done.out


def test_a_command_runs_in_this_folder(dshhooks, folder):
    """`call bash` works on the working directory."""
    (folder / "here.txt").write_text("")
    done = dshhooks("call", "bash", '{"command": "ls"}')
    assert done.code == 0, done.err
    assert "here.txt" in done.out


def test_a_destructive_command_does_not_run(dshhooks, folder):
    """However it is spelt; exit 2. (The home it names is this folder.)"""
    (folder / "here.txt").write_text("")
    done = dshhooks("call", "bash", '{"command": "x=rm; $x -rf ~"}')
    assert done.code == 2
    assert "denied: " in done.err
    assert (folder / "here.txt").exists()


def test_without_the_policy_it_does(dshhooks, folder):
    """`--disable shell-policy` means it."""
    build = folder / "build"
    build.mkdir()
    assert dshhooks("call", "bash", '{"command": "rm -rf build"}').code == 2
    assert build.exists()
    assert dshhooks("call", "bash", '{"command": "rm -rf build"}', "--disable", "shell-policy").code == 0
    assert not build.exists()


def test_files_are_written_and_read(dshhooks, folder):
    """The workspace's tools, in this folder only."""
    assert dshhooks("call", "write_file", '{"path": "a.txt", "content": "hello"}').code == 0
    assert (folder / "a.txt").read_text() == "hello"
    assert "hello" in dshhooks("call", "read_file", '{"path": "a.txt"}').out
    assert dshhooks("call", "read_file", '{"path": "../a.txt"}').code == 1


def test_the_trace(dshhooks):
    """Who decided what, in the order of the way through the house."""
    out = dshhooks("call", "bash", '{"command": "echo hi"}', "--trace").out
    stages = ["policy", "shell-policy", "metrics", "retry", "timeout", "dispatch", "tools_result"]
    places = [out.index(stage) for stage in stages]
    assert places == sorted(places)


def test_the_demo(dshhooks):
    """It ends well and shows every ending a call can have."""
    done = dshhooks("demo")
    assert done.code == 0, done.err
    for shown in ("allow", "deny — ", "ask — ", "rejected", "TOOL_TIMEOUT", "(attempt 3)", "OUTSIDE_WORKSPACE"):
        assert shown in done.out, shown
    assert "# what the metrics plugin counted" in done.out
    assert "not played" not in done.out
    assert "\x1b" not in done.out
