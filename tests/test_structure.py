"""Structuring options: strict, nothing coerced, wrong values named by the path of their key."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest
from attrs import Factory, define, field, fields, frozen, validators
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.structure import structure
from hookspecs.errors import ConfigError


class Colour(Enum):
    """An enumeration an option may use."""

    RED = "red"


@frozen
class Inner:
    """A table in a table."""

    depth: int = 1


@frozen
class Options:
    """One field of every shape."""

    flag: bool = False
    number: int = 0
    ratio: float = 0.0
    text: str = ""
    maybe: str | None = None
    choice: Literal["a", "b", 1] = "a"
    names: list[str] = Factory(list)
    pair: tuple[str, ...] = ()
    unique: frozenset[str] = frozenset()
    sequence: Sequence[int] = ()
    table: dict[str, float] = Factory(dict)
    mapping: Mapping[str, int] = Factory(dict)
    inner: Inner = Inner()
    inners: list[Inner] = Factory(list)
    colour: Colour = Colour.RED
    path: Path = Path()
    anything: Any = None
    checked: int = field(default=1, validator=validators.in_(range(1, 10)))


def options(**data):
    """Structure a table."""
    return structure(data, Options, "plugin.p", "f.toml")


def wrong(**data):
    """What is said about it, without the file."""
    with pytest.raises(ConfigError) as caught:
        options(**data)
    assert str(caught.value).startswith("f.toml: ")
    return str(caught.value).removeprefix("f.toml: ")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("flag", True, True),
        ("number", 10**30, 10**30),
        ("ratio", 1, 1.0),
        ("ratio", math.inf, math.inf),
        ("text", "\ud800", "\ud800"),
        ("maybe", "x", "x"),
        ("maybe", None, None),
        ("choice", 1, 1),
        ("names", ["a"], ["a"]),
        ("pair", ["a", "b"], ("a", "b")),
        ("unique", ["a", "a"], frozenset("a")),
        ("sequence", [1, 2], [1, 2]),
        ("table", {"bash": 1, "x": 2.5}, {"bash": 1.0, "x": 2.5}),
        ("mapping", {"a": 1}, {"a": 1}),
        ("inner", {"depth": 2}, Inner(2)),
        ("inners", [{}, {"depth": 3}], [Inner(1), Inner(3)]),
        ("colour", "red", Colour.RED),
        ("path", "a/b", Path("a/b")),
        ("anything", {"a": [1]}, {"a": [1]}),
        ("checked", 9, 9),
    ],
)
def test_right_values(key, value, expected):
    """Each shape takes what TOML writes for it."""
    got = getattr(options(**{key: value}), key)
    assert got == expected
    assert type(got) is type(expected)


def test_no_table_is_the_defaults():
    """Nothing has to be there."""
    assert options() == Options()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("flag", "no", "flag: must be true or false, not 'no'"),
        ("flag", 1, "flag: must be true or false, not 1"),
        ("number", "1", "number: must be a whole number, not '1'"),
        ("number", 1.0, "number: must be a whole number, not 1.0"),
        ("number", True, "number: must be a whole number, not True"),
        ("number", None, "number: must be a whole number, not None"),
        ("ratio", "1", "ratio: must be a number, not '1'"),
        ("ratio", False, "ratio: must be a number, not False"),
        ("text", 1, "text: must be a string, not 1"),
        ("text", ["a"], "text: must be a string, not ['a']"),
        ("maybe", 1, "maybe: must be a string, not 1"),
        ("choice", "c", "choice: must be 'a' or 'b' or 1, not 'c'"),
        ("choice", True, "choice: must be 'a' or 'b' or 1, not True"),
        ("choice", 1.0, "choice: must be 'a' or 'b' or 1, not 1.0"),
        ("names", "abc", "names: must be a list, not 'abc'"),
        ("names", {"a": 1}, "names: must be a list, not {'a': 1}"),
        ("names", ["a", 2, 3], "names[1]: must be a string, not 2; plugin.p.names[2]: must be a string, not 3"),
        ("pair", "ab", "pair: must be a list, not 'ab'"),
        ("unique", "ab", "unique: must be a list, not 'ab'"),
        ("sequence", "12", "sequence: must be a list, not '12'"),
        ("table", [], "table: must be a table, not []"),
        ("table", {"bash": "1"}, "table.bash: must be a number, not '1'"),
        ("mapping", {"a b": 1.5}, "mapping.a b: must be a whole number, not 1.5"),
        ("inner", 5, "inner: must be a table, not 5"),
        ("inner", {"depht": 1}, "inner.depht: unknown key (did you mean 'depth'?)"),
        ("inners", [{"depth": "x"}], "inners[0].depth: must be a whole number, not 'x'"),
        ("checked", 10, "checked: 'checked' must be in range(1, 10)"),
    ],
)
def test_wrong_values(key, value, message):
    """Nothing is coerced; the message says where and what instead."""
    assert wrong(**{key: value}).startswith(f"plugin.p.{message}")


def test_an_unknown_enumeration_member():
    """The enumeration's own words, with the path."""
    assert wrong(colour="blue").startswith("plugin.p.colour: ")


def test_several_mistakes():
    """All are told, each with its path; unknown keys too."""
    text = wrong(flag=1, nunber=2, xyz=3, inner={"depth": "x", "y": 1})
    assert [part.partition(":")[0] for part in text.split("; ")] == [
        "plugin.p.flag", "plugin.p.inner.depth", "plugin.p.inner.y", "plugin.p.nunber", "plugin.p.xyz",
    ]  # fmt: skip


def test_a_required_option():
    """A field without a default must be there."""

    @frozen
    class Needs:
        token: str

    with pytest.raises(ConfigError, match=re.escape("f.toml: plugin.p.token: is required")):
        structure({}, Needs, "plugin.p", "f.toml")


def test_a_class_with_nothing_to_set():
    """Any key is one too many."""

    @frozen
    class Nothing:
        pass

    with pytest.raises(ConfigError, match=re.escape("plugin.p.x: unknown key (known: none)")):
        structure({"x": 1}, Nothing, "plugin.p", "f.toml")


def test_an_alias_is_the_key():
    """attrs' alias is what the file writes."""

    @define
    class Private:
        _secret: str = field(default="", alias="secret")

    assert structure({"secret": "x"}, Private, "p", "f")._secret == "x"
    with pytest.raises(ConfigError, match=r"p\._secret: unknown key \(did you mean 'secret'\?\)"):
        structure({"_secret": "x"}, Private, "p", "f")


def test_a_validator_that_looks_at_other_fields():
    """It runs when they are there."""

    def above(instance, _attribute, value):
        if value < instance.low:
            raise ValueError("high must not be below low")

    @frozen
    class Range:
        low: int = 0
        high: int = field(default=10, validator=above)

    assert structure({"low": 1, "high": 2}, Range, "p", "f") == Range(1, 2)
    with pytest.raises(ConfigError, match="high must not be below low"):
        structure({"low": 3, "high": 2}, Range, "p", "f")


def test_a_validator_that_exits_does_not_take_us_along():
    """A fault of the options class is an error of the configuration, not our end."""

    def leave(_instance, _attribute, _value):
        raise SystemExit(1)

    @frozen
    class Leaves:
        x: int = field(default=0, validator=leave)

    with pytest.raises(ConfigError):
        structure({"x": 1}, Leaves, "p", "f")


def test_a_keyboard_interrupt_passes():
    """That was a person."""

    def interrupt(_instance, _attribute, _value):
        raise KeyboardInterrupt

    @frozen
    class Interrupted:
        x: int = field(default=0, validator=interrupt)

    with pytest.raises(KeyboardInterrupt):
        structure({"x": 1}, Interrupted, "p", "f")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from([*(attribute.name for attribute in fields(Options)), "odd"])


@given(st.dictionaries(FIELDS, VALUES, max_size=4))
def test_any_table_is_structured_or_a_config_error(data):
    """And what is structured has the annotated types."""
    try:
        made = options(**data)
    except ConfigError:
        return
    assert type(made.flag) is bool
    assert type(made.number) is int
    assert type(made.ratio) is float
    assert all(type(name) is str for name in made.names)
    assert all(type(value) is float for value in made.table.values())
