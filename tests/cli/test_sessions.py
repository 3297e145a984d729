"""``dshhooks sessions verify`` and ``run --session`` when the policy has changed since (spec/operations.md 1.17)."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

STORE = '[store]\nurl = "sqlite:///.dshhooks/sessions.db"\n'

# Plugins with an operation guard that allows everything, under a revision of their own.
POLICY = """
from dshhooks import hookimpl

class Plugin:
    policy_revision = "{revision}"

    @hookimpl
    def operation_guard(self, call):
        return None
"""


@pytest.fixture
def guarded(project):
    """A project with a session "notes" that was started under revision v1, which is configured."""
    for revision in ("v1", "v2"):
        project.install(f"policy-{revision}", POLICY.format(revision=revision))
    project.enable("policy-v1", more=STORE)
    done = project.run("run", "hello", "--session", "notes")
    assert done.code == 0, done.err
    return project


def test_nothing_has_changed(guarded):
    """The session's log holds, and so does its policy; what the command line adds itself is no plugin of the policy."""
    done = guarded.run("sessions", "verify")
    assert (done.code, done.out) == (0, "ok   notes\n")
    document = {"session": "notes", "ok": True, "problem": None, "drift": []}
    assert guarded.run("sessions", "verify", "--json").json == [document]


def test_switches_stand_before_or_after_the_verb(guarded):
    """In all three places."""
    config = str(guarded.folder / "dshhooks.toml")
    for words in (
        ["--config", config, "sessions", "list"],
        ["sessions", "--config", config, "list"],
        ["sessions", "list", "--config", config],
    ):
        assert [session["id"] for session in guarded.run(*words, "--json").json] == ["notes"]


def test_another_policy(guarded):
    """Case 128: verify names the change, run refuses until it is allowed, and then it is the baseline."""
    guarded.enable("policy-v2", more=STORE)
    done = guarded.run("sessions", "verify", "notes")
    assert done.code == 0
    assert "warn hook_policy: 'v1' -> 'v2'" in done.out
    assert "info plugins: -policy-v1 +policy-v2" in done.out
    [found] = guarded.run("sessions", "verify", "--json").json
    assert {"category": "hook_policy", "severity": "warn", "old": "v1", "new": "v2"} in found["drift"]
    refused = guarded.run("run", "again", "--session", "notes")
    assert refused.code == 1
    assert "hook_policy: 'v1' -> 'v2'; plugins: -policy-v1 +policy-v2" in refused.err
    assert "dshhooks run --allow-policy-drift" in refused.err
    assert guarded.run("run", "again", "--session", "notes", "--allow-policy-drift").code == 0
    assert guarded.run("run", "again", "--session", "notes").code == 0
    assert guarded.run("sessions", "verify").out == "ok   notes\n"


def test_plugins_that_do_not_start(guarded):
    """Nobody can say what the policy is; the logs are checked nevertheless."""
    guarded.enable("policy-v3", more=STORE)
    done = guarded.run("sessions", "verify", "--json")
    assert (done.code, done.json[0]["ok"], done.json[0]["drift"]) == (0, True, None)
    assert "policy drift is not checked: unknown plugin 'policy-v3'" in done.err


def test_a_damaged_record(guarded):
    """What a session was accepted under cannot be read: a failure, as it is on resume."""
    with closing(sqlite3.connect(guarded.folder / ".dshhooks" / "sessions.db")) as db, db:
        db.execute("UPDATE ledgers SET data = '{'")
    done = guarded.run("sessions", "verify")
    assert done.code == 1
    assert "FAIL notes" in done.out
    assert guarded.run("run", "again", "--session", "notes").code == 1
