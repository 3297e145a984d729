"""What ``dshhooks run`` and ``sessions show`` print: refusals nobody recorded, text that steers a terminal."""

from __future__ import annotations

import json

import pytest

BLOCK = """
from dshhooks import BlockPrompt, content_text, hookimpl

class Plugin:
    @hookimpl
    def agent_prompt_submit(self, content):
        return BlockPrompt("no secrets") if "secret" in content_text(content) else None
"""
STORE = '[store]\nurl = "sqlite:///.dshhooks/sessions.db"\n'
# Clears the screen, sets the window's title, rings, goes back, turns the writing round, and cannot be encoded.
HOSTILE = "a\x1b[2Jb\x1b]0;title\x07c\rd\x9be\u202ef\x7fg"


@pytest.fixture
def silent(project):
    """A project that refuses secrets before a turn exists, and keeps its sessions."""
    project.install("block", BLOCK)
    project.configure(f'[plugins]\nenable = ["block"]\n[agent]\nprompt_admission = "unrecorded"\n{STORE}')
    return project


BROKEN = """
from dshhooks import hookimpl

class Plugin:
    policy_revision = "1"

    @hookimpl
    def operation_guard(self, call):
        if call.operation == {operation!r}:
            raise ValueError("hunter" + "2")
"""


@pytest.fixture
def kept(project):
    """A project whose sessions are kept."""
    project.configure(f"[plugins]\nenable = []\n{STORE}")
    return project


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["text", "json"])
def test_a_refusal_that_leaves_no_record(silent, flags):
    """Exit 2 and the reason on stderr, though the session says nothing of it."""
    done = silent.run("run", "a secret", *flags)
    assert done.code == 2
    assert "a secret" not in done.out
    assert "prompt refused: no secrets" in done.err


def test_a_refusal_that_leaves_no_record_in_json(silent):
    """The document says why; there is no event and no answer."""
    document = silent.run("run", "a secret", "--session", "s", "--json").json
    assert document == {"session": "s", "text": None, "end": None, "refused": "no secrets", "events": []}


def test_a_refusal_behind_a_turn_that_completed(silent):
    """The exit code is this prompt's, not that of the turn before."""
    assert silent.run("run", "hello", "--session", "s").code == 0
    assert silent.run("run", "a secret", "--session", "s").code == 2
    assert silent.run("run", "hello", "--session", "s").code == 0


def test_a_refusal_is_told_once(project):
    """Where it is recorded, too."""
    project.install("block", BLOCK)
    project.enable("block")
    assert project.run("run", "a secret").err.count("no secrets") == 1


@pytest.mark.parametrize("operation", ["turn", "inference"])
def test_an_operation_guard_that_breaks(project, operation):
    """spec/operations.md X1: nothing of what it raised is on any stream; which plugin it was is."""
    project.install("keeper", BROKEN.format(operation=operation))
    project.enable("keeper")
    for flags in ((), ("--json",)):
        done = project.run("run", "hello", *flags)
        assert "keeper" in done.out + done.err
        assert "hunter2" not in done.out + done.err


def test_text_that_steers_a_terminal(kept):
    """What a model or a person wrote is shown, never obeyed: by run and by sessions show."""
    kept.configure(f'[plugins]\nenable = ["workspace-tools"]\n{STORE}')  # with tools the script repeats the prompt
    run = kept.run("run", HOSTILE, "--session", "s")
    show = kept.run("sessions", "show", "s")
    assert (run.code, show.code) == (0, 0)
    for printed in (run.out, run.err, show.out):
        assert not set(printed) & set("\x1b\x07\r\x9b\u202e\x7f")
    assert "a\\x1b[2Jb" in run.out
    assert "a\\x1b[2Jb" in show.out


def test_json_keeps_the_text_as_it_is(kept):
    """Events are documents: what is in them comes back out, from run and from export."""
    events = kept.run("run", HOSTILE, "--session", "s", "--json").json["events"]
    assert [json.loads(line) for line in kept.run("sessions", "export", "s").out.splitlines()] == events
    [prompt] = [event for event in events if event["type"] == "user/message"]
    assert prompt["data"]["content"][0]["text"] == HOSTILE


def test_text_that_cannot_be_encoded(kept):
    """A session with half a surrogate pair in it can be shown."""
    (kept.folder / "model.json").write_text(json.dumps("half \ud83d a pair"))
    plugin = """
import json
from dshhooks import Say, ScriptedAdapter, hookimpl

class Plugin:
    @hookimpl
    def register_llm_adapters(self, service):
        service.register_adapter(["odd"], ScriptedAdapter([Say(json.load(open("model.json")))]))
"""
    kept.install("odd", plugin)
    kept.configure(f'[plugins]\nenable = ["odd"]\n{STORE}')
    run = kept.run("run", "hello", "--provider", "odd", "--model", "m", "--session", "s")
    assert (run.code, run.out) == (0, "half \\ud83d a pair\n")
    show = kept.run("sessions", "show", "s")
    assert show.code == 0
    assert "agent> half \\ud83d a pair" in show.out
