"""Does a value fit its schema, and if not, where not (spec/core.md 1.7).

A JSON-Schema library accepts what fits, fast. Everything else is settled by a walk of our own, which finds what is
wrong: the library converts the whole value to explain itself, and cannot read values that nest deep or hold lone
surrogates, both of which are legal here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final

from hookspecs.errors import NotLosslessError, error_message
from hookspecs.json import FrozenDict, FrozenList, freeze

__all__ = ["ANNOTATIONS", "Problem", "Problems", "compile_problems", "describe", "has_type", "path_text"]

Problem = tuple[tuple[str | int, ...], str]
"""Where in the value, and what it must be there."""

Problems = Callable[[Any], tuple[Problem, ...]]

ANNOTATIONS: Final = ("description", "title", "default", "examples")

# A model reads these: a list of ten thousand wrong items must not become ten thousand lines.
_LIMIT: Final = 50
_SHORT: Final = 200

_DICTS: Final = (FrozenDict, dict)
_LISTS: Final = (FrozenList, list)
_KINDS: Final = {"string": (str,), "boolean": (bool,), "null": (type(None),), "object": _DICTS, "array": _LISTS}


def compile_problems(schema: dict[str, Any]) -> Problems:
    """Return a function from any value to its problems, in walk order; empty: it fits.

    The function never raises, whatever the value is. At one level the walk meets missing names first, then declared
    properties in the order of the schema, then unknown names in the order of the value.
    """
    if not set(schema) - set(ANNOTATIONS):
        return _sealable
    # Compiled on first use: a process that never calls the tool does not pay for it.
    compiled: list[Any] = []

    def problems(value: Any) -> tuple[Problem, ...]:
        kind = type(value)
        if kind is not FrozenDict and kind is not FrozenList:
            found = _sealable(value)
            if found:
                return found
        try:
            if not compiled:
                compiled.append(_library_verdict(schema))
            if compiled[0](value):
                return ()
        except Exception:  # noqa: BLE001 - the library cannot read schema or value; the walk can
            pass
        return _limited(_walk(schema, value, ()))

    return problems


def _library_verdict(schema: dict[str, Any]) -> Callable[[Any], bool]:
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(schema).is_valid


def _sealable(value: Any) -> tuple[Problem, ...]:
    try:
        freeze(value)
    except NotLosslessError as exc:
        text = error_message(exc).replace(" at value: ", ": ", 1).replace(" at value.", " at ", 1)
        return (((), f"is {text}"),)
    return ()


def _limited(found: Iterator[Problem]) -> tuple[Problem, ...]:
    first = tuple(islice(found, _LIMIT))
    return first if next(found, None) is None else (*first, ((), "has more violations than are listed here"))


# -- the walk --------------------------------------------------------------------------------------------------------


def _walk(schema: dict[str, Any], value: Any, path: tuple[str | int, ...]) -> Iterator[Problem]:
    if "oneOf" in schema:
        yield from _one_of(schema["oneOf"], value, path)
        return
    kind = schema.get("type")
    if kind is None:
        return
    if not has_type(kind, value):
        yield path, f"must be of type {kind}"
    elif kind == "object":
        yield from _object(schema, value, path)
    elif kind == "array":
        items = schema.get("items", {})
        for index, item in enumerate(value if items else ()):
            yield from _walk(items, item, (*path, index))
    elif "enum" in schema and value not in schema["enum"]:
        yield path, f"must be one of {_shown(schema['enum'])}"
    elif "const" in schema and value != schema["const"]:
        yield path, f"must be {_shown([schema['const']])}"


def _object(schema: dict[str, Any], value: dict[str, Any], path: tuple[str | int, ...]) -> Iterator[Problem]:
    properties = schema.get("properties", {})
    yield from (((*path, name), "is required") for name in schema.get("required", ()) if name not in value)
    for name, child in properties.items():
        if name in value:
            yield from _walk(child, value[name], (*path, name))
    if schema.get("additionalProperties", True) is False:
        yield from (((*path, name), "is not a known property") for name in value if name not in properties)


def _one_of(branches: list[dict[str, Any]], value: Any, path: tuple[str | int, ...]) -> Iterator[Problem]:
    # Each branch is walked once and kept: walking the near one again would double the work at every level.
    found = [tuple(islice(_walk(branch, value, path), _LIMIT + 1)) for branch in branches]
    fitting = found.count(())
    if fitting > 1:
        yield path, "matches more than one of the allowed forms"
    if fitting:
        return
    near = [problems for branch, problems in zip(branches, found, strict=True) if has_type(branch.get("type"), value)]
    if len(near) == 1:
        yield from near[0]
    elif not near and all("type" in branch for branch in branches):
        yield path, f"must be of type {' or '.join(dict.fromkeys(branch['type'] for branch in branches))}"
    else:
        why = " | ".join(dict.fromkeys(describe(problems[0], "it") for problems in found))
        yield path, f"matches none of the allowed forms: {_cut(why)}"


def has_type(kind: Any, value: Any) -> bool:
    """Say whether a lossless JSON value is of a schema type; booleans are no numbers, ``2.0`` is an integer."""
    exact = type(value)
    if kind == "integer":
        return exact is int or (exact is float and value.is_integer())
    if kind == "number":
        return exact is int or exact is float
    return exact in _KINDS.get(kind, ())


# -- wording ---------------------------------------------------------------------------------------------------------


def describe(problem: Problem, root: str) -> str:
    """Return the sentence for a problem: ``servers[1].host is required``.

    Args:
        problem: Path and text.
        root: What the whole value is called, where the path does not begin with a name.
    """
    path, text = problem
    where = path_text(path)
    return f"{root if not where or where[0] == '[' else ''}{where} {text}"


def path_text(path: Iterable[str | int]) -> str:
    """Return ``servers[1].host`` for ``["servers", 1, "host"]``; a name that would be ambiguous is quoted."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.replace("-", "_").replace("$", "_").isidentifier():
            text += f".{_cut(step)}" if text else _cut(step)
        else:
            text += f"[{_cut(json.dumps(step))}]"
    return text


def _shown(values: list[Any]) -> str:
    try:
        return _cut(", ".join(json.dumps(value) for value in values))
    except ValueError:  # an integer of more digits than Python writes
        return "a number too long to show"


def _cut(text: str) -> str:
    return text if len(text) <= _SHORT else text[:_SHORT] + "…"
