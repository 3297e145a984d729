"""Between event classes and what stands in a log: camelCase keys, tags, milliseconds; absent is not null.

cattrs does the walking; this says how unions are told apart and which fields are spelled differently.
"""

from __future__ import annotations

import functools
import operator
import types
import typing
from typing import Any, get_args, get_origin

import attrs
import cattrs
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from dshhooks.session.events import AbortedEnd, TurnEndReason, TurnTrigger
from dshhooks.session.variants import Union, Variants
from hookspecs.json import MISSING, Missing, freeze
from hookspecs.model import FinishReason, LlmFailure, StreamChunk
from hookspecs.values import ContentBlock, MessageSource

__all__ = ["Codec"]

_UNIONS: dict[Any, str] = {
    ContentBlock: "content-block",
    MessageSource: "message-source",
    FinishReason: "finish-reason",
    TurnTrigger: "turn-trigger",
    TurnEndReason: "turn-end-reason",
}
_CHUNKS = {chunk.kind: chunk for chunk in get_args(StreamChunk)}


class Codec:
    """Structures and unstructures event data by the variants known at the time."""

    def __init__(self, variants: Variants) -> None:
        self._variants = variants
        self._keys: dict[type, str] = {}
        self._version = -1
        self._converter = cattrs.Converter()

    def to_wire(self, data: Any) -> Any:
        """Return an event's data as a JSON object, without its type; an unknown event's as it was read."""
        if isinstance(data, self._variants.unions["session-event"].unknown):
            return data.data  # type: ignore[attr-defined]
        return self._current().unstructure(data)

    def from_wire(self, event_type: str, data: Any) -> Any:
        """Return the event class of ``event_type`` made from a JSON object, or an ``UnknownEvent`` holding it.

        Raises:
            cattrs.BaseValidationError: A known type with data that does not fit.
        """
        union = self._variants.unions["session-event"]
        kind = union.members.get(event_type)
        return union.unknown(event_type, freeze(data)) if kind is None else self._current().structure(data, kind)

    def value_to_wire(self, value: Any) -> Any:
        """Return any value of the vocabulary (a message, a header, a block) as JSON."""
        return self._current().unstructure(value)

    def value_from_wire(self, data: Any, kind: Any) -> Any:
        """Return a value of the vocabulary from JSON."""
        return self._current().structure(data, kind)

    def _current(self) -> cattrs.Converter:
        if self._version != self._variants.version:
            self._version = self._variants.version
            self._converter = self._build()
        return self._converter

    def _build(self) -> cattrs.Converter:
        self._keys = {
            member: union.key
            for union in self._variants.unions.values()
            if union.name != "session-event"
            for member in union.members.values()
        } | dict.fromkeys(_CHUNKS.values(), "type")
        converter = cattrs.Converter()
        converter.register_unstructure_hook_factory(attrs.has, functools.partial(self._unstructure_hook, converter))
        converter.register_structure_hook_factory(attrs.has, functools.partial(self._structure_hook, converter))
        for kind, name in _UNIONS.items():
            self._open_union(converter, kind, self._variants.unions[name])
        converter.register_structure_hook_func(lambda kind: kind == StreamChunk, functools.partial(_chunk, converter))
        converter.register_structure_hook_func(_maybe_missing, functools.partial(_present, converter))
        for exact in (bool, int, float, str):
            converter.register_structure_hook(exact, functools.partial(_scalar, exact))
        return converter

    def _open_union(self, converter: cattrs.Converter, kind: Any, union: Union) -> None:
        def structure(data: Any, _kind: Any) -> Any:
            tag = data.get(union.key) if isinstance(data, dict) else None
            if not isinstance(tag, str):
                raise ValueError(f"a {union.name} needs a tag under {union.key!r}")
            member = union.members.get(tag)
            return union.unknown(tag, freeze(data)) if member is None else converter.structure(data, member)

        converter.register_structure_hook_func(lambda candidate: candidate == kind, structure)
        converter.register_unstructure_hook_func(lambda candidate: candidate == kind, converter.unstructure)

    def _unstructure_hook(self, converter: cattrs.Converter, kind: type) -> Any:
        for union in self._variants.unions.values():
            if kind is union.unknown and union.name != "session-event":
                return functools.partial(_verbatim, union.key)
        overrides = {a.name: _spelled(a, kind) for a in attrs.fields(attrs.resolve_types(kind))}
        plain: Any = make_dict_unstructure_fn(kind, converter, **overrides)
        key = self._keys.get(kind, "")
        if not key and kind is not LlmFailure:
            return plain
        tag = getattr(kind, "kind", None)

        def tagged(value: Any) -> dict[str, Any]:
            return {key: tag, **plain(value)}

        def failure(value: Any) -> dict[str, Any]:
            out: dict[str, Any] = plain(value)
            if "providerRetryAfterMs" in out:
                out["providerRetryAfterMs"] = max(1, round(out["providerRetryAfterMs"] * 1000))
            return out

        return failure if kind is LlmFailure else tagged

    def _structure_hook(self, converter: cattrs.Converter, kind: type) -> Any:
        overrides = {a.name: _spelled(a, kind) for a in attrs.fields(attrs.resolve_types(kind))}
        plain: Any = make_dict_structure_fn(
            kind, converter, _cattrs_forbid_extra_keys=False, _cattrs_detailed_validation=False, **overrides
        )
        key = self._keys.get(kind)

        def structure(data: Any, wanted: Any) -> Any:
            if not isinstance(data, dict):
                raise TypeError(f"{kind.__name__} is read from an object, not {type(data).__name__}")
            if kind is AbortedEnd and set(data) != {key}:
                raise ValueError("an aborted turn end has no further detail")
            if kind is LlmFailure and "providerRetryAfterMs" in data:
                data = {**data, "providerRetryAfterMs": data["providerRetryAfterMs"] / 1000}
            return plain(data, wanted)

        return structure


def _verbatim(key: str, value: Any) -> Any:
    """Write an unknown variant as it was read; one that was made by hand gets the tag it will be read back by."""
    data = value.data
    return {key: value.kind, **data} if isinstance(data, dict) and key not in data else data


def _spelled(attribute: Any, kind: type) -> Any:
    head, *tail = attribute.name.split("_")
    name = head + "".join(part.title() for part in tail)
    if kind is LlmFailure and attribute.name == "retry_after":
        name = "providerRetryAfterMs"
    absent = attribute.default is None or attribute.default is MISSING or attribute.default == ()
    hooks: dict[str, Any] = {"unstruct_hook": _as_is, "struct_hook": _frozen} if attribute.type is Any else {}
    return override(rename=name, omit_if_default=absent, **hooks)


def _as_is(value: Any) -> Any:
    return value


def _frozen(value: Any, _kind: Any) -> Any:
    return freeze(value)


def _scalar(exact: type, value: Any, _kind: Any) -> Any:
    if type(value) is not exact and not (exact is float and type(value) is int):
        raise TypeError(f"expected {exact.__name__}, got {type(value).__name__}")
    return value


def _maybe_missing(kind: Any) -> bool:
    return get_origin(kind) in (typing.Union, types.UnionType) and Missing in get_args(kind)


def _present(converter: cattrs.Converter, value: Any, kind: Any) -> Any:
    wanted = [argument for argument in get_args(kind) if argument is not Missing]
    return converter.structure(value, functools.reduce(operator.or_, wanted))


def _chunk(converter: cattrs.Converter, data: Any, _kind: Any) -> Any:
    tag = data.get("type") if isinstance(data, dict) else None
    if tag not in _CHUNKS:
        raise ValueError(f"{tag!r} is no stream chunk")
    return converter.structure(data, _CHUNKS[tag])
