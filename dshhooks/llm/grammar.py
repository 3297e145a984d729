"""The grammar of a stream, for adapter authors: the assembler forgives what this does not (spec/core.md 6)."""

from __future__ import annotations

from typing import Any

from hookspecs.errors import HarnessError
from hookspecs.model import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)

__all__ = ["StreamGrammar"]

_DELTAS = {TextDelta: "text", ReasoningDelta: "reasoning", ToolCallDelta: "tool-call"}


class StreamGrammar:
    """Checks chunks in stream order: a block starts once and ends as it started, one usage, one finish at the end."""

    def __init__(self) -> None:
        self._open: dict[int, str] = {}
        self._started: set[int] = set()
        self._usage = self._finished = False

    def push(self, chunk: Any) -> None:
        """Check the next chunk.

        Raises:
            HarnessError: ``INVALID_CHUNK``: it may not stand here.
        """
        self._require(not self._finished, chunk, "comes after the finish")
        if isinstance(chunk, BlockStart):
            self._start(chunk)
        elif isinstance(chunk, (TextDelta, ReasoningDelta, ToolCallDelta)):
            kind = _DELTAS[type(chunk)]
            self._require(self._open.get(chunk.index) == kind, chunk, f"needs an open {kind} block {chunk.index}")
        elif isinstance(chunk, BlockEnd):
            started = self._open.pop(chunk.index, None)
            self._require(started == chunk.block.kind, chunk, f"ends a {chunk.block.kind}; what is open is: {started}")
        elif isinstance(chunk, UsageChunk):
            self._require(not self._usage, chunk, "comes a second time")
            self._usage = True
        else:
            self._require(isinstance(chunk, FinishChunk), chunk, "is no stream chunk")
            self._require(not self._open, chunk, f"leaves blocks open: {sorted(self._open)}")
            self._finished = True

    def end(self) -> None:
        """Check that the stream may end here.

        Raises:
            HarnessError: ``INVALID_CHUNK``: there was no finish.
        """
        if not self._finished:
            raise HarnessError("the stream ended without a finish", "INVALID_CHUNK")

    def _start(self, chunk: BlockStart) -> None:
        self._require(type(chunk.index) is int and chunk.index >= 0, chunk, "needs an index of 0 or more")
        self._require(chunk.index not in self._started, chunk, f"starts block {chunk.index} again")
        self._started.add(chunk.index)
        self._open[chunk.index] = chunk.block_type

    def _require(self, holds: bool, chunk: Any, problem: str) -> None:
        if not holds:
            raise HarnessError(f"{type(chunk).__name__} {problem}", "INVALID_CHUNK")
