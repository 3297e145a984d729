"""The supported schema subset, and validation against it by a JSON-Schema library (spec/core.md 1.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hookspecs.errors import JsonSchemaError
from hookspecs.json import is_json

__all__ = ["Validator", "check_schema", "compile_schema", "path_text", "schema_violations"]

Validator = Callable[[Any], tuple[str, ...]]

_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_SCALARS = ("string", "number", "integer", "boolean", "null")
_ANNOTATIONS = ("description", "title", "default", "examples")
_BY_TYPE = {"object": ("properties", "required", "additionalProperties"), "array": ("items",)}


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
    allowed = (*_ANNOTATIONS, "type", "oneOf", *_keywords(kind))
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
    if not is_json(value):
        return False
    if kind in ("number", "integer"):
        number = type(value) in (int, float)
        return number and (kind == "number" or float(value).is_integer())
    return type(value) is {"string": str, "boolean": bool, "null": type(None)}[kind]


def compile_schema(schema: dict[str, Any], root: str) -> Validator:
    """Return a function from a lossless value to its violations, in walk order; empty: it fits.

    Args:
        schema: A schema of the subset.
        root: What the value is called in messages about all of it, for example ``"arguments"``.
    """
    if not set(schema) - set(_ANNOTATIONS):
        return _anything
    # Compiled on first use: a process that never calls the tool does not pay for it.
    compiled: list[Any] = []

    def validate(value: Any) -> tuple[str, ...]:
        if not compiled:
            compiled.append(_library_validator(schema))
        validator = compiled[0]
        try:
            if validator.is_valid(value):
                return ()
        except UnicodeEncodeError:
            return validate(_without_surrogates(value))
        return tuple(text for error in validator.iter_errors(value) for text in _texts(error, root))

    return validate


def _anything(_value: Any) -> tuple[str, ...]:
    return ()


def _library_validator(schema: dict[str, Any]) -> Any:
    import jsonschema_rs

    return jsonschema_rs.Draft202012Validator(_without_surrogates(schema))


def _without_surrogates(value: Any) -> Any:
    """Replace lone surrogates, which the library's UTF-8 cannot hold; they are legal strings (decisions.md 7.7)."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value


def _texts(error: Any, root: str) -> Iterator[str]:
    path, kind = list(error.instance_path), error.kind
    name = type(kind).__name__
    where = path_text(path) or root
    if name == "Required":
        yield f"{path_text([*path, kind.property])} is required"
    elif name == "AdditionalProperties":
        yield from (f"{path_text([*path, key])} is not a known property" for key in kind.unexpected)
    elif name == "Type":
        yield f"{where} must be of type {' or '.join(kind.types)}"
    elif name == "Enum":
        yield f"{where} must be one of {_short(kind.options)}"
    elif name == "Constant":
        yield f"{where} must be {_short(kind.expected_value)}"
    elif name == "OneOfMultipleValid":
        yield f"{where} matches more than one of the allowed forms"
    elif name == "OneOfNotValid":
        yield f"{where} matches none of the allowed forms"
    else:
        yield f"{where}: {_short(error.message)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 200 else text[:200] + "…"


def path_text(path: list[str | int]) -> str:
    """Return ``servers[1].host`` for ``["servers", 1, "host"]``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text
