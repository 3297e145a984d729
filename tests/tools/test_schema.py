"""dshhooks.tools.schema: the subset, and what is said about a value outside its schema (spec/core.md 1.7)."""

from __future__ import annotations

import copy
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.tools.schema import check_schema, compile_schema, schema_violations
from dshhooks.tools.validation import _walk, path_text
from hookspecs.errors import JsonSchemaError
from hookspecs.json import freeze

DEEP = 5_000
HUGE = 10**5_000  # more digits than Python writes


def deep_list() -> list[Any]:
    root: list[Any] = []
    inner = root
    for _ in range(DEEP):
        inner.append([])
        inner = inner[0]
    return root


def violations(schema: dict[str, Any], value: Any) -> tuple[str, ...]:
    return compile_schema(schema, "arguments")(value)


def props(required: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


# -- the subset ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"description": "d", "title": "t", "default": {"a": [1]}, "examples": [None]},
        {"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False},
        {"type": "array", "items": {"type": "string", "enum": ["a"], "const": "a"}},
        {"oneOf": [{"type": "null"}, {"oneOf": [{"type": "string"}, {"type": "integer"}]}]},
        {"type": "integer", "enum": [2.0, HUGE]},
        {"type": "number", "const": 1.5},
    ],
)
def test_supported_schemas_pass(schema: dict[str, Any]) -> None:
    """Every keyword of the subset is accepted in its place."""
    check_schema(schema, "schema")


@pytest.mark.parametrize(
    ("schema", "part"),
    [
        ([], "must be an object"),
        ({"type": ["string", "null"]}, "schema.type"),
        ({"type": "text"}, "schema.type"),
        ({"$ref": "#"}, "schema.$ref"),
        ({"type": "string", "pattern": "a"}, "schema.pattern"),
        ({"type": "integer", "minimum": 0}, "schema.minimum"),
        ({"type": "string", "properties": {}}, "schema.properties"),
        ({"enum": ["a"]}, "schema.enum"),
        ({"type": "string", "oneOf": [{}, {}]}, "both type and oneOf"),
        ({"oneOf": [{}]}, "at least two"),
        ({"type": "string", "enum": []}, "schema.enum"),
        ({"type": "string", "enum": ["a", 1]}, "schema.enum[1]"),
        ({"type": "integer", "enum": [True]}, "schema.enum[0]"),
        ({"type": "integer", "enum": [1.5]}, "schema.enum[0]"),
        ({"type": "integer", "const": float("inf")}, "schema.const"),
        ({"type": "number", "const": -0.0}, "schema.const"),
        ({"type": "string", "enum": ["a"], "const": "b"}, "not in enum"),
        ({"type": "object", "required": ["a"]}, "undeclared 'a'"),
        ({"type": "object", "additionalProperties": {}}, "additionalProperties"),
        ({"type": "object", "properties": {1: {}}}, "the name 1, not a str"),
        ({"type": "object", "properties": {"a": 1}}, "schema.properties.a must be an object"),
        ({"description": 1}, "schema.description"),
        ({"default": (1,)}, "schema.default"),
    ],
)
def test_unsupported_schemas_are_refused(schema: Any, part: str) -> None:
    """A keyword outside the subset, or in the wrong place, is named with its path."""
    with pytest.raises(JsonSchemaError, match="supported subset") as caught:
        check_schema(schema, "output schema of tool 'x'")
    assert part in str(caught.value)
    assert caught.value.code == "UNSUPPORTED_SCHEMA"


def test_every_violation_of_a_schema_is_listed() -> None:
    """Not only the first one."""
    found = list(schema_violations({"type": "array", "minItems": 1, "items": {"type": "x", "pattern": "y"}}))
    assert [text.split(" ")[0] for text in found] == ["schema.minItems", "schema.items.type", "schema.items.pattern"]


def test_a_schema_that_contains_itself_is_refused() -> None:
    """A cycle is a violation and no endless walk; a shared part is fine."""
    cycle: dict[str, Any] = {"type": "array"}
    cycle["items"] = cycle
    assert list(schema_violations(cycle)) == ["schema.items contains itself"]
    shared = {"type": "string"}
    assert list(schema_violations(props(a=shared, b=shared))) == []


def test_a_schema_may_not_nest_without_end() -> None:
    """A model reads it and every validator walks it; five thousand levels are a violation, not a crash."""
    schema: dict[str, Any] = {}
    for _ in range(DEEP):
        schema = {"type": "array", "items": schema}
    (found,) = schema_violations(schema)
    assert "nests deeper" in found
    assert len(found) < 200


# -- violations ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string"}, ["", "\ud800"], [1, None]),
        ({"type": "integer"}, [2, 2.0, HUGE], [True, 2.5, "2", -0.0]),
        ({"type": "number"}, [1, 1.5, HUGE], [False, "1", float("nan"), float("inf"), -0.0]),
        ({"type": "boolean"}, [True], [0, 1]),
        ({"type": "null"}, [None], [False, 0, ""]),
        ({"type": "array"}, [[], [None]], [(), {}, [object()]]),
        ({"type": "object"}, [{}, {"a": [1]}], [[], {1: 2}, {"a": {1}}]),
        ({"type": "string", "enum": ["a", "b"]}, ["b"], ["c", 1]),
        ({"type": "integer", "const": 1}, [1, 1.0], [2, True]),
        ({}, [None, "x", [{}]], [object(), float("nan"), (1,)]),
    ],
)
def test_types(schema: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    """Booleans are no numbers, 2.0 is an integer, -0.0 and NaN are nothing, containers are lossless throughout."""
    assert [value for value in good if violations(schema, value)] == []
    assert [value for value in bad if not violations(schema, value)] == []


def test_nested_paths() -> None:
    """Case 34: a missing nested key is named by its dotted and indexed path."""
    server = props(("host",), host=STRING)
    schema = props(("config",), config=server, servers={"type": "array", "items": server})
    assert violations(schema, {"config": {}, "servers": [{"host": "a"}, {}]}) == (
        "config.host is required",
        "servers[1].host is required",
    )


def test_two_matching_branches_are_one_violation() -> None:
    """Case 34: oneOf wants exactly one."""
    schema = props(x={"oneOf": [INTEGER, NUMBER]})
    assert violations(schema, {"x": 1}) == ("x matches more than one of the allowed forms",)
    assert violations(schema, {"x": 1.5}) == ()


def test_no_matching_branch_names_the_types() -> None:
    """Where the type alone is wrong, the possible types are said."""
    assert violations({"oneOf": [STRING, {"type": "null"}]}, 1) == ("arguments must be of type string or null",)


def test_no_matching_branch_explains_the_near_one() -> None:
    """An optional object with a hole is explained like the object."""
    schema = props(config={"oneOf": [{"type": "null"}, props(("host",), host=STRING)]})
    assert violations(schema, {"config": {}}) == ("config.host is required",)
    assert violations(schema, {"config": {"host": 1}}) == ("config.host must be of type string",)


def test_several_near_branches_are_summed_up() -> None:
    """With two objects to choose from, one violation says what each lacks."""
    schema = {"oneOf": [props(("a",), a=STRING), props(("b",), b=STRING)]}
    assert violations(schema, {}) == ("arguments matches none of the allowed forms: a is required | b is required",)


def test_walk_order() -> None:
    """Missing names in the order of required, then properties in the order of the schema, then unknown names."""
    inner = {**props(("q",), q=STRING), "additionalProperties": False}
    schema = {**props(("k", "z"), z=STRING, a=STRING, m=inner, k=STRING), "additionalProperties": False}
    assert violations(schema, {"x": 1, "m": {"w": 1}, "a": 1, "y": 2}) == (
        "k is required",
        "z is required",
        "a must be of type string",
        "m.q is required",
        "m.w is not a known property",
        "x is not a known property",
        "y is not a known property",
    )


def test_the_root_has_a_name() -> None:
    """A violation of the whole value, or of an element of it, starts with what the value is called."""
    assert violations({"type": "object"}, []) == ("arguments must be of type object",)
    assert compile_schema({"type": "array", "items": STRING}, "value")(["a", 1]) == ("value[1] must be of type string",)


def test_lossless_violations_have_a_path() -> None:
    """What is not JSON at all is found inside any schema."""
    (found,) = violations({"type": "object"}, {"a": [1, {2}]})
    assert found == "arguments is not lossless JSON at a[1]: set is not a JSON type"


def test_enum_and_type_are_one_violation() -> None:
    """A wrong type is not also reported as a wrong choice."""
    assert violations({"type": "number", "enum": [1]}, True) == ("arguments must be of type number",)
    assert violations({"type": "string", "enum": ["a", "b"]}, "c") == ('arguments must be one of "a", "b"',)


def test_odd_names_are_quoted_in_paths() -> None:
    """A name with a dot cannot be taken for two, and a lone surrogate can be printed."""
    assert path_text(["a", "b-c", "d.e", "\ud800", 0, ""]) == 'a.b-c["d.e"]["\\ud800"][0][""]'


def test_a_flood_of_violations_is_cut() -> None:
    """Ten thousand wrong elements are not ten thousand sentences."""
    found = violations({"type": "array", "items": STRING}, list(range(10_000)))
    assert len(found) == 51
    assert found[-1] == "arguments has more violations than are listed here"


def test_long_names_are_cut() -> None:
    """A megabyte as a key is not a megabyte of message."""
    schema = {**props(), "additionalProperties": False}
    assert len(violations(schema, {"k" * 1_000_000: 1})[0]) < 300


# -- values no library likes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seal", [freeze, copy.copy], ids=["frozen", "plain"])
@pytest.mark.parametrize("make", [deep_list, lambda: HUGE, lambda: "\udfff", lambda: {"\ud800": 1}, lambda: -HUGE])
def test_hostile_values_never_raise(make: Any, seal: Any) -> None:
    """Five thousand levels, unprintable integers and lone surrogates are judged like any value."""
    value = seal({"a": make(), "b": make()})
    assert violations(props(("a",), a={}), value) == ()
    assert violations(props(a={}, b={"type": "null"}), value) == ("b must be of type null",)
    assert violations(props(b={"oneOf": [{"type": "null"}, {"type": "boolean"}]}), value) == (
        "b must be of type null or boolean",
    )
    assert violations(props(("c",), c={}), value) == ("c is required",)


def test_lone_surrogates_are_told_apart() -> None:
    """An enum of one surrogate does not accept another."""
    schema = {"type": "string", "enum": ["\ud800"]}
    assert violations(schema, "\ud800") == ()
    assert violations(schema, "\ud801") == ('arguments must be one of "\\ud800"',)
    assert violations(schema, "\ufffd") == ('arguments must be one of "\\ud800"',)


def test_unprintable_choices_can_be_reported() -> None:
    """An enum whose members Python refuses to write still has a violation."""
    assert violations({"type": "integer", "enum": [HUGE]}, HUGE) == ()
    assert violations({"type": "integer", "enum": [HUGE]}, 1) == ("arguments must be one of a number too long to show",)


def test_a_cycle_is_a_violation() -> None:
    """A value that contains itself is not JSON."""
    cycle: dict[str, Any] = {}
    cycle["a"] = cycle
    assert violations({"type": "object"}, cycle) == ("arguments is not lossless JSON at a: it contains itself",)


def test_enum_members_are_not_their_values() -> None:
    """Only exact JSON types are JSON."""

    class Colour(StrEnum):
        RED = "red"

    assert violations(STRING, Colour.RED) != ()


# -- the two judges agree ----------------------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 2.0, 1e300, "a", "b", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
scalars = st.sampled_from(
    [
        {},
        STRING,
        INTEGER,
        NUMBER,
        {"type": "boolean"},
        {"type": "null"},
        {"type": "string", "enum": ["a", "b"]},
        {"type": "integer", "enum": [1, 2.0]},
        {"type": "number", "const": 2},
    ]
)


def objects(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    def build(properties: dict[str, Any], closed: bool, required: bool) -> dict[str, Any]:
        names = sorted(properties)[:1] if required else []
        return {"type": "object", "properties": properties, "required": names, "additionalProperties": not closed}

    return st.builds(build, st.dictionaries(st.sampled_from("abc"), inner, max_size=3), st.booleans(), st.booleans())


schemas = st.recursive(
    scalars,
    lambda inner: (
        inner.map(lambda items: {"type": "array", "items": items})
        | objects(inner)
        | st.lists(inner, min_size=2, max_size=3).map(lambda branches: {"oneOf": branches})
    ),
    max_leaves=6,
)


@given(schemas, json_values)
def test_the_walk_agrees_with_the_library(schema: dict[str, Any], value: Any) -> None:
    """For every schema of the subset and every value, the explanation is empty exactly when the library accepts."""
    import jsonschema_rs

    check_schema(schema, "schema")
    assert (next(_walk(schema, value, ()), None) is None) == jsonschema_rs.Draft202012Validator(schema).is_valid(value)


@given(schemas, json_values)
def test_frozen_and_plain_values_are_judged_alike(schema: dict[str, Any], value: Any) -> None:
    """Sealing changes no verdict and no word."""
    assert violations(schema, value) == violations(schema, freeze(value))


@given(st.recursive(st.none() | st.integers() | st.text(max_size=3) | st.just("type") | st.just("object"),
                    lambda i: st.lists(i, max_size=3) | st.dictionaries(
                        st.sampled_from(["type", "oneOf", "enum", "const", "items", "properties", "required", "x"])
                        | st.integers(), i, max_size=4)))  # fmt: skip
def test_checking_a_schema_never_raises(candidate: Any) -> None:
    """Whatever is handed in, the answer is a list of sentences."""
    assert all(isinstance(text, str) for text in schema_violations(candidate))
