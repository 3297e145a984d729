"""The peers: the same tool, the same policies and the same metrics in other frameworks.

``add(a, b)`` returns the sum. A policy reads one argument, refuses a negative one and lets everything else through. The
metrics wrapper takes the time around the rest and hands the result on untouched. Each builder imports its framework
itself, so that one that is not installed costs only its own row.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

__all__ = ["BUILDERS", "DISTRIBUTIONS", "agent_framework", "langchain", "pydantic_ai", "semantic_kernel"]

One = Callable[[], Any]


class Meter:
    """Where every metrics wrapper writes, ours included."""

    def __init__(self) -> None:
        self.calls = 0
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        """Count one call."""
        self.calls += 1
        self.seconds += seconds


def semantic_kernel(policies: int, wrappers: int) -> One:
    """``kernel.invoke`` with one function-invocation filter for each policy and wrapper."""
    from semantic_kernel import Kernel
    from semantic_kernel.functions import KernelArguments, kernel_function

    meter = Meter()

    class Sums:
        @kernel_function(name="add", description="Add two integers.")
        async def add(self, a: int, b: int) -> int:
            return a + b

    async def policy(context: Any, next: Any) -> None:
        if context.arguments["a"] < 0:
            raise PermissionError("negative")
        await next(context)

    async def metrics(context: Any, next: Any) -> None:
        started = perf_counter()
        await next(context)
        meter.add(perf_counter() - started)

    kernel = Kernel()
    function = kernel.add_plugin(Sums(), "sums")["add"]
    for chosen in [metrics] * wrappers + [policy] * policies:
        kernel.add_filter("function_invocation", chosen)

    async def one() -> Any:
        result = await kernel.invoke(function, KernelArguments(a=1, b=2))
        return result.value

    return one


def agent_framework(policies: int, wrappers: int) -> One:
    """What its function-calling loop does for one call the model made, with function middleware."""
    from agent_framework import Content, tool
    from agent_framework._middleware import FunctionMiddlewarePipeline
    from agent_framework._tools import _auto_invoke_function, normalize_function_invocation_configuration

    meter = Meter()

    @tool(name="add", approval_mode="never_require")
    async def add(a: int, b: int) -> int:
        """Add two integers."""
        return a + b

    async def policy(context: Any, call_next: Any) -> None:
        if context.arguments["a"] < 0:
            raise PermissionError("negative")
        await call_next()

    async def metrics(context: Any, call_next: Any) -> None:
        started = perf_counter()
        await call_next()
        meter.add(perf_counter() - started)

    # Annotations are strings here, so the framework is told what these are.
    for middleware in (policy, metrics):
        _function_middleware(middleware)
    pipeline = FunctionMiddlewarePipeline(*[policy] * policies, *[metrics] * wrappers)
    config, tools = normalize_function_invocation_configuration(None), {"add": add}
    call = Content.from_function_call("c1", "add", arguments={"a": 1, "b": 2})

    async def one() -> Any:
        return await _auto_invoke_function(call, config=config, tool_map=tools, middleware_pipeline=pipeline)

    return one


def _function_middleware(function: Any) -> Any:
    from agent_framework import function_middleware

    return function_middleware(function)


def langchain(policies: int, wrappers: int) -> One:
    """The tool node ``create_agent`` builds, with one ``awrap_tool_call`` middleware for each policy and wrapper."""
    from langchain.agents import create_agent
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool
    from langgraph.runtime import Runtime

    meter = Meter()

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **_options: Any) -> Any:
            return self

    @tool
    async def add(a: int, b: int) -> int:
        """Add two integers."""
        return a + b

    class Policy(AgentMiddleware):
        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            if request.tool_call["args"]["a"] < 0:
                raise PermissionError("negative")
            return await handler(request)

    class Metrics(AgentMiddleware):
        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            started = perf_counter()
            result = await handler(request)
            meter.add(perf_counter() - started)
            return result

    middleware = [*_named(Policy, policies), *_named(Metrics, wrappers)]
    node = create_agent(Model(messages=iter(())), tools=[add], middleware=middleware).nodes["tools"].bound
    state = {"messages": [AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1, "b": 2}, "id": "c1"}])]}
    config: Any = {"configurable": {"__pregel_runtime": Runtime()}}

    async def one() -> Any:
        return await node.ainvoke(state, config)

    return one


def _named(kind: type, count: int) -> list[Any]:
    # Names must be unique in one agent, and the name is the class's.
    return [type(f"{kind.__name__}{number}", (kind,), {})() for number in range(count)]


def pydantic_ai(policies: int, wrappers: int) -> One:
    """Its tool manager's ``handle_call``, with one capability for each policy and wrapper."""
    from pydantic_ai import RunContext
    from pydantic_ai.capabilities import AbstractCapability, CombinedCapability
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tool_manager import ToolManager
    from pydantic_ai.toolsets import FunctionToolset
    from pydantic_ai.usage import RunUsage

    meter = Meter()

    async def add(a: int, b: int) -> int:
        """Add two integers."""
        return a + b

    class Policy(AbstractCapability[Any]):
        async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
            if args["a"] < 0:
                raise PermissionError("negative")
            return args

    class Metrics(AbstractCapability[Any]):
        async def wrap_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any) -> Any:
            started = perf_counter()
            result = await handler(args)
            meter.add(perf_counter() - started)
            return result

    root = CombinedCapability([Policy() for _ in range(policies)] + [Metrics() for _ in range(wrappers)])
    manager = ToolManager(FunctionToolset([add]), root_capability=root)
    context = RunContext(deps=None, model=TestModel(), usage=RunUsage(), run_step=1)
    call = ToolCallPart("add", {"a": 1, "b": 2}, "c1")
    ready: list[Any] = []

    async def one() -> Any:
        if not ready:
            ready.append(await manager.for_run_step(context))
        return await ready[0].handle_call(call)

    return one


BUILDERS: Final[dict[str, Callable[[int, int], One]]] = {
    "semantic-kernel": semantic_kernel,
    "agent-framework": agent_framework,
    "langchain": langchain,
    "pydantic-ai": pydantic_ai,
}

DISTRIBUTIONS: Final = ("semantic-kernel", "agent-framework-core", "langchain", "langgraph", "pydantic-ai-slim")
