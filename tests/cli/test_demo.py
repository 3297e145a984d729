"""``dshhooks demo``: what it plays, what it leaves out, and when it does not begin."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.cli.kit import PATIENCE, Terminal


def test_the_demo_shows_every_ending(project):
    """Allowed, denied, asked and refused, timed out, retried, kept inside the folder; then the summary. Exit 0."""
    before = sorted(os.listdir(project.folder))
    done = project.run("demo")
    assert done.code == 0, done.err
    assert done.out.startswith("plugins found by entry point: metrics, retry, timeout, shell-policy, repeat-reminder,")
    assert done.out.count("\n# ") == 8
    assert "tools_pre_execute · shell-policy  deny — " in done.out
    assert "asked: bash: " in done.err
    assert "billing is busy (attempt 1)" in done.out
    assert "billing is up (attempt 3)" in done.out
    assert "unexpected" not in done.err
    assert sorted(os.listdir(project.folder)) == before


def test_the_demo_is_coloured_on_a_terminal(project):
    """And only there."""
    with Terminal() as terminal:
        process = project.start(
            "demo", "--disable", "timeout", stdin=terminal.slave, stdout=terminal.slave, stderr=subprocess.DEVNULL,
            env={"TERM": "xterm"},
        )  # fmt: skip
        terminal.detach()
        screen = terminal.rest()
        assert process.wait(PATIENCE) == 0
    assert "\x1b[31mdeny\x1b[0m" in screen


@pytest.mark.parametrize(("off", "scenes"), [("shell-policy", 2), ("timeout", 1), ("retry", 1), ("metrics", 0)])
def test_what_a_missing_plugin_would_show_is_not_played(project, off, scenes):
    """Above all a destructive command is never tried without the policy that denies it."""
    done = project.run("demo", "--disable", f"{off},timeout")
    assert done.code == 0, done.err
    assert done.out.count(f"not played: {off} does not take part") == scenes
    if off == "shell-policy":
        assert "$x" not in done.out
        assert "git push" not in done.out


def test_switches_of_the_environment_count(project):
    """DSHHOOKS_DISABLE, as everywhere."""
    done = project.run("demo", env={"DSHHOOKS_DISABLE": "timeout,shell-policy"})
    assert done.code == 0
    assert "not played: shell-policy" in done.out
    assert "not played: timeout" in done.out


def test_a_shadowed_policy_is_not_tried(project):
    """It would say no, and not be obeyed."""
    project.configure("[plugins]\nshadow = ['shell-policy']\n")
    done = project.run("demo", "--config", "dshhooks.toml", "--disable", "timeout")
    assert done.code == 0, done.err
    assert done.out.count("not played: shell-policy does not take part") == 2


def test_the_folders_configuration_does_not_change_the_demo(project):
    """Only a named one does."""
    project.configure("[plugins]\nenable = []\n")
    assert "not played" not in project.run("demo", "--disable", "metrics").out


def test_a_plugin_that_cannot_be_loaded_stops_the_demo(project):
    """Exit 1, with what to do; nothing is played."""
    project.site.install("timeout", "raise ValueError('no luck')")
    done = project.run("demo")
    assert done.code == 1
    assert "plugin 'timeout': published by" in done.err
    assert "the demo needs the contrib plugins" in done.err
    assert done.out == ""


def test_a_misspelled_switch_stops_the_demo(project):
    """A typing error must not switch the policy on or off."""
    done = project.run("demo", "--disable", "shell-polizy")
    assert done.code == 1
    assert "did you mean 'shell-policy'?" in done.err
    assert done.out == ""
