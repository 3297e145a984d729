"""Content for spans: the conventions' JSON forms of messages, arguments and results, bounded.

The conventions give content to attributes as JSON text. Nothing here is called unless content was asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from dshhooks import Message, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock, content_text

__all__ = ["Content", "encodable"]

_DEEPEST: Final = 32
# What a message, a part or a number costs beside its text, so that a great many empty ones are bounded too.
_STRUCTURE: Final = 16
_CUT: Final = "…"


def encodable(text: str) -> str:
    """Return a text an exporter can write: a lone surrogate of the model's would make it lose the whole batch."""
    return text.encode("utf-8", "replace").decode()


class Content:
    """What one attribute may hold: writes JSON until its characters are used up, and still writes whole JSON then.

    Args:
        limit: Characters of content, at most.
    """

    def __init__(self, limit: int) -> None:
        self._left = limit
        self.cut = False
        """Whether something was left out."""

    def instructions(self, system: str) -> str:
        """Return a system prompt as the conventions write it."""
        return _dumps([{"type": "text", "content": self._text(system)}])

    def messages(self, messages: Sequence[Message], finish: str | None = None) -> str:
        """Return messages as the conventions write them; the newest are kept.

        Args:
            messages: Oldest first.
            finish: Why the model stopped, for messages that came out of one.
        """
        kept = []
        for message in reversed(messages):
            if self._full():
                break
            ended = {"finish_reason": finish} if finish is not None else {}
            kept.append({"role": message.role, "parts": self._parts(message.content), **ended})
        return _dumps(kept[::-1])

    def definitions(self, tools: Iterable[Any]) -> str:
        """Return tools by type and name; the conventions advise against the rest, which is large."""
        return _dumps(self._json([{"type": "function", "name": tool.name} for tool in tools], 0))

    def value(self, value: Any) -> str:
        """Return a value as JSON text; what is JSON text already is parsed first, as the conventions ask for."""
        return _dumps(self._json(_parsed(value) if isinstance(value, str) else value, 0))

    def _parts(self, blocks: Iterable[Any]) -> list[dict[str, Any]]:
        parts = []
        for block in blocks:
            if self._full():
                break
            parts.append(self._part(block))
        return parts

    def _part(self, block: Any) -> dict[str, Any]:
        if isinstance(block, TextBlock | ReasoningBlock):
            return {"type": block.kind, "content": self._text(block.text)}
        if isinstance(block, ToolCallBlock):
            arguments = self._json(_parsed(block.arguments), 0)
            return {"type": "tool_call", "id": block.id, "name": self._text(block.name), "arguments": arguments}
        if isinstance(block, ToolResultBlock):
            response = self._text(content_text(block.content))
            return {"type": "tool_call_response", "id": block.tool_call_id, "response": response}
        return {"type": str(block.kind)}

    def _json(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if depth >= _DEEPEST or not isinstance(value, Mapping | list | tuple):
            self.cut = True
            return _CUT
        if isinstance(value, Mapping):
            return dict(self._items(value, depth))
        return [self._json(item, depth + 1) for item in value if not self._full()]

    def _items(self, value: Mapping[str, Any], depth: int) -> Iterable[tuple[str, Any]]:
        for key, item in value.items():
            if self._full():
                return
            yield self._text(key), self._json(item, depth + 1)

    def _text(self, text: str) -> str:
        kept = text[: max(0, self._left)]
        self._left -= len(text)
        if len(kept) < len(text):
            self.cut = True
            return kept + _CUT
        return kept

    def _full(self) -> bool:
        """Pay for one more thing; say whether there is nothing left to pay with."""
        if self._left <= 0:
            self.cut = True
            return True
        self._left -= _STRUCTURE
        return False


def _parsed(raw: str) -> Any:
    """Return what raw JSON text says; text a model garbled is kept as text."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


def _dumps(value: Any) -> str:
    return encodable(json.dumps(value, ensure_ascii=False))
