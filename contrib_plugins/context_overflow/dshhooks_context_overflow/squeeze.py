"""Making a conversation smaller so that at least its summary fits: long texts become excerpts, old messages go."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

import attrs
from attrs import frozen

from dshhooks import ContentBlock, Message, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock

__all__ = ["Squeeze", "squeezes"]

_LEFT_OUT: Final = "[earlier messages were left out]"


@frozen
class Squeeze:
    """How hard to press.

    Args:
        chars: What a text may keep; the middle is left out.
        share: How much of the whole the newest messages may make up, from 0 to 1.
    """

    chars: int
    share: float

    def messages(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Return a smaller conversation that still ends as it did and in which every result has its call."""
        shorter = [attrs.evolve(message, content=self._content(message.content)) for message in messages]
        kept = _newest(shorter, self.share)
        if len(kept) == len(shorter):
            return tuple(shorter)
        return (Message("user", _LEFT_OUT), *kept)

    def _content(self, content: Sequence[ContentBlock]) -> tuple[ContentBlock, ...]:
        return tuple(self._block(block) for block in content)

    def _block(self, block: ContentBlock) -> ContentBlock:
        if isinstance(block, (TextBlock, ReasoningBlock)):
            return attrs.evolve(block, text=self._text(block.text))
        if isinstance(block, ToolResultBlock):
            return attrs.evolve(block, content=self._content(block.content))
        if isinstance(block, ToolCallBlock) and len(block.arguments) > self.chars:
            # Still JSON: some endpoints read what they are sent.
            return attrs.evolve(block, arguments=json.dumps({"excerpt": self._text(block.arguments)}))
        return block

    def _text(self, text: str) -> str:
        if len(text) <= self.chars:
            return text
        half = self.chars // 2
        return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"


def squeezes(chars: int) -> tuple[Squeeze | None, ...]:
    """Return what to try one after the other: nothing, excerpts, shorter excerpts of the newer half, of a quarter."""
    return None, Squeeze(chars, 1.0), Squeeze(chars // 4, 0.5), Squeeze(chars // 4, 0.25)


def _newest(messages: list[Message], share: float) -> list[Message]:
    room = share * sum(map(_size, messages))
    start = len(messages)
    while start and _size(messages[start - 1]) <= room:
        start -= 1
        room -= _size(messages[start])
    # The last message stays, whatever its size, and a result does not stand without the message that called for it.
    start = min(start, len(messages) - 1)
    while start > 0 and _answers(messages[start]):
        start -= 1
    return messages[start:]


def _answers(message: Message) -> bool:
    return any(isinstance(block, ToolResultBlock) for block in message.content)


def _size(message: Message) -> int:
    return sum(map(_block_size, message.content))


def _block_size(block: ContentBlock) -> int:
    if isinstance(block, ToolResultBlock):
        return sum(map(_block_size, block.content))
    return len(block.arguments if isinstance(block, ToolCallBlock) else getattr(block, "text", ""))
