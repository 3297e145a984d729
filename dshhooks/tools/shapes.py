"""Shapes: what a type is in a schema, how its JSON becomes the Python value, and how that becomes JSON again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from operator import is_
from typing import Any, Final

from attrs import evolve, frozen

from dshhooks.tools.validation import Problem, compile_problems
from hookspecs.errors import error_message

__all__ = ["ANY", "Misfit", "Shape", "described", "dict_shape", "fixed_tuple_shape", "list_shape", "problems_of",
           "scalar", "text_shape", "whole"]  # fmt: skip

Convert = Callable[[Any], Any]


class Misfit(ValueError):
    """JSON that fits the schema and not the type; every problem with its path."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"{len(self.problems)} problems")


@frozen
class Shape:
    """One type.

    Args:
        schema: What the model reads; every JSON value the type accepts fits it.
        take: JSON that fits the schema to the Python value; ``None``: it is that value already.
        give: A Python value to JSON; what is no instance of the type is passed through, so that the output schema and
            not this function judges it. ``None``: values are JSON already.
        plain: What ``take`` returns is JSON, so a container of such values may stay the frozen one it is.
        rank: Among the types of a union, the higher gives first: a subclass before its base.
    """

    schema: dict[str, Any]
    take: Convert | None = None
    give: Convert | None = None
    plain: bool = True
    rank: int = 0


ANY: Final = Shape({})


def whole(value: Any) -> Any:
    """Return an ``int`` for a float; anything else as it is. For places where the schema has said integer."""
    return int(value) if type(value) is float else value  # 2.0 is a legal integer in JSON, and no int in Python


def scalar(kind: str) -> Shape:
    """Return the shape of a JSON scalar type."""
    return Shape({"type": kind}, whole if kind == "integer" else None)


def text_shape(cls: type, read: Convert, write: Convert, description: str = "") -> Shape:
    """Return the shape of a class whose JSON is a string.

    Args:
        cls: The class; ``give`` leaves anything else as it is.
        read: From the string; may raise.
        write: To the string.
        description: What the string looks like.
    """

    def take(value: Any) -> Any:
        try:
            return read(value)
        except (ValueError, ArithmeticError) as exc:
            raise Misfit([((), f"must be an {description or cls.__name__}")]) from exc

    def give(value: Any) -> Any:
        return write(value) if isinstance(value, cls) else value

    shape = Shape({"type": "string"}, take, give, plain=False, rank=len(cls.__mro__))
    return described(shape, description)


def described(shape: Shape, description: str) -> Shape:
    """Return the shape with a description; an empty one changes nothing."""
    return evolve(shape, schema={**shape.schema, "description": description}) if description else shape


# -- containers ------------------------------------------------------------------------------------------------------


def list_shape(item: Shape, make: Callable[[list[Any]], Any] = list) -> Shape:
    """Return the shape of a homogeneous collection.

    Args:
        item: Of each element.
        make: ``list``: plain elements stay in the frozen list they came in. Any other class is always built.
    """
    schema = {"type": "array", "items": item.schema} if item.schema else {"type": "array"}
    if make is not list:
        return Shape(schema, lambda value: make(_taken(item.take, value)), _giver(item), plain=False)
    give = _giver(item) if item.give else None
    if item.take is None:
        return Shape(schema, None, give)

    def take(value: Any) -> Any:
        taken = _taken(item.take, value)
        return value if item.plain and all(map(is_, taken, value)) else taken

    return Shape(schema, take, give, item.plain)


def _taken(take: Convert | None, items: Sequence[Any]) -> list[Any]:
    if take is None:
        return list(items)
    try:
        return [take(item) for item in items]
    except Exception as exc:  # a class may raise anything; once more, to name every element it refuses
        problems = [problem for index, item in enumerate(items) for problem in _refusals(take, item, index)]
        if problems:
            raise Misfit(problems) from exc
        raise


def _refusals(take: Convert, value: Any, step: str | int) -> list[Problem]:
    try:
        take(value)
    except Exception as exc:  # noqa: BLE001 - it becomes a violation with its path
        return problems_of(exc, step)
    return []


def _giver(item: Shape) -> Convert:
    give = item.give

    def given(value: Any) -> Any:
        if isinstance(value, AbstractSet):
            value = _ordered(value)
        elif not isinstance(value, (list, tuple)):
            return value
        return [give(element) for element in value] if give else list(value)

    return given


def _ordered(items: AbstractSet[Any]) -> list[Any]:
    """Return a set's elements in an order that does not change from run to run, when they have one."""
    try:
        return sorted(items)
    except TypeError:
        return list(items)


def fixed_tuple_shape(items: Sequence[Shape]) -> Shape:
    """Return the shape of a tuple with one type for each place; the subset has no such array, so ``take`` checks."""
    schemas = [item.schema for item in items]
    same = schemas[0] if all(schema == schemas[0] for schema in schemas) else {}
    checks = [compile_problems(item.schema) for item in items]
    gives = [item.give for item in items]

    def take(value: Any) -> Any:
        if len(value) != len(items):
            raise Misfit([((), f"must have exactly {len(items)} items")])
        places = zip(items, checks, value, strict=True)
        found = [(index, _fitted(item.take, check, part)) for index, (item, check, part) in enumerate(places)]
        problems = [((index, *path), text) for index, (bad, _) in found for path, text in bad]
        if problems:
            raise Misfit(problems)
        return tuple(part for _, (_, part) in found)

    def give(value: Any) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) != len(gives):
            return value
        return [one(part) if one else part for one, part in zip(gives, value, strict=True)]

    return Shape({"type": "array", "items": same} if same else {"type": "array"}, take, give, plain=False)


def dict_shape(item: Shape) -> Shape:
    """Return the shape of a dict with ``str`` keys; the subset cannot say what its values are, so ``take`` checks."""
    schema = {"type": "object"}
    if not item.schema and item.take is None:
        return Shape(schema, None, _dict_giver(item.give))
    check = compile_problems(item.schema)

    def take(value: Any) -> Any:
        found = {key: _fitted(item.take, check, part) for key, part in value.items()}
        problems = [((key, *path), text) for key, (bad, _) in found.items() for path, text in bad]
        if problems:
            raise Misfit(problems)
        taken = {key: part for key, (_, part) in found.items()}
        return value if item.plain and all(map(is_, taken.values(), value.values())) else taken

    return Shape(schema, take, _dict_giver(item.give), item.plain)


def _dict_giver(give: Convert | None) -> Convert | None:
    if give is None:
        return None

    def given(value: Any) -> Any:
        return {key: give(part) for key, part in value.items()} if isinstance(value, dict) else value

    return given


def _fitted(take: Convert | None, check: Any, value: Any) -> tuple[Sequence[Problem], Any]:
    """Return the problems of a value the outer schema says nothing about, and the value taken."""
    problems = check(value)
    if problems or take is None:
        return problems, value
    try:
        return (), take(value)
    except Exception as exc:  # noqa: BLE001 - it becomes a violation with its path
        return problems_of(exc), None


# -- problems --------------------------------------------------------------------------------------------------------


def problems_of(exc: BaseException, *steps: str | int) -> list[Problem]:
    """Return what an exception of a ``take`` says, every path below ``steps``."""
    if isinstance(exc, Misfit):
        return [((*steps, *path), text) for path, text in exc.problems]
    # attrs validators raise with a sentence first and objects after it.
    text = exc.args[0] if len(exc.args) > 1 and isinstance(exc.args[0], str) else error_message(exc)
    return [(steps, f"is not accepted: {text or type(exc).__name__}")]
