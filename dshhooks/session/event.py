"""One entry of a session log, and read-only views over many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar, overload

from attrs import frozen

from hookspecs.errors import SealedError
from hookspecs.json import freeze

if TYPE_CHECKING:
    from dshhooks.session.codec import Codec

__all__ = ["APPEND", "SURFACE_TYPES", "Event", "Replace", "SurfaceOp", "View", "surface_op_to_wire"]

APPEND: Final = "append"
SURFACE_TYPES: Final = frozenset({"user/message", "assistant/message", "tool/result", "steering/message"})

T = TypeVar("T")


@frozen
class Replace:
    """Replaces the surface nodes from seq ``start`` to seq ``end``, both included, with the event that carries it."""

    start: int
    end: int


SurfaceOp = str | Replace


def surface_op_to_wire(operation: SurfaceOp) -> Any:
    """Return a surface operation as JSON."""
    if isinstance(operation, Replace):
        return {"op": "replace", "start": operation.start, "end": operation.end}
    return operation


_set = object.__setattr__


class Event:
    """An immutable log entry.

    ``seq`` counts from 0; ``time`` is epoch milliseconds; ``surface_op`` and ``source_event_seqs`` stand only on the
    four surface types. ``data`` (the event class) and ``wire`` (its JSON) are made from each other on first use, so
    that opening a long session does not build what nobody looks at.
    """

    __slots__ = ("__weakref__", "_codec", "_data", "_wire", "seq", "source_event_seqs", "surface_op", "time", "type")

    seq: int
    type: str
    time: int
    surface_op: SurfaceOp | None
    source_event_seqs: tuple[int, ...] | None
    _data: Any
    _wire: Any
    _codec: Codec

    def __init__(
        self,
        seq: int,
        type: str,
        time: int,
        codec: Codec,
        *,
        data: Any = None,
        wire: Any = None,
        surface_op: SurfaceOp | None = None,
        source_event_seqs: tuple[int, ...] | None = None,
    ) -> None:
        _set(self, "seq", seq)
        _set(self, "type", type)
        _set(self, "time", time)
        _set(self, "_codec", codec)
        _set(self, "_data", data)
        _set(self, "_wire", wire)
        _set(self, "surface_op", surface_op)
        _set(self, "source_event_seqs", source_event_seqs)

    @property
    def data(self) -> Any:
        """The event class: ``TurnStart``, ``UserMessage``, …"""
        if self._data is None:
            _set(self, "_data", self._codec.from_wire(self.type, self._wire))
        return self._data

    @property
    def wire(self) -> Any:
        """The data as JSON, frozen, without the envelope."""
        wire = self.raw
        if type(wire) is dict or type(wire) is list:
            wire = freeze(wire)
            _set(self, "_wire", wire)
        return wire

    @property
    def raw(self) -> Any:
        """The data as JSON for a look inside this package: not frozen when it was just read from a store."""
        if self._wire is None:
            _set(self, "_wire", self._codec.to_wire(self._data))
        return self._wire

    def document(self) -> dict[str, Any]:
        """Return the event as it is written: the envelope with ``data`` and, on surface types, where it came from."""
        document: dict[str, Any] = {"type": self.type, "seq": self.seq, "time": self.time, "data": self.wire}
        if self.surface_op is not None:
            document["surfaceOp"] = surface_op_to_wire(self.surface_op)
        if self.source_event_seqs is not None:
            document["sourceEventSeqs"] = list(self.source_event_seqs)
        return document

    def __setattr__(self, attribute: str, _value: object) -> NoReturn:
        raise SealedError(f"event.{attribute} is sealed: a log is only ever appended to")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        return self._envelope() == other._envelope() and bool(self.wire == other.wire)

    def __hash__(self) -> int:
        return hash((self.seq, self.type, self.time))

    def _envelope(self) -> tuple[Any, ...]:
        return (self.seq, self.type, self.time, self.surface_op, self.source_event_seqs)

    def __repr__(self) -> str:
        return f"<Event {self.seq} {self.type}>"


class View(Sequence[T]):
    """The first ``length`` items of a list that only grows, behind an optional prefix; O(1) to make, immutable."""

    __slots__ = ("_items", "_length", "_prefix")

    def __init__(self, items: list[T], length: int | None = None, prefix: tuple[T, ...] = ()) -> None:
        self._items, self._prefix = items, prefix
        self._length = len(items) if length is None else length

    def __len__(self) -> int:
        return len(self._prefix) + self._length

    def __iter__(self) -> Iterator[T]:
        return chain(self._prefix, islice(self._items, self._length))

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...
    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        if isinstance(index, slice):
            return tuple(self[at] for at in range(*index.indices(len(self))))
        size = len(self)
        at = index + size if index < 0 else index
        if not 0 <= at < size:
            raise IndexError(f"index {index} is outside a view of {size}")
        head = len(self._prefix)
        return self._prefix[at] if at < head else self._items[at - head]

    def with_prefix(self, prefix: tuple[T, ...]) -> View[T]:
        """Return the same view with other items in front."""
        return View(self._items, self._length, prefix)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"View({list(self)!r})"


Validator = Callable[[Event], None]
