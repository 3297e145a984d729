"""What belongs to one agent and goes with it: its own plugins, tools, guards, restrictions, prompt sections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookspecs.errors import HarnessError

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent
    from dshhooks.engine.hooks import Registration

__all__ = ["AgentContext"]


class AgentContext:
    """What is registered through it belongs to the agent, takes part in its calls only, and goes with it."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self._registrations: list[Registration] = []
        self._closed = False

    def register(self, plugin: object, name: str | None = None) -> Registration:
        """Register a plugin for this agent."""
        return self._keep(self.agent.harness.hooks.register(plugin, name, agent=self.agent))

    def tool(self, definition: Any) -> Registration:
        """Register a tool for this agent; it shadows a global one of the same name."""
        return self._keep(self.agent.harness.tools.register(definition, agent=self.agent))

    def guard(self, fn: Any) -> Registration:
        """Add a guard for this agent's calls."""
        return self._keep(self.agent.harness.tools.guard(fn, agent=self.agent))

    def restrict(self, **lists: Any) -> Registration:
        """Hide global tools from this agent."""
        return self._keep(self.agent.harness.tools.restrict(self.agent, **lists))

    def inherit(self, above: Agent) -> Registration:
        """Hold this agent to the guards and restrictions another agent has now."""
        return self._keep(self.agent.harness.tools.inherit(self.agent, above))

    def section(self, section: Any) -> Registration:
        """Add a section to this agent's system prompt."""
        return self._keep(self.agent.harness.prompts.section(section, agent=self.agent))

    def variable(self, name: str, value: Any) -> Registration:
        """Give ``{{name}}`` a value in this agent's system prompt."""
        return self._keep(self.agent.harness.prompts.variable(name, value, agent=self.agent))

    def _keep(self, registration: Registration) -> Registration:
        if self._closed:
            registration.dispose()
            raise HarnessError(f"agent {self.agent.id!r} is disposed", "INACTIVE_EFFECT")
        self._registrations.append(registration)
        return registration

    def unwind(self) -> None:
        """Take everything back, last registered first."""
        self._closed = True
        while self._registrations:
            self._registrations.pop().dispose()
