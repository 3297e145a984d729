"""The contract a plugin author sees: markers, values, decisions, executions and the hook specifications.

Imports pluggy and attrs only. Everything here is re-exported, lazily, by ``dshhooks``.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

# The modules with hookspecs and their classes, one per domain, in the order of a session's life.
_CLASSES = {
    "plugins": "ContributeHooks", "session": "SessionHooks", "agent": "AgentHooks", "llm": "LlmHooks",
    "tools": "ToolsHooks", "operations": "OperationHooks",
}  # fmt: skip


def hookspec_classes(domains: Iterable[str] = tuple(_CLASSES)) -> tuple[type, ...]:
    """Return the hookspec classes of all domains, or of some. Imports them on first use."""
    return tuple(getattr(import_module(f"hookspecs.{domain}"), _CLASSES[domain]) for domain in domains)
