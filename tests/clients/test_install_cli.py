"""`dshhooks install`, `uninstall` and `doctor` as a person types them: real processes in a temporary project."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from dshhooks.cli.install import CLIENTS_ARE
from dshhooks.clients.samples import harmless_call
from dshhooks.clients.table import CLIENTS
from tests.cli.kit import Project
from tests.clients.install_kit import RICH, snapshot
from tests.plugins.kit import DENY

IN_PROCESS = {"DSHHOOKS_SERVE": "0"}


@pytest.fixture
def project(tmp_path):
    """A folder without configuration."""
    made = Project(tmp_path)
    yield made
    made.end()


@pytest.fixture
def settings(project):
    """Claude Code's settings in the project."""
    return project.folder / ".claude" / "settings.json"


def test_there_and_back(project, settings):
    """An empty folder, a rich file, twice, and out again: the original bytes."""
    settings.parent.mkdir()
    settings.write_text(RICH)
    before = snapshot(project.folder)
    first = project.run("install", "claude", "--project")
    assert (first.code, first.err) == (0, "")
    assert str(settings) in first.out
    assert "already installed" in project.run("install", "claude").out
    assert project.run("uninstall", "claude", "--project").code == 0
    assert snapshot(project.folder) == before
    assert project.run("uninstall", "claude").out.startswith("not installed")


def test_of_a_user_goes_into_the_home_folder(project, settings):
    """The home folder of these processes is the project's."""
    assert project.run("install", "codex", "--user").code == 0
    assert (project.folder / ".codex" / "hooks.json").is_file()
    assert not settings.exists()


def test_print_changes_nothing(project):
    """Stdout is the file and nothing else; warnings are on stderr."""
    done = project.run("install", "codex", "--print")
    assert json.loads(done.out)["hooks"].keys() >= {"PreToolUse", "Stop"}
    assert "trust" in done.err
    assert snapshot(project.folder) == {}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["install", "claud"], "did you mean 'claude'?"),
        (["uninstall", "claud"], "did you mean 'claude'?"),
        (["doctor", "claud"], "did you mean 'claude'?"),
        (["install", "claude", "--project", "--user"], "say one of them"),
        (["install", "claude", "--events", "PreToolUs"], "did you mean 'PreToolUse'?"),
    ],
)
def test_what_cannot_be_meant_is_told(project, arguments, told):
    """Exit code 1, a sentence, no traceback, and nothing made."""
    done = project.run(*arguments)
    assert (done.code, done.out) == (1, "")
    assert told in done.err
    assert "Traceback" not in done.err
    assert snapshot(project.folder) == {}


def test_settings_nobody_can_read_are_left_alone(project, settings):
    """An error that names file, line and column."""
    settings.parent.mkdir()
    settings.write_text('{"a": 1,}}')
    done = project.run("install", "claude")
    assert done.code == 1
    assert f"{settings} is not JSON" in done.err
    assert "line 1, column 10" in done.err
    assert settings.read_text() == '{"a": 1,}}'


def test_the_installed_command_guards(project, settings):
    """What stands in the settings, run by a shell as the client runs it, with another PATH and from another folder."""
    project.install("never", DENY)
    project.enable("never")
    config = project.folder / "dshhooks.toml"
    assert project.run("--config", "dshhooks.toml", "install", "claude").code == 0
    (group,) = json.loads(settings.read_text())["hooks"]["PreToolUse"]
    done = subprocess.run(
        ["/bin/sh", "-c", group["hooks"][0]["command"]],
        input=harmless_call("claude", "/"),
        capture_output=True,
        cwd="/",
        env=project.environment(**IN_PROCESS, PATH="/nowhere"),
        check=True,
    )
    answer = json.loads(done.stdout)["hookSpecificOutput"]
    assert answer["permissionDecision"] == "deny"
    assert str(config) in group["hooks"][0]["command"]


class TestDoctor:
    def test_of_a_guarded_project(self, project):
        """Exit 0; who takes part is listed."""
        project.install("never", DENY)
        project.enable("never")
        project.run("install", "claude")
        done = project.run("doctor", "claude", env=IN_PROCESS)
        assert (done.code, done.err) == (0, "")
        assert "never" in done.out
        assert "fine" in done.out

    def test_of_nothing(self, project):
        """Exit 1, and what to do."""
        done = project.run("doctor", "claude", env=IN_PROCESS)
        assert done.code == 1
        assert "dshhooks install claude" in done.err

    def test_as_json(self, project):
        """One document on stdout, whatever plugins print."""
        project.install("loud", f"print('LOUD')\n{DENY}")
        project.enable("loud")
        project.run("install", "gemini")
        done = project.run("doctor", "gemini", "--json", env=IN_PROCESS)
        assert done.code == 0
        assert done.json["ok"] is True
        assert [row["name"] for row in done.json["plugins"] if row["status"] == "loaded"] == ["loud"]


def test_the_help_names_every_client():
    """As text, so that asking for help reads no table."""
    assert set(re.findall(r"[a-z][a-z-]+", CLIENTS_ARE)) - {"or"} == set(CLIENTS)
