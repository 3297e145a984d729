"""The options of the plugin: the table ``[plugin.context-overflow]``."""

from __future__ import annotations

from typing import Any

from attrs import Attribute, field, frozen

__all__ = ["ContextOverflowOptions"]


def _at_least(least: int, value: object, name: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {value!r}")


def _count(_options: object, attribute: Attribute[Any], value: int) -> None:
    _at_least(0, value, attribute.name)


def _tokens(_options: object, attribute: Attribute[Any], value: int | None) -> None:
    if value is not None:
        _at_least(1, value, attribute.name)


def _chars(_options: object, attribute: Attribute[Any], value: int) -> None:
    _at_least(100, value, attribute.name)


@frozen(kw_only=True)
class ContextOverflowOptions:
    """When a conversation is compacted.

    Args:
        max_recoveries: Requests in a row that overflowed and are tried again after a compaction; 0 switches it off.
        threshold_tokens: A request that used as many tokens, in and out, has the conversation compacted behind its
            step, before it overflows; ``None`` waits for the overflow.
        excerpt_chars: What a long text is cut to when the summary itself does not fit the model: head and tail.
    """

    max_recoveries: int = field(default=1, validator=_count)
    threshold_tokens: int | None = field(default=None, validator=_tokens)
    excerpt_chars: int = field(default=2000, validator=_chars)
