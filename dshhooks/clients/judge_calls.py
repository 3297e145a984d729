"""What plugins make of a client's tool call: policy and guards before it, post-execute and observers after it.

The call is sealed as the registry seals one and runs in the client, so nothing here stands around it (core.md 2, 3).
"""

from __future__ import annotations

from inspect import isawaitable
from typing import Any, Final

from dshhooks.clients.agent import ClientAgent, Outbox, context_texts
from dshhooks.clients.event import ClientEvent
from dshhooks.clients.verdict import NONE, Verdict
from dshhooks.engine.faults import blamed, is_fault
from dshhooks.engine.hooks import Hooks
from dshhooks.engine.logs import Log
from dshhooks.engine.observe import observe
from dshhooks.tools.execution import DONE, ToolRun, seal
from dshhooks.tools.guards import ask_hooks
from dshhooks.tools.outcome import blocked, denial, with_contexts
from hookspecs.decisions import Accept, Allow, Ask, Block, Deny
from hookspecs.errors import InvalidDecisionError
from hookspecs.execution import ToolCall, ToolError, ToolFailure, ToolResult, ToolSuccess
from hookspecs.json import MISSING, freeze
from hookspecs.values import content_text

__all__ = ["after_call", "before_call", "tell_denied"]

log = Log("dshhooks.clients")


async def before_call(hooks: Hooks, event: ClientEvent, agent: ClientAgent, outbox: Outbox) -> Verdict:
    run = _sealed(event, agent)
    decision: Any = _SILENCE
    plan = hooks.plan("tools_pre_execute", agent)
    if plan.active:
        decision = await plan.run(plan, (run.execution,), _SILENCE)
    if isinstance(decision, Deny):
        return Verdict("deny", decision.reason)
    reason = await _guarded(hooks, run, event)
    if reason is not None:
        return Verdict("deny", reason)
    if outbox.cancelled:
        return Verdict("deny", "a plugin cancelled the agent")
    if isinstance(decision, Ask):
        return Verdict("ask", decision.reason or "a plugin asks a person to approve this")
    if decision is _SILENCE:
        return NONE
    # The engine refused everything else as INVALID_DECISION; this is the second lock on that door.
    return Verdict("allow") if isinstance(decision, Allow) else Verdict("deny", f"unknown decision {type(decision)}")


# What stands when everybody abstains (decisions.md 7.18), still tellable from an approval that somebody gave.
_SILENCE: Final = Allow()


class _NoTools:
    """Where an execution looks for its tool's definition: the tools are the client's, and there is none."""

    def get(self, _name: str, _agent: Any) -> None:
        return None


_NO_TOOLS: Final[Any] = _NoTools()


def _sealed(event: ClientEvent, agent: ClientAgent) -> ToolRun:
    run, fault = seal(ToolCall(event.call_id, event.tool, event.arguments, agent=agent), _NO_TOOLS)
    if fault is not None:
        raise fault
    return run


async def _guarded(hooks: Hooks, run: ToolRun, event: ClientEvent) -> str | None:
    plan = hooks.plan("tools_guard", run.execution.agent)
    reason = ask_hooks(plan, run.execution) if plan.active else None
    if reason is None and hooks.plan("operation_guard", run.execution.agent).active:
        reason = await _admitted(hooks, run, event)
    return reason


async def _admitted(hooks: Hooks, run: ToolRun, event: ClientEvent) -> str | None:
    """Ask the operation guards about the call, at admission (decisions.md 2.4)."""
    from dshhooks.operations import Call, Coordinates, Operation, ToolCallData, as_denial
    from hookspecs.json import encode

    execution = run.execution
    data = ToolCallData("", execution.call_id, execution.name, encode(event.arguments), summary=execution.name)
    call = Call(Operation.TOOL_CALL, data, Coordinates(session=event.session_id), execution.agent.name)
    plan = hooks.plan("operation_guard", execution.agent)
    if plan.shadows:
        from dshhooks.engine.shadow import ask_shadows

        ask_shadows(plan, (call,))
    for impl in plan.implementations:
        try:
            answer = impl.fn(call)
            if isawaitable(answer):
                answer = await answer
        except BaseException as exc:
            if not is_fault(exc):
                raise
            refusal = as_denial(exc)
            if refusal is None:
                raise blamed(exc, impl)  # noqa: B904 - it is the exception itself
            return refusal.reason
        if answer is None:
            continue
        refusal = as_denial(answer)
        if refusal is None:
            raise InvalidDecisionError(
                f"plugin {impl.plugin!r} answered hook {impl.hook!r} with {type(answer).__name__}"
            )
        return refusal.reason
    return None


async def tell_denied(hooks: Hooks, event: ClientEvent, agent: ClientAgent, reason: str) -> None:
    plan = hooks.plan("tools_result", agent)
    if plan.active:
        run = _sealed(event, agent)
        run.stage = DONE
        await observe(plan, (run.execution, denial(reason)))


async def after_call(hooks: Hooks, event: ClientEvent, agent: ClientAgent, _outbox: Outbox) -> Verdict:
    run, result = _sealed(event, agent), _result(event)
    verdict = NONE
    plan = hooks.plan("tools_post_execute", agent)
    if plan.active:
        decision = await plan.run(plan, (run.execution, result), Accept())
        contexts = tuple(context_texts(decision.contexts))
        if isinstance(decision, Block):
            result = blocked(decision)
            verdict = Verdict("feedback", content_text(decision.feedback) or "the result was blocked", contexts)
        else:
            _say_if_replacing(decision, event)
            result = with_contexts(result, decision.contexts)
            verdict = Verdict("none", "", contexts)
    run.stage = DONE
    plan = hooks.plan("tools_result", agent)
    if plan.active:
        await observe(plan, (run.execution, result))
    return verdict


def _result(event: ClientEvent) -> ToolResult:
    if event.error is not None:
        return ToolFailure(ToolError(event.error))
    return ToolSuccess(freeze(event.result), event.output)


def _say_if_replacing(decision: Accept, event: ClientEvent) -> None:
    if decision.content is not MISSING or decision.value is not MISSING:
        log.warning("%s: a plugin replaced the result of %r; this client keeps its own", event.client.name, event.tool)
