"""What plugins make of a client's tool call before it runs: policy and guards.

The call is sealed as the registry seals one and runs in the client, so nothing here stands around it (core.md 2, 3).
"""

from __future__ import annotations

from inspect import isawaitable
from typing import Any, Final

from dshhooks.clients.agent import ClientAgent, Outbox
from dshhooks.clients.event import ClientEvent
from dshhooks.clients.verdict import NONE, Verdict
from dshhooks.engine.faults import blamed, is_fault
from dshhooks.engine.hooks import Hooks
from dshhooks.tools.execution import ToolRun, seal
from dshhooks.tools.guards import ask_hooks
from hookspecs.decisions import Allow, Ask, Deny
from hookspecs.errors import InvalidDecisionError
from hookspecs.execution import ToolCall

__all__ = ["before_call", "sealed"]


async def before_call(hooks: Hooks, event: ClientEvent, agent: ClientAgent, outbox: Outbox) -> Verdict:
    run = sealed(event, agent)
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


def sealed(event: ClientEvent, agent: ClientAgent) -> ToolRun:
    """Return the execution that stands for the client's call.

    Raises:
        Exception: Its arguments are nothing that can be sealed.
    """
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
