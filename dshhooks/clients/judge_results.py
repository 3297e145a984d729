"""What plugins make of a client's tool call after it ran: post-execute and observers (core.md 2, 3)."""

from __future__ import annotations

from dshhooks.clients.agent import ClientAgent, Outbox, context_texts
from dshhooks.clients.event import ClientEvent
from dshhooks.clients.judge_calls import sealed
from dshhooks.clients.verdict import NONE, Verdict
from dshhooks.engine.hooks import Hooks
from dshhooks.engine.logs import Log
from dshhooks.engine.observe import observe
from dshhooks.tools.execution import DONE
from dshhooks.tools.outcome import blocked, denial, with_contexts
from hookspecs.decisions import Accept, Block
from hookspecs.execution import ToolError, ToolFailure, ToolResult, ToolSuccess
from hookspecs.json import MISSING, freeze
from hookspecs.values import content_text

__all__ = ["after_call", "tell_denied"]

log = Log("dshhooks.clients")


async def tell_denied(hooks: Hooks, event: ClientEvent, agent: ClientAgent, reason: str) -> None:
    plan = hooks.plan("tools_result", agent)
    if plan.active:
        run = sealed(event, agent)
        run.stage = DONE
        await observe(plan, (run.execution, denial(reason)))


async def after_call(hooks: Hooks, event: ClientEvent, agent: ClientAgent, _outbox: Outbox) -> Verdict:
    run, result = sealed(event, agent), _result(event)
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
