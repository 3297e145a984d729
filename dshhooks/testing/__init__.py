"""The kit for plugin authors: run one real call through a plugin, and check that it keeps the contract."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookspecs.execution import ToolResult

__all__ = ["echo_tool", "run_call"]


def echo_tool(name: str = "echo") -> Any:
    """Return a tool that answers with its own arguments."""
    from dshhooks.tools.definition import ToolDefinition, ToolOutput
    from hookspecs.json import encode

    async def execute(args: Any, _exec: Any) -> Any:
        return args

    output = ToolOutput({}, lambda _args, value: encode(value))
    return ToolDefinition(name, "Answer with the arguments.", {"type": "object"}, output, execute)


def run_call(
    arguments: Any = None,
    *,
    plugins: Sequence[Any] = (),
    tool: Any = None,
    agent: object = None,
    approver: Any = None,
    backend: str = "asyncio",
) -> ToolResult:
    """Run one call through the whole pipeline and return its result.

    Args:
        arguments: What the tool is called with; ``{}`` by default.
        plugins: Plugin objects, the first one outermost.
        tool: A ``ToolDefinition`` or ``@tool`` function; :func:`echo_tool` by default.
        agent: The calling agent.
        approver: Answers when a plugin asks.
        backend: The anyio backend.
    """
    import anyio

    from dshhooks.tools.registry import ToolRegistry
    from hookspecs.execution import ToolCall

    registry = ToolRegistry()
    for plugin in reversed(plugins):
        registry.hooks.register(plugin)
    definition = tool if tool is not None else echo_tool()
    definition = getattr(definition, "definition", definition)
    registry.register(definition)
    call = ToolCall("call-1", definition.name, {} if arguments is None else arguments, agent=agent, approver=approver)
    return anyio.run(registry.execute, call, backend=backend)
