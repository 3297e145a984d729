"""What is written into a client's settings: entries it was measured to honour, and a command that works anywhere."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dshhooks.clients.install import installation, look, preview
from dshhooks.clients.install_command import argv_of, or_no, or_nothing, shell_command, words_of
from dshhooks.clients.install_forms import FORMS
from dshhooks.clients.settings_text import SettingsError
from dshhooks.clients.table import CLIENTS
from hookspecs.errors import HarnessError
from tests.clients.install_kit import RICH, Folder, snapshot


@pytest.fixture
def claude(tmp_path):
    """An empty project for Claude Code."""
    return Folder(tmp_path)


class TestContent:
    @pytest.mark.parametrize(("client", "unit"), [("claude", 1), ("codex", 1), ("gemini", 1000), ("qwen", 1000)])
    def test_time_outs_are_in_the_clients_unit(self, tmp_path, client, unit):
        """Longer than `handle` takes at the most: when the client's time is up, the tool runs."""
        folder = Folder(tmp_path, client)
        folder.install()
        limits = {h["timeout"] for g in json.loads(folder.text)["hooks"].values() for h in g[0]["hooks"]}
        assert limits == {60 * unit}

    def test_tool_events_have_a_matcher_of_every_tool(self, claude):
        """`*` and no matcher were both measured to match everything; other events have none."""
        claude.install()
        groups = {event: groups[0] for event, groups in json.loads(claude.text)["hooks"].items()}
        assert {event for event, group in groups.items() if group.get("matcher") == "*"} == {
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
        }
        assert "matcher" not in groups["SessionStart"]

    def test_of_gemini(self, tmp_path):
        """Its own event names, and a name it shows in its list of hooks."""
        folder = Folder(tmp_path, "gemini")
        folder.install(events="PreToolUse")
        hook = {"name": "dshhooks", "type": "command", "command": or_no(shell_command(argv_of("gemini"))),
                "timeout": 60000}  # fmt: skip
        assert json.loads(folder.text) == {"hooks": {"BeforeTool": [{"matcher": "*", "hooks": [hook]}]}}

    def test_of_copilots_native_form(self, tmp_path):
        """Entries without groups and without a matcher: its `*` and its empty one matched nothing."""
        folder = Folder(tmp_path, "copilot-native")
        folder.install(events="preToolUse")
        hook = {"type": "command", "bash": or_no(shell_command(argv_of("copilot-native"))), "timeoutSec": 60}
        assert json.loads(folder.text) == {"version": 1, "hooks": {"preToolUse": [hook]}}

    def test_of_vibe(self, tmp_path):
        """Strict before tools, where every failure would let the tool run; names are unique."""
        folder = Folder(tmp_path, "vibe")
        folder.install()
        hooks = tomllib.loads(folder.text)["hooks"]
        assert {hook["type"]: hook.get("strict", False) for hook in hooks} == {
            "pre_tool": True,
            "post_tool": False,
            "post_agent": False,
        }
        assert len({hook["name"] for hook in hooks}) == 3

    @pytest.mark.parametrize("text", ['{"pre_tool_use": []}', '{"PreToolUse": []}'])
    def test_of_openhands_without_a_wrapper(self, tmp_path, text):
        """It ignores everything beside `hooks`, and refuses an event in two spellings."""
        folder = Folder(tmp_path, "openhands")
        folder.write(text)
        folder.install(events="PreToolUse")
        (event,) = json.loads(text)
        assert json.loads(folder.text).keys() == {event}
        assert not folder.install(events="PreToolUse").changed
        folder.uninstall()
        assert folder.text == text

    def test_events_in_claudes_words_are_translated(self):
        """One word for all clients is enough."""
        assert installation("gemini", events="PreToolUse,UserPromptSubmit").events == ("BeforeTool", "BeforeAgent")

    def test_only_events_plugins_have_hooks_for(self):
        """A process for nothing is started for nothing."""
        assert "Notification" not in installation("claude").events
        assert installation("claude", events="Notification").events == ("Notification",)

    def test_switches_go_into_the_command(self, claude):
        """What is said at the installation counts at every call."""
        claude.install(events="Stop", more=["--plugins", "a,b"])
        (group,) = json.loads(claude.text)["hooks"]["Stop"]
        assert group["hooks"][0]["command"].endswith("--client claude --plugins a,b || exit 0")


class TestAdvice:
    @pytest.mark.parametrize(("client", "both"), [("codex", True), ("copilot", False), ("vibe", False)])
    def test_says_who_has_to_trust_what(self, client, both, tmp_path, monkeypatch):
        """Clients that skip hooks nobody trusts do so silently; some ask about folders only."""
        monkeypatch.setenv("HOME", str(tmp_path))
        told = [
            any("trusts" in warning for warning in preview(installation(client, scope, cwd=tmp_path, environ={}))[1])
            for scope in ("project", "user")
        ]
        assert told == [True, both]

    @pytest.mark.parametrize(("more", "told"), [([], True), (["--config", "/etc/dshhooks.toml"], False)])
    def test_of_a_user_says_that_a_project_may_leave_plugins_out(self, more, told, tmp_path, monkeypatch):
        """The nearest configuration counts, and a checkout may bring one."""
        monkeypatch.setenv("HOME", str(tmp_path))
        warnings = preview(installation("claude", "user", more=more, cwd=tmp_path, environ={}))[1]
        assert any("may leave your plugins out" in warning for warning in warnings) is told

    def test_says_nothing_where_all_is_well(self, claude):
        """A warning is read when it is rare."""
        claude.write(RICH.replace('"timeout": 5', '"timeout": 500'))
        assert claude.install().warnings == ()

    def test_names_a_bad_neighbour(self, claude):
        """Claude runs no hook of the file then, ours included."""
        claude.write('{"hooks": {"Stop": [{"hooks": [{"type": "banana"}]}]}}')
        (warning,) = claude.install().warnings
        assert "/hooks/Stop/0/hooks/0" in warning
        assert "may run no hook of this file" in warning


class TestCommand:
    def test_is_absolute(self):
        """It needs no PATH and no activated environment, and imports nothing it does not need."""
        program, *options, script, flag, client = argv_of("claude")
        assert (program, options, flag, client) == (sys.executable, ["-I", "-S"], "--client", "claude")
        assert Path(script).is_absolute()
        assert Path(script).is_file()

    @pytest.mark.parametrize("name", ["a b", "it's", 'say "x"', "$HOME", "a;b&c|d", "*?[x]", "`x`", "\\n", "#x", "ü"])
    def test_survives_a_shell(self, name, tmp_path):
        """Whatever is in the path, the shell hands over the same words."""
        script = tmp_path / name / "show.py"
        script.parent.mkdir()
        script.write_text("import sys, json; print(json.dumps(sys.argv))")
        words = [sys.executable, "-I", str(script), "--config", name]
        done = subprocess.run(["/bin/sh", "-c", shell_command(words)], capture_output=True, check=True)
        assert json.loads(done.stdout) == [str(script), "--config", name]

    @pytest.mark.parametrize("gone", [sys.executable, "lean.py"], ids=["interpreter", "dshhooks"])
    @pytest.mark.parametrize("client", [name for name, form in FORMS.items() if form.kind == "json"])
    def test_that_cannot_be_run_says_no(self, client, gone, tmp_path):
        """The environment is gone, or dshhooks is from it: exit 2 where something is held up, else nothing.

        With any other code most clients run the tool. Python's own, for a script that is not there, is 2 as well: at
        the end of a turn Codex and Gemini went on for ever because of it.
        """
        row, folder = CLIENTS[client], Folder(tmp_path, client)
        folder.install()
        for entry in look(client, folder.wanted().place)[1]:
            command = entry.command.replace(gone, f"{gone}-gone")
            done = subprocess.run(["/bin/sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True)
            assert f"{gone}-gone".encode() in done.stderr
            held_up = row.gates.get(entry.event) in ("tool", "permission", "prompt")
            assert (done.returncode, done.stdout) == (2 if held_up else 0, b"")

    def test_that_holds_nothing_up_is_known_again(self):
        """What follows the command for the shell's sake is none of its words."""
        assert words_of(or_nothing(shell_command(["/a b/python", "x"]))) == ["/a b/python", "x"]

    @pytest.mark.parametrize("code", [0, 2])
    def test_that_was_run_says_what_it_says(self, code):
        """An answer and its exit code are what they were."""
        words = [sys.executable, "-c", f"import sys; print('said'); sys.exit({code})"]
        done = subprocess.run(["/bin/sh", "-c", or_no(shell_command(words))], capture_output=True)
        assert (done.stdout, done.stderr, done.returncode) == (b"said\n", b"", code)
        assert words_of(or_no(shell_command(words))) == words

    def test_is_known_again_whatever_the_path(self, claude, monkeypatch):
        """Quoted as it must be, it is still one of ours."""
        monkeypatch.setattr(sys, "executable", "/it's a path/$x/python")
        claude.install()
        assert shlex.split(json.loads(claude.text)["hooks"]["Stop"][0]["hooks"][0]["command"])[0] == sys.executable
        assert not claude.install().changed
        claude.uninstall()
        assert snapshot(claude.root) == {}

    def test_without_a_path_of_python(self, monkeypatch):
        """An embedded interpreter may not know where it is."""
        monkeypatch.setattr(sys, "executable", "")
        with pytest.raises(HarnessError, match="does not know its own path"):
            argv_of("claude")

    def test_that_is_no_text_is_refused(self, claude, monkeypatch):
        """A path of bytes that are not UTF-8 cannot stand in JSON."""
        monkeypatch.setattr(sys, "executable", "/py\udcff/python")
        with pytest.raises(SettingsError, match="not UTF-8"):
            claude.install()
        assert snapshot(claude.root) == {}
