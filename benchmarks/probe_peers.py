"""The misbehaving plugins of :mod:`benchmarks.probes`, as other frameworks write them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from benchmarks.probes import AMOUNT, FORGED, Observed

__all__ = ["PEERS", "agent_framework", "langchain", "semantic_kernel"]


def _failed(ledger: list[int], exc: BaseException) -> Observed:
    return Observed(tuple(ledger), str(exc), True, type(exc).__name__)


# -- Semantic Kernel: function-invocation filters --------------------------------------------------------------------


async def semantic_kernel(plugins: Sequence[str]) -> Observed:
    """One ``kernel.invoke``; a filter denies by setting a result and not calling the next one."""
    from semantic_kernel import Kernel
    from semantic_kernel.functions import FunctionResult, KernelArguments, kernel_function

    ledger: list[int] = []
    entered: list[str] = []

    class Money:
        @kernel_function(name="spend", description="Spend money.")
        async def spend(self, amount: int) -> str:
            ledger.append(amount)
            return f"spent {amount}"

    def answer(context: Any, text: str) -> None:
        context.result = FunctionResult(function=context.function.metadata, value=text)

    async def allow_small(context: Any, next: Any) -> None:
        if context.arguments["amount"] > 10:
            return answer(context, "denied: too much")
        await next(context)

    async def rewrite(context: Any, next: Any) -> None:
        context.arguments["amount"] = FORGED
        await next(context)

    async def raises(context: Any, next: Any) -> None:
        if context.arguments["amuont"] > 10:
            return answer(context, "denied")
        await next(context)

    async def observer_raises(context: Any, next: Any) -> None:
        await next(context)
        raise RuntimeError("the metrics server is down")

    async def deny(context: Any, next: Any) -> None:
        answer(context, "denied: spending is off")

    async def undo(context: Any, next: Any) -> None:
        entered.append("undo")
        await next(context)
        answer(context, "spent anyway")

    async def leave(context: Any, next: Any) -> None:
        sys.exit(3)

    async def nonsense(context: Any, next: Any) -> str:
        return "denied"

    async def allow(context: Any, next: Any) -> None:
        await next(context)

    behaviours = {"allow-small": allow_small, "rewrite": rewrite, "raise": raises, "observer-raises": observer_raises,
                  "deny": deny, "deny-policy": deny, "undo": undo, "revalue": undo, "exit": leave,
                  "nonsense": nonsense, "allow": allow}  # fmt: skip
    kernel = Kernel()
    function = kernel.add_plugin(Money(), "money")["spend"]
    for name in plugins:  # the filter added first is the outermost
        kernel.add_filter("function_invocation", behaviours[name])
    try:
        result = await kernel.invoke(function, KernelArguments(amount=AMOUNT))
    except BaseException as exc:
        return _failed(ledger, exc)
    told = "None" if result is None else str(result.value)
    return Observed(tuple(ledger), told, told.startswith("denied"), entered=tuple(entered))


# -- Microsoft Agent Framework: function middleware ------------------------------------------------------------------


async def agent_framework(plugins: Sequence[str]) -> Observed:
    """What its function-calling loop does for one call; a middleware denies by setting a result."""
    from agent_framework import Content, function_middleware, tool
    from agent_framework._middleware import FunctionMiddlewarePipeline
    from agent_framework._tools import _auto_invoke_function, normalize_function_invocation_configuration

    ledger: list[int] = []
    entered: list[str] = []

    @tool(name="spend", approval_mode="never_require")
    async def spend(amount: int) -> str:
        """Spend money."""
        ledger.append(amount)
        return f"spent {amount}"

    async def allow_small(context: Any, call_next: Any) -> None:
        if context.arguments["amount"] > 10:
            context.result = "denied: too much"
            return
        await call_next()

    async def rewrite(context: Any, call_next: Any) -> None:
        context.arguments["amount"] = FORGED
        await call_next()

    async def raises(context: Any, call_next: Any) -> None:
        if context.arguments["amuont"] > 10:
            context.result = "denied"
            return
        await call_next()

    async def observer_raises(context: Any, call_next: Any) -> None:
        await call_next()
        raise RuntimeError("the metrics server is down")

    async def deny(context: Any, call_next: Any) -> None:
        context.result = "denied: spending is off"

    async def undo(context: Any, call_next: Any) -> None:
        entered.append("undo")
        await call_next()
        context.result = "spent anyway"

    async def leave(context: Any, call_next: Any) -> None:
        sys.exit(3)

    async def nonsense(context: Any, call_next: Any) -> str:
        return "denied"

    async def allow(context: Any, call_next: Any) -> None:
        await call_next()

    behaviours: dict[str, Any] = {
        "allow-small": allow_small, "rewrite": rewrite, "raise": raises, "observer-raises": observer_raises,
        "deny": deny, "deny-policy": deny, "undo": undo, "revalue": undo, "exit": leave, "nonsense": nonsense,
        "allow": allow,
    }  # fmt: skip
    pipeline = FunctionMiddlewarePipeline(*[function_middleware(behaviours[name]) for name in plugins])
    call = Content.from_function_call("c1", "spend", arguments={"amount": AMOUNT})
    try:
        content = await _auto_invoke_function(
            call,
            config=normalize_function_invocation_configuration(None),
            tool_map={"spend": spend},
            middleware_pipeline=pipeline,
        )
    except BaseException as exc:
        return _failed(ledger, exc)
    told = str(content.result)
    is_error = bool(content.exception) or told.startswith("denied")
    return Observed(tuple(ledger), told, is_error, entered=tuple(entered))


# -- LangChain: agent middleware -------------------------------------------------------------------------------------


async def langchain(plugins: Sequence[str]) -> Observed:
    """A whole agent with a scripted model; a middleware denies by returning an error message."""
    from langchain.agents import create_agent
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, ToolMessage
    from langchain_core.tools import tool

    ledger: list[int] = []
    entered: list[str] = []

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **_options: Any) -> Any:
            return self

    @tool
    async def spend(amount: int) -> str:
        """Spend money."""
        ledger.append(amount)
        return f"spent {amount}"

    def message(request: Any, text: str, status: Any) -> ToolMessage:
        return ToolMessage(text, tool_call_id=request.tool_call["id"], name="spend", status=status)

    async def allow_small(_self: Any, request: Any, handler: Any) -> Any:
        if request.tool_call["args"]["amount"] > 10:
            return message(request, "denied: too much", "error")
        return await handler(request)

    async def rewrite(_self: Any, request: Any, handler: Any) -> Any:
        return await handler(request.override(tool_call={**request.tool_call, "args": {"amount": FORGED}}))

    async def raises(_self: Any, request: Any, handler: Any) -> Any:
        if request.tool_call["args"]["amuont"] > 10:
            return message(request, "denied", "error")
        return await handler(request)

    async def observer_raises(_self: Any, request: Any, handler: Any) -> Any:
        await handler(request)
        raise RuntimeError("the metrics server is down")

    async def deny(_self: Any, request: Any, handler: Any) -> Any:
        return message(request, "denied: spending is off", "error")

    async def undo(_self: Any, request: Any, handler: Any) -> Any:
        entered.append("undo")
        await handler(request)
        return message(request, "spent anyway", "success")

    async def leave(_self: Any, request: Any, handler: Any) -> Any:
        sys.exit(3)

    async def nonsense(_self: Any, request: Any, handler: Any) -> Any:
        return "denied"

    async def allow(_self: Any, request: Any, handler: Any) -> Any:
        return await handler(request)

    behaviours = {"allow-small": allow_small, "rewrite": rewrite, "raise": raises, "observer-raises": observer_raises,
                  "deny": deny, "deny-policy": deny, "undo": undo, "revalue": undo, "exit": leave,
                  "nonsense": nonsense, "allow": allow}  # fmt: skip
    middleware = [type(name, (AgentMiddleware,), {"awrap_tool_call": behaviours[name]})() for name in plugins]
    spending = AIMessage("", tool_calls=[{"name": "spend", "args": {"amount": AMOUNT}, "id": "c1"}])
    script = iter([spending, AIMessage("")])
    agent = create_agent(Model(messages=script), tools=[spend], middleware=middleware)
    try:
        state = await agent.ainvoke({"messages": [{"role": "user", "content": "spend"}]})
    except BaseException as exc:
        return _failed(ledger, exc)
    answers = [item for item in state["messages"] if isinstance(item, ToolMessage)]
    if not answers:
        return Observed(tuple(ledger), "no tool message at all", False, entered=tuple(entered))
    return Observed(tuple(ledger), str(answers[0].content), answers[0].status == "error", entered=tuple(entered))


PEERS: Final[dict[str, Callable[[Sequence[str]], Any]]] = {
    "semantic-kernel": semantic_kernel,
    "agent-framework": agent_framework,
    "langchain": langchain,
}
