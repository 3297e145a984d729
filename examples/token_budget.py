"""Measure the tokens an agent's requests take, and forbid new turns once there are too many."""

import anyio

from dshhooks import Harness, HarnessConfig, Say, ScriptedAdapter, hookimpl
from dshhooks.operations import deny


class TokenBudget:
    policy_revision = "token-budget-1"  # names what the guard enforces

    def __init__(self, tokens):
        self.left = tokens

    @hookimpl
    def operation(self, call):
        result = yield
        if call.operation == "inference" and (stream := result.payload.stream_result):
            self.left -= stream.usage.input_tokens + stream.usage.output_tokens

    @hookimpl
    def operation_guard(self, call):
        if call.operation == "turn" and self.left <= 0:
            return deny("budget.exceeded", "the tokens of this host are used up")
        return None


async def main():
    budget = TokenBudget(15)
    async with Harness.open(HarnessConfig(), plugins=(budget,)) as harness:
        harness.llm.register_adapter(["local"], ScriptedAdapter([Say("One."), Say("Two."), Say("Three.")]))
        agent = await harness.create_agent(provider="local", model="m")
        for prompt in ("first", "second", "third"):
            agent.followup(prompt)
        await agent.when_idle()
        for event in agent.session.events:
            if event.type == "input/rejected":
                print(event.data.reason)
    print("tokens left:", budget.left)


anyio.run(main)
