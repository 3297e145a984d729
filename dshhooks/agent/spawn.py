"""A subagent: a child session under the same policies; the parent's cancel reaches it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
from attrs import frozen

from dshhooks.agent.causes import ParentCause
from dshhooks.session.events import AbortedEnd, CompletedEnd, MaxTokensEnd, RejectedEnd, TurnEndReason
from hookspecs.values import content_text

if TYPE_CHECKING:
    from dshhooks.agent.context import AgentContext
    from dshhooks.agent.handle import Agent

__all__ = ["SubagentResult", "spawn"]


@frozen
class SubagentResult:
    """What came of a subagent.

    Args:
        session_id: Its session, which stays in the store.
        text: The text of its last answer; empty when there was none.
        reason: How its turn ended.
        ok: Whether it ended by itself.
    """

    session_id: str
    text: str
    reason: TurnEndReason
    ok: bool


async def spawn(parent: Agent, agent_type: str, prompt: Any) -> SubagentResult:
    """Run ``prompt`` in a child agent to the end of its work, then dispose it.

    Args:
        parent: Who asks; its options are the child's.
        agent_type: What kind of helper it is, for observers.
        prompt: A ``str`` or blocks.
    """
    harness, header = parent.harness, parent.session.header
    session = harness.sessions.create(
        cwd=header.cwd, parent_session=parent.id, delegation_depth=header.delegation_depth + 1
    )
    with parent.beside() as signal:
        # The child may do no more than its parent; what refuses the parent's calls refuses the child's.
        child = await harness.agents.publish(
            session, parent.options, "startup", setup=lambda ctx: _set_up(ctx, parent, agent_type), owner=parent
        )
        parent.tell("subagent_start", parent, child, agent_type)
        try:
            child.followup(prompt)
            signal.add_listener(lambda: child.cancel(ParentCause()))  # at once, if it was aborted by now
            await child.when_idle()
            return _result(child)
        finally:
            await _end(parent, child, agent_type)


def _set_up(ctx: AgentContext, parent: Agent, agent_type: str) -> None:
    ctx.agent.agent_type = agent_type
    ctx.inherit(parent)


async def _end(parent: Agent, child: Agent, agent_type: str) -> None:
    """Stop a child that may still run: the caller was cancelled, and nobody else would ever stop it."""
    with anyio.CancelScope(shield=True):
        try:
            child.cancel(ParentCause())
            await child.when_idle()
            await child.dispose()
        finally:
            parent.tell("subagent_end", parent, child, agent_type)


def _result(child: Agent) -> SubagentResult:
    reason = _reason(child)
    text = ""
    for message in reversed(child.session.messages()):
        if message.role == "assistant":
            text = content_text([block for block in message.content if block.kind == "text"])
            break
    return SubagentResult(child.id, text, reason, isinstance(reason, (CompletedEnd, MaxTokensEnd)))


def _reason(child: Agent) -> TurnEndReason:
    """How the prompt's turn ended; one that was cancelled before it began was aborted."""
    reason: Any = AbortedEnd()
    for event in reversed(child.session.events):
        if event.type == "turn/end":
            reason = event.data.reason
        elif event.type == "input/rejected":
            return RejectedEnd(event.data.reason)
        elif event.type == "turn/start" and event.data.trigger.kind == "message":
            return reason  # type: ignore[no-any-return]
    return AbortedEnd()
