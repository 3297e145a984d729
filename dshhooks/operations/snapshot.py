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
from functools import partial
from operator import attrgetter, is_
from typing import Any, Final, TypeVar
from weakref import ref

import attrs

from dshhooks.operations.errors import SnapshotError
from dshhooks.operations.kinds import Operation, Outcome
from hookspecs.errors import NotLosslessError
from hookspecs.json import FrozenDict, FrozenList, Missing
from hookspecs.json import freeze as freeze_json
from hookspecs.signal import CancelSignal
from hookspecs.values import Message

__all__ = ["freeze", "freeze_each", "freeze_with", "only_plain", "shown_again"]

_AS_THEY_ARE: Final = frozenset({
    str, int, bool, float, complex, bytes, type(None), type(...), Missing, FrozenDict, FrozenList,
    datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone, decimal.Decimal, uuid.UUID,
    pathlib.PurePosixPath, pathlib.PureWindowsPath, type(pathlib.Path()), Operation, Outcome,
})  # fmt: skip

# Read-only for everybody but its source; and an enumeration's members are constants.
_AND_SUBCLASSES: Final = (Enum, CancelSignal)

# What is shown again and again: every request holds the messages before it.
_SHOWN_AGAIN: Final[set[type]] = {Message}
# Of those, the ones that were found to be frozen through and through. By id: an entry goes before its object does.
_intact: Final[dict[int, ref[Any] | None]] = {}

# Fields that hold blocks: what nobody knows in there is one, whatever its class looks like.
_OF_BLOCKS: Final = frozenset({"content", "blocks"})

_DEEPEST: Final = 200
_CLASSES: Final = 1024

_Freezer = Callable[[Any, int], Any]
T = TypeVar("T")
_SET: Final = object.__setattr__


def shown_again(*kinds: type) -> None:
    """Say of classes that the same instances are frozen often; that one needs no copy is remembered while it lives."""
    _SHOWN_AGAIN.update(kinds)
    _HOW.clear()


def freeze(value: Any) -> Any:
    """Return a value nobody can change through what they were given.

    Frozen attrs classes are frozen field by field, whatever fields they have; ``list`` and ``dict`` become frozen JSON,
    tuples stay tuples. Absent, ``None`` and empty stay what they are (C2).

    Raises:
        SnapshotError: Somewhere in it is a value that could change and that nobody here knows how to copy.
    """
    kind = type(value)
    return value if kind in _AS_THEY_ARE or id(value) in _intact else _HOW[kind](value, 0)


def freeze_each(values: dict[str, Any]) -> dict[str, Any]:
    """Return frozen values under the same names.

    Raises:
        SnapshotError: As for :func:`freeze`.
    """
    return {name: value if type(value) in _AS_THEY_ARE else freeze(value) for name, value in values.items()}


def freeze_with(value: T, grown: tuple[Any, ...], before: tuple[Any, ...]) -> T:
    """Freeze a value that holds a tuple which most likely begins as the one before it, that was frozen: a conversation.

    Args:
        value: What to freeze.
        grown: The tuple in it.
        before: One that was frozen, and is still held by the caller.

    Raises:
        SnapshotError: As for :func:`freeze`.
    """
    known = len(before) if len(before) <= len(grown) and all(map(is_, before, grown)) else 0
    intact = all([freeze(item) is item for item in grown[known:]])
    if not intact or id(grown) in _intact:
        return freeze(value)  # type: ignore[no-any-return]  # of the same class
    _intact[id(grown)] = None  # for this one look, during which nobody else gets its id
    try:
        return freeze(value)  # type: ignore[no-any-return]  # likewise
    finally:
        del _intact[id(grown)]


def only_plain(value: Any) -> bool:
    """Say whether an object without slots holds texts, numbers and the like and nothing else: a quick look."""
    fields = getattr(value, "__dict__", None)
    return fields is not None and _AS_THEY_ARE.issuperset(map(type, fields.values()))


def _tuple(value: tuple[Any, ...], depth: int) -> tuple[Any, ...]:
    if depth > _DEEPEST:
        raise _too_deep()
    changed: dict[int, Any] | None = None
    for item in value:
        kind = type(item)
        if kind in _AS_THEY_ARE or id(item) in _intact:
            continue
        frozen = _HOW[kind](item, depth + 1)
        if frozen is not item:
            changed = {**(changed or {}), id(item): frozen}
    return tuple([changed.get(id(item), item) for item in value]) if changed else value


class _Fields:
    """How the instances of one frozen attrs class are frozen."""

    __slots__ = ("_again", "_names", "_read", "_todo")

    def __init__(self, kind: type, names: tuple[str, ...]) -> None:
        self._names, self._again = names, kind in _SHOWN_AGAIN
        # attrgetter gives a tuple for two names and more; the name of a single field is given twice.
        self._read: Callable[[Any], Any] = attrgetter(*names) if len(names) > 1 else attrgetter(*names, *names)
        # By the classes of all fields: the fields that take a look. Instances of a class come in few kinds.
        self._todo: dict[tuple[type, ...], list[tuple[str, int, _Freezer]]] = {}

    def frozen(self, value: Any, depth: int) -> Any:
        """Return an instance with frozen fields: the same one, if they are frozen already."""
        items = self._read(value)
        kinds = tuple(map(type, items))
        todo = self._todo.get(kinds)
        if todo is None:
            todo = self._look(kinds)
        changed: dict[str, Any] | None = None
        for name, at, how in todo:
            if id(items[at]) in _intact:
                continue
            if depth > _DEEPEST:
                raise _too_deep()
            try:
                frozen = how(items[at], depth + 1)
            except SnapshotError as exc:
                if name in _OF_BLOCKS:
                    exc.kind = "unknown_block"
                raise
            if frozen is not items[at]:
                changed = {**(changed or {}), name: frozen}
        if changed is not None:
            return _with(value, changed)
        if self._again:
            _remember(value)
        return value

    def _look(self, kinds: tuple[type, ...]) -> list[tuple[str, int, _Freezer]]:
        if len(self._todo) >= _CLASSES:
            self._todo.clear()
        fields = enumerate(zip(self._names, kinds, strict=False))  # a single field was read twice
        found = [(name, at, _HOW[kind]) for at, (name, kind) in fields if kind not in _AS_THEY_ARE]
        todo = self._todo[kinds] = [entry for entry in found if entry[2] is not _same]
        return todo


def _remember(value: Any) -> None:
    key = id(value)
    _intact[key] = ref(value, partial(_intact.pop, key))  # called with the reference, which pop takes as its default


def _with(value: Any, changed: dict[str, Any]) -> Any:
    # Not through __init__: it might convert, and nothing may be lost (C3).
    new = copy(value)
    for name, item in changed.items():
        _SET(new, name, item)
    return new


def _json(value: Any, _depth: int) -> Any:
    try:
        return freeze_json(value)
    except NotLosslessError:
        raise SnapshotError(f"a {type(value).__name__} in a payload is not lossless JSON") from None


def _same(value: Any, _depth: int) -> Any:
    return value


class _Freezers(dict[type, _Freezer]):
    """How a value of a class is frozen; found out when the first one is met."""

    def __missing__(self, kind: Any) -> _Freezer:
        if len(self) >= _CLASSES:  # classes come and go
            self.clear()
        how = self[kind] = self._found(kind)
        return how

    def _found(self, kind: Any) -> _Freezer:
        if kind is tuple:
            return _tuple
        if kind is dict or kind is list:
            return _json
        if _is_frozen(kind):
            names = tuple(attribute.name for attribute in attrs.fields(kind))
            return _Fields(kind, names).frozen if names else _same
        if kind is frozenset:
            return lambda value, depth: frozenset(_tuple(tuple(value), depth))
        if kind is bytearray:
            return lambda value, _depth: bytes(value)
        if issubclass(kind, _AND_SUBCLASSES):
            return _same
        return _unknown


_HOW: Final = _Freezers()


def _too_deep() -> SnapshotError:
    return SnapshotError("a payload is nested too deep, or contains itself")


def _unknown(value: Any, _depth: int) -> Any:
    # By its class only: to look at the value would be to run its code.
    kind = type(value)
    raise SnapshotError(
        f"a {kind.__name__} in a payload cannot be frozen; make it a frozen attrs class or JSON",
        "unknown_block" if isinstance(getattr(kind, "kind", None), str) else "unknown_conversation",
    )


def _is_frozen(kind: Any) -> bool:
    """Say whether attrs keeps the fields of a class from being assigned to."""
    if "__attrs_attrs__" not in kind.__dict__ or kind.__setattr__ is not _FROZEN_SETATTR:
        return False
    return not issubclass(kind, BaseException)  # an exception can be changed whatever its class says


@attrs.frozen
class _Example:
    pass


_FROZEN_SETATTR: Final[Any] = _Example.__setattr__
