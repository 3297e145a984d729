"""The registry as a plugin's ``register_tools`` sees it (spec/core.md 1.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dshhooks.engine.contribution import Belongings

if TYPE_CHECKING:
    from dshhooks.engine.hooks import Registration
    from dshhooks.tools.registry import ToolRegistry

__all__ = ["PluginRegistry"]


class PluginRegistry(Belongings):
    """Tools, guards and restrictions of one plugin.

    A plugin registered for one agent registers for that agent unless it says otherwise.
    """

    def __init__(self, registry: ToolRegistry, agent: object) -> None:
        super().__init__(registry, ("register", "guard", "restrict"))
        self._agent = agent

    def register(self, definition: Any, *, agent: object = None) -> Registration:
        """Like :meth:`ToolRegistry.register`."""
        return self.__getattr__("register")(definition, agent=self._agent if agent is None else agent)  # type: ignore[no-any-return]

    def guard(self, fn: Any, *, agent: object = None) -> Registration:
        """Like :meth:`ToolRegistry.guard`."""
        return self.__getattr__("guard")(fn, agent=self._agent if agent is None else agent)  # type: ignore[no-any-return]
