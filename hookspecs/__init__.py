"""The contract a plugin author sees: markers, values, decisions, executions and the hook specifications.

Imports pluggy and attrs only. Everything here is re-exported, lazily, by ``dshhooks``.
"""

from __future__ import annotations


def hookspec_classes() -> tuple[type, ...]:
    """Return the hookspec classes, one per domain, in the order of a session's life. Imports them on first use."""
    from hookspecs.agent import AgentHooks
    from hookspecs.llm import LlmHooks
    from hookspecs.operations import OperationHooks
    from hookspecs.plugins import ContributeHooks
    from hookspecs.session import SessionHooks
    from hookspecs.tools import ToolsHooks

    return (ContributeHooks, SessionHooks, AgentHooks, LlmHooks, ToolsHooks, OperationHooks)
