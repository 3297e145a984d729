"""Blocks and contexts as plain JSON, tagged as in durable records."""

from __future__ import annotations

from typing import Any

import attrs

from hookspecs.json import MISSING, thaw
from hookspecs.values import ContentBlock, HookContext, UnknownBlock, UnknownSource

__all__ = ["block_json", "context_json"]


def block_json(block: ContentBlock) -> dict[str, Any]:
    """Return ``{"type": kind, ...fields}`` with camelCase field names; an unknown block as it was read."""
    if isinstance(block, UnknownBlock):
        return thaw(block.data)  # type: ignore[no-any-return]
    return {"type": block.kind, **_fields(block)}


def context_json(context: HookContext) -> dict[str, Any]:
    """Return a context's content, source, placement and, when present, meta."""
    source = context.source
    document = {
        "content": [block_json(block) for block in context.content],
        "source": thaw(source.data) if isinstance(source, UnknownSource) else {"kind": source.kind, **_fields(source)},
        "placement": context.placement,
    }
    if context.meta is not MISSING:
        document["meta"] = thaw(context.meta)
    return document


def _fields(value: Any) -> dict[str, Any]:
    fields = {}
    for attribute in attrs.fields(type(value)):
        item = getattr(value, attribute.name)
        if item is not MISSING:
            plain = [block_json(inner) for inner in item] if isinstance(item, tuple) else thaw(item)
            fields[_camel(attribute.name)] = plain
    return fields


def _camel(name: str) -> str:
    head, *tail = name.split("_")
    return head + "".join(part.title() for part in tail)
