"""Which content goes on which span, when content was asked for: the attributes the conventions have for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dshhooks import MISSING, Message, ToolSuccess
from dshhooks_tracing.content import Content
from dshhooks_tracing.inference import finish_reason
from dshhooks_tracing.tally import Tally

__all__ = ["at_begin", "at_end"]

# What writes one attribute into what it may hold; or nothing, when there is nothing to write.
Writer = Callable[[Content], str]


def at_begin(call: Any, limit: int) -> dict[str, Any]:
    """Return the content known when an operation begins, at most ``limit`` characters in each attribute."""
    return _written(_BEGIN[call.operation](call.payload), limit) if call.operation in _BEGIN else {}


def at_end(result: Any, tally: Tally | None, limit: int) -> dict[str, Any]:
    """Return the content known when an operation has ended, at most ``limit`` characters in each attribute.

    Args:
        result: The result.
        tally: The turn's, whose last answer is the turn's own.
        limit: Characters.
    """
    if result.operation == "turn":
        return _written(_output(tally.answer, tally.reason), limit) if tally is not None else {}
    return _written(_END[result.operation](result.payload), limit) if result.operation in _END else {}


def _written(writers: dict[str, Writer], limit: int) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for name, write in writers.items():
        content = Content(limit)
        facts[name] = write(content)
        if content.cut:
            facts["dshhooks.content.cut"] = True
    return facts


def _turn(payload: Any) -> dict[str, Writer]:
    if payload.input is None:
        return {}
    message = payload.input if isinstance(payload.input, Message) else Message("user", payload.input)
    return {"gen_ai.input.messages": lambda to: to.messages([message])}


def _inference(payload: Any) -> dict[str, Writer]:
    request = payload.request
    writers: dict[str, Writer] = {"gen_ai.input.messages": lambda to: to.messages(request.messages)}
    if request.system is not None:
        writers["gen_ai.system_instructions"] = lambda to: to.instructions(request.system)
    if request.tools:
        writers["gen_ai.tool.definitions"] = lambda to: to.definitions(request.tools)
    return writers


def _tool(payload: Any) -> dict[str, Writer]:
    arguments = payload.arguments
    return {} if arguments is MISSING else {"gen_ai.tool.call.arguments": lambda to: to.value(arguments)}


def _answer(payload: Any) -> dict[str, Writer]:
    return _output(payload.ai_message, finish_reason(payload))


def _output(message: Message | None, reason: str | None) -> dict[str, Writer]:
    return {} if message is None else {"gen_ai.output.messages": lambda to: to.messages([message], reason)}


def _result(payload: Any) -> dict[str, Writer]:
    if payload.result is None or payload.is_error:
        return {}
    value = payload.result.value if isinstance(payload.result, ToolSuccess) else payload.result
    return {"gen_ai.tool.call.result": lambda to: to.value(value)}


_BEGIN: Final[dict[str, Callable[[Any], dict[str, Writer]]]] = {
    "turn": _turn,
    "inference": _inference,
    "tool_call": _tool,
    "tool_execution": _tool,
}

_END: Final[dict[str, Callable[[Any], dict[str, Writer]]]] = {
    "inference": _answer,
    "tool_execution": _result,
}
