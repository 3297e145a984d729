"""hookspecs.json: what is lossless, how it is copied, frozen and written (spec/core.md 0.4)."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from collections import OrderedDict, defaultdict
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any

import pytest
from attrs import frozen
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookspecs.errors import NotLosslessError
from hookspecs.json import (
    MISSING,
    FrozenDict,
    FrozenList,
    Missing,
    canonical,
    encode,
    freeze,
    is_json,
    parse,
    snapshot,
    thaw,
)

DEEP = 5_000


class Number(IntEnum):
    ONE = 1


class Colour(Enum):
    RED = "red"


class Text(str):
    pass


class MyInt(int):
    pass


class MyFloat(float):
    pass


class MyList(list):
    pass


class MyDict(dict):
    pass


@frozen
class Point:
    x: int


def nested_list(depth: int, leaf: Any = 1) -> Any:
    value = leaf
    for _ in range(depth):
        value = [value]
    return value


def nested_dict(depth: int, leaf: Any = 1) -> Any:
    value = leaf
    for _ in range(depth):
        value = {"k": value}
    return value


def depth_of(value: Any) -> int:
    """Depth of a chain of one-element containers; `==` would hit the recursion limit."""
    depth = 0
    while isinstance(value, (list, dict)):
        value = value[0] if isinstance(value, list) else value["k"]
        depth += 1
    return depth


def containers(value: Any) -> list[Any]:
    found, todo = [], [value]
    while todo:
        item = todo.pop()
        if isinstance(item, (list, dict)):
            found.append(item)
            todo.extend(item.values() if isinstance(item, dict) else item)
    return found


finite = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: str(x) != "-0.0")
scalars = st.none() | st.booleans() | st.integers() | finite | st.text(st.characters())
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
)
strangers = st.sampled_from(
    [(), (1,), {1}, b"x", float("nan"), float("inf"), -0.0, Number.ONE, Text("t"), MISSING, ..., Point(1), range(2)]
)
anything = st.recursive(
    scalars | strangers,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3) | st.integers() | st.none(), inner, max_size=3)
        | st.lists(inner, max_size=2).map(tuple)
    ),
)
# A busy machine is no reason to fail.
relaxed = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])


def accepted(function: Any, value: Any) -> bool:
    try:
        function(value)
    except NotLosslessError:
        return False
    return True


class TestVerdict:
    @pytest.mark.parametrize("value", [None, True, False, "x", "", 7, 1.5, 0.0])
    def test_scalars_are_accepted(self, value: Any) -> None:
        """Case 1: every JSON scalar is lossless and comes back equal, of the same type."""
        assert snapshot(value) == value
        assert type(snapshot(value)) is type(value)
        assert freeze(value) is value
        assert is_json(value)

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -0.0])
    @pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v], lambda v: {"a": [v]}])
    def test_floats_without_a_text_are_rejected(self, value: float, wrap: Any) -> None:
        """Case 2: NaN, the infinities and -0.0 are not lossless, at the top or nested."""
        assert not is_json(wrap(value))
        for function in (snapshot, freeze):
            with pytest.raises(NotLosslessError):
                function(wrap(value))

    @pytest.mark.parametrize("key", [1, None, True, 1.5, (1,), Text("t"), b"k"])
    def test_keys_must_be_exact_strings(self, key: Any) -> None:
        """Case 4: a key that is no exact str is refused, never coerced as json.dumps would."""
        assert not is_json({key: 1})
        for function in (snapshot, freeze):
            with pytest.raises(NotLosslessError, match="key of type"):
                function({"a": {key: 1}})

    def test_a_tuple_is_rejected(self) -> None:
        """Case 5: a tuple would come back as a list."""
        assert not is_json([(1, 2)])
        for function in (snapshot, freeze):
            with pytest.raises(NotLosslessError, match=r"value\[0\]: tuple"):
                function([(1, 2)])

    @pytest.mark.parametrize("kind", ["list", "dict", "indirect", "deep"])
    def test_cycles_are_rejected(self, kind: str) -> None:
        """Case 6: a container inside itself is refused, without a RecursionError."""
        value: Any = []
        value.append(
            {"list": value, "dict": [value], "indirect": {"a": [value]}, "deep": nested_list(500, value)}[kind]
        )
        assert not is_json(value)
        for function in (snapshot, freeze):
            with pytest.raises(NotLosslessError, match="contains itself"):
                function(value)

    @pytest.mark.parametrize(
        "value",
        [Number.ONE, Colour.RED, Text("t"), MyInt(1), MyFloat(1.5), MyList(), MyDict(), OrderedDict(a=1),
         defaultdict(int), b"x", bytearray(b"x"), {1}, frozenset(), Decimal(1), datetime.now(UTC), Point(1), Point,
         range(3), (x for x in ()), MISSING, ..., len, object(), 1j],
        ids=lambda v: type(v).__name__,
    )  # fmt: skip
    def test_other_types_are_rejected(self, value: Any) -> None:
        """Case 9: subclasses and everything JSON has no word for are refused, at the top and inside."""
        for bad in (value, [value], {"k": value}):
            assert not is_json(bad)
            for function in (snapshot, freeze):
                with pytest.raises(NotLosslessError, match="is not a JSON type"):
                    function(bad)

    def test_integers_have_no_limit(self) -> None:
        """Case 10: an integer of any size is accepted unchanged."""
        for value in (10**40, -(10**40), 10**5000):
            assert snapshot(value) is value
            assert freeze([value]) == [value]

    @pytest.mark.parametrize("key", ["__proto__", "__class__", "", "a.b", "\ud800", "é"])
    def test_any_string_is_a_key(self, key: str) -> None:
        """Case 13: no key is special; keys are kept as data, in order."""
        value = {"z": 0, key: {"x": 1}, "a": 2}
        for copied in (snapshot(value), freeze(value)):
            assert copied == value
            assert list(copied) == ["z", key, "a"]

    def test_lone_surrogates_are_text(self) -> None:
        """A lone surrogate is legal and survives being written and read."""
        assert parse(encode(["\ud800x"])) == ["\ud800x"]

    def test_the_message_names_the_path(self) -> None:
        """The error says where the first offender is and what it is."""
        with pytest.raises(NotLosslessError, match=r"value\.a\[1\]\[\"b c\"\]: set is not a JSON type"):
            freeze({"a": [0, {"b c": {1}}]})

    def test_the_message_stays_short(self) -> None:
        """Depth and key lengths are the caller's; the message does not grow with them."""
        with pytest.raises(NotLosslessError) as caught:
            freeze({"x" * 10_000: nested_list(DEEP, set())})
        assert len(str(caught.value)) < 400

    def test_it_is_a_type_error_and_a_value_error(self) -> None:
        """Callers may catch the refusal as either; it carries no code."""
        assert issubclass(NotLosslessError, TypeError)
        assert issubclass(NotLosslessError, ValueError)
        assert not hasattr(NotLosslessError("x"), "code")

    @given(anything)
    @relaxed
    def test_everybody_agrees(self, value: Any) -> None:
        """is_json says yes exactly when snapshot and freeze accept."""
        assert is_json(value) == accepted(snapshot, value) == accepted(freeze, value)


class TestSnapshot:
    def test_shared_values_are_duplicated(self) -> None:
        """Case 7: one dict referenced twice becomes two, and later changes of the source are not seen."""
        inner = {"n": 1}
        source = {"a": inner, "b": inner}
        copied, frozen_copy = snapshot(source), freeze(source)
        inner["n"] = 2
        assert copied == frozen_copy == {"a": {"n": 1}, "b": {"n": 1}}
        assert copied["a"] is not copied["b"]

    @given(json_values)
    @relaxed
    def test_shares_nothing(self, value: Any) -> None:
        """A snapshot is equal, ordinary, and has no container in common with its source."""
        copied = snapshot(value)
        assert copied == value
        assert not {id(c) for c in containers(copied)} & {id(c) for c in containers(value)}
        assert all(type(c) in (list, dict) for c in containers(copied))

    @given(json_values)
    @relaxed
    def test_of_a_frozen_value_is_ordinary(self, value: Any) -> None:
        """Frozen containers are accepted as input and come back as plain ones."""
        for copied in (snapshot(freeze(value)), thaw(freeze(value))):
            assert copied == value
            assert all(type(c) in (list, dict) for c in containers(copied))


class TestFreeze:
    @given(json_values)
    @relaxed
    def test_equals_its_source(self, value: Any) -> None:
        """A frozen value compares equal both ways, and every container in it is frozen."""
        frozen_value = freeze(value)
        assert frozen_value == value
        assert value == frozen_value
        assert all(type(c) in (FrozenList, FrozenDict) for c in containers(frozen_value))

    def test_is_idempotent(self) -> None:
        """What is frozen already is returned itself, also inside something new."""
        once = freeze({"a": [1]})
        assert freeze(once) is once
        assert freeze([once])[0] is once

    def test_is_not_affected_by_its_source(self) -> None:
        """Changing the source afterwards changes nothing."""
        source = {"a": [1, {"b": 2}]}
        frozen_value = freeze(source)
        source["a"][1]["b"] = 3
        source["c"] = 4
        assert frozen_value == {"a": [1, {"b": 2}]}

    @pytest.mark.parametrize(
        "change",
        [
            lambda d: d.__setitem__("a", 2),
            lambda d: d.__delitem__("a"),
            lambda d: d.__ior__({"b": 1}),
            lambda d: d.clear(),
            lambda d: d.pop("a"),
            lambda d: d.popitem(),
            lambda d: d.setdefault("b", 1),
            lambda d: d.update(b=1),
            lambda d: d.__init__(b=1),
            lambda d: setattr(d, "extra", 1),
        ],
    )
    def test_a_frozen_dict_refuses_every_mutator(self, change: Any) -> None:
        """Case 12: no method changes a frozen dict; the error says what to do instead."""
        frozen_value = freeze({"a": 1})
        with pytest.raises((TypeError, AttributeError)):
            change(frozen_value)
        assert frozen_value == {"a": 1}

    @pytest.mark.parametrize(
        "change",
        [
            lambda v: v.__setitem__(0, 9),
            lambda v: v.__setitem__(slice(0, 1), []),
            lambda v: v.__delitem__(0),
            lambda v: v.__iadd__([3]),
            lambda v: v.__imul__(2),
            lambda v: v.append(3),
            lambda v: v.clear(),
            lambda v: v.extend([3]),
            lambda v: v.insert(0, 3),
            lambda v: v.pop(),
            lambda v: v.remove(2),
            lambda v: v.reverse(),
            lambda v: v.sort(),
            lambda v: v.__init__([9]),
            lambda v: setattr(v, "extra", 1),
        ],
    )
    def test_a_frozen_list_refuses_every_mutator(self, change: Any) -> None:
        """Case 12: no method changes a frozen list."""
        frozen_value = freeze([2, 1])
        with pytest.raises((TypeError, AttributeError)):
            change(frozen_value)
        assert frozen_value == [2, 1]

    def test_no_new_mutator_slips_in(self) -> None:
        """Every method of dict and list is either refused here or known not to change anything."""
        reading = {
            *vars(object), "__class_getitem__", "__contains__", "__getitem__", "__iter__", "__len__", "__or__",
            "__ror__", "__reversed__", "copy", "fromkeys", "get", "items", "keys", "values", "__add__", "__mul__",
            "__rmul__", "count", "index",
        }  # fmt: skip
        for base, frozen_type in ((dict, FrozenDict), (list, FrozenList)):
            assert {name for name in vars(base) if name not in vars(frozen_type)} <= reading

    @pytest.mark.parametrize("kind", [FrozenDict, FrozenList])
    def test_cannot_be_made_directly(self, kind: Any) -> None:
        """Only freeze makes frozen containers, so whatever is frozen was checked."""
        with pytest.raises(TypeError, match="freeze"):
            kind([])
        with pytest.raises(TypeError):
            FrozenDict.fromkeys("ab")

    @pytest.mark.parametrize("value", [{"a": 1}, [1]], ids=["dict", "list"])
    def test_cannot_become_another_class(self, value: Any) -> None:
        """A class with the same layout and without the refusals would open it again."""
        loose: Any = type("Loose", (type(value),), {"__slots__": ()})
        with pytest.raises(TypeError, match="frozen"):
            freeze(value).__class__ = loose

    def test_the_refusal_says_what_to_do(self) -> None:
        """The message names thaw()."""
        with pytest.raises(TypeError, match=r"thaw\(\)"):
            freeze([1]).append(2)

    def test_reading_gives_ordinary_copies(self) -> None:
        """What makes a new container makes an ordinary one."""
        assert type(freeze([1]) + [2]) is list  # noqa: RUF005 - the operator is what is tested
        assert type(freeze([1]).copy()) is list
        assert type(freeze([1, 2])[:1]) is list
        assert type(freeze({"a": 1}) | {"b": 2}) is dict
        assert type(freeze({"a": 1}).copy()) is dict

    def test_can_be_pickled_and_copied(self) -> None:
        """pickle and copy.copy keep it frozen; copy.deepcopy is a way to thaw it."""
        value = {"a": [1, {"b": None}]}
        frozen_value = freeze(value)
        again = pickle.loads(pickle.dumps(frozen_value))
        assert again == value
        assert type(again) is FrozenDict
        assert type(again["a"]) is FrozenList
        assert type(copy.copy(frozen_value)) is FrozenDict
        deep = copy.deepcopy(frozen_value)
        assert deep == value
        assert all(type(c) in (list, dict) for c in containers(deep))

    def test_json_dumps_takes_it(self) -> None:
        """The standard encoder writes frozen containers like ordinary ones."""
        assert json.dumps(freeze({"a": [1]})) == '{"a": [1]}'


class TestDepth:
    @pytest.mark.parametrize("nested", [nested_list, nested_dict])
    def test_deep_values_work_everywhere(self, nested: Any) -> None:
        """5000 levels are checked, copied, frozen and written without a RecursionError."""
        value = nested(DEEP)
        assert is_json(value)
        for function in (snapshot, freeze, lambda v: thaw(freeze(v))):
            assert depth_of(function(value)) == DEEP
        assert len(encode(value)) == len(canonical(value)) == DEEP * (2 if nested is nested_list else 6) + 1

    @pytest.mark.parametrize("nested", [nested_list, nested_dict])
    def test_an_offender_deep_down_is_found(self, nested: Any) -> None:
        """A bad leaf below 5000 levels is refused."""
        value = nested(DEEP, {1})
        assert not is_json(value)
        for function in (snapshot, freeze):
            with pytest.raises(NotLosslessError, match="set is not a JSON type"):
                function(value)

    @given(json_values, st.integers(min_value=115, max_value=125), st.booleans())
    @relaxed
    def test_nothing_happens_at_the_seam(self, leaf: Any, depth: int, as_dict: bool) -> None:
        """Where recursion hands over to the explicit stack the result is the same."""
        value = (nested_dict if as_dict else nested_list)(depth, leaf)
        frozen_value = freeze(value)
        assert frozen_value == value
        assert all(type(c) in (FrozenList, FrozenDict) for c in containers(frozen_value))


class TestText:
    @given(json_values)
    @relaxed
    def test_round_trips(self, value: Any) -> None:
        """Whatever is written is read back equal, of the same types."""
        for text in (encode(value), canonical(value), encode(freeze(value))):
            again = parse(text)
            assert again == value
            assert repr(sorted_keys(again)) == repr(sorted_keys(value))

    @given(json_values)
    @relaxed
    def test_canonical_does_not_see_the_order_of_keys(self, value: Any) -> None:
        """Equal values have one canonical text; it is ASCII without spaces outside strings."""
        assert canonical(value) == canonical(reversed_keys(value))
        assert canonical(value).isascii()

    def test_canonical_sorts_at_every_level(self) -> None:
        """Golden vector: digests rest on this text."""
        value = {"b": [{"d": 1.5, "c": "é"}], "a": None, "": True}
        assert canonical(value) == '{"":true,"a":null,"b":[{"c":"\\u00e9","d":1.5}]}'
        assert encode(value) == '{"b":[{"d":1.5,"c":"\\u00e9"}],"a":null,"":true}'

    @pytest.mark.parametrize("sort_keys", [False, True])
    def test_the_deep_writer_agrees_with_the_standard_one(self, sort_keys: bool) -> None:
        """The fallback for deep values writes the same text, at the bottom of 2000 levels."""
        leaf = {"b": [1, "x", None, []], "a": {}, "c": [True, {"z": 0, "y": -1.25}]}
        text = encode(nested_list(2_000, leaf), sort_keys=sort_keys)
        assert text == "[" * 2_000 + encode(leaf, sort_keys=sort_keys) + "]" * 2_000

    @pytest.mark.parametrize(
        "text", ["NaN", "[Infinity]", '{"a": -Infinity}', "", "[1,]", "'a'", "1e400", "-0.0", "[-1e-999]"]
    )
    def test_parse_is_strict(self, text: str) -> None:
        """Case 2: what has no lossless value is invalid text, and so is Python's NaN extension."""
        with pytest.raises(ValueError, match=r"."):
            parse(text)

    def test_the_last_duplicate_key_wins(self) -> None:
        """A repeated key keeps its last value."""
        assert parse('{"a": 1, "a": 2}') == {"a": 2}

    def test_text_that_nests_too_deep_is_a_value_error(self) -> None:
        """The parser's own limit shows as invalid text, never as a RecursionError."""
        with pytest.raises(ValueError, match="too deep"):
            parse("[" * 200_000 + "]" * 200_000)

    @pytest.mark.parametrize("depth", [0, 2_000])
    def test_an_integer_too_long_for_text_is_not_lossless(self, depth: int) -> None:
        """Python refuses to write very long integers; that is the value's fault, said in our words."""
        value = nested_list(depth, 10 ** (sys.get_int_max_str_digits() + 1))
        with pytest.raises(NotLosslessError, match="no JSON text"):
            encode(value)


class TestMissing:
    def test_is_one_falsy_object(self) -> None:
        """There is one MISSING, whoever makes it, and it is not JSON."""
        assert Missing() is MISSING
        assert not MISSING
        assert repr(MISSING) == "MISSING"
        assert not is_json(MISSING)

    def test_survives_copies(self) -> None:
        """pickle and copy give the same object back."""
        assert pickle.loads(pickle.dumps(MISSING)) is MISSING
        assert copy.copy(MISSING) is MISSING
        assert copy.deepcopy([MISSING])[0] is MISSING


def sorted_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(item) for item in value] if isinstance(value, list) else value


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(item) for key, item in reversed(value.items())}
    return [reversed_keys(item) for item in value] if isinstance(value, list) else value
