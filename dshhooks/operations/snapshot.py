"""Freezing: what an operation's callbacks see, nobody can change any more (spec/operations.md 1.6).

Everything is frozen once and shared, instead of copied for each callback. A value that is immutable already is kept,
the same object; a value that could change is copied; one that is neither is refused by its type's name.
"""

from __future__ import annotations

import datetime
import decimal
import pathlib
import uuid
from copy import copy
from enum import Enum
from functools import lru_cache
from typing import Any, Final

import attrs

from dshhooks.operations.errors import SnapshotError
from hookspecs.errors import NotLosslessError
from hookspecs.json import FrozenDict, FrozenList, Missing
from hookspecs.json import freeze as freeze_json
from hookspecs.signal import CancelSignal

__all__ = ["freeze"]

_AS_THEY_ARE: Final = frozenset({
    str, int, bool, float, complex, bytes, type(None), type(...), Missing, FrozenDict, FrozenList,
    datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone, decimal.Decimal, uuid.UUID,
    pathlib.PurePosixPath, pathlib.PureWindowsPath, type(pathlib.Path()),
})  # fmt: skip

# Read-only for everybody but its source; and an enumeration's members are constants.
_AND_SUBCLASSES: Final = (Enum, CancelSignal)

_DEEPEST: Final = 200
_SET: Final = object.__setattr__


def freeze(value: Any) -> Any:
    """Return a value nobody can change through what they were given.

    Frozen attrs classes are frozen field by field, whatever fields they have; ``list`` and ``dict`` become frozen JSON,
    tuples stay tuples. Absent, ``None`` and empty stay what they are (C2).

    Raises:
        SnapshotError: Somewhere in it is a value that could change and that nobody here knows how to copy.
    """
    return _freeze(value, 0)


def _freeze(value: Any, depth: int) -> Any:
    kind: Any = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if depth > _DEEPEST:
        raise SnapshotError("a payload is nested too deep, or contains itself")
    if kind is tuple:
        frozen = tuple([_freeze(item, depth + 1) for item in value])
        return value if _same(frozen, value) else frozen
    if kind is dict or kind is list:
        return _json(value)
    names = _fields(kind)
    if names is not None:
        return _instance(value, names, depth)
    if kind is frozenset:
        return frozenset(_freeze(item, depth + 1) for item in value)
    if kind is bytearray:
        return bytes(value)
    if issubclass(kind, _AND_SUBCLASSES):
        return value
    raise _unknown(kind)


def _instance(value: Any, names: tuple[str, ...], depth: int) -> Any:
    old = [getattr(value, name) for name in names]
    new = [_freeze(item, depth + 1) for item in old]
    if _same(new, old):
        return value
    # Not through __init__: it might convert, and nothing may be lost (C3).
    frozen = copy(value)
    for name, item in zip(names, new, strict=True):
        _SET(frozen, name, item)
    return frozen


def _same(new: Any, old: Any) -> bool:
    return all(a is b for a, b in zip(new, old, strict=True))


def _json(value: Any) -> Any:
    try:
        return freeze_json(value)
    except NotLosslessError:
        raise SnapshotError(f"a {type(value).__name__} in a payload is not lossless JSON") from None


def _unknown(kind: type) -> SnapshotError:
    # By its class only: to look at the value would be to run its code.
    is_block = isinstance(getattr(kind, "kind", None), str) or attrs.has(kind)
    name = kind.__name__
    return SnapshotError(
        f"a {name} in a payload cannot be frozen; make it a frozen attrs class or JSON",
        "unknown_block" if is_block else "unknown_conversation",
    )


@lru_cache(maxsize=1024)
def _fields(kind: Any) -> tuple[str, ...] | None:
    """Return the fields of a class whose instances attrs keeps from being assigned to, or ``None``."""
    if "__attrs_attrs__" not in kind.__dict__ or kind.__setattr__ is not _FROZEN_SETATTR:
        return None
    if issubclass(kind, BaseException):  # an exception can be changed whatever its class says
        return None
    return tuple(attribute.name for attribute in attrs.fields(kind))


@attrs.frozen
class _Example:
    pass


_FROZEN_SETATTR: Final[Any] = _Example.__setattr__
