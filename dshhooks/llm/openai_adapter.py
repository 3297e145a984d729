"""Any OpenAI-compatible chat-completions endpoint, through the official client (extra ``openai``)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from attrs import define

from hookspecs.errors import LlmError, error_chain
from hookspecs.model import (
    FinishChunk,
    FinishReason,
    GenerateOptions,
    MaxTokensFinish,
    ReasoningDelta,
    StopFinish,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    ToolCallsFinish,
    UnknownFinish,
    UsageChunk,
)
from hookspecs.values import Message, ReasoningBlock, ToolCallBlock, ToolResultBlock, content_text

__all__ = ["OpenAIAdapter", "request_messages"]

_FINISHES: dict[str, FinishReason] = {
    "stop": StopFinish(),
    "tool_calls": ToolCallsFinish(),
    "function_call": ToolCallsFinish(),
    "length": MaxTokensFinish(),
}


class OpenAIAdapter:
    """One provider attempt per request, streamed; failures are :class:`LlmError` with provider-neutral codes.

    Args:
        base_url: Of the endpoint, for example ``http://127.0.0.1:8765/v1``; ``None``: the client's default.
        api_key: ``None``: the client's own lookup; an endpoint that needs none gets a placeholder.
        timeout: Seconds without a chunk before the request counts as stalled.

    Raises:
        LlmError: ``MISSING_EXTRA``: the ``openai`` package is not installed.
    """

    def __init__(self, base_url: str | None = None, api_key: str | None = None, *, timeout: float = 120.0) -> None:
        try:
            import openai
        except ImportError as exc:
            raise LlmError("OpenAIAdapter needs the extra: pip install 'dshhooks[openai]'", "MISSING_EXTRA") from exc
        import os

        key = api_key or os.environ.get("OPENAI_API_KEY") or ("none-needed" if base_url else None)
        self._openai = openai
        try:
            # One call is one attempt: repeating it is a policy's business, where it can be seen.
            self._client = openai.AsyncOpenAI(base_url=base_url, api_key=key, timeout=timeout, max_retries=0)
        except openai.OpenAIError as exc:
            raise LlmError(f"the OpenAI client could not be made: {exc}", "AUTH") from exc

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Yield the chunks of one answer."""
        state = _Stream()
        try:
            stream = await self._client.chat.completions.create(**_request(options))
            async with stream:
                async for part in stream:
                    for chunk in state.chunks(part):
                        yield chunk
        except LlmError:
            raise
        except Exception as exc:
            raise self._failure(exc) from exc
        if state.finish is None:
            raise LlmError("the stream ended before the answer did", "STREAM_CLOSED")
        if isinstance(state.finish, StopFinish) and not state.indices:
            raise LlmError("the model answered with nothing", "EMPTY_RESPONSE")
        if state.usage is not None:
            yield UsageChunk(state.usage)
        yield FinishChunk(state.finish)

    def _failure(self, exc: Exception) -> LlmError:
        openai = self._openai
        if isinstance(exc, openai.APIStatusError):
            return _status_failure(exc)
        message = error_chain(exc) or type(exc).__name__
        if isinstance(exc, openai.APITimeoutError):
            return LlmError(message, "TIMEOUT")
        if isinstance(exc, openai.APIConnectionError):
            return LlmError(message, "TRANSPORT")
        if isinstance(exc, openai.APIError):
            return LlmError(message, "SERVER")
        import httpx

        if isinstance(exc, httpx.TimeoutException):
            return LlmError(message, "TIMEOUT")
        return LlmError(message, "STREAM_CLOSED" if isinstance(exc, httpx.HTTPError) else "UNKNOWN")


def _status_failure(exc: Any) -> LlmError:
    status, body = exc.status_code, str(exc)
    code = "SERVER" if status >= 500 else "INVALID_REQUEST"
    if status in (401, 403):
        code = "AUTH"
    elif status == 429:
        code = "QUOTA" if getattr(exc, "code", None) == "insufficient_quota" else "RATE_LIMIT"
    elif status in (408, 504):
        code = "TIMEOUT"
    if getattr(exc, "code", None) == "context_length_exceeded" or "maximum context length" in body:
        code = "CONTEXT_WINDOW_EXCEEDED"
    return LlmError(
        body,
        code,
        status=status,
        retry_after=_seconds(exc.response.headers.get("retry-after")),
        request_id=getattr(exc, "request_id", None) or None,
    )


def _seconds(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else 0.0
    except ValueError:
        return None  # an HTTP date; the policy's own delay is used then
    return value if value > 0 else None


@define
class _Stream:
    """Follows one answer: which tool call has which id, what it cost, why it ended."""

    finish: FinishReason | None = None
    usage: TokenUsage | None = None
    indices: int = 0
    _text: int | None = None
    _reasoning: int | None = None
    _calls: dict[int, tuple[int, str]] | None = None

    def chunks(self, part: Any) -> list[StreamChunk]:
        """Return the chunks one part of the provider's stream stands for."""
        if part.usage is not None:
            self.usage = _usage(part.usage)
        out: list[StreamChunk] = []
        for choice in part.choices[:1]:
            delta = choice.delta
            thought = getattr(delta, "reasoning_content", None)
            if thought:
                self._reasoning = self._take() if self._reasoning is None else self._reasoning
                out.append(ReasoningDelta(self._reasoning, thought))
            if delta.content:
                self._text = self._take() if self._text is None else self._text
                out.append(TextDelta(self._text, delta.content))
            out.extend(self._call(call) for call in delta.tool_calls or ())
            if choice.finish_reason is not None:
                known = _FINISHES.get(choice.finish_reason)
                self.finish = known or UnknownFinish(choice.finish_reason, {"kind": choice.finish_reason})
        return out

    def _take(self) -> int:
        self.indices += 1
        return self.indices - 1

    def _call(self, call: Any) -> ToolCallDelta:
        calls = self._calls = self._calls if self._calls is not None else {}
        index, known = calls.get(call.index) or (self._take(), "")
        calls[call.index] = index, call.id or known
        function = call.function
        return ToolCallDelta(
            index, call.id or known, function.name if function else None, (function.arguments or "") if function else ""
        )


def _usage(usage: Any) -> TokenUsage:
    cached = getattr(usage.prompt_tokens_details, "cached_tokens", None) if usage.prompt_tokens_details else None
    details = usage.completion_tokens_details
    reasoning = getattr(details, "reasoning_tokens", None) if details else None
    return TokenUsage(usage.prompt_tokens - (cached or 0), usage.completion_tokens, cached, None, reasoning)


def _request(options: GenerateOptions) -> dict[str, Any]:
    request: dict[str, Any] = {
        "model": options.model,
        "messages": request_messages(options),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if options.tools:
        request["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": _plain(tool.parameters),
                },
            }
            for tool in options.tools
        ]
    for key, value in (
        ("temperature", options.temperature),
        ("max_tokens", options.max_tokens),
        ("stop", list(options.stop) or None),
        ("reasoning_effort", options.reasoning_effort),
    ):
        if value is not None:
            request[key] = value
    return request


def _plain(value: Any) -> Any:
    from hookspecs.json import thaw

    return thaw(value)


def request_messages(options: GenerateOptions) -> list[dict[str, Any]]:
    """Return a request's system prompt and messages in the endpoint's form."""
    return [*_system(options), *(out for message in options.messages for out in _messages(message))]


def _system(options: GenerateOptions) -> list[dict[str, Any]]:
    return [{"role": "system", "content": options.system}] if options.system else []


def _messages(message: Message) -> list[dict[str, Any]]:
    """Return the wire messages of one message: tool results become messages of their own."""
    results = [block for block in message.content if isinstance(block, ToolResultBlock)]
    rest = [block for block in message.content if not isinstance(block, (ToolResultBlock, ReasoningBlock))]
    out: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": result.tool_call_id, "content": content_text(result.content)}
        for result in results
    ]
    calls = [block for block in rest if isinstance(block, ToolCallBlock)]
    text = content_text([block for block in rest if not isinstance(block, ToolCallBlock)])
    if calls:
        out.append(
            {
                "role": "assistant",
                "content": text or None,
                "tool_calls": [
                    {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments or "{}"}}
                    for call in calls
                ],
            }
        )
    elif text:
        out.append({"role": message.role, "content": text})
    return out


