"""Freezing: what an operation's callbacks see, nobody can change any more (spec/operations.md 1.6).

Everything is frozen once and shared, instead of copied for each callback. A value that is immutable already is kept,
the same object; a value that could change is copied; one that is neither is refused by its type's name.
"""

from __future__ import annotations

import datetime
import decimal
import pathlib
import uuid
from collections.abc import Callable
from copy import copy
from enum import Enum
from functools import lru_cache
from operator import attrgetter, is_
from typing import Any, Final
from weakref import ref

import attrs

from dshhooks.operations.errors import SnapshotError
from dshhooks.operations.kinds import Operation, Outcome
from hookspecs.errors import NotLosslessError
from hookspecs.json import FrozenDict, FrozenList, Missing
from hookspecs.json import freeze as freeze_json
from hookspecs.signal import CancelSignal
from hookspecs.values import Message

__all__ = ["freeze", "only_plain", "shown_again"]

_AS_THEY_ARE: Final = {
    str, int, bool, float, complex, bytes, type(None), type(...), Missing, FrozenDict, FrozenList,
    datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone, decimal.Decimal, uuid.UUID,
    pathlib.PurePosixPath, pathlib.PureWindowsPath, type(pathlib.Path()), Operation, Outcome,
}  # fmt: skip

# Read-only for everybody but its source; and an enumeration's members are constants. Those met join the others.
_AND_SUBCLASSES: Final = (Enum, CancelSignal)

# What is shown again and again: every request holds the messages before it, every operation of a step its place.
_SHOWN_AGAIN: Final[set[type]] = {Message}
# Of those, the ones that were found to be frozen through and through. By id: an entry goes before its object does.
_intact: Final[dict[int, ref[Any]]] = {}

_DEEPEST: Final = 200
_SET: Final = object.__setattr__


def shown_again(*kinds: type) -> None:
    """Say of classes that the same instances are frozen often; that one needs no copy is remembered while it lives."""
    _SHOWN_AGAIN.update(kinds)


def freeze(value: Any) -> Any:
    """Return a value nobody can change through what they were given.

    Frozen attrs classes are frozen field by field, whatever fields they have; ``list`` and ``dict`` become frozen JSON,
    tuples stay tuples. Absent, ``None`` and empty stay what they are (C2).

    Raises:
        SnapshotError: Somewhere in it is a value that could change and that nobody here knows how to copy.
    """
    return value if id(value) in _intact else _freeze(value, 0)


def only_plain(value: Any) -> bool:
    """Say whether an object without slots holds texts, numbers and the like and nothing else: a quick look."""
    return _AS_THEY_ARE.issuperset(map(type, vars(value).values()))


def _freeze(value: Any, depth: int) -> Any:
    kind: Any = type(value)
    if kind in _AS_THEY_ARE or id(value) in _intact:
        return value
    if depth > _DEEPEST:
        raise SnapshotError("a payload is nested too deep, or contains itself")
    if kind is tuple:
        return _tuple(value, depth + 1)
    if kind is dict or kind is list:
        return _json(value)
    known = _fields(kind)
    if known is not None:
        return _instance(value, kind, *known, depth + 1)
    if kind is frozenset:
        return frozenset(_freeze(item, depth + 1) for item in value)
    if kind is bytearray:
        return bytes(value)
    if issubclass(kind, _AND_SUBCLASSES):
        _AS_THEY_ARE.add(kind)
        return value
    raise _unknown(kind)


def _tuple(value: tuple[Any, ...], depth: int) -> tuple[Any, ...]:
    if not value:
        return value
    if len(value) == 1:  # as most content is
        frozen = _freeze(value[0], depth)
        return value if frozen is value[0] else (frozen,)
    # A conversation is shown again with every request, and all of it but its end was shown before.
    new = [item for item in value if id(item) not in _intact]
    changed = {id(item): frozen for item in new if (frozen := _freeze(item, depth)) is not item}
    return tuple([changed.get(id(item), item) for item in value]) if changed else value


def _instance(value: Any, kind: type, names: tuple[str, ...], read: Callable[[Any], Any], depth: int) -> Any:
    items = read(value)
    if not _AS_THEY_ARE.issuperset(map(type, items)):  # one look, and done with most
        frozen = [_freeze(item, depth) for item in items]
        if not all(map(is_, frozen, items)):
            return _with(value, names, frozen)
    if kind in _SHOWN_AGAIN:
        key = id(value)
        _intact[key] = ref(value, lambda _gone: _intact.pop(key, None))
    return value


def _with(value: Any, names: tuple[str, ...], items: list[Any]) -> Any:
    # Not through __init__: it might convert, and nothing may be lost (C3).
    new = copy(value)
    for name, item in zip(names, items, strict=True):
        _SET(new, name, item)
    return new


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
def _fields(kind: Any) -> tuple[tuple[str, ...], Callable[[Any], Any]] | None:
    """Return the fields, and what reads them, of a class that attrs keeps from being assigned to; or ``None``."""
    if "__attrs_attrs__" not in kind.__dict__ or kind.__setattr__ is not _FROZEN_SETATTR:
        return None
    if issubclass(kind, BaseException):  # an exception can be changed whatever its class says
        return None
    names = tuple(attribute.name for attribute in attrs.fields(kind))
    if len(names) < 2:  # attrgetter gives a tuple for two names and more
        return names, (lambda value: (getattr(value, names[0]),)) if names else lambda _value: ()
    return names, attrgetter(*names)


@attrs.frozen
class _Example:
    pass


_FROZEN_SETATTR: Final[Any] = _Example.__setattr__
