"""The smallest registry, tool and plugin a test needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dshhooks.tools.definition import ToolDefinition, ToolOutput
from dshhooks.tools.registry import ToolRegistry
from hookspecs.execution import ToolCall, ToolResult
from hookspecs.markers import hookimpl
from hookspecs.signal import CancelSource
from hookspecs.values import HookContext, PluginSource

__all__ = ["Agent", "Phases", "Plugin", "aborted_source", "code", "context", "execute", "message", "never", "registry",
           "saying", "text", "tool", "wrap"]  # fmt: skip


class Agent:
    """Stands for an agent; the registry only looks at its identity."""


class Plugin:
    """A plugin made of functions: ``Plugin("policy", tools_pre_execute=lambda execution: Deny("no"))``."""

    def __init__(self, name: str = "plugin", **hooks: Callable[..., Any]) -> None:
        self.name = name
        for hook, function in hooks.items():
            setattr(self, hook, function if hasattr(function, "dshhooks_impl") else hookimpl(function))


class Phases:
    """Records which later phases a call reached."""

    def __init__(self) -> None:
        self.reached: list[str] = []
        self.plugin = Plugin(
            "phases",
            tools_guard=lambda execution: self.reached.append("guard"),
            tools_execute=lambda execution: self.reached.append("execute"),
            tools_post_execute=lambda execution, result: self.reached.append("post"),
            tools_result=lambda execution, result: self.reached.append("result"),
        )


def saying(log: list[str], word: str, answer: Any = None) -> Any:
    """A function that notes its turn and answers."""

    def say(execution: Any) -> Any:
        log.append(word)
        return answer

    return say


def wrap(function: Callable[..., Any]) -> Any:
    """Mark a generator function or an async function with ``call_next`` as a wrapper."""
    return hookimpl(wrapper=True)(function)


def tool(
    name: str = "echo",
    execute: Callable[..., Any] | None = None,
    *,
    schema: dict[str, Any] | None = None,
    render: Callable[..., Any] = lambda _args, value: f"{value}",
    meta: Callable[..., Any] | None = None,
    parameters: Any = None,
    **options: Any,
) -> ToolDefinition:
    """A tool that by default gives its arguments back and accepts any value."""

    async def echo(args: Any, _exec: Any) -> Any:
        return args

    output = ToolOutput({} if schema is None else schema, render, meta)
    parameters = {"type": "object"} if parameters is None else parameters
    return ToolDefinition(name, f"the {name} tool", parameters, output, execute or echo, **options)


async def never(_args: Any, _exec: Any) -> Any:
    """A body that must not run."""
    raise AssertionError("the body ran")


def registry(*plugins: object, tools: Any = None) -> ToolRegistry:
    """A registry with these plugins, the first outermost, and these tools (``echo`` by default)."""
    made = ToolRegistry()
    for definition in (tool(),) if tools is None else tools:
        made.register(definition)
    for plugin in reversed(plugins):
        made.hooks.register(plugin)
    return made


async def execute(tools: ToolRegistry, name: str = "echo", arguments: Any = None, **call: Any) -> ToolResult:
    """Execute one call."""
    return await tools.execute(ToolCall("c1", name, {} if arguments is None else arguments, **call))


def code(result: Any) -> str | None:
    """The failure's code, or ``None`` for a failure without one."""
    assert result.is_error, f"expected a failure, got {result!r}"
    return None if result.error.info is None else result.error.info.code


def message(result: Any) -> str:
    """The failure's message."""
    assert result.is_error, f"expected a failure, got {result!r}"
    return result.error.message


def text(result: Any) -> str:
    """What the model reads."""
    return "\n".join(block.text for block in result.content)


def context(content: str, **meta: Any) -> HookContext:
    """A context said by plugin ``p``."""
    return HookContext(content, PluginSource("p"), meta=meta)


def aborted_source(reason: Any = "stop") -> CancelSource:
    """A source that was aborted already."""
    source = CancelSource()
    source.abort(reason)
    return source
