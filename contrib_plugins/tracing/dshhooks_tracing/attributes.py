"""What a span says of an operation: its name, its kind, and the facts known at the begin and at the end.

``gen_ai.*`` are the GenAI semantic conventions' (status: development); what they have no word for is ``dshhooks.*``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from attrs import frozen
from opentelemetry.trace import SpanKind

from dshhooks_tracing.content import encodable
from dshhooks_tracing.inference import answered
from dshhooks_tracing.options import TracingOptions
from dshhooks_tracing.tally import Tally

__all__ = ["Opening", "closing", "opening"]

Facts = dict[str, Any]

# Names and ids come from models, too; a name is no place for a novel.
_LONGEST: Final = 256


@frozen
class Opening:
    """How a span begins."""

    name: str
    kind: SpanKind
    attributes: Facts


def opening(call: Any, options: TracingOptions) -> Opening:
    """Return how the span of a call begins."""
    title, facts = _OPENINGS[call.operation](call, options)
    at = call.coordinates
    common = {
        "dshhooks.operation": str(call.operation),
        "gen_ai.conversation.id": at.session,
        "gen_ai.agent.id": at.loop,
        "gen_ai.agent.name": _agent(call, options),
        "dshhooks.turn": at.turn,
        "dshhooks.step": at.step,
    }
    kind = SpanKind.CLIENT if call.operation == "inference" else SpanKind.INTERNAL
    return Opening(title, kind, _present(common | facts))


def closing(result: Any, tally: Tally | None) -> Facts:
    """Return what a result adds to the span of its call; a turn adds its tally."""
    if result.operation == "turn":
        return tally.facts() if tally is not None else {}
    close = _CLOSINGS.get(result.operation)
    return _present(close(result.payload)) if close is not None else {}


def _present(facts: Facts) -> Facts:
    return {name: value for name, value in facts.items() if value is not None and value != "" and value != ()}


def _short(text: str) -> str:
    return encodable(text[:_LONGEST])


def _agent(call: Any, options: TracingOptions) -> str:
    return _short(call.agent_name or options.agent_name)


# -- at the begin --------------------------------------------------------------------------------------------------


def _turn(call: Any, options: TracingOptions) -> tuple[str, Facts]:
    facts: Facts = {"gen_ai.operation.name": "invoke_agent"}
    if call.cause is not None:
        facts["dshhooks.cause.human"] = call.cause.human
        facts["dshhooks.cause.tool_execution_id"] = _short(call.cause.tool_execution_id)
    return f"invoke_agent {_agent(call, options)}".rstrip(), facts


def _step(_call: Any, _options: TracingOptions) -> tuple[str, Facts]:
    return "step", {}


def _inference(call: Any, options: TracingOptions) -> tuple[str, Facts]:
    request = call.payload.request
    facts = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _short(options.providers.get(request.provider, request.provider)),
        "gen_ai.request.model": _short(request.model),
        "gen_ai.request.stream": True,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.request.stop_sequences": tuple(_short(text) for text in request.stop),
    }
    return f"chat {facts['gen_ai.request.model']}".rstrip(), facts


def _compaction(call: Any, _options: TracingOptions) -> tuple[str, Facts]:
    source = call.payload.input
    model = _short(source.model_key) if source is not None else ""
    return "compaction", {"dshhooks.compaction.id": _short(call.payload.attempt_id), "dshhooks.compaction.model": model}


def _tool_call(call: Any, _options: TracingOptions) -> tuple[str, Facts]:
    facts = _tool(call.payload)
    return f"tool_call {facts['gen_ai.tool.name']}".rstrip(), facts


def _tool_execution(call: Any, _options: TracingOptions) -> tuple[str, Facts]:
    facts = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function", **_tool(call.payload)}
    return f"execute_tool {facts['gen_ai.tool.name']}".rstrip(), facts


def _tool(payload: Any) -> Facts:
    return {
        "gen_ai.tool.name": _short(payload.tool_name),
        "gen_ai.tool.call.id": _short(payload.call_id),
        "dshhooks.tool.execution_id": _short(payload.execution_id),
    }


def _gate_wait(call: Any, _options: TracingOptions) -> tuple[str, Facts]:
    payload = call.payload
    facts = {"id": payload.gate_id, "kind": payload.gate_kind, "resolver": payload.resolver, "effect": payload.effect}
    return "gate_wait", {f"dshhooks.gate.{name}": _short(value) for name, value in facts.items()}


def _journal_append(call: Any, _options: TracingOptions) -> tuple[str, Facts]:
    payload = call.payload
    facts = {"dshhooks.journal.family": payload.family, "dshhooks.journal.record_id": _short(payload.record_id)}
    return f"journal_append {_short(payload.family)}".rstrip(), facts


_OPENINGS: Final[dict[str, Callable[[Any, TracingOptions], tuple[str, Facts]]]] = {
    "turn": _turn,
    "step": _step,
    "inference": _inference,
    "compaction": _compaction,
    "tool_call": _tool_call,
    "tool_execution": _tool_execution,
    "gate_wait": _gate_wait,
    "journal_append": _journal_append,
}


# -- at the end ----------------------------------------------------------------------------------------------------


def _called(payload: Any) -> Facts:
    return {"dshhooks.tool.is_error": payload.is_error, "dshhooks.permission.effect": payload.permission_effect}


def _executed(payload: Any) -> Facts:
    return {"dshhooks.tool.is_error": payload.is_error}


def _answered(payload: Any) -> Facts:
    answer = payload.answer
    if answer is None:
        return {}
    return {"dshhooks.gate.answer": _short(answer.action), "dshhooks.gate.answer_source": _short(answer.source)}


_CLOSINGS: Final[dict[str, Callable[[Any], Facts]]] = {
    "inference": answered,
    "tool_call": _called,
    "tool_execution": _executed,
    "gate_wait": _answered,
}
