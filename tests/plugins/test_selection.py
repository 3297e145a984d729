"""Which plugins take part, in which order, and why the others do not."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.plugins.discovery import Found
from dshhooks.plugins.selection import parse_requirement, select
from hookspecs.errors import ConfigError
from tests.plugins.kit import config

NAMES = ["alpha", "beta", "gamma"]


def installed(*names: str) -> dict[str, Found]:
    """Plugins that are installed; selecting never imports them."""
    return {name: Found(name, EntryPoint(name, "nowhere:x", "dshhooks"), f"dist-{name}", "1.0") for name in names}


def chosen(**settings):
    """What is chosen of alpha, beta and gamma."""
    return select(config(**settings), installed(*NAMES)).chosen


def why(name, **settings):
    """Why one of them is not chosen."""
    return select(config(**settings), installed(*NAMES)).disabled[name]


def unknown(**settings):
    """The unknown names and what is said about them."""
    return select(config(**settings), installed(*NAMES)).unknown


def test_without_a_list_everybody_takes_part_by_name():
    """Registration order is never accidental."""
    assert chosen() == NAMES


def test_the_list_is_the_order():
    """The first one stands outermost."""
    assert chosen(enable=["gamma", "alpha"]) == ["gamma", "alpha"]
    assert "plugins.enable of test.toml" in why("beta", enable=["gamma", "alpha"])


def test_an_empty_list_chooses_nobody():
    """Empty is not absent."""
    assert chosen(enable=[]) == []


def test_a_name_twice_counts_once_where_it_stands_first():
    """Repeating a name neither loads a plugin twice nor moves it."""
    assert chosen(enable=["beta", "alpha", "beta"]) == ["beta", "alpha"]


def test_disable_wins_over_enable():
    """Both lists may name a plugin; no is stronger."""
    assert chosen(enable=["alpha", "beta"], disable=["alpha"]) == ["beta"]
    assert "plugins.disable in test.toml" in why("alpha", disable=["alpha"])


def test_without_autoload_nobody_takes_part_who_is_not_listed():
    """autoload = false: only what enable lists."""
    assert chosen(autoload=False) == []
    assert "autoload is false" in why("alpha", autoload=False)
    assert chosen(autoload=False, enable=["beta"]) == ["beta"]


def test_a_narrowing_switch_keeps_the_configured_order():
    """DSHHOOKS_PLUGINS and --plugins narrow; they do not reorder (decisions.md 7.15)."""
    assert chosen(enable=["gamma", "beta", "alpha"], only=["alpha", "gamma"]) == ["gamma", "alpha"]
    assert "--plugins" in why("beta", only=["alpha"])


def test_a_narrowing_switch_cannot_add_what_the_list_left_out():
    """It narrows the configured list."""
    assert chosen(enable=["beta"], only=["alpha"]) == []
    assert "plugins.enable" in why("alpha", enable=["beta"], only=["alpha"])


def test_narrowing_to_nothing_leaves_nothing():
    """An empty --plugins names nobody."""
    assert chosen(only=[]) == []


def test_a_disabling_switch():
    """--disable and DSHHOOKS_DISABLE come on top of the file."""
    assert chosen(off=["beta"], disable=["alpha"]) == ["gamma"]
    assert "--disable" in why("beta", off=["beta"])


def test_no_plugins_switches_everybody_off():
    """Whatever the file says."""
    assert chosen(enable=["alpha"], none=True) == []
    assert "--no-plugins" in why("alpha", none=True)


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        ({"enable": ["aplha"]}, "plugins.enable"),
        ({"disable": ["aplha"]}, "plugins.disable"),
        ({"shadow": ["aplha"]}, "plugins.shadow"),
        ({"required": ["aplha>=1"]}, "plugins.required"),
        ({"only": ["aplha"]}, "DSHHOOKS_PLUGINS"),
        ({"off": ["aplha"]}, "DSHHOOKS_DISABLE"),
        ({"options": {"aplha": {}}}, "plugin.<name>"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_unknown_name_is_reported_with_a_suggestion(settings, where):
    """Wherever it stands, a misspelled name is an error that says where and what was meant."""
    reason = unknown(**settings)["aplha"]
    assert where in reason
    assert "did you mean 'alpha'?" in reason


def test_an_unknown_name_like_no_other_gets_the_list():
    """Without a close match, what is installed is said."""
    assert "installed: alpha, beta, gamma" in unknown(enable=["zzz"])["zzz"]
    assert "installed: none" in select(config(enable=["zzz"]), {}).unknown["zzz"]


def test_a_passed_object_may_have_options_be_shadowed_and_be_required():
    """It is not installed, and still known by its name."""
    settings = config(options={"mine": {}}, shadow=["mine"], required=["mine"])
    assert select(settings, {}, ["mine"]).unknown == {}


def test_a_passed_object_cannot_be_listed():
    """It takes part whatever the lists say, so listing it would mean nothing."""
    assert set(select(config(enable=["mine"]), {}, ["mine"]).unknown) == {"mine"}


@pytest.mark.parametrize(
    ("text", "version", "met"),
    [
        ("p", "0.1", True),
        ("p", "", True),
        ("p", "not a version", True),
        ("p>=0.1", "0.1", True),
        ("p>=0.1,<2", "1.5.post1", True),
        ("p>=0.1", "0.0.9", False),
        ("p>=0.1", "0.2.dev1", True),
        ("p>=0.1", "", False),
        ("p>=0.1", "not a version", False),
        ("p==1.*", "1.9", True),
        ("p!=1.0", "1.0", False),
        ("p ~= 1.2", "2.0", False),
    ],
)
def test_a_requirement_means_what_pip_makes_of_it(text, version, met):
    """Pre-releases count when installed; an unknown version does only where any version does."""
    assert parse_requirement(text, "test.toml").met_by(version) is met


@pytest.mark.parametrize(
    "text",
    [
        "",
        ">=1",
        "p>=",
        "p>=1 <2",
        "two words",
        "p[extra]>=1",
        "p>=1; python_version<'3'",
        "p @ https://example.org/p.whl",
    ],
)
def test_what_is_no_requirement_of_a_plugin_is_refused(text):
    """Extras, markers and URLs would be ignored, which for a requirement means silently weaker."""
    with pytest.raises(ConfigError, match=r"test\.toml: plugins\.required: .*name>=1\.0"):
        parse_requirement(text, "test.toml")


LISTS = st.lists(st.sampled_from([*NAMES, "stranger"]), max_size=4)


@given(
    enable=st.none() | LISTS,
    disable=LISTS,
    only=st.none() | LISTS,
    off=LISTS,
    autoload=st.booleans(),
    none=st.booleans(),
)
def test_everybody_is_chosen_or_has_a_reason(enable, disable, only, off, autoload, none):
    """Chosen and disabled part the installed plugins; nobody disabled is chosen, and the order is the list's."""
    settings = config(enable=enable, disable=disable, only=only, off=off, autoload=autoload, none=none)
    selection = select(settings, installed(*NAMES))
    assert sorted([*selection.chosen, *selection.disabled]) == NAMES
    assert not set(selection.chosen) & {*disable, *off}
    assert all(selection.disabled.values())
    assert selection.unknown.keys() == ({*(enable or ()), *disable, *(only or ()), *off} - set(NAMES))
    if enable is not None:
        positions = [enable.index(name) for name in selection.chosen]
        assert positions == sorted(positions)
