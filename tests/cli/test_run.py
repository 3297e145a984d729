"""``dshhooks run``: one turn on the built-in script, with a session that lives on, and what is refused."""

from __future__ import annotations

import json

import pytest

from tests.cli.kit import ASK
from tests.plugins.kit import DENY

# A plugin that blocks every prompt with a secret in it.
BLOCK = """
from dshhooks import BlockPrompt, content_text, hookimpl

class Plugin:
    @hookimpl
    def agent_prompt_submit(self, content):
        return BlockPrompt("no secrets") if "secret" in content_text(content) else None
"""

# A plugin that lets no turn begin.
CLOSED = """
from dshhooks import hookimpl
from dshhooks.operations import deny

class Plugin:
    policy_revision = "closed-1"

    @hookimpl
    def operation_guard(self, call):
        return deny("closed", "come back tomorrow") if call.operation == "turn" else None
"""

# A plugin that prints where it should log.
LOUD = """
from dshhooks import hookimpl

class Plugin:
    @hookimpl
    def agent_session_start(self, agent, source):
        print("I was here")
"""


@pytest.fixture
def bare(project):
    """A project without plugins."""
    project.configure("[plugins]\nenable = []\n")
    return project


@pytest.fixture
def kept(project):
    """A project whose sessions are kept."""
    project.configure('[plugins]\nenable = []\n[store]\nurl = "sqlite:///.dshhooks/sessions.db"\n')
    return project


def test_without_a_model_a_script_answers_and_says_so(bare):
    """The answer on stdout, the note and the session on stderr."""
    done = bare.run("run", "hello")
    assert done.code == 0
    assert done.out.strip()
    assert "note: no provider is configured" in done.err
    assert "session session-1" in done.err


def test_a_configured_model_is_not_remarked_on(project):
    """Who asks for the script gets it without a note."""
    project.configure('[plugins]\nenable = []\n[agent]\nprovider = "scripted"\nmodel = "demo"\n')
    assert "note" not in project.run("run", "hello").err


def test_json_is_one_document(bare):
    """The session, the answer, how the turn ended, and its events from the turn's start to its end."""
    document = bare.run("run", "hello", "--json").json
    assert document.keys() == {"session", "text", "end", "refused", "events"}
    assert (document["session"], document["end"], document["refused"]) == ("session-1", {"kind": "completed"}, None)
    types = [event["type"] for event in document["events"]]
    assert (types[0], types[-1]) == ("turn/start", "turn/end")
    assert document["text"] == bare.run("run", "hello").out.removesuffix("\n")


def test_json_holds_what_is_new(kept):
    """A session that goes on has told the rest before."""
    kept.run("run", "hello", "--session", "notes")
    events = kept.run("run", "again", "--session", "notes", "--json").json["events"]
    assert [event["data"]["turn"] for event in events if event["type"] == "turn/start"] == [2]


def test_what_a_plugin_prints_is_no_part_of_the_document(project):
    """It goes to stderr."""
    project.install("loud", LOUD)
    project.enable("loud")
    done = project.run("run", "hello", "--json")
    assert done.json["end"] == {"kind": "completed"}
    assert "I was here" in done.err


def test_a_provider_without_a_model(bare):
    """Refused before anything is asked, with what to add."""
    done = bare.run("run", "hello", "--base-url", "http://127.0.0.1:9/v1")
    assert done.code == 1
    assert "needs a model: --model M" in done.err


def test_a_provider_nobody_serves(bare):
    """Refused, with those there are."""
    done = bare.run("run", "hello", "--provider", "nobody", "--model", "m")
    assert done.code == 1
    assert "--provider nobody: nobody serves it; there are: openai, scripted" in done.err


def test_a_blocked_prompt(project):
    """Exit 2, with the plugin's reason."""
    project.install("block", BLOCK)
    project.enable("block")
    done = project.run("run", "a secret")
    assert done.code == 2
    assert "prompt refused: no secrets" in done.err


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["text", "json"])
def test_a_prompt_that_a_guard_refuses(project, flags):
    """Exit 2, and the reason that is for everybody."""
    project.install("closed", CLOSED)
    project.enable("closed")
    done = project.run("run", "hello", *flags)
    assert done.code == 2
    assert "prompt refused: turn was denied by a guard" in done.err


@pytest.mark.parametrize(
    ("plugin", "said"), [(DENY, "denied"), (ASK, "there is no terminal to ask on")], ids=["denied", "asked"]
)
def test_a_call_that_may_not_run_does_not_end_the_turn(project, plugin, said):
    """The model reads the refusal and goes on."""
    project.install("policy", plugin)
    project.enable("policy", "workspace-tools")
    done = project.run("run", "list the files")
    assert done.code == 0
    assert said in done.err


def test_a_session_lives_on(kept):
    """A second process continues it; list, show, export and verify see both turns."""
    assert kept.run("run", "hello", "--session", "notes").code == 0
    assert kept.run("run", "again", "--session", "notes").code == 0
    assert "notes" in kept.run("sessions", "list").out
    shown = kept.run("sessions", "show", "notes").out
    assert "user> hello" in shown
    assert "turn 2: completed" in shown
    exported = [json.loads(line) for line in kept.run("sessions", "export", "notes").out.splitlines()]
    assert [event["type"] for event in exported].count("turn/end") == 2
    assert kept.run("sessions", "verify").code == 0


def test_a_session_without_a_store_is_said_to_go(bare):
    """A name was given, so somebody means to come back."""
    assert "this session is gone" in bare.run("run", "hello", "--session", "notes").err


@pytest.mark.parametrize("verb", [["list"], ["show", "x"], ["export", "x"], ["verify"]], ids=lambda verb: verb[0])
def test_sessions_need_a_store(bare, verb):
    """What to configure."""
    done = bare.run("sessions", *verb)
    assert done.code == 1
    assert "no store is configured; set [store] url" in done.err


def test_a_session_that_is_not_there(kept):
    """Exit 1, its name."""
    done = kept.run("sessions", "show", "nope")
    assert done.code == 1
    assert "there is no session 'nope'" in done.err
