"""The plugin file for opencode, run by a real JavaScript engine with a small host of ours around it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from dshhooks.clients.install_forms import FORMS
from dshhooks.clients.opencode import found, script
from dshhooks.clients.settings_text import SettingsError
from tests.clients.install_kit import Folder

NODE = shutil.which("node")
HOST = Path(__file__).with_name("opencode_host.mjs")
EVENTS = ("session.created", "chat.message", "tool.execute.before", "tool.execute.after", "session.idle")
pytestmark = pytest.mark.skipif(NODE is None, reason="there is no node to run it")


class Host:
    """A folder with a plugin that asks a command of ours, written in Python."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def answers(self, source: str) -> list[str]:
        """The command line of a program that finds the payload in `payload` and answers with `source`."""
        program = self.folder / "answer.py"
        program.write_text(f"import json, os, sys, time\npayload = json.load(sys.stdin)\n{dedent(source)}\n")
        return [sys.executable, "-I", str(program)]

    def call(self, argv, *calls, events=EVENTS, seconds=60.0):
        """Load the plugin, call hooks one after the other, and return what became of them."""
        plugin = self.folder / "plugin.mjs"
        plugin.write_text(script(argv, events, seconds), encoding="utf-8")
        return self.run(plugin, *calls)

    def run(self, plugin, *calls):
        """The same for a file that is there."""
        listed = [dict(zip(("hook", "input", "output"), call, strict=False)) for call in calls]
        stdin = json.dumps({"plugin": plugin.as_uri(), "directory": str(self.folder), "calls": listed})
        done = subprocess.run([NODE, str(HOST)], input=stdin, capture_output=True, text=True, timeout=60, check=True)
        report = json.loads(done.stdout)
        assert report["exports"] == 1  # opencode calls whatever the file exports
        return report["results"]

    def before(self, argv, **options):
        """Ask about one call of bash; return the reason it is blocked with, or None."""
        (result,) = self.call(argv, BEFORE, **options)
        return result.get("thrown")


BEFORE = ("tool.execute.before", {"tool": "bash", "sessionID": "s1", "callID": "c1"}, {"args": {"command": "ls"}})
AFTER = (
    "tool.execute.after",
    {"tool": "bash", "sessionID": "s1", "callID": "c1", "args": {"command": "ls"}},
    {"title": "", "output": "a b", "metadata": {}},
)


def message(text):
    """A prompt of the user."""
    return ("chat.message", {"sessionID": "s1"}, {"message": {}, "parts": [{"type": "text", "text": text}]})


@pytest.fixture
def host(tmp_path):
    """A folder for the plugin and the command."""
    return Host(tmp_path)


class TestBeforeATool:
    def test_no_opinion_lets_it_run(self, host):
        """Nothing on stdout and exit 0."""
        assert host.before(host.answers("")) is None

    def test_a_denial_blocks_it_with_its_reason(self, host):
        """opencode does not run a tool whose hook throws."""
        argv = host.answers('print(json.dumps({"decision": "deny", "reason": "not here"})); sys.exit(2)')
        assert host.before(argv) == "not here"

    def test_the_command_gets_the_call(self, host):
        """The event, the tool, its arguments and the ids, in opencode's own words."""
        argv = host.answers('print(json.dumps({"decision": "deny", "reason": json.dumps(payload)}))')
        assert json.loads(host.before(argv)) == {
            "hook_event_name": "tool.execute.before",
            "session_id": "s1",
            "cwd": str(host.folder),
            "tool_name": "bash",
            "tool_input": {"command": "ls"},
            "tool_use_id": "c1",
        }

    def test_what_needs_a_person_is_denied(self, host):
        """A plugin of opencode cannot ask."""
        argv = host.answers('print(json.dumps({"hookSpecificOutput": {"permissionDecision": "ask"}}))')
        assert "cannot ask" in host.before(argv)

    @pytest.mark.parametrize(
        ("source", "told"),
        [
            ("raise SystemExit(1)", "exit code 1"),
            ("sys.exit('broken')", "broken"),
            ("os.kill(os.getpid(), 9)", "SIGKILL"),
            ("print('hello')", "no usable answer"),
            ("print('[]')", "no usable answer"),
            ('print(\'{"decision": "allow"\')', "no usable answer"),
            ('print(\'{"decision": "allow"}\'); sys.exit(3)', "exit code 3"),
            ('print(\'{"decision": "DENY"}\')', "dshhooks denied this"),
            ('print(\'{"decision": "perhaps"}\')', "dshhooks denied this"),
        ],
    )
    def test_whatever_goes_wrong_blocks_it(self, host, source, told):
        """Crash, half an answer, an answer nobody knows: the tool does not run."""
        assert told in host.before(host.answers(source))

    def test_a_missing_command_blocks_it(self, host):
        """dshhooks was uninstalled, say."""
        assert "ENOENT" in host.before(["/nowhere/python"])

    def test_a_command_that_hangs_blocks_it(self, host):
        """Its time is limited."""
        assert "in time" in host.before(host.answers("time.sleep(3600)"), seconds=0.2)

    def test_an_answer_without_end_blocks_it(self, host):
        """Memory is limited."""
        argv = host.answers("while True: sys.stdout.write('x' * 65536)")
        assert "without end" in host.before(argv)

    def test_a_command_that_does_not_read_its_stdin(self, host):
        """How it ends decides, not the broken pipe."""
        program = host.folder / "deaf.py"
        program.write_text('import os; os.close(0); print(\'{"decision": "deny", "reason": "deaf"}\')')
        call = (*BEFORE[:2], {"args": {"command": "x" * 1_000_000}})
        (result,) = host.call([sys.executable, str(program)], call)
        assert result["thrown"] == "deaf"

    def test_arguments_that_are_no_json_block_it(self, host):
        """What cannot be shown to anybody cannot be judged."""
        plugin = host.folder / "plugin.mjs"
        plugin.write_text(script(host.answers(""), EVENTS).replace("output.args)", "{ n: 1n })"))
        (result,) = host.run(plugin, BEFORE)
        assert "BigInt" in result["thrown"]


class TestAfterATool:
    def test_feedback_and_context_reach_the_model(self, host):
        """Behind what the tool said."""
        argv = host.answers('print(json.dumps({"decision": "block", "reason": "R", "additionalContext": "C"}))')
        (result,) = host.call(argv, AFTER)
        assert result["output"]["output"] == "a b\n\nR\n\nC"

    def test_the_command_gets_the_result(self, host):
        """As text."""
        argv = host.answers('print(json.dumps({"additionalContext": payload["tool_response"] + payload["tool_name"]}))')
        (result,) = host.call(argv, AFTER)
        assert result["output"]["output"] == "a b\n\na bbash"

    @pytest.mark.parametrize("source", ["sys.exit(1)", "sys.exit('broken')", "print('hello')", ""])
    def test_a_result_is_not_lost_when_nobody_answers(self, host, source):
        """The tool has run: there is nothing to deny any more."""
        (result,) = host.call(host.answers(source), AFTER)
        assert result == {"output": AFTER[2]}


class TestPrompts:
    def test_a_denied_prompt_is_not_sent(self, host):
        """The hook throws, so the prompt ends there."""
        argv = host.answers('print(json.dumps({"decision": "block", "reason": payload["prompt"] + "?"}))')
        (result,) = host.call(argv, message("hello"))
        assert result["thrown"] == "hello?"

    def test_context_goes_with_the_prompt(self, host):
        """Behind the text of the user."""
        argv = host.answers('print(json.dumps({"hookSpecificOutput": {"additionalContext": "C"}}))')
        (result,) = host.call(argv, message("hello"))
        assert result["output"]["parts"] == [{"type": "text", "text": "hello\n\nC"}]

    def test_context_of_a_session_goes_with_its_first_prompt(self, host):
        """A session that begins has nothing yet that it could stand in."""
        argv = host.answers(
            'print(json.dumps({"additionalContext": "S"}) if payload["hook_event_name"] == "session.created" else "")'
        )
        begun = ("event", {"event": {"type": "session.created", "properties": {"info": {"id": "s1"}}}})
        results = host.call(argv, begun, message("one"), message("two"))
        assert [result["output"]["parts"][0]["text"] for result in results[1:]] == ["one\n\nS", "two"]

    def test_a_failure_blocks_a_prompt(self, host):
        """It gates, as a tool call does."""
        (result,) = host.call(host.answers("sys.exit(1)"), message("hello"))
        assert "thrown" in result


class TestEvents:
    def test_only_those_installed_are_asked_about(self, host):
        """`--events` narrows them; a process for nothing is started for nothing."""
        argv = host.answers("sys.exit(1)")
        results = host.call(argv, message("hello"), BEFORE, events=["tool.execute.before"])
        assert ["thrown" in result for result in results] == [False, True]

    def test_those_that_decide_nothing_never_throw(self, host):
        """And those nobody asked for start nothing."""
        idle = ("event", {"event": {"type": "session.idle", "properties": {"sessionID": "s1"}}})
        other = ("event", {"event": {"type": "message.updated", "properties": {}}})
        assert host.call(host.answers("sys.exit(1)"), idle, other) == [{}, {}]


class TestFile:
    def test_is_read_back(self):
        """What was written into it is found in it."""
        text = script(['/a "b"/python', "lean.py", "--client", "opencode"], ["x", "y"])
        entries = found(text, FORMS["opencode"])
        assert [entry.event for entry in entries] == ["x", "y"]
        assert entries[0].command == "'/a \"b\"/python' lean.py --client opencode"

    def test_that_was_changed_is_told(self):
        """Rather than guessed at."""
        text = script(["python"], ["x"]).replace('const EVENTS = ["x"]', "const EVENTS = list()")
        with pytest.raises(SettingsError, match="changed since"):
            found(text, FORMS["opencode"])

    def test_guards_with_the_real_command(self, host, tmp_path, monkeypatch):
        """Installed, loaded, and asked: a harmless call runs, and one without a tool's name does not."""
        monkeypatch.setenv("DSHHOOKS_SERVE", "0")
        monkeypatch.setenv("DSHHOOKS_NO_PLUGINS", "1")
        folder = Folder(tmp_path, "opencode")
        folder.install()
        plugin = tmp_path / "plugin.mjs"  # node takes a .js file for something older
        plugin.write_text(folder.text)
        nameless = ("tool.execute.before", {"tool": "", "sessionID": "s1", "callID": "c2"}, {"args": {}})
        fine, bad = host.run(plugin, BEFORE, nameless)
        assert "thrown" not in fine
        assert "names no tool" in bad["thrown"]
