"""Annotations to shapes: which Python types a tool's parameters and value may have.

=============================================  =======================================================================
annotation                                     schema; what the function receives
=============================================  =======================================================================
``str`` ``bool`` ``float`` ``None``            the JSON type; a ``float`` may be given an ``int``, as typing allows
``int``                                        ``integer``; always an ``int``, also for ``2.0``
``Any`` ``object``, none                       ``{}``; the JSON value, containers frozen
``Literal[...]``                               ``enum``; members of several JSON types: ``oneOf``
an ``Enum`` of JSON scalars                    ``enum`` of the values; the member
``list[T]`` ``Sequence[T]`` and kin            ``array``; the call's frozen list if ``T`` is plain JSON, else a list
``tuple[T, ...]`` ``set[T]`` ``frozenset[T]``  ``array``; that class
``tuple[A, B]``                                ``array``; length and places are checked when the call is made
``dict[str, T]`` ``Mapping[str, T]``           open ``object``; the values are checked when the call is made
attrs class, dataclass, ``TypedDict``          closed ``object``; the instance, or the dict
``A | B`` ``Optional[T]``                      ``oneOf``, or one merged schema where a value could fit two branches
``Path`` ``datetime`` ``date`` ``time``
``UUID`` ``Decimal``                           ``string``; the instance
``Annotated[T, "text"]`` ``NewType``           as ``T``; the text is the description
=============================================  =======================================================================

A class that contains itself has no schema, because the subset has no references.
"""

from __future__ import annotations

import collections.abc as abc
import types
import typing
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path, PurePath
from typing import Any, Literal, NoReturn
from uuid import UUID

from dshhooks.tools.records import (
    fields_of,
    is_record,
    is_typed_dict,
    record_converter,
    record_shape,
    typed_dict_shape,
)
from dshhooks.tools.shapes import (
    ANY,
    Shape,
    described,
    dict_shape,
    fixed_tuple_shape,
    list_shape,
    scalar,
    text_shape,
    whole,
)
from dshhooks.tools.unions import choice_schema, union_shape

__all__ = ["AnnotationReader"]

_SUPPORTED = (
    "str, int, float, bool, None, Any, Literal, Enum, list, Sequence, tuple, set, dict[str, T], unions, attrs classes, "
    "dataclasses, TypedDict, Annotated, NewType, Path, datetime, date, time, UUID, Decimal"
)

_LEAVES: Mapping[Any, Shape] = {
    Any: ANY, object: ANY,
    str: scalar("string"), int: scalar("integer"), float: scalar("number"), bool: scalar("boolean"),
    None: scalar("null"), type(None): scalar("null"),
    Path: text_shape(PurePath, Path, str), PurePath: text_shape(PurePath, PurePath, str),
    datetime: text_shape(datetime, datetime.fromisoformat, datetime.isoformat, "ISO 8601 date and time"),
    date: text_shape(date, date.fromisoformat, date.isoformat, "ISO 8601 date"),
    time: text_shape(time, time.fromisoformat, time.isoformat, "ISO 8601 time"),
    UUID: text_shape(UUID, UUID, str, "identifier (UUID)"),
    Decimal: text_shape(Decimal, Decimal, str, "exact decimal number"),
}  # fmt: skip

_LISTS = (list, abc.Sequence, abc.Collection, abc.Iterable)
_BUILT = {set: set, frozenset: frozenset, abc.Set: frozenset}
_DICTS = (dict, abc.Mapping)


class AnnotationReader:
    """Reads the annotations of one function.

    Args:
        local: Names of the scope the function was defined in, for annotations its module cannot resolve.
    """

    def __init__(self, local: Mapping[str, Any]) -> None:
        self._local = local
        self._open: list[Any] = []  # classes being read: one that comes up again contains itself
        self._records: dict[Any, Shape] = {}
        self._converter: Any = None

    def read(self, annotation: Any, where: str) -> Shape:
        """Return the shape of an annotation.

        Args:
            annotation: Resolved, not a string.
            where: Function and parameter, for the message.

        Raises:
            TypeError: The annotation has no schema; the message says where and what is supported.
        """
        origin = typing.get_origin(annotation)
        if origin is not None:
            return self._generic(annotation, origin, typing.get_args(annotation), where)
        if isinstance(annotation, typing.NewType):
            return self.read(annotation.__supertype__, where)
        if isinstance(annotation, getattr(typing, "TypeAliasType", ())):  # `type X = ...`, from Python 3.12 on
            return self.read(getattr(annotation, "__value__"), where)  # noqa: B009 - unknown to a 3.11 type checker
        if isinstance(annotation, type) or annotation in (None, Any):
            return self._class(annotation, where)
        _unsupported(annotation, where)

    def _class(self, cls: Any, where: str) -> Shape:
        if cls in _LEAVES:
            return _LEAVES[cls]
        if cls in _LISTS or cls is tuple or cls in _BUILT:
            return list_shape(ANY, tuple if cls is tuple else _BUILT.get(cls, list))
        if cls in _DICTS:
            return dict_shape(ANY)
        if issubclass(cls, Enum):
            return _enum(cls, where)
        if is_record(cls) or is_typed_dict(cls):
            if cls not in self._records:
                self._records[cls] = self._fields(cls, where)
            return self._records[cls]
        _unsupported(cls, where)

    def _generic(self, annotation: Any, origin: Any, args: tuple[Any, ...], where: str) -> Shape:
        if origin is typing.Annotated:
            text = next((extra for extra in args[1:] if isinstance(extra, str)), "")
            return described(self.read(args[0], where), text)
        if origin is Literal:
            return _literal(annotation, args, where)
        if origin in (typing.Union, types.UnionType):
            return union_shape([self.read(member, where) for member in args])
        if origin is tuple:
            return self._tuple(annotation, args, where)
        if origin in _LISTS or origin in _BUILT:
            return list_shape(self.read(args[0], where), _BUILT.get(origin, list))
        if origin in _DICTS:
            key = self.read(args[0], where)
            if not key.plain or "enum" in key.schema or key.schema.get("type", "string") != "string":
                raise TypeError(f"{where}: keys of a JSON object are str, not {_shown(args[0])}")
            return dict_shape(self.read(args[1], where))
        _unsupported(annotation, where)

    def _tuple(self, annotation: Any, args: tuple[Any, ...], where: str) -> Shape:
        if len(args) == 2 and args[1] is Ellipsis:
            return list_shape(self.read(args[0], where), tuple)
        if not args:
            _unsupported(annotation, where)
        return fixed_tuple_shape([self.read(arg, where) for arg in args])

    def _fields(self, cls: Any, where: str) -> Shape:
        if cls in self._open:
            raise TypeError(
                f"{where}: class {cls.__qualname__} contains itself, and a schema without references cannot say that; "
                "annotate the inner field as Any, or pass a flat list with ids"
            )
        self._open.append(cls)
        try:
            with_shapes = [
                (field, self.read(field.annotation, f"{where}, field {cls.__qualname__}.{field.key}"))
                for field in fields_of(cls, self._local)
            ]
            return self._record(cls, with_shapes)
        except NameError as exc:
            raise TypeError(
                f"{where}: an annotation of class {cls.__qualname__} cannot be resolved: {exc}; define that name, and "
                "the class, at module level (not under TYPE_CHECKING)"
            ) from exc
        finally:
            self._open.pop()

    def _record(self, cls: Any, with_shapes: Any) -> Shape:
        if is_typed_dict(cls):
            return typed_dict_shape(cls, with_shapes)
        if self._converter is None:
            self._converter = record_converter(partial(self.read, where="a field"))
        return record_shape(cls, with_shapes, self._converter)


def _literal(annotation: Any, args: tuple[Any, ...], where: str) -> Shape:
    members = {arg.value: arg for arg in args if isinstance(arg, Enum)}
    schema = choice_schema([arg.value if isinstance(arg, Enum) else arg for arg in args])
    if schema is None:
        _unsupported(annotation, where)
    if not members:
        return Shape(schema, whole if int in map(type, args) else None)
    kind = type(next(iter(members.values())))
    take = partial(_member_or_itself, members)
    return Shape(schema, take, _enum_giver(kind), plain=False, rank=len(kind.__mro__))


def _member_or_itself(members: Mapping[Any, Enum], value: Any) -> Any:
    return members.get(value, value)


def _enum(cls: type[Enum], where: str) -> Shape:
    schema = choice_schema([member.value for member in cls]) if len(cls) else None
    if schema is None:
        raise TypeError(f"{where}: the values of enum {cls.__qualname__} must be JSON scalars, and at least one")
    return Shape(schema, cls, _enum_giver(cls), plain=False, rank=len(cls.__mro__))


def _enum_giver(cls: type[Enum]) -> Callable[[Any], Any]:
    return lambda value: value.value if isinstance(value, cls) else value


def _unsupported(annotation: Any, where: str) -> NoReturn:
    raise TypeError(f"{where}: {_shown(annotation)} has no JSON schema; supported are {_SUPPORTED}")


def _shown(annotation: Any) -> str:
    return annotation.__qualname__ if isinstance(annotation, type) else str(annotation)
