"""Between the model vocabulary and the chat-completions form: the request out, the streamed answer in."""

from __future__ import annotations

import json
import re
from typing import Any

from dshhooks.llm.assembler import BlockAssembler
from dshhooks.llm.openai_errors import failure_inside
from hookspecs.json import encode, thaw
from hookspecs.model import (
    BlockEnd,
    BlockStart,
    ErrorFinish,
    FinishChunk,
    FinishReason,
    GenerateOptions,
    LlmFailure,
    MaxTokensFinish,
    ReasoningDelta,
    StopFinish,
    StreamChunk,
    TextDelta,
    TokenUsage,
    ToolCallDelta,
    ToolCallsFinish,
    ToolSchema,
    UnknownFinish,
    UsageChunk,
)
from hookspecs.values import Message, ReasoningBlock, ToolCallBlock, ToolResultBlock, content_text

__all__ = ["Answer", "EventStream", "request_body", "request_messages"]

_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")

_FINISHES: dict[str, FinishReason] = {
    "stop": StopFinish(),
    "tool_calls": ToolCallsFinish(),
    "function_call": ToolCallsFinish(),
    "length": MaxTokensFinish(),
    "error": ErrorFinish(LlmFailure("the provider ended the answer in error", "SERVER")),
}
_EMPTY = ErrorFinish(LlmFailure("the model answered with nothing", "EMPTY_RESPONSE"))


class EventStream:
    """Takes the bytes of a server-sent event stream and gives the data of its events; comments are life signs."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    def feed(self, piece: bytes) -> list[str]:
        """Return the data of the events a piece completes.

        Raises:
            UnicodeDecodeError: It is not text.
        """
        # A CR at the very end may be half of a CR LF: it waits for the next piece.
        *lines, self._rest = _LINE_END.split(self._rest + piece)
        return [data for line in lines if (data := self._line(line)) is not None]

    def end(self) -> list[str]:
        """Return the data of an event the end of the stream completes."""
        last = [self._line(self._rest.removesuffix(b"\r")), self._line(b"")]
        self._rest = b""
        return [data for data in last if data is not None]

    def _line(self, line: bytes) -> str | None:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            return data.decode("utf-8")
        return None


class Answer:
    """Follows one answer: which block is which, what it cost, why it ended. ``over`` once the endpoint said it is."""

    def __init__(self) -> None:
        self.finish: FinishReason | None = None
        self.over = False
        self._usage: TokenUsage | None = None
        self._assembler = BlockAssembler()
        self._count = 0
        self._prose: dict[str, int] = {}  # kind of block to its index
        self._calls: dict[int, tuple[int, str]] = {}  # the provider's number of a call to index and id

    def take(self, data: str) -> list[StreamChunk]:
        """Return the chunks one event stands for.

        Raises:
            LlmError: The endpoint reports a failure inside the stream.
            AttributeError, TypeError, ValueError: It is no chat completion chunk.
        """
        if self.over or data.startswith("[DONE]"):
            self.over = True
            return []
        document = json.loads(data)
        if document.get("error"):
            raise failure_inside(document["error"])
        if document.get("usage") is not None:
            self._usage = _usage(document["usage"])
        out: list[StreamChunk] = []
        for choice in (document.get("choices") or ())[:1]:
            self._delta(choice.get("delta") or {}, out)
            reason = choice.get("finish_reason")
            if reason:
                self.finish = _FINISHES.get(str(reason)) or UnknownFinish(str(reason), {"kind": str(reason)})
        for chunk in out:
            self._assembler.push(chunk)
        return out

    def end(self) -> list[StreamChunk]:
        """Return the chunks that close the answer: the blocks, the usage, the finish."""
        out: list[StreamChunk] = [BlockEnd(index, block) for index, block in enumerate(self._assembler.blocks())]
        finish = self.finish or StopFinish()
        if not out and isinstance(finish, StopFinish):
            finish = _EMPTY
        if self._usage is not None:
            out.append(UsageChunk(self._usage))
        return [*out, FinishChunk(finish)]

    def _delta(self, delta: dict[str, Any], out: list[StreamChunk]) -> None:
        if thought := _text(delta, "reasoning_content", "reasoning"):
            out.append(ReasoningDelta(self._prose_index("reasoning", out), thought))
        if text := _text(delta, "content", "refusal"):
            out.append(TextDelta(self._prose_index("text", out), text))
        for at, call in enumerate(delta.get("tool_calls") or ()):
            self._call(call, at, out)

    def _open(self, kind: str, out: list[StreamChunk]) -> int:
        out.append(BlockStart(self._count, kind))
        self._count += 1
        return self._count - 1

    def _prose_index(self, kind: str, out: list[StreamChunk]) -> int:
        if kind not in self._prose:
            self._prose[kind] = self._open(kind, out)
        return self._prose[kind]

    def _call(self, call: dict[str, Any], at: int, out: list[StreamChunk]) -> None:
        function, number, call_id = call.get("function") or {}, call.get("index"), call.get("id") or ""
        number = number if isinstance(number, int) else at
        name = function.get("name") or None
        known = self._calls.get(number)
        # Some endpoints number every call 0, or none: another id with a name is another call.
        if known is None or (name and call_id and known[1] and call_id != known[1]):
            known = self._open("tool-call", out), ""
        self._calls[number] = known = known[0], known[1] or call_id
        out.append(ToolCallDelta(*known, name, _arguments(function.get("arguments"))))


def _text(delta: dict[str, Any], *names: str) -> str:
    texts = (delta.get(name) for name in names)
    return next((text for text in texts if isinstance(text, str) and text), "")


def _arguments(raw: Any) -> str:
    return raw if isinstance(raw, str) else "" if raw is None else encode(raw)


def _usage(usage: dict[str, Any]) -> TokenUsage:
    prompt, completion = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens")
    reasoning = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens")
    return TokenUsage(max(0, prompt - (cached or 0)), completion, cached, None, reasoning)


def request_body(options: GenerateOptions) -> dict[str, Any]:
    """Return the parameters of a streamed chat completion; what the request leaves open is left out."""
    optional = {
        "tools": [_tool(tool) for tool in options.tools] or None,
        "temperature": options.temperature,
        "max_tokens": options.max_tokens,
        "stop": list(options.stop) or None,
        "reasoning_effort": options.reasoning_effort,
    }
    return {
        "model": options.model,
        "messages": request_messages(options),
        "stream": True,
        "stream_options": {"include_usage": True},
        **{name: value for name, value in optional.items() if value is not None},
    }


def _tool(tool: ToolSchema) -> dict[str, Any]:
    function = {"name": tool.name, "description": _sendable(tool.description), "parameters": thaw(tool.parameters)}
    return {"type": "function", "function": function}


def request_messages(options: GenerateOptions) -> list[dict[str, Any]]:
    """Return a request's system prompt and messages in the endpoint's form."""
    system = [{"role": "system", "content": _sendable(options.system)}] if options.system else []
    return [*system, *(out for message in options.messages for out in _messages(message))]


def _messages(message: Message) -> list[dict[str, Any]]:
    """Return the wire messages of one message: tool results become messages of their own."""
    out = [_result(block) for block in message.content if isinstance(block, ToolResultBlock)]
    calls = [block for block in message.content if isinstance(block, ToolCallBlock)]
    apart = (ToolResultBlock, ToolCallBlock, ReasoningBlock)
    text = _sendable(content_text([block for block in message.content if not isinstance(block, apart)]))
    if calls:
        out.append({"role": "assistant", "content": text or None, "tool_calls": [_sent_call(call) for call in calls]})
    elif text:
        out.append({"role": message.role, "content": text})
    return out


def _result(block: ToolResultBlock) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": block.tool_call_id, "content": _sendable(content_text(block.content))}


def _sent_call(call: ToolCallBlock) -> dict[str, Any]:
    function = {"name": call.name, "arguments": _sendable(call.arguments) or "{}"}
    return {"id": call.id, "type": "function", "function": function}


def _sendable(text: str) -> str:
    # A lone surrogate (a file name that is no UTF-8) is legal in a log and cannot be sent.
    return text.encode("utf-8", "replace").decode("utf-8")
