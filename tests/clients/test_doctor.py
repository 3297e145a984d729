"""What `doctor` finds out by looking at settings and by running what is installed."""

from __future__ import annotations

import json
import os
import sys

import pytest

from dshhooks.clients.denial import denial
from dshhooks.clients.doctor import examine, installed_at
from dshhooks.clients.doctor_trial import honoured, try_command
from dshhooks.clients.event import read_event, read_payload
from dshhooks.clients.install import installation, put_in
from dshhooks.clients.install_command import argv_of, shell_command
from dshhooks.clients.samples import harmless_call
from dshhooks.clients.table import CLIENTS
from tests.clients.install_kit import Folder
from tests.plugins.kit import DENY, Site

ENVIRONMENT = {
    "PATH": os.defpath,
    "DSHHOOKS_SERVE": "0",  # in process: no daemon outlives the test
    "DSHHOOKS_NO_PLUGINS": "1",
}
CLAUDE = CLIENTS["claude"]

# A plugin with a hook that clients ask and one that they do not.
BOTH = """
from dshhooks import hookimpl

class Plugin:
    @hookimpl
    def tools_guard(self, execution):
        return None

    @hookimpl(wrapper=True)
    async def tools_execute(self, execution, *, call_next):
        return await call_next()
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder in which nobody is guarded."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def environment(home):
    """The environment commands get."""
    return {**ENVIRONMENT, "HOME": str(home)}


@pytest.fixture
def folder(tmp_path):
    """An empty project for Claude Code."""
    root = tmp_path / "project"
    root.mkdir()
    return Folder(root)


def examined(folder, environment):
    """What doctor says about a project."""
    return examine(CLIENTS[folder.client], folder.root, environment)


def said(command, folder, environment, row=CLAUDE):
    """What each of the two trials of a command came to."""
    return [(check.fine, check.said) for check in try_command(row, command, folder.root, environment)]


def python(source):
    """A shell command that runs a program."""
    return shell_command([sys.executable, "-I", "-S", "-c", source])


class TestExamination:
    @pytest.mark.parametrize("client", CLIENTS)
    def test_of_a_guarded_client(self, folder, environment, client):
        """What is installed answers in that client's form, and nothing is wrong."""
        folder = Folder(folder.root, client)
        folder.install()
        found = examined(folder, environment)
        assert (found.problems, [check.fine for check in found.checks]) == ((), [True, True])
        assert found.fine
        assert found.places[0].events == folder.wanted().events
        assert found.checks[0].milliseconds > 0

    def test_of_one_that_is_not(self, folder, environment):
        """It says how to change that, and runs nothing."""
        found = examined(folder, environment)
        assert not found.fine
        assert found.checks == ()
        assert "dshhooks install claude" in found.problems[0]

    def test_of_a_plugin_that_cannot_be_loaded(self, folder, environment):
        """Every call is denied then: the trial shows it, and the plugin is named."""
        (folder.root / "dshhooks.toml").write_text('[plugins]\nenable = ["nowhere"]\n')
        folder.install()
        del environment["DSHHOOKS_NO_PLUGINS"]
        found = examined(folder, environment)
        assert not found.checks[0].fine
        assert "nowhere" in found.checks[0].said
        assert any("nowhere" in problem for problem in found.problems)
        assert [row.status for row in found.plugins if row.name == "nowhere"] == ["missing"]

    def test_of_a_broken_configuration(self, folder, environment):
        """Denied, with the file's name."""
        (folder.root / "dshhooks.toml").write_text("[plugins\n")
        folder.install()
        found = examined(folder, environment)
        assert not found.fine
        assert any("dshhooks.toml" in problem for problem in found.problems)

    def test_knows_the_switches_that_were_installed(self, folder, environment, tmp_path, monkeypatch):
        """Who takes part is what the command says, whatever this environment would load."""
        Site(tmp_path / "site", monkeypatch).install("never", DENY)
        folder.install(more=["--disable", "never"])
        del environment["DSHHOOKS_NO_PLUGINS"]
        assert [row.status for row in examined(folder, environment).plugins if row.name == "never"] == ["disabled"]

    def test_names_the_hooks_that_are_asked_there(self, folder, environment, tmp_path, monkeypatch):
        """The call runs in the client, so wrappers around it do not take part, whatever else the plugin has."""
        Site(tmp_path / "site", monkeypatch).install("both", BOTH)
        folder.install()
        del environment["DSHHOOKS_NO_PLUGINS"]
        assert [row.hooks for row in examined(folder, environment).plugins if row.name == "both"] == [("tools_guard",)]

    def test_of_hook_files_that_run_twice(self, folder, environment):
        """The client runs them, and so does our plugin for them: said with the way out, until that is taken."""
        del environment["DSHHOOKS_NO_PLUGINS"]
        for more, doubled in (((), True), (("--disable", "claude-hooks"), False)):
            folder.install(more=[*more])
            notes = examined(folder, environment).notes
            assert any("install claude --disable claude-hooks" in note for note in notes) is doubled

    def test_as_json(self, folder, environment):
        """Everything, as plain JSON."""
        folder.install()
        document = json.loads(json.dumps(examined(folder, environment).as_json()))
        assert document["ok"] is True
        assert document["client"] == "claude"
        assert [place["scope"] for place in document["places"]] == ["project", "user"]

    def test_of_codex_says_what_it_cannot_see(self, folder, environment):
        """Whether somebody trusts the hooks is not in the file."""
        codex = Folder(folder.root, "codex")
        codex.install()
        assert any("trust" in note for note in examined(codex, environment).notes)


class TestSettings:
    def problems(self, folder, environment):
        """What is wrong with the project's settings."""
        return " / ".join(installed_at(CLIENTS[folder.client], "project", folder.root, environment).problems)

    def changed(self, folder, old, new):
        """Install, and change something in the file afterwards."""
        folder.install()
        assert old in folder.text
        folder.write(folder.text.replace(old, new))

    def test_that_are_unreadable(self, folder, environment):
        """A problem, not an exception."""
        folder.write("{")
        assert "is not JSON" in self.problems(folder, environment)

    def test_of_an_interpreter_that_is_gone(self, folder, environment):
        """The client lets tools run then: it is what doctor is most needed for."""
        self.changed(folder, shell_command([sys.executable]), "/nowhere/python")
        assert "/nowhere/python is gone" in self.problems(folder, environment)

    def test_of_another_installation(self, folder, environment):
        """Said, with what brings it up to date."""
        self.changed(folder, "-I -S", "-I")
        assert "dshhooks install claude" in self.problems(folder, environment)

    def test_without_the_event_before_tools(self, folder, environment):
        """Installed, and yet nothing is guarded."""
        folder.install(events="Stop")
        assert "PreToolUse is missing" in self.problems(folder, environment)

    def test_with_a_time_out_that_is_too_short(self, folder, environment):
        """When it is over, the tool runs."""
        self.changed(folder, '"timeout": 60', '"timeout": 2')
        assert "time-out of 2 is shorter" in self.problems(folder, environment)

    @pytest.mark.parametrize("client", ["claude", "codex"])
    def test_with_a_bad_neighbour(self, tmp_path, environment, client):
        """One handler of a type that does not exist switches off every hook of the file."""
        folder = Folder(tmp_path, client)
        folder.write('{"hooks": {"Stop": [{"hooks": [{"type": "banana", "command": "x"}]}]}}')
        folder.install()
        assert "may run no hook of this file" in self.problems(folder, environment)

    @pytest.mark.parametrize(
        ("client", "text"),
        [
            ("claude", '{"disableAllHooks": true}'),
            ("qwen", '{"disableAllHooks": true}'),
            ("gemini", '{"hooksConfig": {"enabled": false}}'),
            ("gemini", '{"hooksConfig": {"disabled": ["dshhooks"]}}'),
            ("gemini", '{"tools": {"enableHooks": false}}'),
        ],
    )
    def test_that_switch_hooks_off(self, tmp_path, environment, client, text):
        """Nobody is asked."""
        folder = Folder(tmp_path, client)
        folder.write(text)
        folder.install()
        assert "switches hooks off" in self.problems(folder, environment)

    def test_of_qwen_with_a_hook_behind_ours(self, tmp_path, environment):
        """A later hook that allows beats a denial."""
        folder = Folder(tmp_path, "qwen")
        folder.install(events="PreToolUse")
        document = json.loads(folder.text)
        document["hooks"]["PreToolUse"].append({"hooks": [{"type": "command", "command": "x"}]})
        folder.write(json.dumps(document))
        assert "beats our denial" in self.problems(folder, environment)

    @pytest.mark.parametrize(
        ("client", "told"),
        [("codex", "refuses it"), ("claude", "refuses it"), ("copilot", "may refuse it"), ("gemini", "")],
    )
    def test_with_comments(self, tmp_path, environment, client, told):
        """Harmless where the client reads them; elsewhere they may cost every hook."""
        folder = Folder(tmp_path, client)
        folder.write("{\n  // mine\n}\n")
        folder.install()
        assert told in self.problems(folder, environment)
        assert bool(told) == bool(self.problems(folder, environment))

    def test_of_a_path_with_a_dollar(self, tmp_path, environment, monkeypatch):
        """Gemini puts variables into its settings before a shell could see the quotes."""
        monkeypatch.setattr(sys, "executable", "/opt/$x/python")
        folder = Folder(tmp_path, "gemini")
        assert any("takes the `$`" in warning for warning in folder.install().warnings)


class TestTrial:
    def test_of_a_plugins_denial(self, folder, environment):
        """A policy that denies even `echo hi` is strict, not broken."""
        out, _, code = denial("claude", "PreToolUse", "nothing runs here")
        command = python(f"import sys; sys.stdout.write({out.decode()!r}); sys.exit({code})")
        assert said(command, folder, environment) == [(True, "denied: nothing runs here")] * 2

    @pytest.mark.parametrize("client", CLIENTS)
    def test_of_a_command_that_lets_everything_through(self, folder, environment, client):
        """Half an event that is not denied is a hole."""
        (harmless, cut) = said("true", folder, environment, CLIENTS[client])
        assert harmless == (True, "no objection")
        assert not cut[0]

    def test_of_a_command_that_is_meant_to_do_so(self, folder, environment):
        """`--on-error allow` is somebody's choice."""
        assert all(fine for fine, _ in said("true --on-error allow", folder, environment))

    @pytest.mark.parametrize("client", CLIENTS)
    @pytest.mark.parametrize(
        "command",
        [
            "/nowhere/python",
            "exit 1",
            "echo hello",
            "echo '{'",
            "exit 2",
            "echo '[]'",
            'echo \'{"decision": "deny"}\'; exit 1',
        ],
    )
    def test_of_a_command_that_fails(self, folder, environment, client, command):
        """What a client takes for no answer is none here either."""
        assert not any(fine for fine, _ in said(command, folder, environment, CLIENTS[client]))


class TestHonoured:
    @pytest.mark.parametrize("client", CLIENTS)
    def test_is_every_denial_of_ours(self, client):
        """In the client's own form, with any reason."""
        word = next(word for word, kind in CLIENTS[client].events.items() if kind == "tool:before")
        for event in (word, None):
            assert honoured(client, word, denial(client, event, 'say "no"\né')) == 'say "no"\né'

    def test_is_the_portable_denial_but_for_vibe(self):
        """Vibe reads exit 0 only (observed.md 2)."""
        portable = denial("", None, "no")
        assert [name for name in CLIENTS if honoured(name, "PreToolUse", portable) is None] == ["vibe"]

    @pytest.mark.parametrize("spoilt", [(b"x", b"", 0), (b"", b"x", 0), (b"", b"", 1)])
    def test_is_not_a_denial_with_anything_beside_it(self, spoilt):
        """One line more on stdout, and every client lets the tool run."""
        out, err, code = denial("codex", "PreToolUse", "no")
        more, noise, other = spoilt
        assert honoured("codex", "PreToolUse", (out + more, err + noise, code + other)) is None


@pytest.mark.parametrize("client", CLIENTS)
def test_the_samples_are_understood(client):
    """Each is a tool call of that client, in the folder that is examined."""
    event = read_event(client, read_payload(harmless_call(client, "/here")), {})
    assert (event.kind, event.tool, event.arguments["command"]) == ("tool:before", "bash", "echo hi")
    assert client == "copilot-native" or event.cwd == "/here"


@pytest.mark.parametrize("client", ["claude", "gemini", "qwen"])
def test_a_project_may_switch_the_users_hooks_off(client, folder, environment):
    """Measured of Claude: a member of a checkout's settings is enough, and the user's own entries are not asked."""
    folder = Folder(folder.root, client)
    put_in(installation(client, "user", cwd=folder.root, environ={}))
    assert examined(folder, environment).fine
    folder.write({"gemini": '{"hooksConfig": {"enabled": false}}'}.get(client, '{"disableAllHooks": true}'))
    assert any("switches hooks off" in problem for problem in examined(folder, environment).problems)


def test_the_command_is_the_installed_one(folder, environment):
    """Doctor runs what stands in the file, not what would be written today."""
    folder.install(events="PreToolUse")
    folder.write(folder.text.replace(shell_command(argv_of("claude")), "true; dshhooks handle"))
    found = examined(folder, environment)
    assert [place.command for place in found.places if place.command] == ["true; dshhooks handle || exit 2"]
    assert not found.fine
