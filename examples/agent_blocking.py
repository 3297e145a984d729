"""The same host from a program without an event loop."""

import dshhooks.sync
from dshhooks import HarnessConfig, Say, ScriptedAdapter, content_text, tool


@tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


with dshhooks.sync.open(HarnessConfig()) as host:
    host.tools.register(add)
    print(host.tools.call("add", {"a": 1, "b": 2}).value)
    host.llm.register_adapter(["scripted"], ScriptedAdapter([Say("Hello.")]))
    agent = host.create_agent(provider="scripted", model="demo")
    agent.followup("Hi!")
    agent.when_idle()
    for message in agent.session.messages():
        print(f"{message.role}: {content_text(message.content)}")
