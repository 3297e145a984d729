"""A plugin's tools: registered through it, gone with it (spec/core.md 1.2)."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

from dshhooks.engine.faults import discard, is_fault, plugin_failed

if TYPE_CHECKING:
    from dshhooks.engine.hooks import Registration
    from dshhooks.tools.registry import ToolRegistry

__all__ = ["PluginRegistry", "contribute"]


class PluginRegistry:
    """The registry as a plugin's ``register_tools`` sees it: everything registered through it is the plugin's.

    A plugin registered for one agent registers for that agent unless it says otherwise.
    """

    def __init__(self, registry: ToolRegistry, agent: object) -> None:
        self._registry, self._agent = registry, agent
        self._registrations: list[Registration] = []

    def register(self, definition: Any, *, agent: object = None) -> Registration:
        """Like :meth:`ToolRegistry.register`."""
        return self._kept(self._registry.register(definition, agent=self._agent if agent is None else agent))

    def guard(self, fn: Any, *, agent: object = None) -> Registration:
        """Like :meth:`ToolRegistry.guard`."""
        return self._kept(self._registry.guard(fn, agent=self._agent if agent is None else agent))

    def restrict(self, agent: object, **lists: Any) -> Registration:
        """Like :meth:`ToolRegistry.restrict`."""
        return self._kept(self._registry.restrict(agent, **lists))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._registry, name)

    def _kept(self, registration: Registration) -> Registration:
        self._registrations.append(registration)
        return registration

    def dispose(self) -> None:
        """Take back everything the plugin registered."""
        while self._registrations:
            self._registrations.pop().dispose()


def contribute(registry: ToolRegistry, plugin: str) -> Callable[[], None]:
    """Call a plugin's ``register_tools``; return what takes its tools back.

    Raises:
        PluginFailedError: It raised; what it had registered by then is taken back.
    """
    hooks = registry.hooks
    agent = hooks.agent_of(plugin)
    own = PluginRegistry(registry, agent)
    for impl in hooks.plan("register_tools", agent).implementations:
        if impl.plugin == plugin:
            try:
                answer = impl.fn(own)
                if isawaitable(answer):
                    discard(answer)
                    raise TypeError("it answered with an awaitable; what is registered is registered at once")
            except BaseException as exc:
                own.dispose()
                if not is_fault(exc):
                    raise
                raise plugin_failed(exc, impl.hook, plugin) from exc
    return own.dispose
