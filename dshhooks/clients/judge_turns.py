"""What plugins make of a client's prompts, sessions, turns and sub-agents (core.md 4, decisions.md 2.2)."""

from __future__ import annotations

from typing import Any

from dshhooks.clients.agent import ClientAgent, Outbox, context_texts
from dshhooks.clients.event import ClientEvent
from dshhooks.clients.verdict import NONE, Verdict
from dshhooks.engine.hooks import Hooks
from dshhooks.engine.logs import Log
from dshhooks.engine.observe import observe
from hookspecs.decisions import AllowPrompt, BlockPrompt, ContinueTurn, StopTurn
from hookspecs.json import MISSING
from hookspecs.signal import NEVER
from hookspecs.values import TextBlock, UserSource, content_text

__all__ = ["prompt", "session_end", "session_start", "stop", "subagent"]

log = Log("dshhooks.clients")


async def prompt(hooks: Hooks, event: ClientEvent, agent: ClientAgent, outbox: Outbox) -> Verdict:
    plan = hooks.plan("agent_prompt_submit", agent)
    # qwen submits an empty prompt with every tool result: nobody wrote that one.
    if not plan.active or (event.client.name == "qwen" and not event.prompt):
        return NONE
    content = (TextBlock(event.prompt),)
    decision = await plan.run(plan, (agent, content, UserSource(), NEVER), AllowPrompt())
    if isinstance(decision, BlockPrompt):
        return Verdict("deny", decision.reason)
    if outbox.cancelled:
        return Verdict("deny", "a plugin cancelled the agent")
    if decision.content is not MISSING:
        log.warning("%s: a plugin rewrote the prompt; this client sends its own", event.client.name)
    return Verdict("none", "", tuple(context_texts(decision.contexts)))


async def session_start(hooks: Hooks, event: ClientEvent, agent: ClientAgent, _outbox: Outbox) -> Verdict:
    plan = hooks.plan("agent_session_start", agent)
    if plan.active:
        await observe(plan, (agent, "startup" if event.source in ("", "new") else event.source))
    plan = hooks.plan("agent_session_prefix", agent)
    if not plan.active:
        return NONE
    messages = [message for answer in await plan.run(plan, (agent, NEVER)) or () for message in answer]
    return Verdict("none", "", tuple(text for message in messages if (text := content_text(message.content))))


async def session_end(hooks: Hooks, _event: ClientEvent, agent: ClientAgent, _outbox: Outbox) -> Verdict:
    plan = hooks.plan("agent_disposed", agent)
    if plan.active:
        await observe(plan, (agent,))
    return NONE


async def stop(hooks: Hooks, _event: ClientEvent, agent: ClientAgent, outbox: Outbox) -> Verdict:
    """Ask continuation, turn-stopping, turn-stop, in that order (decisions.md 2.2)."""
    turn, default = 1, StopTurn()
    decision = await _decided(hooks, "agent_turn_continuation", default, agent, turn, default, NEVER)
    texts: list[str] = []
    if isinstance(decision, ContinueTurn) and decision.reason is not None:
        texts.append(content_text(decision.reason.content))
    if not isinstance(decision, ContinueTurn) and not outbox.steering:
        plan = hooks.plan("agent_turn_stopping", agent)
        if plan.active:
            await plan.run(plan, (agent, turn, NEVER))
    goes_on = isinstance(decision, ContinueTurn) or bool(outbox.steering)
    stopped = await _decided(hooks, "agent_turn_stop", None, agent, turn, NEVER)
    if stopped is not None or outbox.cancelled or not goes_on:
        return NONE
    return Verdict("continue", "\n".join((*texts, *outbox.steering)) or "a plugin wants the turn to go on")


async def _decided(hooks: Hooks, hook: str, default: Any, agent: ClientAgent, *args: Any) -> Any:
    plan = hooks.plan(hook, agent)
    return await plan.run(plan, (agent, *args), default) if plan.active else default


async def subagent(hooks: Hooks, event: ClientEvent, agent: ClientAgent, _outbox: Outbox) -> Verdict:
    hook = "subagent_start" if event.kind == "subagent:start" else "subagent_end"
    plan = hooks.plan(hook, agent)
    if plan.active:
        await observe(plan, (agent, agent.child(event), event.agent_type))
    return NONE
