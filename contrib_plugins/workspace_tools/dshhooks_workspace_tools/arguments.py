"""Checking a call's arguments against a tool's parameters, as far as these tools' schemas go: flat, scalar types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dshhooks import ToolArgsError

__all__ = ["checked"]


def checked(arguments: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the known arguments, ready to be passed as keywords.

    An optional argument that is null counts as absent, an unknown one is ignored: models send both.

    Args:
        arguments: What the call brought.
        parameters: The tool's parameter schema.

    Raises:
        ToolArgsError: ``INVALID_ARGS``, with one violation for each argument that is missing or of the wrong type.
    """
    if not isinstance(arguments, Mapping):
        raise ToolArgsError("arguments must be of type object", ("arguments must be of type object",))
    required = parameters.get("required", ())
    given = {k: v for k, v in arguments.items() if v is not None or k in required}
    violations = [f"{name} is required" for name in required if name not in given]
    known: dict[str, Any] = {}
    for name, schema in parameters["properties"].items():
        if name in given:
            known[name] = _converted(given[name], schema["type"])
            if known[name] is None:
                violations.append(f"{name} must be of type {schema['type']}")
    if violations:
        raise ToolArgsError("; ".join(violations), tuple(violations))
    return known


def _converted(value: Any, kind: str) -> Any:
    """Return the value as its Python type; None when it is of another type."""
    if kind == "string":
        return value if isinstance(value, str) else None
    if kind == "boolean" or isinstance(value, bool):
        return value if kind == "boolean" and isinstance(value, bool) else None
    if not isinstance(value, (int, float)):
        return None
    if kind == "integer":
        return int(value) if value == int(value) else None
    return value
