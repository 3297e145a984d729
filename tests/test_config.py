"""The configuration: where it is found, how it is read, and what is said about everything that is wrong with it."""

from __future__ import annotations

import datetime
import math
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.config import (
    HarnessConfig,
    PluginsConfig,
    PluginSwitches,
    find_config,
    load_config,
    parse_config,
    split_names,
    switches_from,
)
from hookspecs.errors import ConfigError

WHOLE = """
[plugins]
enable = ["metrics", "shell-policy"]
disable = ["x"]
required = ["shell-policy>=0.1"]
autoload = false
shadow = ["y"]
[tools]
policy_combination = "first"
[approval]
policy = "never"
[plugin.timeout]
default = 30.0
[agent]
provider = "scripted"
model = "demo"
prompt_admission = "unrecorded"
max_parallel_tool_calls = 3
[store]
url = "sqlite:///.dshhooks/sessions.db"
"""


def write(folder, text, name="dshhooks.toml"):
    """Write a configuration file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def load(folder, path=None, **environ):
    """Load as if in a folder, with this environment only."""
    return load_config(path, start=folder, environ=environ)


def said(document):
    """What is said about a wrong document."""
    with pytest.raises(ConfigError) as caught:
        parse_config(document, "f.toml")
    return str(caught.value)


# -- reading -------------------------------------------------------------------------------------------------------


def test_everything_that_is_documented_can_be_set(tmp_path):
    """Every key of the reference reaches the configuration."""
    file = write(tmp_path, WHOLE)
    config = load(tmp_path)
    assert config.source == str(file)
    assert config.plugins == PluginsConfig(["metrics", "shell-policy"], ["x"], ["shell-policy>=0.1"], False, ["y"])
    assert (config.tools.policy_combination, config.approval.policy) == ("first", "never")
    assert config.plugin == {"timeout": {"default": 30.0}}
    agent = config.agent
    assert (agent.provider, agent.model, agent.prompt_admission, agent.max_parallel_tool_calls) == (
        "scripted", "demo", "unrecorded", 3,
    )  # fmt: skip
    assert config.store.url == "sqlite:///.dshhooks/sessions.db"


def test_without_a_file_the_defaults_hold(tmp_path):
    """Nothing has to be configured."""
    config = load(tmp_path)
    assert config == HarnessConfig(source="defaults")
    assert config.plugins.enable is None
    assert config.plugins.autoload is True
    assert (config.tools.policy_combination, config.agent.max_parallel_tool_calls) == ("strictest", 10)


@pytest.mark.parametrize("text", ["", "# nothing\n", "[plugins]\n[tools]\n"])
def test_an_empty_file_is_the_defaults(tmp_path, text):
    """It is a file all the same: nothing further up counts."""
    write(tmp_path, "[store]\nurl = 'x'\n")
    file = write(tmp_path / "a", text)
    config = load(tmp_path / "a")
    assert (config.source, config.store.url, config.plugins) == (str(file), None, PluginsConfig())


def test_a_mark_at_the_beginning_is_no_text(tmp_path):
    """Editors on Windows write one, and nobody sees it."""
    (tmp_path / "dshhooks.toml").write_bytes(b"\xef\xbb\xbf[store]\nurl = 'x'\n")
    assert load(tmp_path).store.url == "x"


# -- finding -------------------------------------------------------------------------------------------------------


def test_the_nearest_file_upwards_counts(tmp_path):
    """Files further up are not merged in."""
    write(tmp_path, "[store]\nurl = 'far'\n")
    near = write(tmp_path / "a", "")
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    assert load(tmp_path / "a" / "b" / "c").source == str(near)


def test_a_pyproject_with_our_table_counts(tmp_path):
    """[tool.dshhooks] is the same document."""
    write(tmp_path, "[tool.dshhooks.plugins]\ndisable = ['x']\n", "pyproject.toml")
    config = load(tmp_path)
    assert config.plugins.disable == ["x"]
    assert config.source.endswith("pyproject.toml [tool.dshhooks]")


@pytest.mark.parametrize(
    "text",
    [
        '[tool."dshhooks"]\nplugins = {disable = ["x"]}',
        'tool = {dshhooks = {plugins = {disable = ["x"]}}}',
        '[tool]\ndshhooks.plugins.disable = ["x"]',
        '[ tool . dshhooks ]\nplugins.disable = ["x"]',
    ],
)
def test_every_spelling_of_the_table_counts(tmp_path, text):
    """TOML has many; a policy must not vanish with one of them."""
    write(tmp_path, text, "pyproject.toml")
    assert load(tmp_path).plugins.disable == ["x"]


@pytest.mark.parametrize(
    "text",
    [
        "[project]\nname = 'x'\ndependencies = ['dshhooks']\n",
        "[tool.other]\nx = 'dshhooks'\n",
        "tool = 'dshhooks'\n",
        "[tool]\nx = 1\n",
        "this is not TOML, and not about us",
    ],
)
def test_a_pyproject_without_our_table_does_not_count(tmp_path, text):
    """Nobody needs ours to be able to parse theirs; the search goes on upwards."""
    above = write(tmp_path, "")
    write(tmp_path / "a", text, "pyproject.toml")
    assert load(tmp_path / "a").source == str(above)


def test_our_file_wins_over_a_pyproject_beside_it(tmp_path):
    """The more specific name."""
    write(tmp_path, "[tool.dshhooks.store]\nurl = 'x'\n", "pyproject.toml")
    file = write(tmp_path, "")
    assert load(tmp_path).source == str(file)


def test_the_search_follows_the_real_folder(tmp_path):
    """A working directory behind a symbolic link belongs where it really is."""
    file = write(tmp_path / "project", "")
    (tmp_path / "project" / "sub").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "project" / "sub")
    assert find_config(tmp_path / "link") == file.resolve()


def test_a_named_file_counts_alone(tmp_path):
    """Then nothing is searched."""
    write(tmp_path, "[store]\nurl = 'near'\n")
    other = write(tmp_path / "x", "[store]\nurl = 'named'\n", "other.toml")
    assert load(tmp_path, other).store.url == "named"
    assert load(tmp_path, DSHHOOKS_CONFIG=str(other)).store.url == "named"
    assert load(tmp_path, other, DSHHOOKS_CONFIG="/nowhere").store.url == "named"


def test_an_empty_variable_names_nothing(tmp_path):
    """DSHHOOKS_CONFIG= is not a file."""
    assert load(tmp_path, DSHHOOKS_CONFIG="").source == "defaults"


def test_a_named_pyproject_without_our_table_is_the_defaults(tmp_path):
    """It was named, so it counts; it says nothing."""
    file = write(tmp_path, "[project]\nname = 'x'\n", "pyproject.toml")
    assert load(tmp_path, file).plugins == PluginsConfig()


# -- unreadable ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["missing.toml", "no/such/folder/x.toml", "a\0b"])
def test_a_named_file_that_is_not_there(tmp_path, name):
    """Named and missing is an error, never the defaults."""
    with pytest.raises(ConfigError, match=r"^[^:]*: cannot be read"):
        load(tmp_path, tmp_path / name)


def test_a_folder_in_the_files_place(tmp_path):
    """Found or named: it is no configuration, and none further up may step in."""
    write(tmp_path, "")
    (tmp_path / "a" / "dshhooks.toml").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"dshhooks\.toml: cannot be read: Is a directory"):
        load(tmp_path / "a")
    with pytest.raises(ConfigError, match="Is a directory"):
        load(tmp_path, tmp_path / "a")


def test_a_dangling_link_in_the_files_place(tmp_path):
    """Somebody meant to configure something."""
    (tmp_path / "dshhooks.toml").symlink_to(tmp_path / "gone.toml")
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_without_permission(tmp_path):
    """A policy nobody may read is not an absent policy."""
    write(tmp_path, "").chmod(0)
    with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
        load(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        b"[plugins",
        b"a = 1\na = 2\n",
        b"\xff\xfe[plugins]",
        b"x = '\xe4'",
        b"x = " + b"[" * 100_000,
        b"x = " + b"9" * 5000,
        b"plugins = \x00",
    ],
    ids=["unclosed", "twice", "utf-16", "latin-1", "deep", "long number", "nul"],
)
def test_what_is_no_toml_names_the_file(tmp_path, content):
    """Whatever the parser trips over."""
    (tmp_path / "dshhooks.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=r"dshhooks\.toml: not valid TOML"):
        load(tmp_path)


def test_a_broken_pyproject_that_may_be_ours(tmp_path):
    """It mentions us and cannot be read: nobody can say that it has no policy."""
    write(tmp_path, "[tool.dshhooks\n", "pyproject.toml")
    with pytest.raises(ConfigError, match=r"pyproject\.toml: not valid TOML"):
        load(tmp_path)


def test_a_working_directory_that_is_gone(tmp_path, monkeypatch):
    """The search has nowhere to start."""
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(ConfigError, match="working directory is gone"):
        load_config(environ={})


# -- wrong ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"pluginz": {}}, "pluginz: unknown key (did you mean 'plugin"),
        ({"xyz": 1}, "xyz: unknown key (known: plugins, tools, approval, agent, store, plugin)"),
        ({"plugins": {"enabel": []}}, "plugins.enabel: unknown key (did you mean 'enable'?)"),
        ({"plugins": []}, "plugins: must be a table, not []"),
        ({"plugins": {"enable": "metrics"}}, "plugins.enable: must be a list, not 'metrics'"),
        ({"plugins": {"enable": ["a", 1]}}, "plugins.enable[1]: must be a string, not 1"),
        ({"plugins": {"autoload": "no"}}, "plugins.autoload: must be true or false, not 'no'"),
        ({"plugins": {"autoload": 0}}, "plugins.autoload: must be true or false, not 0"),
        (
            {"tools": {"policy_combination": "any"}},
            "tools.policy_combination: must be 'strictest' or 'first', not 'any'",
        ),
        ({"approval": {"policy": "yes"}}, "approval.policy: must be 'ask' or 'never', not 'yes'"),
        ({"agent": {"max_parallel_tool_calls": 0}}, "agent.max_parallel_tool_calls: must be at least 1, not 0"),
        ({"agent": {"max_parallel_tool_calls": 1.0}}, "agent.max_parallel_tool_calls: must be a whole number, not 1.0"),
        ({"agent": {"max_parallel_tool_calls": True}}, "must be a whole number, not True"),
        ({"store": {"url": datetime.date(2020, 1, 1)}}, "store.url: must be a string, not datetime.date(2020, 1, 1)"),
        ({"plugin": {"timeout": 5}}, "plugin.timeout: must be a table, not 5"),
        ({"plugin": [1]}, "plugin: must be a table, not [1]"),
        (5, "must be a table, not 5"),
        ([], "must be a table, not []"),
        (False, "must be a table, not False"),
    ],
)
def test_what_is_wrong_is_named_by_file_and_key(document, message):
    """And what would be right."""
    assert said(document).startswith("f.toml: ")
    assert message in said(document)


def test_everything_wrong_is_told_at_once():
    """Not the first mistake only."""
    text = said({"plugins": {"enable": 1, "autoload": 2}, "bogus": 3, "store": {"url": 4}})
    assert [part.partition(":")[0] for part in text.removeprefix("f.toml: ").split("; ")] == [
        "plugins.enable", "plugins.autoload", "store.url", "bogus",
    ]  # fmt: skip


@pytest.mark.parametrize("key", ["a @ b", "it's", 'a"b', "a.b", "", "ä", "x\ny"])
def test_odd_keys_are_told_as_they_are(key):
    """Quotes, dots and separators in a key do not garble the message."""
    assert f"plugins.{key}: unknown key" in said({"plugins": {key: 1}})


def test_a_huge_wrong_value_is_cut():
    """The message is for people."""
    assert len(said({"plugins": {"enable": "x" * 1_000_000}})) < 300


def test_plugin_tables_are_kept_as_they_are():
    """What they mean is known when the plugin is loaded."""
    table = {"at": datetime.datetime(2020, 1, 1), "nested": {"a": [1, {"b": 2}]}, "n": math.inf}
    assert parse_config({"plugin": {"x": table}}).plugin == {"x": table}


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.dates()
    | st.datetimes()
    | st.times()
    | st.sampled_from(["ask", "first", "recorded", "shell-policy>=1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["enable", "disable", "required", "autoload", "shadow", "policy", "policy_combination", "provider", "model",
     "prompt_admission", "max_parallel_tool_calls", "url", "x"]
)  # fmt: skip
TABLES = st.sampled_from(["plugins", "tools", "approval", "agent", "store", "plugin", "odd"])


@given(st.dictionaries(TABLES, st.dictionaries(KEYS, VALUES, max_size=4) | VALUES, max_size=4) | VALUES)
def test_any_document_is_structured_or_a_config_error(document):
    """Whatever TOML can hold: a configuration, or an error that names the source."""
    try:
        outcome = parse_config(document, "f.toml")
    except ConfigError as exc:
        outcome = exc
    assert isinstance(outcome, HarnessConfig) or str(outcome).startswith("f.toml: ")


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_a_config_error(tmp_path_factory, content):
    """A file with anything in it."""
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_bytes(content)
    try:
        outcome = load_config(file, environ={})
    except ConfigError as exc:
        outcome = exc
    assert isinstance(outcome, HarnessConfig) or str(file) in str(outcome)


# -- the environment -----------------------------------------------------------------------------------------------


def test_an_empty_environment_switches_nothing():
    """No variable, no switch."""
    assert switches_from({}) == PluginSwitches()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ("a",)),
        ("a,b", ("a", "b")),
        (" a , b ", ("a", "b")),
        ("a,,b,", ("a", "b")),
        ("a,a", ("a", "a")),
        ("with space, größe", ("with space", "größe")),
    ],
)
def test_a_list_in_a_variable(text, names):
    """Commas part the names; blanks around them and empty entries do not count."""
    assert split_names(text) == names
    assert switches_from({"DSHHOOKS_PLUGINS": text}).only == names
    assert switches_from({"DSHHOOKS_DISABLE": text}).disable == names


@pytest.mark.parametrize("text", ["", "  ", ",", " , ,"])
def test_a_variable_without_a_name_is_unset(text):
    """Emptying DSHHOOKS_PLUGINS must not switch every policy off; DSHHOOKS_NO_PLUGINS does that."""
    assert switches_from({"DSHHOOKS_PLUGINS": text, "DSHHOOKS_DISABLE": text}) == PluginSwitches()


@pytest.mark.parametrize(
    ("text", "off"),
    [
        ("1", True),
        ("true", True),
        ("YES", True),
        (" on ", True),
        ("0", False),
        ("", False),
        ("No", False),
        ("off", False),
    ],
)
def test_the_switch_for_no_plugins(text, off):
    """The usual words, in any case."""
    assert switches_from({"DSHHOOKS_NO_PLUGINS": text}).none is off


@pytest.mark.parametrize("text", ["2", "maybe", "-1"])
def test_a_switch_that_says_neither(text):
    """It is not guessed."""
    with pytest.raises(ConfigError, match=r"DSHHOOKS_NO_PLUGINS='.*': use 1 or 0"):
        switches_from({"DSHHOOKS_NO_PLUGINS": text})


def test_the_environment_comes_with_the_configuration(tmp_path):
    """load_config applies it."""
    write(tmp_path, WHOLE)
    config = load(tmp_path, DSHHOOKS_PLUGINS="a", DSHHOOKS_DISABLE="b", DSHHOOKS_NO_PLUGINS="1")
    assert config.switches == PluginSwitches(("a",), ("b",), True)
    assert config.plugins.enable == ["metrics", "shell-policy"]
