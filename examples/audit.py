"""An auditor: hears everything an agent does, and prints one line for each. Changes nothing."""

import anyio

from dshhooks import CallTools, Harness, HarnessConfig, Say, ScriptedAdapter, hookimpl, tool


class Audit:
    @hookimpl
    def agent_session_start(self, agent, source):
        print("start", agent.id, source)

    @hookimpl
    def agent_status(self, status):
        print("status", status)

    @hookimpl
    def agent_inbox_enqueue(self, message):
        print("arrived", message.id)

    @hookimpl
    def agent_inbox_dequeue(self, message):
        print("taken", message.id)

    @hookimpl
    def agent_inbox_discard(self, messages):
        print("dropped", [message.id for message in messages])

    @hookimpl
    def agent_cancel_requested(self, cause):
        print("cancelled by", cause.kind)

    @hookimpl
    def agent_error(self, turn, step, error):
        print("error in turn", turn, "step", step, repr(error))

    @hookimpl
    def subagent_start(self, parent, agent, agent_type):
        print(parent.id, "started", agent_type, agent.id)

    @hookimpl
    def subagent_end(self, parent, agent, agent_type):
        print(parent.id, "is done with", agent_type, agent.id)

    @hookimpl
    def tools_result(self, execution, result):
        print("call", execution.name, "failed" if result.is_error else "ok")

    @hookimpl
    def session_event(self, event):
        if event.type == "turn/end":
            print("turn", event.data.turn, event.data.reason.kind)

    @hookimpl
    def session_disposed(self, session):
        print("session over", len(session.events), "events")

    @hookimpl
    def agent_disposed(self, agent):
        print("gone", agent.id)


@tool
async def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


async def main():
    script = ScriptedAdapter([CallTools([("add", {"a": 1, "b": 2})]), Say("three"), Say("a helper's answer")])
    async with Harness.open(HarnessConfig(), plugins=[Audit()]) as harness:
        harness.tools.register(add)
        harness.llm.register_adapter(["scripted"], script)
        agent = await harness.create_agent(provider="scripted", model="demo")
        agent.followup("What is 1 + 2?")
        await agent.when_idle()
        print((await agent.spawn("helper", "Say something.")).text)
        agent.queue("never mind")
        agent.cancel()


anyio.run(main)
