"""Switches of the command line and the environment, before and after the verb."""

from __future__ import annotations

import pytest

from dshhooks.cli.options import Switches
from dshhooks.config import HarnessConfig, PluginSwitches
from tests.plugins.kit import DENY


@pytest.fixture
def three(project):
    """Plugins a, b and c, in the order c, a, b."""
    for name in "abc":
        project.install(name, DENY)
    project.enable("c", "a", "b")
    return project


def loaded(done):
    """The names that are loaded, in order."""
    return [row["name"] for row in done.json if row["status"] == "loaded"]


def test_the_configured_order(three):
    """Without switches."""
    assert loaded(three.run("plugins", "--json")) == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("switches", "names"),
    [
        (["--plugins", "b,c"], ["c", "b"]),
        (["--plugins", " b , , c "], ["c", "b"]),
        (["--plugins", ""], []),
        (["--disable", "a"], ["c", "b"]),
        (["--disable", "a,c"], ["b"]),
        (["--disable", "a", "--disable", "c"], ["b"]),
        (["--plugins", "a", "--plugins", "b"], ["a", "b"]),
        (["--no-plugins"], []),
        (["--plugins", "a,b", "--disable", "a"], ["b"]),
    ],
)
def test_switches_stand_before_or_after_the_verb(three, switches, names):
    """The place does not matter."""
    assert loaded(three.run(*switches, "plugins", "--json")) == names
    assert loaded(three.run("plugins", *switches, "--json")) == names


def test_switches_stand_anywhere_around_a_verb_of_a_verb(three):
    """`plugins chain` takes them in all three places; the innermost wins."""
    for words in (
        ["--disable", "a", "plugins", "chain", "tools_pre_execute"],
        ["plugins", "--disable", "a", "chain", "tools_pre_execute"],
        ["plugins", "chain", "tools_pre_execute", "--disable", "a"],
        ["--disable", "b", "plugins", "--disable", "c", "chain", "--disable", "a", "tools_pre_execute"],
    ):
        links = three.run(*words, "--json").json
        assert [link["plugin"] for link in links] == ["c", "b"]


def test_another_configuration(three, tmp_path):
    """--config before or after; DSHHOOKS_CONFIG too."""
    other = tmp_path / "other.toml"
    other.write_text("[plugins]\nenable = ['b']\n")
    assert loaded(three.run("--config", str(other), "plugins", "--json")) == ["b"]
    assert loaded(three.run("plugins", "--config", str(other), "--json")) == ["b"]
    assert loaded(three.run("plugins", "--json", env={"DSHHOOKS_CONFIG": str(other)})) == ["b"]


def test_a_configuration_that_is_not_there(three):
    """Exit 1, the file is named."""
    done = three.run("plugins", "--config", "nowhere.toml")
    assert done.code == 1
    assert "error: nowhere.toml: cannot be read" in done.err


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({"DSHHOOKS_PLUGINS": "b, c"}, ["c", "b"]),
        ({"DSHHOOKS_PLUGINS": "b,b,,"}, ["b"]),
        ({"DSHHOOKS_PLUGINS": " , "}, ["c", "a", "b"]),
        ({"DSHHOOKS_PLUGINS": ""}, ["c", "a", "b"]),
        ({"DSHHOOKS_DISABLE": "a"}, ["c", "b"]),
        ({"DSHHOOKS_NO_PLUGINS": "1"}, []),
        ({"DSHHOOKS_NO_PLUGINS": "0"}, ["c", "a", "b"]),
    ],
)
def test_the_environment(three, variables, names):
    """Each variable."""
    assert loaded(three.run("plugins", "--json", env=variables)) == names


def test_the_command_line_wins_over_the_environment(three):
    """What is typed is said later than what is exported."""
    assert loaded(three.run("plugins", "--json", "--plugins", "b", env={"DSHHOOKS_PLUGINS": "a"})) == ["b"]
    assert loaded(three.run("plugins", "--json", "--plugins", "b", env={"DSHHOOKS_NO_PLUGINS": "1"})) == ["b"]
    assert loaded(three.run("plugins", "--json", "--plugins", "b", env={"DSHHOOKS_DISABLE": "b"})) == ["b"]
    assert loaded(three.run("plugins", "--json", "--disable", "b", env={"DSHHOOKS_DISABLE": "a"})) == ["c", "a"]
    assert loaded(three.run("plugins", "--json", "--plugins", "a,b", "--disable", "b")) == ["a"]


@pytest.mark.parametrize(
    ("words", "variables", "where"),
    [
        (["--plugins", "bb"], {}, "--plugins"),
        (["--disable", "bb"], {}, "--disable"),
        ([], {"DSHHOOKS_PLUGINS": "bb"}, "DSHHOOKS_PLUGINS"),
        ([], {"DSHHOOKS_DISABLE": "bb"}, "DSHHOOKS_DISABLE"),
    ],
)
def test_an_unknown_name_is_an_error_with_a_suggestion(three, words, variables, where):
    """Exit 1; a misspelled --disable must not run what should be off."""
    done = three.run("plugins", *words, env=variables)
    assert done.code == 1
    assert "unknown plugin 'bb': " in done.err
    assert where in done.err
    assert "did you mean 'b'?" in done.err


def test_a_switch_variable_that_says_neither(three):
    """Exit 1."""
    done = three.run("plugins", env={"DSHHOOKS_NO_PLUGINS": "maybe"})
    assert done.code == 1
    assert "DSHHOOKS_NO_PLUGINS='maybe': use 1 or 0" in done.err


def test_no_plugins_cannot_switch_off_what_is_required(three):
    """The start fails, saying so."""
    three.configure("[plugins]\nrequired = ['a']\n")
    done = three.run("plugins", "--no-plugins")
    assert done.code == 1
    assert "required plugin 'a' is disabled: all plugins are switched off" in done.err


def test_silence_changes_nothing():
    """Switches that were not given leave the environment's alone."""
    given = PluginSwitches(("a",), ("b",), True)
    assert Switches().apply(HarnessConfig(switches=given)).switches == given


def test_an_empty_disable_takes_the_environments_back():
    """It was said, and it says nobody."""
    config = HarnessConfig(switches=PluginSwitches(disable=("a",)))
    assert Switches(disable="").apply(config).switches.disable == ()
