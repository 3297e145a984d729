"""What an agent is told and what it answers: prompt, prefix, request, stream, answer, and when a turn ends."""

from collections.abc import AsyncIterator

import anyio
from attrs import evolve, frozen

from dshhooks import (
    ContinueTurn,
    Harness,
    HarnessConfig,
    LlmError,
    Message,
    PluginSource,
    RetryRequest,
    Say,
    ScriptedAdapter,
    SteeringReason,
    StopTurn,
    TextBlock,
    hookimpl,
)


@frozen
class Note:
    """An event of our own in the session log."""

    type = "house-rules/note"
    text: str


class HouseRules:
    """One plugin with something to say at every step of a turn."""

    def __init__(self):
        self.steps = 0
        self.flushed = 0

    @hookimpl
    def register_llm_adapters(self, service):
        def busy(options):
            raise LlmError("try again", "RATE_LIMIT")

        service.register_adapter(["scripted"], ScriptedAdapter([busy, Say("it depends, darn it"), Say("yes")]))

    @hookimpl
    def register_variants(self, variants):
        variants.register("session-event", Note)

    @hookimpl
    def session_created(self, session):
        print("a session begins:", session.id)

    @hookimpl
    def agent_created(self, agent):
        print("an agent is born:", agent.id)

    @hookimpl
    def agent_session_prefix(self):
        return [Message("user", "House rule: be polite.")]

    @hookimpl(wrapper=True)
    async def system_prompt_assemble(self, assembly, *, call_next):
        return await call_next(assembly=evolve(assembly, variables={**assembly.variables, "house": "ours"}))

    @hookimpl
    def agent_pre_step(self, agent, turn, step):
        self.steps += 1
        if self.steps > 10:
            raise RuntimeError("ten steps are enough")

    @hookimpl
    def agent_request(self, config):
        return evolve(config, temperature=0.0)

    @hookimpl(wrapper=True)
    async def llm_stream(self, options, *, call_next) -> AsyncIterator:
        stream = await call_next()

        async def counted():
            chunks = 0
            async for chunk in stream:
                chunks += 1
                yield chunk
            print("the model said something in", chunks, "chunks")

        return counted()

    @hookimpl
    def agent_request_error(self, failure, prior_failures):
        return RetryRequest() if failure.code == "RATE_LIMIT" and len(prior_failures) < 2 else None

    @hookimpl
    def agent_step_result(self, message):
        cleaned = tuple(
            TextBlock(block.text.replace(", darn it", "")) if isinstance(block, TextBlock) else block
            for block in message.content
        )
        return evolve(message, content=cleaned)

    @hookimpl
    def agent_post_step(self, agent, turn, step):
        agent.session.append(Note(f"step {step} went well"))

    @hookimpl
    def agent_turn_continuation(self, agent, default):
        last = agent.session.messages()[-1]
        if isinstance(default, StopTurn) and "depends" in last.content[0].text:
            return ContinueTurn(SteeringReason("Yes or no?", PluginSource("house-rules")))
        return None

    @hookimpl
    def agent_turn_stopping(self, turn):
        print("turn", turn, "is about to stop")

    @hookimpl
    def agent_turn_stop(self):
        return StopTurn() if self.steps > 5 else None

    @hookimpl
    async def session_flush(self, session):
        self.flushed = len(session.events)


async def main():
    rules = HouseRules()
    async with Harness.open(HarnessConfig(), plugins=[rules]) as harness:
        agent = await harness.create_agent(provider="scripted", model="demo")
        agent.followup("Is it done?")
        await agent.when_idle()
        for message in agent.session.messages():
            print(f"{message.role}: {message.content[0].text}")
        print([event.data.text for event in agent.session.events if event.type == Note.type], rules.flushed > 0)


anyio.run(main)
