"""The peers' turns: a model that follows a script asks for ``add(a, b)``, in an agent of another framework.

Each builder returns a coroutine function that runs one whole turn from a fresh conversation: ``steps`` answers with
``calls`` tool calls each, and a last one with text. One policy reads one argument, one wrapper takes the time.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from benchmarks.peers import Meter

__all__ = ["DISTRIBUTIONS", "TURNS", "openai_agents", "pydantic_ai_turn"]

Turn = Callable[[], Any]


def openai_agents(steps: int, calls: int) -> Turn:
    """``Runner.run`` with a scripted model; the policy is a tool input guardrail, the metrics are run hooks."""
    from agents import Agent, RunConfig, RunHooks, Runner, ToolGuardrailFunctionOutput, function_tool
    from agents import tool_input_guardrail as input_guardrail
    from agents.items import ModelResponse
    from agents.models.interface import Model
    from agents.usage import Usage
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    meter = Meter()

    class Scripted(Model):
        def __init__(self) -> None:
            self.asked = 0

        async def get_response(self, *_args: Any, **_options: Any) -> Any:
            self.asked += 1
            output: list[Any]
            if self.asked <= steps:
                output = [
                    ResponseFunctionToolCall(
                        arguments='{"a":1,"b":2}', call_id=f"c{self.asked}-{at}", name="add", type="function_call"
                    )
                    for at in range(calls)
                ]
            else:
                text = ResponseOutputText(text="done", type="output_text", annotations=[])
                output = [
                    ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
                ]
            return ModelResponse(output=output, usage=Usage(), response_id=None)

        def stream_response(self, *_args: Any, **_options: Any) -> Any:
            raise NotImplementedError

    class Metrics(RunHooks):
        async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
            self.started = perf_counter()

        async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
            meter.add(perf_counter() - self.started)

    @input_guardrail
    async def policy(data: Any) -> Any:
        if json.loads(data.context.tool_arguments)["a"] < 0:
            return ToolGuardrailFunctionOutput.reject_content("negative")
        return ToolGuardrailFunctionOutput.allow()

    async def add(a: int, b: int) -> int:
        """Add two integers."""
        return a + b

    add.__annotations__ = {"a": int, "b": int, "return": int}
    tool = function_tool(add, tool_input_guardrails=[policy])
    config, hooks = RunConfig(tracing_disabled=True), Metrics()

    async def turn() -> Any:
        agent = Agent(name="a", model=Scripted(), tools=[tool])
        result = await Runner.run(agent, "go", max_turns=steps + 2, hooks=hooks, run_config=config)
        return result.final_output

    return turn


def pydantic_ai_turn(steps: int, calls: int) -> Turn:
    """``Agent.run`` with a ``FunctionModel``; policy and metrics are capabilities."""
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import UsageLimits

    meter = Meter()

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

    async def add(a: int, b: int) -> int:
        """Add two integers."""
        return a + b

    async def answer(messages: Any, _info: Any) -> Any:
        asked = sum(isinstance(message, ModelResponse) for message in messages)
        if asked >= steps:
            return ModelResponse([TextPart("done")])
        return ModelResponse([ToolCallPart("add", {"a": 1, "b": 2}, f"c{asked}-{at}") for at in range(calls)])

    add.__annotations__ = {"a": int, "b": int, "return": int}
    agent = Agent(FunctionModel(answer), tools=[add], capabilities=[Policy(), Metrics()])
    limits = UsageLimits(request_limit=None)

    async def turn() -> Any:
        return (await agent.run("go", usage_limits=limits)).output

    return turn


TURNS: Final[dict[str, Callable[[int, int], Turn]]] = {"openai-agents": openai_agents, "pydantic-ai": pydantic_ai_turn}

DISTRIBUTIONS: Final = ("openai-agents", "pydantic-ai-slim")
