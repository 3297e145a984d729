"""The base of frozen values: they behave like those attrs would have written (decisions 3.8)."""

from __future__ import annotations

import copy
import pickle
import weakref
from typing import Any

import pytest
from attrs import evolve, field, frozen
from attrs.exceptions import FrozenInstanceError
from hypothesis import given
from hypothesis import strategies as st

from hookspecs.record import Record


@frozen(eq=False, repr=False)
class Ours(Record):
    """A value on the base."""

    text: Any
    number: Any = 0
    secret: Any = field(default="", repr=False)


@frozen(eq=False, repr=False)
class Other(Record):
    """Another class with the same fields."""

    text: Any
    number: Any = 0
    secret: Any = ""


@frozen
class Theirs:
    """The same value as attrs writes it."""

    text: Any
    number: Any = 0
    secret: Any = field(default="", repr=False)


# Without NaN, two of which are not equal anywhere.
VALUES = st.none() | st.integers(0, 2) | st.text("ab", max_size=1) | st.tuples(st.integers(0, 1))


@given(st.lists(VALUES, min_size=3, max_size=3), st.lists(VALUES, min_size=3, max_size=3))
def test_values_compare_and_show_as_those_of_attrs(first, second):
    """Equality, inequality, and the text but for the name."""
    assert (Ours(*first) == Ours(*second)) == (Theirs(*first) == Theirs(*second))
    assert (Ours(*first) != Ours(*second)) == (Theirs(*first) != Theirs(*second))
    assert repr(Ours(*first)) == repr(Theirs(*first)).replace("Theirs", "Ours")


@given(st.lists(VALUES, min_size=3, max_size=3))
def test_equal_values_have_the_same_hash(values):
    """They are found in sets and mappings."""
    assert {Ours(*values)} == {Ours(*values), Ours(*values)}


def test_what_cannot_be_hashed_makes_no_hash():
    """As in a tuple."""
    with pytest.raises(TypeError, match="unhashable"):
        hash(Ours([]))


def test_another_class_is_not_equal():
    """Though its fields are; a subclass is another class too, and may compare as it likes."""

    class Below(Ours):
        pass

    assert Ours("a") != Other("a")
    assert Below("a") != Ours("a")
    assert Ours("a") != ("a", 0, "")


def test_nothing_is_changed():
    """Neither set nor added, nor deleted."""
    value = Ours("a")
    for change in (
        lambda: setattr(value, "text", "b"),
        lambda: setattr(value, "new", 1),
        lambda: delattr(value, "text"),
    ):
        with pytest.raises(FrozenInstanceError):
            change()
    assert not hasattr(value, "__dict__")


def test_values_are_copied_pickled_referred_to_and_matched():
    """What attrs does for its slotted classes beside."""
    value = Ours("a", (1,))
    assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == evolve(Ours("b", (1,)), text="a") == value
    assert weakref.ref(value)() is value
    match value:
        case Ours(text, number):
            assert (text, number) == ("a", (1,))


def test_a_value_that_contains_itself_is_shown():
    """Not for ever."""
    inside: list[Any] = []
    value = Ours(inside)
    inside.append(value)
    assert repr(value) == "Ours(text=[...], number=0)"
