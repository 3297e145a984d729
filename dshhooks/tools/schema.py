"""The supported schema subset, and the violations of a value against it (spec/core.md 1.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dshhooks.tools.validation import ANNOTATIONS, compile_problems, describe, has_type
from hookspecs.errors import JsonSchemaError
from hookspecs.json import is_json

__all__ = ["Validator", "check_schema", "compile_schema", "schema_violations"]

Validator = Callable[[Any], tuple[str, ...]]

_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_SCALARS = ("string", "number", "integer", "boolean", "null")
_BY_TYPE = {"object": ("properties", "required", "additionalProperties"), "array": ("items",)}

# What a model reads and a validator must walk; values may nest as deep as they like.
_LEVELS = 64


def check_schema(schema: Any, what: str) -> None:
    """Refuse a schema outside the subset.

    Args:
        schema: The candidate.
        what: What it is for, in the message: ``"output schema of tool 'x'"``.

    Raises:
        JsonSchemaError: ``UNSUPPORTED_SCHEMA``, listing every violation.
    """
    found = tuple(schema_violations(schema))
    if found:
        raise JsonSchemaError(f"{what} is outside the supported subset: {'; '.join(found)}", found)


def schema_violations(schema: Any) -> Iterator[str]:
    """Yield every way in which ``schema`` leaves the subset, each with its path; never raises."""
    todo: list[tuple[str, Any, tuple[int, ...]]] = [("schema", schema, ())]
    while todo:
        path, node, ancestors = todo.pop(0)
        if not isinstance(node, dict):
            yield f"{path} must be an object, not {type(node).__name__}"
        elif id(node) in ancestors:
            yield f"{path} contains itself"
        elif len(ancestors) >= _LEVELS:
            yield f"{_short(path)} nests deeper than {_LEVELS} levels"
        else:
            yield from _node(path, node)
            todo[:0] = [(where, child, (*ancestors, id(node))) for where, child in _children(path, node)]


def _children(path: str, node: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    properties = node.get("properties")
    if isinstance(properties, dict):
        yield from ((f"{path}.properties.{name}", child) for name, child in properties.items())
    if "items" in node:
        yield f"{path}.items", node["items"]
    branches = node.get("oneOf")
    if isinstance(branches, list):
        yield from ((f"{path}.oneOf[{index}]", child) for index, child in enumerate(branches))


def _node(path: str, node: dict[str, Any]) -> Iterator[str]:
    kind = node.get("type")
    if "type" in node and (not isinstance(kind, str) or kind not in _TYPES):
        yield f"{path}.type must be one of {', '.join(_TYPES)}"
        kind = None
    if "type" in node and "oneOf" in node:
        yield f"{path} has both type and oneOf"
    if "oneOf" in node and not (isinstance(node["oneOf"], list) and len(node["oneOf"]) >= 2):
        yield f"{path}.oneOf needs a list of at least two branches"
    allowed = (*ANNOTATIONS, "type", "oneOf", *_keywords(kind))
    yield from (f"{path}.{key} is not supported here" for key in node if key not in allowed)
    yield from _annotations(path, node)
    if kind == "object":
        yield from _object(path, node)
    elif kind in _SCALARS:
        yield from _scalar(path, node, kind)


def _keywords(kind: Any) -> tuple[str, ...]:
    return ("enum", "const") if kind in _SCALARS else _BY_TYPE.get(kind, ()) if isinstance(kind, str) else ()


def _annotations(path: str, node: dict[str, Any]) -> Iterator[str]:
    for key in ("description", "title"):
        if key in node and not isinstance(node[key], str):
            yield f"{path}.{key} must be a string"
    for key in ("default", "examples"):
        if key in node and not is_json(node[key]):
            yield f"{path}.{key} must be lossless JSON"


def _object(path: str, node: dict[str, Any]) -> Iterator[str]:
    properties = node.get("properties", {})
    if not isinstance(properties, dict):
        yield f"{path}.properties must be an object"
        properties = {}
    yield from (f"{path}.properties has the name {name!r}, not a str" for name in properties if type(name) is not str)
    required = node.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        yield f"{path}.required must be a list of names"
    else:
        yield from (f"{path}.required names undeclared {name!r}" for name in required if name not in properties)
    if "additionalProperties" in node and not isinstance(node["additionalProperties"], bool):
        yield f"{path}.additionalProperties must be true or false"


def _scalar(path: str, node: dict[str, Any], kind: str) -> Iterator[str]:
    enum = node.get("enum")
    if "enum" in node:
        if not isinstance(enum, list) or not enum:
            yield f"{path}.enum must be a non-empty list"
            enum = None
        else:
            yield from (f"{path}.enum[{i}] is no {kind}" for i, item in enumerate(enum) if not _is(kind, item))
    if "const" in node:
        if not _is(kind, node["const"]):
            yield f"{path}.const is no {kind}"
        elif enum is not None and node["const"] not in enum:
            yield f"{path}.const is not in enum"


def _is(kind: str, value: Any) -> bool:
    return has_type(kind, value) and is_json(value)


def _short(path: str) -> str:
    return path if len(path) <= 80 else f"{path[:40]}...{path[-37:]}"


def compile_schema(schema: dict[str, Any], root: str) -> Validator:
    """Return a function from any value to its violations, in walk order; empty: it fits. The function never raises.

    Args:
        schema: A schema of the subset.
        root: What the value is called in messages about all of it, for example ``"arguments"``.
    """
    problems = compile_problems(schema)

    def validate(value: Any) -> tuple[str, ...]:
        found = problems(value)
        return tuple(describe(problem, root) for problem in found) if found else ()

    return validate
