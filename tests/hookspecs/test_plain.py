"""hookspecs.plain: frozen values made by their annotations, without generated code."""

from __future__ import annotations

import pytest

from hookspecs.plain import Plain


class Point(Plain):
    """Two needed fields and one that is not."""

    x: int
    y: int
    name: str = ""


class Other(Plain):
    """The same fields in another class."""

    x: int
    y: int
    name: str = ""


def test_fields_are_given_by_place_or_by_name():
    """What is not given is the default."""
    made = Point(1, y=2)
    assert (made.x, made.y, made.name) == (1, 2, "")


@pytest.mark.parametrize(
    ("values", "named"),
    [((), {}), ((1,), {}), ((1, 2, "a", 3), {}), ((1, 2), {"z": 3}), ((1,), {"x": 1, "y": 2}), ((), {"y": 1})],
)
def test_fields_that_do_not_fit_are_refused(values, named):
    """Missing, one too many, unknown, or given twice; the message says which fields there are."""
    with pytest.raises(TypeError, match=r"Point\(\) takes x, y, name"):
        Point(*values, **named)


def test_equality_is_by_class_and_fields():
    """Defaults count as if they were given; another class is another thing, and so is a tuple."""
    assert Point(1, 2) == Point(1, 2, "")
    assert hash(Point(1, 2)) == hash(Point(1, 2, ""))
    assert Point(1, 2) != Point(2, 1)
    assert Point(1, 2) != Other(1, 2)
    assert Point(1, 2) != (1, 2, "")


def test_nothing_can_be_changed():
    """Neither a field nor anything else."""
    made = Point(1, 2)
    with pytest.raises(AttributeError, match="frozen"):
        made.x = 3  # type: ignore[misc]
    with pytest.raises(AttributeError, match="frozen"):
        del made.x  # type: ignore[misc]
    assert made == Point(1, 2)


def test_a_copy_with_other_values():
    """The original stays; an unknown field is refused."""
    made = Point(1, 2)
    assert made.replaced(name="a") == Point(1, 2, "a")
    assert made == Point(1, 2)
    with pytest.raises(TypeError, match="takes x, y, name"):
        made.replaced(z=1)


def test_it_shows_its_fields():
    """As one would write it."""
    assert repr(Point(1, 2)) == "Point(x=1, y=2, name='')"
