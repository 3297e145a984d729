"""From stream chunks to content blocks (spec/core.md 6)."""

from __future__ import annotations

from typing import Any

from attrs import define

from hookspecs.errors import HarnessError
from hookspecs.json import MISSING
from hookspecs.model import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    FinishReason,
    ReasoningDelta,
    StopFinish,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    UsageChunk,
)
from hookspecs.values import Content, ContentBlock, ReasoningBlock, TextBlock, ToolCallBlock

__all__ = ["BlockAssembler"]


@define
class _Open:
    """A block that is still being streamed."""

    kind: str
    text: list[str]
    id: str = ""
    name: str = ""


class BlockAssembler:
    """Takes chunks in stream order; ``blocks()`` may be asked any number of times.

    Blocks stand in the order their index was first seen. Once a block ended it is what it ended as: later chunks for
    its index are ignored. The last usage and the last finish count; without a finish the reason is ``stop``.
    """

    def __init__(self) -> None:
        self._blocks: dict[int, _Open | ContentBlock] = {}
        self.usage: TokenUsage | None = None
        self.finish: FinishReason = StopFinish()
        self.replay_state: Any = MISSING

    def push(self, chunk: Any) -> None:
        """Take one chunk.

        Raises:
            HarnessError: ``INVALID_CHUNK``: no chunk of the stream grammar.
        """
        if isinstance(chunk, (TextDelta, ReasoningDelta)):
            self._open(chunk.index, "text" if isinstance(chunk, TextDelta) else "reasoning", chunk.text)
        elif isinstance(chunk, ToolCallDelta):
            self._call(chunk)
        elif isinstance(chunk, BlockStart):
            self._blocks.setdefault(chunk.index, _Open(chunk.block_type, []))
        elif isinstance(chunk, BlockEnd):
            if isinstance(self._blocks.get(chunk.index, _Open("", [])), _Open):
                self._blocks[chunk.index] = chunk.block
        elif isinstance(chunk, UsageChunk):
            self.usage = chunk.usage
        elif isinstance(chunk, FinishChunk):
            self.finish, self.replay_state = chunk.reason, chunk.replay_state
        else:
            raise HarnessError(f"{type(chunk).__name__} is no stream chunk", "INVALID_CHUNK")

    def _open(self, index: int, kind: str, text: str) -> _Open | None:
        block = self._blocks.setdefault(index, _Open(kind, []))
        if not isinstance(block, _Open):
            return None
        block.text.append(text)
        return block

    def _call(self, chunk: ToolCallDelta) -> None:
        block = self._open(chunk.index, "tool-call", chunk.arguments_delta)
        if block is not None:
            block.id = block.id or chunk.id
            block.name = chunk.name or block.name

    def blocks(self) -> Content:
        """Return the blocks so far; open ones as far as they got.

        Raises:
            HarnessError: ``INVALID_CHUNK``: a block of unknown type never ended.
        """
        return tuple(
            _assembled(index, block) if isinstance(block, _Open) else block for index, block in self._blocks.items()
        )


def _assembled(index: int, block: _Open) -> ContentBlock:
    text = "".join(block.text)
    if block.kind == "text":
        return TextBlock(text)
    if block.kind == "reasoning":
        return ReasoningBlock(text)
    if block.kind == "tool-call":
        return ToolCallBlock(block.id or f"call-{index}", block.name, text)
    raise HarnessError(f"block {index} of unknown type {block.kind!r} never ended", "INVALID_CHUNK")
