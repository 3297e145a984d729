"""A model that does what it was told: for tests, examples and the demo."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

from attrs import field, frozen

from hookspecs.errors import LlmError
from hookspecs.json import encode
from hookspecs.model import (
    BlockEnd,
    BlockStart,
    FinishChunk,
    GenerateOptions,
    StopFinish,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    ToolCallsFinish,
    UsageChunk,
)
from hookspecs.values import TextBlock, ToolCallBlock

__all__ = ["CallTools", "Fail", "Say", "ScriptedAdapter"]


@frozen
class Say:
    """Answer with text."""

    text: str


def _pairs(calls: Iterable[Iterable[Any]]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, arguments) for name, arguments in calls)


@frozen
class CallTools:
    """Ask for tool calls: ``[(name, arguments), …]``; ``str`` arguments are sent raw, as a model might garble them."""

    calls: tuple[tuple[str, Any], ...] = field(converter=_pairs)
    text: str = ""


@frozen
class Fail:
    """Fail the request."""

    code: str
    message: str = "the script says so"
    retry_after: float | None = None


class ScriptedAdapter:
    """Plays one step per request, in order; when the script is over it says so and stops.

    Args:
        steps: What to answer, request by request; a function ``(options) -> step`` decides when it is asked.
    """

    def __init__(self, steps: Sequence[Any] = ()) -> None:
        self._steps = list(steps)
        self._next = 0
        self._ids = itertools.count(1)
        self.requests: list[GenerateOptions] = []

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Yield the chunks of the next step."""
        self.requests.append(options)
        step: Any = self._steps[self._next] if self._next < len(self._steps) else Say("(the script is over)")
        self._next += 1
        if callable(step):
            step = step(options)
        if isinstance(step, Fail):
            raise LlmError(step.message, step.code, retry_after=step.retry_after)
        for chunk in self.chunks(step):
            yield chunk

    def chunks(self, step: Any) -> list[StreamChunk]:
        """Return the chunks that say a step."""
        chunks: list[StreamChunk] = []
        text = step.text
        if text:
            chunks += [BlockStart(0, "text"), TextDelta(0, text), BlockEnd(0, TextBlock(text))]
        calls = step.calls if isinstance(step, CallTools) else ()
        for index, (name, arguments) in enumerate(calls, 1 if text else 0):
            raw = arguments if isinstance(arguments, str) else encode(arguments)
            call = ToolCallBlock(f"call-{next(self._ids)}", name, raw)
            chunks += [BlockStart(index, "tool-call"), ToolCallDelta(index, call.id, name, raw), BlockEnd(index, call)]
        usage = UsageChunk(TokenUsage(10, max(1, len(text) // 4)))
        return [*chunks, usage, FinishChunk(ToolCallsFinish() if calls else StopFinish())]
