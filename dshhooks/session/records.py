"""What stores write and read: headers and events as JSON records, checked when they come back.

A known event's data is structured when somebody looks at it; here only what the log itself leans on is checked, so that
opening a long session stays cheap.
"""

from __future__ import annotations

import os
from typing import Any, Final

from dshhooks.session.codec import Codec
from dshhooks.session.event import APPEND, SURFACE_TYPES, Event, Replace, SurfaceOp
from dshhooks.session.log import FORMAT_VERSION, SessionHeader
from dshhooks.session.text import dumps
from hookspecs.errors import HarnessError

__all__ = ["BadRecord", "Reader", "check_header", "event_text", "header_from_wire", "header_to_wire"]

SAFE_INT: Final = 2**53 - 1

_OPTIONAL: Final = (("cwd", "cwd"), ("parentSession", "parent_session"), ("seedLength", "seed_length"))
_HEADER_KEYS: Final = frozenset(
    {"type", "version", "id", "createdAt", "delegationDepth", *(wire for wire, _ in _OPTIONAL)}
)
_STEP: Final = (("turn", int), ("step", int))
_SHAPES: Final[dict[str, tuple[tuple[str, type], ...]]] = {
    "turn/start": (("turn", int), ("trigger", dict)),
    "turn/end": (("turn", int), ("reason", dict)),
    "step/start": _STEP,
    "step/end": _STEP,
    "assistant/chunk": (*_STEP, ("chunk", dict)),
    "assistant/message": (*_STEP, ("content", list), ("provenance", dict)),
    "tool/call": (*_STEP, ("callId", str)),
    "tool/result": (*_STEP, ("callId", str), ("content", list), ("isError", bool)),
    "user/message": (("content", list), ("source", dict)),
    "steering/message": (("content", list), ("source", dict)),
    "request/header": (("header", dict),),
}


class BadRecord(ValueError):
    """A record that is no event, or not this one."""


def check_header(header: SessionHeader) -> SessionHeader:
    """Return the header if a store can keep it.

    Raises:
        HarnessError: ``SESSION_FORMAT`` for a version nobody here knows, ``INVALID_HEADER``.
    """
    if header.version != FORMAT_VERSION or type(header.version) is not int:
        raise HarnessError(
            f"session {header.id!r} has format version {header.version!r}; this release reads {FORMAT_VERSION}: "
            "open it with the release that wrote it",
            "SESSION_FORMAT",
        )
    optional = (header.cwd, header.parent_session)
    texts = isinstance(header.id, str) and all(text is None or isinstance(text, str) for text in optional)
    numbers = (header.created_at, header.delegation_depth, 0 if header.seed_length is None else header.seed_length)
    if not texts or not all(type(number) is int and 0 <= number <= SAFE_INT for number in numbers):
        raise HarnessError(f"{header!r} is no session header", "INVALID_HEADER")
    if header.cwd is not None and not os.path.isabs(header.cwd):
        raise HarnessError(f"session {header.id!r}: cwd must be absolute, not {header.cwd!r}", "INVALID_HEADER")
    return header


def header_to_wire(header: SessionHeader) -> dict[str, Any]:
    """Return the header's record; what is ``None`` is absent."""
    optional = {wire: getattr(header, name) for wire, name in _OPTIONAL if getattr(header, name) is not None}
    return {
        "type": "session",
        "version": header.version,
        "id": header.id,
        "createdAt": header.created_at,
        **optional,
        "delegationDepth": header.delegation_depth,
    }


def header_from_wire(record: Any) -> SessionHeader:
    """Return the header a record stands for.

    Raises:
        BadRecord: It is none.
        HarnessError: ``SESSION_FORMAT``.
    """
    if not isinstance(record, dict) or record.get("type") != "session":
        raise BadRecord("it is no session header")
    if type(record.get("version")) is int and record["version"] != FORMAT_VERSION:
        check_header(SessionHeader(str(record.get("id")), 0, record["version"]))
    if not record.keys() <= _HEADER_KEYS or any(record.get(wire, ...) is None for wire, _ in _OPTIONAL):
        raise BadRecord("the session header has parts that do not belong there")
    try:
        optional = {name: record[wire] for wire, name in _OPTIONAL if wire in record}
        return check_header(
            SessionHeader(
                record["id"],
                record["createdAt"],
                record["version"],
                delegation_depth=record.get("delegationDepth", 0),
                **optional,
            )
        )
    except (KeyError, HarnessError) as exc:
        raise BadRecord(f"the session header does not fit: {exc}") from exc


def event_text(event: Event) -> str:
    """Return the event's record as one line of JSON, without the line's end."""
    return dumps(event.document())


class Reader:
    """Makes events from records.

    Args:
        codec: What structures their data later on.
    """

    def __init__(self, codec: Codec) -> None:
        self._codec = codec

    def record(self, record: Any, seq: int | None) -> Event:
        """Return the event of a record of the line format; ``seq`` is the one it must have, if any.

        Raises:
            BadRecord: It is none, or another one.
        """
        try:
            kind, found, time, data = record["type"], record["seq"], record["time"], record["data"]
        except (KeyError, TypeError, IndexError):
            raise BadRecord("it is no event record") from None
        if len(record) == 4:
            return self.event(kind, found, time, data, seq)
        operation, sources = record.get("surfaceOp"), record.get("sourceEventSeqs")
        if len(record) != 4 + (operation is not None) + (sources is not None):
            raise BadRecord("it has parts that do not belong into an event")
        return self.event(kind, found, time, data, seq, operation, sources)

    def event(
        self, kind: Any, found: Any, time: Any, data: Any, seq: int | None, operation: Any = None, sources: Any = None
    ) -> Event:
        """Return the event of a record's parts, as :meth:`record` does."""
        if type(kind) is not str or type(found) is not int or type(time) is not int or not 0 <= time <= SAFE_INT:
            raise BadRecord("type, seq or time do not fit")
        if found != seq and seq is not None:
            raise BadRecord(f"it has seq {found} where {seq} belongs")
        if kind in SURFACE_TYPES:
            operation = _surface_op(operation)
            sources = None if sources is None else _sources(sources)
        elif operation is not None or sources is not None:
            raise BadRecord(f"{kind} is no surface event")
        if kind in _SHAPES:
            self._check(kind, data)
        return Event(found, kind, time, self._codec, wire=data, surface_op=operation, source_event_seqs=sources)

    def _check(self, kind: str, data: Any) -> None:
        if type(data) is not dict:
            raise BadRecord(f"{kind} needs an object")
        for key, wanted in _SHAPES[kind]:
            if type(data.get(key)) is not wanted:
                raise BadRecord(f"{kind} needs {key}")
        if kind == "turn/end":
            try:
                self._codec.from_wire(kind, data)
            except Exception as exc:
                raise BadRecord(f"{kind} does not fit") from exc
        elif kind == "request/header":
            _model_of(kind, data["header"].get("config"))
        elif kind == "assistant/message":
            _model_of(kind, data["provenance"])


def _model_of(kind: str, data: Any) -> None:
    if type(data) is not dict or type(data.get("provider")) is not str or type(data.get("model")) is not str:
        raise BadRecord(f"{kind} needs a provider and a model")


def _surface_op(value: Any) -> SurfaceOp:
    if value == APPEND:
        return APPEND
    if type(value) is dict and value.keys() == {"op", "start", "end"} and value["op"] == "replace":
        start, end = value["start"], value["end"]
        if type(start) is int and type(end) is int:
            return Replace(start, end)
    raise BadRecord("a surface event needs surfaceOp")


def _sources(value: Any) -> tuple[int, ...]:
    if type(value) is not list or not all(type(seq) is int for seq in value):
        raise BadRecord("sourceEventSeqs must be seqs")
    return tuple(value)
