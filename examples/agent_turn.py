"""An agent in your own program: a tool, a model, one turn, and how it ended."""

import anyio

from dshhooks import CallTools, Harness, HarnessConfig, Say, ScriptedAdapter, content_text, tool


@tool(idempotent=True)
async def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


async def main():
    script = ScriptedAdapter([CallTools([("add", {"a": 1, "b": 2})]), Say("It is three.")])
    # HarnessConfig(): installed plugins take part, and no dshhooks.toml counts; without it, the nearest one does.
    async with Harness.open(HarnessConfig()) as harness:
        harness.tools.register(add)
        harness.llm.register_adapter(["scripted"], script)
        agent = await harness.create_agent(provider="scripted", model="demo")
        agent.followup("What is 1 + 2?")
        await agent.when_idle()
        print(content_text(agent.session.messages()[-1].content))
        print(next(event.data.reason for event in reversed(agent.session.events) if event.type == "turn/end"))


anyio.run(main)
