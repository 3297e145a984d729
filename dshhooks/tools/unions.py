"""Unions in a schema language where exactly one branch must match (spec/core.md 1.7).

Branches are kept when no value fits two of them. Otherwise they are merged into one that accepts at least the same
values, and ``take`` finds the member: the first, in the order written, that accepts the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dshhooks.tools.shapes import ANY, Misfit, Shape, problems_of, whole
from dshhooks.tools.validation import compile_problems, describe

__all__ = ["choice_schema", "one_of", "union_shape"]

Schema = dict[str, Any]

_JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
_SCALARS = frozenset(_JSON_TYPES.values())


def choice_schema(values: Sequence[Any]) -> Schema | None:
    """Return the schema of a fixed set of scalars; ``None`` when one of them is not a JSON scalar."""
    groups: dict[str, list[Any]] = {}
    for value in values:
        kind = _JSON_TYPES.get(type(value))
        if kind is None:
            return None
        groups.setdefault(kind, []).append(value)
    if "number" in groups and "integer" in groups:
        groups["number"] += groups.pop("integer")
    branches = [{"type": kind} if kind == "null" else {"type": kind, "enum": group} for kind, group in groups.items()]
    return branches[0] if len(branches) == 1 else {"oneOf": branches}


def union_shape(members: Sequence[Shape]) -> Shape:
    """Return the shape of a union of two or more types."""
    members = _without_subsumed(members)
    if len(members) == 1:
        return members[0]
    schema, exact = one_of([member.schema for member in members])
    plain = all(member.plain for member in members)
    return Shape(schema, _taker(members, schema, exact), _giver(members), plain)


def _without_subsumed(members: Sequence[Shape]) -> list[Shape]:
    """Drop plain scalars another plain member accepts anyway: ``int`` with ``float``, ``Literal["a"]`` with ``str``."""
    distinct: list[Shape] = []
    for member in members:
        if not any(member.schema == other.schema and member.take is other.take for other in distinct):
            distinct.append(member)
    return [member for member in distinct if not any(_subsumes(other, member) for other in distinct)]


def _subsumes(wide: Shape, narrow: Shape) -> bool:
    kind, inner = wide.schema.get("type"), narrow.schema.get("type")
    if wide is narrow or not (wide.plain and narrow.plain) or kind not in _SCALARS or "enum" in wide.schema:
        return False
    return (kind == inner and "enum" in narrow.schema) or (kind == "number" and inner == "integer")


def _taker(members: Sequence[Shape], schema: Schema, exact: bool) -> Callable[[Any], Any] | None:
    if exact and all(member.take is None for member in members):
        return None
    kinds = [member.schema.get("type") for member in members]
    if exact and "number" not in kinds and _SCALARS.issuperset(kinds) and all(member.plain for member in members):
        return whole
    some = [member for member in members if member.schema.get("type") != "null"]
    if exact and len(some) == 1 and some[0].take is not None:
        inner = some[0].take
        return lambda value: None if value is None else inner(value)
    tried = [(compile_problems(member.schema), member.take) for member in members]

    def take(value: Any) -> Any:
        refused = []
        for problems, convert in tried:
            found = problems(value)
            if not found:
                try:
                    return convert(value) if convert else value
                except Exception as exc:  # noqa: BLE001 - the next member may accept it
                    found = tuple(problems_of(exc))
            refused.append(found)
        raise Misfit(_explained(refused))

    return take


def _explained(refused: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the problems of the one member whose own type the value has, else one problem for all of them."""
    near = [found for found in refused if found[0][0]]
    if len(near) == 1:
        return list(near[0])
    why = " | ".join(dict.fromkeys(describe(found[0], "it") for found in refused))
    return [((), f"matches none of the allowed forms: {why}")]


def _giver(members: Sequence[Shape]) -> Callable[[Any], Any] | None:
    # Each gives what is its own and leaves the rest, so all of them in turn give everything.
    gives = [member.give for member in sorted(members, key=lambda member: -member.rank) if member.give]

    def give(value: Any) -> Any:
        for one in gives:
            value = one(value)
        return value

    return give if gives else None


# -- schemas ---------------------------------------------------------------------------------------------------------


def one_of(schemas: Sequence[Schema]) -> tuple[Schema, bool]:
    """Return one schema for several, and whether it accepts exactly what they do."""
    branches: list[Schema] = []
    exact = True
    for schema in schemas:
        for branch in schema.get("oneOf", [schema]):
            if branch not in branches:
                branches.append(branch)
    if not all("type" in branch for branch in branches):
        return ANY.schema, False
    merged: list[Schema] = []
    for kind in _kinds(branches):
        alike = [branch for branch in branches if branch["type"] in kind]
        kept, same = _merged(alike)
        merged += kept
        exact = exact and same
    return (merged[0] if len(merged) == 1 else {"oneOf": merged}), exact


def _kinds(branches: Sequence[Schema]) -> list[tuple[str, ...]]:
    numbers = ("integer", "number")
    kinds = dict.fromkeys(numbers if branch["type"] in numbers else (branch["type"],) for branch in branches)
    return list(kinds)


def _merged(alike: Sequence[Schema]) -> tuple[list[Schema], bool]:
    """Merge branches of one type (integers and numbers are one) unless they are apart."""
    if len(alike) == 1:
        return list(alike), True
    kind = "number" if any(branch["type"] == "number" for branch in alike) else alike[0]["type"]
    if kind == "object":
        pairs = [(a, b) for index, a in enumerate(alike) for b in alike[index + 1 :]]
        return (list(alike), True) if all(_apart(a, b) for a, b in pairs) else ([{"type": "object"}], False)
    if kind == "array":
        return [{"type": "array"}], False  # the empty list is in all of them
    open_ended = [branch for branch in alike if "enum" not in branch]
    if open_ended:
        return [{"type": kind}], any(branch["type"] == kind for branch in open_ended)
    return [{"type": kind, "enum": list(dict.fromkeys(value for branch in alike for value in branch["enum"]))}], True


def _apart(one: Schema, other: Schema) -> bool:
    """Say whether surely no value fits both."""
    firsts, seconds = one.get("oneOf", [one]), other.get("oneOf", [other])
    return all(_branches_apart(first, second) for first in firsts for second in seconds)


def _branches_apart(one: Schema, other: Schema) -> bool:
    kinds = {one.get("type"), other.get("type")}
    if None in kinds:
        return False
    if len(kinds) == 2 and kinds != {"integer", "number"}:
        return True
    if "enum" in one and "enum" in other:
        return not any(value in other["enum"] for value in one["enum"])
    return kinds == {"object"} and (_lacks(one, other) or _lacks(other, one))


def _lacks(one: Schema, other: Schema) -> bool:
    """Say whether something ``other`` requires has no place in ``one``."""
    mine, theirs = one.get("properties", {}), other.get("properties", {})
    closed = one.get("additionalProperties", True) is False
    return any(_apart(mine[name], theirs[name]) if name in mine else closed for name in other.get("required", ()))
