"""What an agent's session is started and resumed under (spec/operations.md 1.17).

Plugins that only observe are no part of it, nor are observers of operations: who merely looks on changes nothing about
what a session is (R1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dshhooks.engine.hooks import Hooks
from dshhooks.operations.manifest import Manifest
from hookspecs.markers import Authority

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent
    from dshhooks.operations.host import Operations

__all__ = ["Governing", "manifest_of"]


class Governing:
    """Which plugins of a host may change what happens.

    One that says ``governs = False`` is none of them: the host's user interface, say, which relays what a person does.
    """

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._names: set[str] = set()
        hooks.on_arrival(self._welcome)

    def names(self, agent: object = None) -> list[str]:
        """Return the names of those that take part in the work of an agent, or of everybody."""
        return [name for name in self._names if self._hooks.agent_of(name) in (None, agent)]

    def _welcome(self, plugin: str) -> Callable[[], None]:
        hooks = (self._hooks.plan(hook).meta for hook in self._hooks.hooks_of(plugin))
        if any(meta.authority is not Authority.OBSERVE for meta in hooks) and self._says_so(plugin):
            self._names.add(plugin)
        return lambda: self._names.discard(plugin)

    def _says_so(self, plugin: str) -> bool:
        return getattr(self._hooks.plugin(plugin), "governs", True) is not False


def manifest_of(agent: Agent, governing: Governing, operations: Operations) -> Manifest:
    """Return what governs an agent that has been set up.

    Args:
        agent: The agent.
        governing: The host's plugins.
        operations: Where the policy revision comes from.
    """
    provider, model = agent.options.provider or "", agent.options.model or ""
    return Manifest(
        agent.agent_type,
        f"{provider}/{model}" if provider or model else "",
        agent.harness.tools.names(agent),
        governing.names(agent),
        operations.policy_revision,
    )
