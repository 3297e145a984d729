"""From stream chunks to content blocks (spec/core.md 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

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
        take = self._TAKES.get(type(chunk)) or self._take(chunk)
        take(self, chunk)

    def _take(self, chunk: Any) -> Callable[[Any, Any], None]:
        for kind, take in self._TAKES.items():
            if isinstance(chunk, kind):
                return take
        raise HarnessError(f"{type(chunk).__name__} is no stream chunk", "INVALID_CHUNK")

    def _open(self, index: int, kind: str) -> _Open | ContentBlock:
        block = self._blocks.get(index)
        if block is None:
            block = self._blocks[index] = _Open(kind, [])
        return block

    def _text(self, chunk: TextDelta) -> None:
        block = self._open(chunk.index, "text")
        if type(block) is _Open:
            block.text.append(chunk.text)

    def _reasoning(self, chunk: ReasoningDelta) -> None:
        block = self._open(chunk.index, "reasoning")
        if type(block) is _Open:
            block.text.append(chunk.text)

    def _call(self, chunk: ToolCallDelta) -> None:
        block = self._open(chunk.index, "tool-call")
        if type(block) is _Open:
            block.text.append(chunk.arguments_delta)
            block.id = block.id or chunk.id
            block.name = chunk.name or block.name

    def _start(self, chunk: BlockStart) -> None:
        self._open(chunk.index, chunk.block_type)

    def _end(self, chunk: BlockEnd) -> None:
        if type(self._blocks.get(chunk.index)) in (_Open, type(None)):
            self._blocks[chunk.index] = chunk.block

    def _usage(self, chunk: UsageChunk) -> None:
        self.usage = chunk.usage

    def _finish(self, chunk: FinishChunk) -> None:
        self.finish, self.replay_state = chunk.reason, chunk.replay_state

    # By class: there is a delta for every word.
    _TAKES: ClassVar[dict[type, Callable[[Any, Any], None]]] = {
        TextDelta: _text, ReasoningDelta: _reasoning, ToolCallDelta: _call, BlockStart: _start, BlockEnd: _end,
        UsageChunk: _usage, FinishChunk: _finish,
    }  # fmt: skip

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
