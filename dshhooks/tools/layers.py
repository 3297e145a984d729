"""Who sees which tool: one global layer, one per agent, and restrictions between them (spec/core.md 1.3, 1.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from attrs import define, field, frozen

from dshhooks.tools.definition import ToolDefinition
from dshhooks.tools.schema import Validator
from hookspecs.execution import ToolExecution

if TYPE_CHECKING:
    from hookspecs.model import ToolSchema

__all__ = ["Entry", "Guard", "GuardFunction", "Layer", "Layers", "Restriction"]

GuardFunction = Callable[[ToolExecution], "str | None"]


@define(eq=False)
class Entry:
    """A registered definition with what was compiled from it; compared by identity."""

    definition: ToolDefinition
    validate_output: Validator
    threaded: bool
    told: ToolSchema | None = field(default=None, init=False)  # as requests tell the model of it, once one did


@frozen(eq=False)
class Guard:
    """A registered guard function; equal functions registered twice are two guards."""

    fn: GuardFunction


@frozen(eq=False)
class Restriction:
    """A filter on global tools, copied when it was made."""

    allow: frozenset[str] | None
    deny: frozenset[str]

    def admits(self, name: str) -> bool:
        """Say whether a global tool of this name stays visible."""
        return name not in self.deny and (self.allow is None or name in self.allow)


@define(eq=False)
class Layer:
    """The tools, guards and restrictions of everybody, or of one agent."""

    agent: Any
    tools: dict[str, Entry] = field(factory=dict)
    guards: list[Guard] = field(factory=list)
    restrictions: list[Restriction] = field(factory=list)

    def is_empty(self) -> bool:
        """Say whether nothing is left that would keep an agent's layer alive."""
        return not (self.tools or self.guards or self.restrictions)


class Layers:
    """The global layer and the agents' layers, which come and go with their contents."""

    def __init__(self) -> None:
        self.everybody = Layer(None)
        self._agents: dict[int, Layer] = {}

    def of(self, agent: object) -> Layer | None:
        """Return an agent's layer, or ``None`` when it has none."""
        return self._agents.get(id(agent)) if agent is not None and self._agents else None

    def make(self, agent: object) -> Layer:
        """Return the layer to put something into: the global one for ``None``."""
        if agent is None:
            return self.everybody
        layer = self._agents.get(id(agent))
        if layer is None:
            # The layer holds the agent, so its id cannot be taken by another object while the layer lives.
            layer = self._agents[id(agent)] = Layer(agent)
        return layer

    def tidy(self, layer: Layer) -> None:
        """Forget an agent's layer once it is empty."""
        if layer.agent is not None and layer.is_empty():
            self._agents.pop(id(layer.agent), None)

    def get(self, name: str, agent: object) -> Entry | None:
        """Return what ``agent`` sees under ``name`` now, or ``None``."""
        layer = self.of(agent)
        if layer is None:
            return self.everybody.tools.get(name)
        own = layer.tools.get(name)
        if own is not None:
            return own
        entry = self.everybody.tools.get(name)
        return entry if entry is not None and _admitted(layer, name) else None

    def view(self, agent: object) -> Iterator[Entry]:
        """Yield what ``agent`` sees: admitted global tools, shadowed in place by its own, then the rest of its own."""
        layer = self.of(agent)
        own = dict(layer.tools) if layer is not None else {}
        for name, entry in tuple(self.everybody.tools.items()):  # a tool in a thread may register another meanwhile
            if name in own:
                yield own.pop(name)
            elif layer is None or _admitted(layer, name):
                yield entry
        yield from own.values()


def _admitted(layer: Layer, name: str) -> bool:
    return all(restriction.admits(name) for restriction in layer.restrictions)
