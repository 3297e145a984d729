"""Every guard a tool call meets, in one list: at admission and at the final position (spec/operations.md 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

from attrs import frozen

from dshhooks.engine.hooks import Hooks
from dshhooks.operations.host import Operations
from dshhooks.operations.kinds import Operation
from dshhooks.tools.layers import Layer, Layers

__all__ = ["GuardEntry", "Position", "guard_entries"]

Position = Literal["admission", "final"]


@frozen
class GuardEntry:
    """One guard of tool calls; all it can say is no.

    Args:
        operation: What it guards.
        check: It.
        position: ``"admission"``: asked before any policy; ``"final"``: asked last, just before the tool runs.
        provider: The plugin it belongs to; empty for the host's own.
        dynamic: It came for one agent at run time, so no policy revision covers it.
    """

    operation: Operation
    check: Callable[..., Any]
    position: Position
    provider: str = ""
    dynamic: bool = False


def guard_entries(hooks: Hooks, operations: Operations, layers: Layers, agent: object) -> Iterator[GuardEntry]:
    """Yield the guards asked about a call of ``agent``, in the order they are asked."""
    for guard in operations.guards(agent):
        if guard.operation is Operation.TOOL_CALL:
            yield _of_plugin(hooks, guard.check, "admission", guard.plugin)
    yield from _of_layer(layers.everybody)
    for impl in hooks.plan("tools_guard", agent).implementations:
        yield _of_plugin(hooks, impl.fn, "final", impl.plugin)
    layer = layers.of(agent)
    if layer is not None:
        yield from _of_layer(layer)


def _of_layer(layer: Layer) -> Iterator[GuardEntry]:
    for guard in layer.guards:
        yield GuardEntry(Operation.TOOL_CALL, guard.fn, "final", dynamic=layer.agent is not None)


def _of_plugin(hooks: Hooks, check: Callable[..., Any], position: Position, plugin: str) -> GuardEntry:
    dynamic = bool(plugin) and hooks.agent_of(plugin) is not None
    return GuardEntry(Operation.TOOL_CALL, check, position, plugin, dynamic)
