"""What a model is asked, and how it answers: requests, stream chunks, finish reasons, failures (spec/core.md 6)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar, Literal

from attrs import field, frozen

from hookspecs.call_config import LlmCallConfig, strings
from hookspecs.json import MISSING
from hookspecs.signal import NEVER, CancelSignal
from hookspecs.values import ContentBlock, Message

__all__ = ["AbortedFinish", "BlockEnd", "BlockStart", "ErrorFinish", "FinishChunk", "FinishReason", "GenerateOptions",
           "LlmCallConfig", "LlmFailure", "MaxTokensFinish", "ReasoningDelta", "StopFinish", "StreamChunk", "TextDelta",
           "TokenUsage", "ToolCallDelta", "ToolCallsFinish", "ToolSchema", "UnknownFinish", "UsageChunk"]  # fmt: skip


def _filled(instance: object, attribute: Any, value: Any) -> None:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{type(instance).__name__}.{attribute.name} must be a non-empty str, not {value!r}")


def _filled_or_none(instance: object, attribute: Any, value: Any) -> None:
    if value is not None:
        _filled(instance, attribute, value)


def _status(_instance: object, _attribute: Any, value: Any) -> None:
    if value is not None and (type(value) is not int or not 100 <= value <= 599):
        raise ValueError(f"LlmFailure.status must be an HTTP status from 100 to 599, not {value!r}")


def _wait(_instance: object, _attribute: Any, value: Any) -> None:
    if value is not None and (type(value) not in (int, float) or not math.isfinite(value) or value <= 0):
        raise ValueError(f"LlmFailure.retry_after must be a positive, finite number of seconds, not {value!r}")


@frozen
class LlmFailure:
    """Why a model request failed; immutable, and what durable records keep of it.

    Args:
        message: Non-empty.
        code: Non-empty, provider-neutral.
        status: HTTP status.
        retry_after: Seconds the provider asks to wait.
        request_id: The provider's id of the request.
    """

    message: str = field(validator=_filled)
    code: str = field(validator=_filled)
    status: int | None = field(default=None, validator=_status)
    retry_after: float | None = field(default=None, validator=_wait)
    request_id: str | None = field(default=None, validator=_filled_or_none)


@frozen
class TokenUsage:
    """Tokens of one request; ``input_tokens`` are the uncached ones, reasoning is inside ``output_tokens``."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


@frozen
class StopFinish:
    """The model had said what it had to say."""

    kind: ClassVar[str] = "stop"


@frozen
class ToolCallsFinish:
    """The model waits for tool results."""

    kind: ClassVar[str] = "tool-calls"


@frozen
class MaxTokensFinish:
    """The answer was cut at the token limit."""

    kind: ClassVar[str] = "max-tokens"


@frozen
class AbortedFinish:
    """The request was cancelled."""

    kind: ClassVar[str] = "aborted"
    failure: LlmFailure


@frozen
class ErrorFinish:
    """The provider failed in band."""

    kind: ClassVar[str] = "error"
    failure: LlmFailure


@frozen
class UnknownFinish:
    """A reason nobody here knows; counts as ordinary success."""

    kind: str
    data: Any


FinishReason = StopFinish | ToolCallsFinish | MaxTokensFinish | AbortedFinish | ErrorFinish | UnknownFinish


@frozen
class BlockStart:
    """A block begins at ``index``; ``block_type`` is its kind."""

    kind: ClassVar[str] = "block-start"
    index: int
    block_type: str


@frozen
class TextDelta:
    """More text of a text block."""

    kind: ClassVar[str] = "text-delta"
    index: int
    text: str


@frozen
class ReasoningDelta:
    """More text of a reasoning block."""

    kind: ClassVar[str] = "reasoning-delta"
    index: int
    text: str


@frozen
class ToolCallDelta:
    """More of a tool call; ``arguments_delta`` is raw JSON text."""

    kind: ClassVar[str] = "tool-call-delta"
    index: int
    id: str
    name: str | None = None
    arguments_delta: str = ""


@frozen
class BlockEnd:
    """The block at ``index`` is complete; from here on it is ``block``."""

    kind: ClassVar[str] = "block-end"
    index: int
    block: ContentBlock


@frozen
class UsageChunk:
    """What the request cost; before the finish."""

    kind: ClassVar[str] = "usage"
    usage: TokenUsage


@frozen
class FinishChunk:
    """The last chunk of a stream."""

    kind: ClassVar[str] = "finish"
    reason: FinishReason
    replay_state: Any = MISSING


StreamChunk = BlockStart | TextDelta | ReasoningDelta | ToolCallDelta | BlockEnd | UsageChunk | FinishChunk


@frozen
class ToolSchema:
    """A tool as the model is told of it."""

    name: str
    description: str
    parameters: Any


def _messages(values: Iterable[Message]) -> tuple[Message, ...]:
    return tuple(values)


def _tools(values: Iterable[ToolSchema]) -> tuple[ToolSchema, ...]:
    return tuple(values)


@frozen
class GenerateOptions:
    """One model request, fully assembled and frozen.

    Args:
        provider: The registered route that picks the adapter.
        model: The provider's model id.
        messages: The conversation as the provider sees it, after the system prompt.
        system: System prompt text.
        tools: What the model may call.
        signal: Cancels the request.
        session_id: Whose request it is; adapters ignore it.
        purpose: ``"compaction"`` or ``"session-title"`` for auxiliary calls.
    """

    provider: str
    model: str
    messages: tuple[Message, ...] = field(default=(), converter=_messages)
    system: str | None = None
    tools: tuple[ToolSchema, ...] = field(default=(), converter=_tools)
    reasoning_effort: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = field(default=(), converter=strings)
    signal: CancelSignal = NEVER
    session_id: str | None = None
    purpose: Literal["compaction", "session-title"] | None = None

    @property
    def config(self) -> LlmCallConfig:
        """The call configuration inside the request."""
        return LlmCallConfig(
            self.provider, self.model, self.reasoning_effort, self.temperature, self.max_tokens, self.stop
        )
