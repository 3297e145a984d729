"""The signature of a tool function: its parameters as a schema, and the arguments of a call as keyword arguments."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any

from attrs import frozen

from dshhooks.tools.annotations import AnnotationReader
from dshhooks.tools.docstrings import read_docstring
from dshhooks.tools.records import Field, object_schema, type_hints
from dshhooks.tools.schema import check_schema, compile_schema
from dshhooks.tools.shapes import ANY, Shape, problems_of
from dshhooks.tools.validation import describe
from hookspecs.errors import ToolArgsError
from hookspecs.execution import ToolExecution
from hookspecs.json import MISSING

__all__ = ["Signature", "read_signature"]

Bind = Callable[[Any, Any], Mapping[str, Any]]


@frozen
class Signature:
    """What a function says about itself.

    Args:
        parameters: The schema a model reads: an open object, as spec/core.md 1.7 has it.
        violations: Of arguments. Stricter than the schema in one thing: a name the function does not know is one,
            because a misspelt argument that is silently dropped misleads a model more than a refusal does.
        bind: ``bind(args, exec)`` returns the keyword arguments of a call.
        output: Of the value.
        description: First paragraph of the docstring.
        method: The function still waits for its ``self``.
    """

    parameters: dict[str, Any]
    violations: Callable[[Any], tuple[str, ...]]
    bind: Bind
    output: Shape
    description: str
    method: bool


def read_signature(fn: Callable[..., Any], where: str, local: Mapping[str, Any]) -> Signature:
    """Read a function.

    Args:
        fn: The function, bound method, partial or callable object.
        where: What to call it in messages.
        local: Names of the scope it was decorated in.

    Raises:
        TypeError: A parameter or annotation cannot be part of a schema; says which and what to do.
    """
    if inspect.isgeneratorfunction(_plain(fn)) or inspect.isasyncgenfunction(_plain(fn)):
        raise TypeError(f"{where} is a generator, and a tool has one value: return a list")
    hints = _hints(fn, where, local)
    reader = AnnotationReader(local)
    docs = read_docstring(inspect.getdoc(_plain(fn)))
    contexts, fields, method = [], [], False
    for index, parameter in enumerate(_parameters(fn, where)):
        annotation = hints.get(parameter.name, Any)
        if index == 0 and _is_self(fn, parameter, hints):
            method = True
        elif _is_context(annotation):
            contexts.append(parameter.name)
        else:
            _refuse_uncallable(parameter, where)
            shape = reader.read(annotation, f"{where}, parameter {parameter.name!r}")
            fields.append((_field(parameter, annotation, docs.entries), shape))
    parameters = object_schema(fields)
    check_schema(parameters, f"parameters of {where}")
    violations = compile_schema({**parameters, "additionalProperties": False}, "arguments")
    takes = tuple((field.key, shape.take) for field, shape in fields if shape.take)
    output = reader.read(hints["return"], f"{where}, return annotation") if "return" in hints else ANY
    return Signature(parameters, violations, _binder(violations, takes, tuple(contexts)), output, docs.summary, method)


def _field(parameter: Parameter, annotation: Any, docs: Mapping[str, str]) -> Field:
    required = parameter.default is Parameter.empty
    # What the annotation says about this very parameter stands above the docstring.
    own = typing.get_origin(annotation) is typing.Annotated and any(isinstance(x, str) for x in annotation.__metadata__)
    description = "" if own else docs.get(parameter.name, "")
    return Field(parameter.name, annotation, required, MISSING if required else parameter.default, description)


# -- looking at the function -----------------------------------------------------------------------------------------


def _plain(fn: Any) -> Any:
    """Return the function that carries annotations and docstring: inside partials, behind ``__call__``."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return fn if inspect.isroutine(fn) or hasattr(fn, "__wrapped__") else type(fn).__call__


def _hints(fn: Any, where: str, local: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return type_hints(_plain(fn), local)
    except NameError as exc:
        raise TypeError(
            f"{where}: an annotation cannot be resolved: {exc}; define or import that name at module level "
            "(not under TYPE_CHECKING)"
        ) from exc


def _parameters(fn: Any, where: str) -> list[Parameter]:
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except ValueError as exc:
        raise TypeError(f"{where}: its signature cannot be read ({exc}); wrap it in a function of your own") from exc
    bound = {name for partial in _partials(fn) for name in partial.keywords}
    return [parameter for parameter in parameters if parameter.name not in bound]


def _partials(fn: Any) -> typing.Iterator[functools.partial[Any]]:
    while isinstance(fn, functools.partial):
        yield fn
        fn = fn.func


def _is_self(fn: Any, parameter: Parameter, hints: Mapping[str, Any]) -> bool:
    """Say whether this first parameter is what a method in a class body will be bound to."""
    scope, _, _ = getattr(fn, "__qualname__", "").rpartition(".")
    in_class = bool(scope) and not scope.endswith("<locals>")
    return in_class and inspect.isfunction(fn) and parameter.name in ("self", "cls") and parameter.name not in hints


def _is_context(annotation: Any) -> bool:
    """Say whether a parameter receives the execution: ``ToolRunContext``, ``ToolExecution``, or one of them or None."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = [member for member in typing.get_args(annotation) if member is not type(None)]
        return all(map(_is_context, members))
    return isinstance(annotation, type) and issubclass(annotation, ToolExecution)


def _refuse_uncallable(parameter: Parameter, where: str) -> None:
    if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
        stars = "*" if parameter.kind is Parameter.VAR_POSITIONAL else ""
        stars = "**" if parameter.kind is Parameter.VAR_KEYWORD else stars
        hint = "remove the '/'" if not stars else "name each argument, or take one list or dict"
        raise TypeError(
            f"{where}: parameter {stars}{parameter.name} is {parameter.kind.description}, and a tool's arguments have "
            f"names: {hint}"
        )


# -- binding ---------------------------------------------------------------------------------------------------------


def _binder(
    violations: Callable[[Any], tuple[str, ...]],
    takes: tuple[tuple[str, Callable[[Any], Any]], ...],
    contexts: tuple[str, ...],
) -> Bind:
    """Return ``bind``. Everything is settled here: a call looks at no annotation, and copies only what must change."""

    def bind(args: Any, execution: Any) -> Mapping[str, Any]:
        found = violations(args)
        if found:
            raise ToolArgsError("; ".join(found), found)
        changed: dict[str, Any] = {}
        for name, take in takes:
            if name in args:
                before = args[name]
                try:
                    after = take(before)
                except Exception as exc:  # whatever a class raises about its data, the data is wrong
                    raise _refused(args, takes, exc) from exc
                if after is not before:
                    changed[name] = after
        for name in contexts:
            changed[name] = execution
        return {**args, **changed} if changed else args

    return bind


def _refused(args: Any, takes: tuple[tuple[str, Callable[[Any], Any]], ...], first: Exception) -> ToolArgsError:
    """Return the error that names every argument whose type refuses it, not only the first."""
    found: list[str] = []
    for name, take in takes:
        try:
            take(args[name]) if name in args else None
        except Exception as exc:  # noqa: BLE001 - as in bind
            found += [describe(problem, "arguments") for problem in problems_of(exc, name)]
    found = found or [describe(problem, "arguments") for problem in problems_of(first)]
    return ToolArgsError("; ".join(found), tuple(found))
