"""What each annotation is in a schema, and what the function receives and may return."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, Required, TypedDict, TypeVar, Union
from uuid import UUID

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.tools.annotations import AnnotationReader
from dshhooks.tools.schema import check_schema, compile_schema
from dshhooks.tools.shapes import Misfit, Shape, problems_of
from dshhooks.tools.validation import describe
from hookspecs.json import FrozenDict, FrozenList, freeze, is_json


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Shade(StrEnum):
    DARK = "dark"


class Mixed(Enum):
    ONE = 1
    TEXT = "one"
    NONE = None


class Opaque(Enum):
    PAIR = (1, 2)


@attrs.frozen
class Item:
    """Something to buy.

    Args:
        sku: The code of it.
    """

    sku: str
    qty: int = attrs.field(default=1, validator=attrs.validators.gt(0))
    _note: str | None = attrs.field(default=None, metadata={"description": "A secret."})
    total: int = attrs.field(init=False, default=0)


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0
    tags: list[str] = dataclasses.field(default_factory=list)


class Move(TypedDict):
    """A move."""

    by: int
    to: NotRequired[Path]


class Loose(TypedDict, total=False):
    must: Required[int]
    may: str


@attrs.frozen
class Circle:
    kind: Literal["circle"]
    size: int


@attrs.frozen
class Square:
    kind: Literal["square"]
    size: int


@attrs.frozen
class Base:
    a: int


@attrs.frozen
class Derived(Base):
    b: int = 0


@attrs.frozen
class Order:
    items: list[Item]
    shape: Circle | Square
    colour: Colour | None = None
    prices: dict[str, int] = attrs.Factory(dict)
    at: datetime | None = None
    extra: Any = None


@attrs.frozen
class Private:
    _when: date
    day: date = attrs.field(alias="tag")


@attrs.frozen
class Holder:
    inner: Private


@attrs.frozen
class Node:
    children: list[Node]


UserId = NewType("UserId", int)
T = TypeVar("T")

STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
BOOLEAN, NULL, OBJECT = {"type": "boolean"}, {"type": "null"}, {"type": "object"}


def shape(annotation: Any) -> Shape:
    made = AnnotationReader({}).read(annotation, "tool 'x', parameter 'p'")
    check_schema(made.schema, "schema")
    return made


def taken(annotation: Any, value: Any) -> Any:
    """What the function would receive; the value must fit the schema."""
    made, value = shape(annotation), freeze(value)
    assert compile_schema(made.schema, "p")(value) == ()
    return made.take(value) if made.take else value


def refused(annotation: Any, value: Any) -> list[str]:
    """What is wrong with a value that fits the schema and not the type."""
    with pytest.raises(Misfit) as caught:
        taken(annotation, value)
    return [describe(problem, "p") for problem in problems_of(caught.value)]


def given_back(annotation: Any, value: Any) -> Any:
    """The JSON of a value the function returned; it must fit the schema."""
    made = shape(annotation)
    json = made.give(value) if made.give else value
    assert compile_schema(made.schema, "value")(json) == ()
    return json


# -- schemas ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, STRING),
        (int, INTEGER),
        (float, NUMBER),
        (bool, BOOLEAN),
        (None, NULL),
        (Any, {}),
        (object, {}),
        (list, {"type": "array"}),
        (list[Any], {"type": "array"}),
        (list[int], {"type": "array", "items": INTEGER}),
        (typing.List[int], {"type": "array", "items": INTEGER}),  # noqa: UP006
        (Sequence[str], {"type": "array", "items": STRING}),
        (Collection[str], {"type": "array", "items": STRING}),
        (Iterable[str], {"type": "array", "items": STRING}),
        (tuple, {"type": "array"}),
        (tuple[int, ...], {"type": "array", "items": INTEGER}),
        (tuple[int, int], {"type": "array", "items": INTEGER}),
        (tuple[int, str], {"type": "array"}),
        (set[str], {"type": "array", "items": STRING}),
        (AbstractSet[str], {"type": "array", "items": STRING}),
        (dict, OBJECT),
        (dict[str, Any], OBJECT),
        (Mapping[str, int], OBJECT),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1, True, None], {"oneOf": [
            {"type": "string", "enum": ["a"]}, {"type": "integer", "enum": [1]}, {"type": "boolean", "enum": [True]},
            NULL,
        ]}),
        (Literal[Colour.RED], {"type": "string", "enum": ["red"]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Mixed, {"oneOf": [{"type": "integer", "enum": [1]}, {"type": "string", "enum": ["one"]}, NULL]}),
        (UserId, INTEGER),
        (Path, STRING),
        (Annotated[int, "How many.", 5], {"type": "integer", "description": "How many."}),
        (Annotated[Any, "Anything."], {"description": "Anything."}),
        (Optional[int], {"oneOf": [INTEGER, NULL]}),  # noqa: UP045
        (Union[int, str], {"oneOf": [INTEGER, STRING]}),  # noqa: UP007
        (int | float, NUMBER),
        (int | float | None, {"oneOf": [NUMBER, NULL]}),
        (int | bool, {"oneOf": [INTEGER, BOOLEAN]}),
        (Literal["a"] | str, STRING),
        (Literal["a"] | Literal["b"], {"type": "string", "enum": ["a", "b"]}),
        (Colour | str, STRING),
        (Colour | Shade, {"type": "string", "enum": ["red", "blue", "dark"]}),
        (Path | str, STRING),
        (list[int] | list[str], {"type": "array"}),
        (dict[str, int] | Item, OBJECT),
        (Any | int, {}),
        (Base | Derived, OBJECT),
    ],
)  # fmt: skip
def test_schemas(annotation: Any, schema: dict[str, Any]) -> None:
    """Each annotation has one schema of the subset; branches that overlap are merged."""
    assert shape(annotation).schema == schema


def test_attrs_class_schema() -> None:
    """Fields by alias, closed, described by docstring and metadata; defaults make a field optional."""
    assert shape(Item).schema == {
        "type": "object",
        "properties": {
            "sku": {"type": "string", "description": "The code of it."},
            "qty": {"type": "integer", "default": 1},
            "note": {"oneOf": [STRING, NULL], "description": "A secret.", "default": None},
        },
        "required": ["sku"],
        "additionalProperties": False,
        "description": "Something to buy.",
    }


def test_dataclass_schema() -> None:
    """The docstring dataclass invents is no description; a factory is no default anybody can read."""
    assert shape(Point).schema == {
        "type": "object",
        "properties": {
            "x": NUMBER,
            "y": {"type": "number", "default": 0.0},
            "tags": {"type": "array", "items": STRING},
        },
        "required": ["x"],
        "additionalProperties": False,
    }


def test_typed_dict_schema() -> None:
    """Required and NotRequired count, although this module's annotations are strings."""
    assert shape(Move).schema["required"] == ["by"]
    assert shape(Move).schema["description"] == "A move."
    assert shape(Loose).schema["required"] == ["must"]
    assert shape(Loose).schema["properties"] == {"must": INTEGER, "may": STRING}


def test_tagged_classes_stay_branches() -> None:
    """Classes a required tag keeps apart are oneOf; no value fits both."""
    branches = shape(Circle | Square).schema["oneOf"]
    assert [branch["properties"]["kind"]["enum"] for branch in branches] == [["circle"], ["square"]]


@pytest.mark.parametrize(
    ("annotation", "part"),
    [
        (complex, "complex"),
        (bytes, "bytes"),
        (T, "~T"),
        (type[int], "type[int]"),
        (typing.Callable[[], int], "Callable"),
        (dict[int, str], "keys of a JSON object are str"),
        (dict[Literal["a"], str], "keys of a JSON object are str"),
        (list[bytes], "bytes"),
        (Literal[b"a"], "Literal"),
        (Opaque, "enum Opaque"),
        (tuple[()], "tuple"),
        (typing.NamedTuple("Pair", [("a", int)]), "Pair"),
        ("str", "str"),
    ],
)
def test_unsupported_annotations(annotation: Any, part: str) -> None:
    """The error names the place, the annotation, and what would work."""
    with pytest.raises(TypeError, match="tool 'x', parameter 'p'") as caught:
        shape(annotation)
    assert part in str(caught.value)


def test_a_class_that_contains_itself_is_refused() -> None:
    """There are no references in the subset."""
    with pytest.raises(TypeError, match="class Node contains itself"):
        shape(Node)


def test_a_bad_field_is_named() -> None:
    """The error leads to the class and field."""
    bad = attrs.make_class("Bad", {"inner": attrs.field(type=list[bytes])})
    with pytest.raises(TypeError, match=r"parameter 'p', field Bad\.inner: bytes"):
        shape(bad)


# -- taking ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "json", "value"),
    [
        (int, 2.0, 2),
        (list[int], [1, 2.0], [1, 2]),
        (Literal[1, 2], 2.0, 2),
        (UserId | None, 2.0, 2),
        (float, 2, 2),
        (tuple[int, ...], [1.0], (1,)),
        (tuple[int, str], [1.0, "a"], (1, "a")),
        (tuple, ["a"], ("a",)),
        (set[str], ["a", "a"], {"a"}),
        (frozenset[str], ["a"], frozenset({"a"})),
        (AbstractSet[int], [1], frozenset({1})),
        (Colour, "red", Colour.RED),
        (Level, 2.0, Level.HIGH),
        (Mixed, None, Mixed.NONE),
        (Literal[Colour.RED, "x"], "red", Colour.RED),
        (Literal[Colour.RED, "x"], "x", "x"),
        (Path, "a/b", Path("a/b")),
        (datetime, "2024-05-06T07:08:09+00:00", datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)),
        (date, "2024-05-06", date(2024, 5, 6)),
        (time, "07:08", time(7, 8)),
        (UUID, "12345678123456781234567812345678", UUID(int=0x12345678123456781234567812345678)),
        (Decimal, "1.50", Decimal("1.50")),
        (Item, {"sku": "a", "note": "n"}, Item("a", 1, "n")),
        (Point, {"x": 1}, Point(1)),
        (list[Item], [{"sku": "a"}], [Item("a")]),
        (dict[str, Item], {"k": {"sku": "a"}}, {"k": Item("a")}),
        (dict[str, int], {"k": 2.0}, {"k": 2}),
        (Move, {"by": 2.0, "to": "x"}, {"by": 2, "to": Path("x")}),
        (Loose, {"must": 1, "may": "x"}, {"must": 1, "may": "x"}),
        (Item | None, None, None),
        (Item | None, {"sku": "a"}, Item("a")),
        (Circle | Square, {"kind": "square", "size": 2}, Square("square", 2)),
        (Colour | str, "red", Colour.RED),
        (Colour | str, "green", "green"),
        (str | Colour, "red", "red"),
        (Path | None, "a", Path("a")),
        (date | int | None, "2024-05-06", date(2024, 5, 6)),
        (Decimal | str, "x", "x"),
        (Base | Derived, {"a": 1, "b": 2}, Derived(1, 2)),
        (dict[str, int] | Item, {"sku": "a"}, Item("a")),
        (list[Item] | list[Point], [{"x": 1}], [Point(1)]),
        (Any | Item, {"sku": "a"}, {"sku": "a"}),
    ],
)
def test_taking(annotation: Any, json: Any, value: Any) -> None:
    """JSON becomes what the annotation says."""
    made = taken(annotation, json)
    assert made == value
    assert repr(made) == repr(value)


def test_classes_are_built_all_the_way_down() -> None:
    """Nested classes, unions, enums and dates of one class arrive as themselves."""
    order = taken(
        Order,
        {
            "items": [{"sku": "a", "qty": 2.0}],
            "shape": {"kind": "circle", "size": 1},
            "colour": "blue",
            "prices": {"a": 1.0},
            "at": "2024-05-06",
            "extra": {"k": [1]},
        },
    )
    assert order == Order([Item("a", 2)], Circle("circle", 1), Colour.BLUE, {"a": 1}, datetime(2024, 5, 6), {"k": [1]})
    assert type(order.items[0].qty) is int
    assert type(taken(Point, {"x": 1}).x) is int
    assert type(order.extra) is FrozenDict


@pytest.mark.parametrize("annotation", [list[str], list[int], Sequence[Any], dict[str, Any], dict[str, int], Loose])
def test_plain_containers_are_not_copied(annotation: Any) -> None:
    """What is plain JSON stays the frozen container of the call."""
    value = freeze({"must": 1}) if "dict" in str(annotation) or annotation is Loose else freeze([1, 2])
    made = shape(annotation)
    assert (made.take(value) if made.take else value) is value
    assert type(value) in (FrozenDict, FrozenList)


# -- refusing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "json", "problems"),
    [
        (date, "tomorrow", ["p must be an ISO 8601 date"]),
        (Decimal, "x", ["p must be an exact decimal number"]),
        (tuple[int, str], [1], ["p must have exactly 2 items"]),
        (tuple[int, str], ["a", 1], ["p[0] must be of type integer", "p[1] must be of type string"]),
        (dict[str, int], {"a": 1, "b": "x", "c": None}, ["b must be of type integer", "c must be of type integer"]),
        (dict[str, list[int]], {"a": [1, "x"]}, ["a[1] must be of type integer"]),
        (dict[str, Item], {"a": {}}, ["a.sku is required"]),
        (Item, {"sku": "a", "qty": 0}, ["p is not accepted: 'qty' must be > 0: 0"]),
        (list[Item], [{"sku": "a", "qty": 0}, {"sku": "b"}, {"sku": "c", "qty": -1}],
         ["p[0] is not accepted: 'qty' must be > 0: 0", "p[2] is not accepted: 'qty' must be > 0: -1"]),
        (list[date], ["2024-01-01", "x", "y"], ["p[1] must be an ISO 8601 date", "p[2] must be an ISO 8601 date"]),
        (Holder, {"inner": {"when": "x", "tag": "y"}},
         ["inner.when must be an ISO 8601 date", "inner.tag must be an ISO 8601 date"]),
        (Move | list[date], ["x"], ["p[0] must be an ISO 8601 date"]),
        (list[int] | list[str], [1, "a"],
         ["p matches none of the allowed forms: it[1] must be of type integer | it[0] must be of type string"]),
        (dict[str, int] | Item, {"sku": 1, "x": "y"},
         ["p matches none of the allowed forms: x must be of type integer | sku must be of type string"]),
        (Order, {"items": [{"sku": "a", "qty": 0}], "shape": {"kind": "circle", "size": 1}, "prices": {"a": "b"}},
         ["items[0] is not accepted: 'qty' must be > 0: 0", "prices.a must be of type integer"]),
    ],
)  # fmt: skip
def test_refusals_have_paths(annotation: Any, json: Any, problems: list[str]) -> None:
    """What the schema cannot say is said when the value is taken, all of it, with paths."""
    assert refused(annotation, json) == problems


def test_attrs_type_validators_are_readable() -> None:
    """Their exception carries objects after the sentence; only the sentence is for a model."""
    strict = attrs.make_class("Strict", {"a": attrs.field(type=Any, validator=attrs.validators.instance_of(int))})
    (problem,) = refused(strict, {"a": "x"})
    assert problem.startswith("p is not accepted: 'a' must be <class 'int'>")
    assert "Attribute(" not in problem


# -- giving ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("annotation", "value", "json"),
    [
        (int, 1, 1),
        (Item, Item("a"), {"sku": "a", "qty": 1, "note": None}),
        (Item, {"sku": "a"}, {"sku": "a"}),
        (Point, Point(1, 2, ["t"]), {"x": 1, "y": 2, "tags": ["t"]}),
        (list[Item], [Item("a"), {"sku": "b"}], [{"sku": "a", "qty": 1, "note": None}, {"sku": "b"}]),
        (list[Item], (Item("a"),), [{"sku": "a", "qty": 1, "note": None}]),
        (dict[str, Colour], {"a": Colour.RED}, {"a": "red"}),
        (Colour, Colour.RED, "red"),
        (Level, Level.LOW, 1),
        (Literal[Shade.DARK], Shade.DARK, "dark"),
        (tuple[int, ...], (1, 2), [1, 2]),
        (tuple[int, Colour], (1, Colour.RED), [1, "red"]),
        (set[str], {"b", "a", "c"}, ["a", "b", "c"]),
        (Path, PurePosixPath("a/b"), "a/b"),
        (datetime, datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02T00:00:00+00:00"),
        (Decimal, Decimal("1.50"), "1.50"),
        (Move, {"by": 1, "to": Path("x")}, {"by": 1, "to": "x"}),
        (Item | None, None, None),
        (Circle | Square, Square("square", 1), {"kind": "square", "size": 1}),
        (Base | Derived, Derived(1, 2), {"a": 1, "b": 2}),
        (Derived | Base, Base(1), {"a": 1}),
        (Base, Derived(1, 2), {"a": 1}),
        (list[Circle | Colour], [Colour.RED, Circle("circle", 1)], ["red", {"kind": "circle", "size": 1}]),
        (list[Circle] | list[Square], [Square("square", 1)], [{"kind": "square", "size": 1}]),
    ],
)
def test_giving(annotation: Any, value: Any, json: Any) -> None:
    """A value becomes JSON as the annotation says; what is JSON already stays."""
    made = given_back(annotation, value)
    assert made == json
    assert is_json(made)


@pytest.mark.parametrize(
    ("annotation", "value"), [(Item, 5), (list[Item], 5), (Path, 5), (set[str], 5), (Any, Item("a"))]
)
def test_a_value_of_another_type_is_left_to_the_output_schema(annotation: Any, value: Any) -> None:
    """Giving is no check: it hands on what it does not know."""
    made = shape(annotation)
    assert (made.give(value) if made.give else value) is value


# -- generated annotations -------------------------------------------------------------------------------------------

leaves = st.sampled_from(
    [str, int, float, bool, None, Any, Colour, Level, Mixed, Path, date, Decimal, Item, Point, Move, Loose, Circle,
     Square, Literal["a", 1], Literal[True], UserId, Order]
)  # fmt: skip
annotations = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(lambda a: list[a]),
        inner.map(lambda a: tuple[a, ...]),
        inner.map(lambda a: dict[str, a]),
        inner.map(lambda a: Optional[a]),  # noqa: UP045
        st.tuples(inner, inner).map(lambda pair: tuple[pair]),
        st.tuples(inner, inner, inner).map(lambda three: Union[three]),  # noqa: UP007
        inner.map(lambda a: Annotated[a, "text"]),
    ),
    max_leaves=5,
)
finite = st.floats(allow_nan=False, allow_infinity=False).map(lambda x: x + 0.0).filter(lambda x: x != 0.0)
values_by_type: dict[Any, st.SearchStrategy[Any]] = {
    str: st.text(max_size=3), int: st.integers() | st.just(2.0), float: finite | st.integers(), bool: st.booleans(),
    None: st.none(), Any: st.just({"a": [None]}), Colour: st.just("red"), Level: st.just(1),
    Mixed: st.sampled_from([1, "one", None]), Path: st.text(max_size=3), date: st.just("2024-01-01"),
    Decimal: st.just("1.5"), Item: st.just({"sku": "a"}) | st.just({"sku": "a", "qty": 3, "note": None}),
    Point: st.just({"x": 1, "tags": ["a"]}), Move: st.just({"by": 1, "to": "x"}), Loose: st.just({"must": 1}),
    Circle: st.just({"kind": "circle", "size": 1}), Square: st.just({"kind": "square", "size": 2}), UserId: st.just(3),
    Order: st.just({"items": [{"sku": "a"}], "shape": {"kind": "square", "size": 2}, "at": None}),
}  # fmt: skip


def values(annotation: Any) -> st.SearchStrategy[Any]:
    """JSON an annotation must accept."""
    if annotation in values_by_type:
        return values_by_type[annotation]
    args = typing.get_args(annotation)
    match typing.get_origin(annotation):
        case typing.Literal:
            return st.sampled_from(args)
        case typing.Annotated:
            return values(args[0])
        case typing.Union:
            return st.one_of([st.none() if arg is type(None) else values(arg) for arg in args])
        case kind if kind is dict:
            return st.dictionaries(st.text(max_size=2), values(args[1]), max_size=3)
        case kind if kind is tuple and Ellipsis not in args:
            return st.tuples(*[st.none() if arg is type(None) else values(arg) for arg in args]).map(list)
    return st.lists(st.none() if args[0] is type(None) else values(args[0]), max_size=3)


values_by_type[type(None)] = st.none()


@given(annotations.flatmap(lambda a: st.tuples(st.just(a), values(a))))
def test_every_valid_value_is_taken_and_given_back(case: tuple[Any, Any]) -> None:
    """Any nesting of supported types: a schema of the subset accepts the values; what is taken is given back."""
    annotation, json = case
    assert is_json(given_back(annotation, taken(annotation, json)))


@given(annotations, st.recursive(st.none() | st.integers() | st.text(max_size=2) | st.just("red"),
                                 lambda i: st.lists(i, max_size=2) | st.dictionaries(
                                     st.sampled_from(["sku", "x", "by", "kind", "a"]), i, max_size=2)))  # fmt: skip
def test_any_json_is_taken_or_refused_with_a_reason(annotation: Any, json: Any) -> None:
    """Whatever a model sends, it is a value of the type or a list of problems, never another exception."""
    made, value = shape(annotation), freeze(json)
    if compile_schema(made.schema, "p")(value) or made.take is None:
        return
    problems: list[Any] | None = None
    try:
        made.take(value)
    except Misfit as exc:
        problems = problems_of(exc)
    assert problems != []
