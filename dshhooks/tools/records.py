"""Classes with fields, as objects of a schema: attrs classes and dataclasses (built by cattrs) and TypedDicts."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
from attrs import frozen

from dshhooks.tools.docstrings import Docs, read_docstring
from dshhooks.tools.shapes import Misfit, Shape, described, problems_of
from hookspecs.json import MISSING, is_json

__all__ = ["Field", "fields_of", "is_record", "is_typed_dict", "object_schema", "record_converter", "record_shape",
           "type_hints", "typed_dict_shape"]  # fmt: skip

_MARKERS = {typing.Required: True, typing.NotRequired: False, getattr(typing, "ReadOnly", None): None}


@frozen
class Field:
    """One field: its key in JSON, its annotation, whether it must be there, its default and description."""

    key: str
    annotation: Any
    required: bool
    default: Any = MISSING
    description: str = ""


def is_record(cls: Any) -> bool:
    """Say whether a class is an attrs class or a dataclass."""
    return isinstance(cls, type) and (attrs.has(cls) or dataclasses.is_dataclass(cls))


def is_typed_dict(cls: Any) -> bool:
    """Say whether a class is a TypedDict, of ``typing`` or ``typing_extensions``."""
    return isinstance(cls, type) and issubclass(cls, dict) and hasattr(cls, "__required_keys__")


def type_hints(thing: Any, local: Mapping[str, Any]) -> dict[str, Any]:
    """Return the annotations of a function or class, resolved; ``local`` is asked for what its module does not know.

    Raises:
        NameError: An annotation names something that cannot be found.
    """
    try:
        return typing.get_type_hints(thing, include_extras=True)
    except NameError:
        return typing.get_type_hints(thing, localns=dict(local), include_extras=True)


# -- fields ----------------------------------------------------------------------------------------------------------


def fields_of(cls: Any, local: Mapping[str, Any]) -> list[Field]:
    """Return the fields of a class that are part of its JSON, in order: those its constructor takes.

    Raises:
        NameError: An annotation names something that cannot be found.
    """
    docs = _class_docs(cls).entries
    if is_typed_dict(cls):
        return [_typed_dict_field(cls, *hint, docs) for hint in type_hints(cls, local).items()]
    return _attrs_fields(cls, local, docs) if attrs.has(cls) else _dataclass_fields(cls, local, docs)


def _attrs_fields(cls: Any, local: Mapping[str, Any], docs: Mapping[str, str]) -> list[Field]:
    try:
        attrs.resolve_types(cls)
    except NameError:
        attrs.resolve_types(cls, localns=dict(local))
    return [
        Field(
            field.alias,
            Any if field.type is None else field.type,
            field.default is attrs.NOTHING,
            field.default,
            field.metadata.get("description") or docs.get(field.alias) or docs.get(field.name, ""),
        )
        for field in attrs.fields(cls)
        if field.init
    ]


def _dataclass_fields(cls: Any, local: Mapping[str, Any], docs: Mapping[str, str]) -> list[Field]:
    hints, absent = type_hints(cls, local), dataclasses.MISSING
    return [
        Field(
            field.name,
            hints[field.name],
            field.default is absent and field.default_factory is absent,
            MISSING if field.default is absent else field.default,
            field.metadata.get("description") or docs.get(field.name, ""),
        )
        for field in dataclasses.fields(cls)
        if field.init
    ]


def _typed_dict_field(cls: Any, name: str, annotation: Any, docs: Mapping[str, str]) -> Field:
    required = name in cls.__required_keys__
    # Under `from __future__ import annotations` the class itself has not read its own markers.
    while (marker := typing.get_origin(annotation)) in _MARKERS and marker is not None:
        said = _MARKERS[marker]
        required = required if said is None else said
        (annotation,) = typing.get_args(annotation)
    return Field(name, annotation, required, description=docs.get(name, ""))


def _class_docs(cls: Any) -> Docs:
    doc = cls.__dict__.get("__doc__")
    # A dataclass without a docstring gets its signature as one.
    return read_docstring(None if doc and doc.startswith(f"{cls.__name__}(") else doc)


# -- shapes ----------------------------------------------------------------------------------------------------------


def object_schema(fields: Sequence[tuple[Field, Shape]]) -> dict[str, Any]:
    """Return the open object schema of fields: descriptions and JSON defaults included, empty ``required`` left out."""
    schema: dict[str, Any] = {"type": "object", "properties": {f.key: _property(f, shape) for f, shape in fields}}
    required = [field.key for field, _ in fields if field.required]
    return {**schema, "required": required} if required else schema


def _property(field: Field, shape: Shape) -> dict[str, Any]:
    schema = described(shape, field.description).schema
    default = shape.give(field.default) if shape.give else field.default
    return {**schema, "default": default} if is_json(default) else schema


def record_converter(shape_of: Callable[[Any], Shape]) -> Any:
    """Return a cattrs converter that builds classes and leaves the type of every field to its shape."""
    from cattrs import ClassValidationError, Converter
    from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

    def structure(annotation: Any) -> Any:
        take = shape_of(annotation).take
        return (lambda value, _: take(value)) if take else (lambda value, _: value)

    def unstructure(annotation: Any) -> Any:
        return shape_of(annotation).give or (lambda value: value)

    def build(cls: Any) -> Any:
        structure = make_dict_structure_fn(cls, converter, _cattrs_use_alias=True)
        keys = {field.name: field.alias for field in attrs.fields(cls)} if attrs.has(cls) else {}

        def built(value: Any, _: Any) -> Any:
            try:
                return structure(value, cls)
            except ClassValidationError as exc:
                noted, others = exc.group_exceptions()
                places: list[tuple[Exception, tuple[Any, ...]]] = [
                    (sub, (keys.get(note.name, note.name),)) for sub, note in noted
                ]
                places += [(sub, ()) for sub in others]
                raise Misfit(problem for sub, steps in places for problem in problems_of(sub, *steps)) from exc

        return built

    def take_apart(cls: Any) -> Any:
        return make_dict_unstructure_fn(cls, converter, _cattrs_use_alias=True)

    converter = Converter()
    converter.register_structure_hook_factory(is_record, build)
    converter.register_unstructure_hook_factory(is_record, take_apart)
    converter.register_structure_hook_factory(lambda annotation: not is_record(annotation), structure)
    converter.register_unstructure_hook_factory(lambda annotation: not is_record(annotation), unstructure)
    for exact in (str, int, float, bool):  # cattrs asks its own hooks first for these, and they convert
        converter.register_structure_hook(exact, structure(exact))
    return converter


def record_shape(cls: Any, fields: Sequence[tuple[Field, Shape]], converter: Any) -> Shape:
    """Return the shape of an attrs class or a dataclass."""
    structure, unstructure = converter.get_structure_hook(cls), converter.get_unstructure_hook(cls)

    def take(value: Any) -> Any:
        return structure(value, cls)

    def give(value: Any) -> Any:
        return unstructure(value) if isinstance(value, cls) else value

    return Shape(_closed(cls, fields), take, give, plain=False, rank=len(cls.__mro__))


def typed_dict_shape(cls: Any, fields: Sequence[tuple[Field, Shape]]) -> Shape:
    """Return the shape of a TypedDict; one whose values are plain JSON stays the frozen dict it came in."""
    takes = [(field.key, shape.take) for field, shape in fields if shape.take]
    gives = [(field.key, shape.give) for field, shape in fields if shape.give]
    plain = all(shape.plain for _, shape in fields)

    def take(value: Any) -> Any:
        taken, problems = {}, []
        for key, one in takes:
            if key in value:
                try:
                    taken[key] = one(value[key])
                except Exception as exc:  # noqa: BLE001 - it becomes a violation with its path
                    problems += problems_of(exc, key)
        if problems:
            raise Misfit(problems)
        changed = not plain or any(taken[key] is not value[key] for key in taken)
        return {**value, **taken} if changed else value

    def give(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {**value, **{key: one(value[key]) for key, one in gives if key in value}}

    return Shape(_closed(cls, fields), take if takes else None, give if gives else None, plain)


def _closed(cls: Any, fields: Sequence[tuple[Field, Shape]]) -> dict[str, Any]:
    schema = {**object_schema(fields), "additionalProperties": False}
    summary = _class_docs(cls).summary
    return {**schema, "description": summary} if summary else schema
