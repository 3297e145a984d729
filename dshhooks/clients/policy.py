"""What plugins make of a client's event: the same hooks as in a turn of our own, and no execution (core.md 2-4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any, Final

from dshhooks.clients.agent import ClientAgent, Outbox
from dshhooks.clients.event import ClientEvent
from dshhooks.clients.verdict import NONE, Verdict
from dshhooks.engine.faults import is_fault, origin, plugin_failed
from dshhooks.engine.hooks import Hooks
from hookspecs.errors import HarnessError

__all__ = ["HOOKS", "LATER", "judge"]

Judges = Callable[[Hooks, ClientEvent, ClientAgent, Outbox], Awaitable[Verdict]]

# The hooks an event asks, by its canonical kind: only plugins with one of these are needed for it.
HOOKS: Final[dict[str, tuple[str, ...]]] = {
    "tool:before": ("tools_pre_execute", "tools_guard", "operation_guard"),
    "tool:permission": ("tools_pre_execute", "tools_guard", "operation_guard"),
    "tool:after": ("tools_post_execute", "tools_result"),
    "prompt:submit": ("agent_prompt_submit",),
    "session:start": ("agent_session_start", "agent_session_prefix"),
    "session:end": ("agent_disposed",),
    "turn:stop": ("agent_turn_continuation", "agent_turn_stopping", "agent_turn_stop"),
    "subagent:start": ("subagent_start",),
    "subagent:end": ("subagent_end",),
}

# The observers of a call that was denied; nobody needs them before that.
LATER: Final[dict[str, tuple[str, ...]]] = {"tool:before": ("tools_result",)}


async def judge(
    hooks: Hooks, event: ClientEvent, agent: ClientAgent, outbox: Outbox, late: Callable[[], None]
) -> Verdict:
    """Ask the hooks about one event.

    Args:
        hooks: The plugins.
        event: The event.
        agent: The agent of the event's session.
        outbox: Where things said to the agent are collected.
        late: Makes the observers of :data:`LATER` take part; called when they are needed.

    Raises:
        Exception: A plugin failed; what its failure means is the caller's business.
    """
    if event.kind not in _JUDGES:
        return NONE
    judges: Judges = _judges(event.kind)
    try:
        verdict = await judges(hooks, event, agent, outbox)
    except BaseException as exc:
        if not is_fault(exc):
            raise
        raise explained(exc) from exc
    if verdict.kind == "deny" and event.kind == "tool:before":
        from dshhooks.clients.judge_results import tell_denied

        late()
        await tell_denied(hooks, event, agent, verdict.reason)
    said = (*verdict.contexts, *outbox.contexts, *(outbox.steering if event.kind != "turn:stop" else ()))
    return Verdict(verdict.kind, verdict.reason, said) if said != verdict.contexts else verdict


def explained(exc: BaseException) -> BaseException:
    """Return an error that names hook and plugin, for a fault that carries no code of its own (decisions.md 3.7)."""
    note = origin(exc)
    return plugin_failed(exc, note.hook, note.plugin) if note is not None and not isinstance(exc, HarnessError) else exc


# By module and function: one process judges one event and imports one of them.
_JUDGES: Final = {
    "tool:before": "judge_calls:before_call",
    "tool:permission": "judge_calls:before_call",
    "tool:after": "judge_results:after_call",
    "prompt:submit": "judge_turns:prompt",
    "session:start": "judge_turns:session_start",
    "session:end": "judge_turns:session_end",
    "turn:stop": "judge_turns:stop",
    "subagent:start": "judge_turns:subagent",
    "subagent:end": "judge_turns:subagent",
}


def _judges(kind: str) -> Any:
    module, _, function = _JUDGES[kind].partition(":")
    return getattr(import_module(f"dshhooks.clients.{module}"), function)
