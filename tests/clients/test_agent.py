"""The agent of a client's session, as plugins see it."""

from __future__ import annotations

import json

import anyio
import pytest

from dshhooks.bridge import HookPlugin, HookPluginOptions
from dshhooks.clients.agent import ClientAgent, Outbox, collecting
from hookspecs.values import TextBlock
from tests.clients.kit import event_of, plugin, request, sample, service

pytestmark = pytest.mark.usefixtures("own_state")


def test_it_tells_what_the_client_told():
    """Session, folder, client, model; and the event while it is judged."""
    event = event_of("codex", "PreToolUse")
    agent = ClientAgent(event)
    assert (agent.id, agent.session.header.cwd) == (event.session_id, "/w")
    assert (agent.options.provider, agent.options.model) == ("codex", "mock-model")
    assert agent.event is None
    with collecting(Outbox(event)):
        assert agent.event is event
        assert agent.event.raw["turn_id"]
    assert agent.session.messages() == []


def test_a_sub_agent_knows_its_parent():
    """Plugins ask less of sub-agents than of agents a person talks to, and nothing of one that is gone."""
    agent = ClientAgent(event_of("claude", "PreToolUse"))
    about = {"hook_event_name": "SubagentStart", "agent_id": "a-1", "agent_type": "Explore"}
    child = agent.child(event_of("claude", "PreToolUse", **about))
    assert (child.parent, child.id, child.name) == (agent, "a-1", "Explore")
    assert (agent.parent, agent.disposed, child.disposed) == (None, False, False)


@pytest.mark.parametrize("name", ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"])
def test_the_plugin_of_hook_files_finds_all_it_asks_for(name, tmp_path, anyio_backend, caplog):
    """It is written for agents of our own; hooks that object to nothing make no answer here, and no trouble."""
    hooks = {event: [{"hooks": [{"type": "command", "command": "true"}]}] for event in (
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")}  # fmt: skip
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"hooks": hooks}))
    bridged = type("Bridged", (HookPlugin,), {"dialect": "claude", "name": "bridged"})
    served = service(bridged(HookPluginOptions(config_path=str(file))))
    answer = anyio.run(
        served.answer, request("claude", sample("claude", name, cwd=str(tmp_path))), backend=anyio_backend
    )
    assert (answer.stdout, answer.code, caplog.records) == (b"", 0, [])


def test_what_is_said_to_it_is_collected():
    """Texts and blocks; outside of an event it goes nowhere."""
    event = event_of("claude", "Stop")
    agent, outbox = ClientAgent(event), Outbox(event)
    agent.inject("lost")
    with collecting(outbox):
        agent.inject([TextBlock("a"), TextBlock("b")])
        agent.steer("c")
        agent.followup("d")
        agent.cancel()
    assert (outbox.contexts, outbox.steering, outbox.cancelled) == (["a\nb"], ["c", "d"], True)


async def agents_of(served, *sessions):
    """Which agents policy saw for events of these sessions."""
    for session in sessions:
        await served.answer(request("claude", sample("claude", "PreToolUse", session_id=session)))


def test_a_session_keeps_its_agent(anyio_backend):
    """So that a plugin in a daemon may remember by agent, until the session ends."""
    seen, gone = [], []
    policy = plugin(
        tools_pre_execute=lambda execution: seen.append(execution.agent),
        agent_disposed=lambda agent: gone.append(agent),
    )
    served = service(policy)

    async def run():
        await agents_of(served, "a", "b", "a")
        await served.answer(request("claude", sample("claude", "SessionEnd", session_id="a")))
        await agents_of(served, "a")

    anyio.run(run, backend=anyio_backend)
    first, other, again, after = seen
    assert first is again
    assert other is not first
    assert gone == [first]
    assert after is not first
