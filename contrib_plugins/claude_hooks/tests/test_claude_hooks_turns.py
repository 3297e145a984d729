"""Hooks around prompts, turns, sessions and subagents, through the real loop and real processes."""

from __future__ import annotations

import anyio
import pytest

from dshhooks import (
    AllowPrompt,
    BlockPrompt,
    CallTools,
    HookContext,
    PluginSource,
    Say,
    content_text,
    hookimpl,
)

pytestmark = pytest.mark.anyio

CALL = CallTools([("echo", {"text": "hi"})])


async def run(agent, prompt="go"):
    """One prompt, to the end."""
    agent.followup(prompt)
    await agent.when_idle()


def sent(agent, index=0):
    """The texts of a request's messages."""
    return [content_text(message.content) for message in agent.model.requests[index].messages]


def ends(agent):
    """How the turns ended."""
    return [event.data.reason.kind for event in agent.session.events if event.type == "turn/end"]


def points(agent):
    """The points of the hooks in the log."""
    return [event.data.point for event in agent.session.events if event.type == "hook/invoked"]


# -- UserPromptSubmit --------------------------------------------------------------------------------------------------


async def test_a_blocked_prompt(workspace, kit):
    """Case 128: no model call; the reason is in the log."""
    workspace.hooks(UserPromptSubmit=kit.command("echo 'no secrets' >&2; exit 2"))
    async with workspace.agent(Say("never")) as agent:
        await run(agent, "the password is x")
        assert agent.model.requests == []
        [blocked] = [event.data for event in agent.session.events if event.type == "prompt/blocked"]
        assert blocked.reason == "no secrets"
        assert ends(agent) == ["rejected"]
        assert points(agent) == ["UserPromptSubmit"]


async def test_a_blocked_prompt_is_shown_to_nobody_else(workspace, kit):
    """Plugins further inside are not asked about what is blocked already."""
    asked = []

    class Other:
        @hookimpl
        def agent_prompt_submit(self, content):
            asked.append(content)

    workspace.hooks(UserPromptSubmit=kit.answer(decision="block"))
    async with workspace.agent(Say("never"), plugins=[Other]) as agent:
        await run(agent)
        [blocked] = [event.data for event in agent.session.events if event.type == "prompt/blocked"]
        assert (blocked.reason, asked) == ("blocked by UserPromptSubmit hook", [])


async def test_a_blocked_prompt_that_leaves_nothing(workspace, kit):
    """Where prompts are admitted before a turn exists, nothing durable is left, of the hook neither."""
    workspace.hooks(UserPromptSubmit=kit.command("exit 2"))
    async with workspace.agent(Say("never"), admission="unrecorded") as agent:
        await run(agent)
        assert agent.model.requests == []
        assert list(agent.session.events) == []


async def test_a_prompt_hook_that_hangs_blocks(workspace, kit):
    """No usable answer is no permission."""
    workspace.hooks(UserPromptSubmit=kit.command("sleep 60", timeout=0.2))
    async with workspace.agent(Say("never")) as agent:
        with anyio.fail_after(20):
            await run(agent)
        assert agent.model.requests == []


@pytest.mark.parametrize("printed", ["JSON", "plain"])
async def test_contexts_of_a_prompt(workspace, kit, printed):
    """Case 128: they are behind those of other plugins."""

    class Other:
        @hookimpl
        def agent_prompt_submit(self):
            return AllowPrompt(contexts=[HookContext("theirs", PluginSource("other"))])

    hook = kit.scoped("UserPromptSubmit", additionalContext="ours") if printed == "JSON" else kit.command("echo ours")
    workspace.hooks(UserPromptSubmit=hook)
    async with workspace.agent(Say("done"), plugins=[Other]) as agent:
        await run(agent)
        assert sent(agent)[-2:] == ["theirs", "ours"]
        assert "go" in sent(agent)


async def test_contexts_of_a_prompt_somebody_else_blocks(workspace, kit):
    """They are dropped."""

    class Other:
        @hookimpl
        def agent_prompt_submit(self):
            return BlockPrompt("theirs")

    workspace.hooks(UserPromptSubmit=kit.command("echo ours"))
    async with workspace.agent(Say("never"), plugins=[Other]) as agent:
        await run(agent)
        assert ends(agent) == ["rejected"]
        assert not any(event.type == "user/message" for event in agent.session.events)


async def test_what_a_prompt_hook_is_told(workspace):
    """The prompt's text."""
    workspace.hooks(UserPromptSubmit=workspace.spy())
    async with workspace.agent(Say("done")) as agent:
        await run(agent, "hello 你好")
        [told] = workspace.told()
        assert (told["prompt"], told["hook_event_name"]) == ("hello 你好", "UserPromptSubmit")


# -- Stop --------------------------------------------------------------------------------------------------------------


async def test_stop_makes_the_turn_go_on(workspace):
    """The reason is what the model reads next; the hook is told that it did that."""
    once = f"test $(wc -l < '{workspace.seen}') -ge 2 || {{ echo 'run the tests' >&2; exit 2; }}"
    workspace.hooks(Stop=workspace.spy(once))
    async with workspace.agent(Say("one"), Say("two")) as agent:
        await run(agent)
        first, second = workspace.told()
        assert (first["stop_hook_active"], first["last_assistant_message"]) == (False, "one")
        assert (second["stop_hook_active"], second["last_assistant_message"]) == (True, "two")
        assert sent(agent, 1)[-1] == "run the tests"
        assert ends(agent) == ["completed"]


async def test_stop_has_a_default_text(workspace, kit):
    """For a block without a reason."""
    workspace.hooks(Stop=kit.answer(decision="block"))
    async with workspace.agent(Say("one"), Say("two"), stop_cap=1) as agent:
        await run(agent)
        assert sent(agent, 1)[-1] == "continue: blocked by Stop hook"


async def test_stop_cap(workspace, kit, caplog):
    """Case 129: after eight times in a row the turn ends, with a warning."""
    workspace.hooks(Stop=kit.command("echo more >&2; exit 2"))
    async with workspace.agent(*[Say("x")] * 20) as agent:
        await run(agent)
        assert len(agent.model.requests) == 9
        assert points(agent) == ["Stop"] * 9
        assert ends(agent) == ["completed"]
    assert "8 times in a row" in caplog.text


async def test_tools_start_the_count_again(workspace, kit):
    """Only a turn that does nothing but go on is ended."""
    workspace.hooks(Stop=kit.command("exit 2"))
    async with workspace.agent(Say("1"), Say("2"), CALL, Say("3"), Say("4"), Say("5"), stop_cap=2) as agent:
        await run(agent)
        # Two in a row, then a tool, then two more.
        assert len(agent.model.requests) == 6
        assert points(agent) == ["Stop"] * 5


async def test_every_turn_starts_afresh(workspace):
    """A new turn was not made to go on."""
    workspace.hooks(Stop=workspace.spy("exit 2"))
    async with workspace.agent(*[Say("x")] * 4, stop_cap=1) as agent:
        await run(agent)
        await run(agent)
        assert [told["stop_hook_active"] for told in workspace.told()] == [False, True, False, True]


async def test_continue_false_ends_the_turn(workspace, kit):
    """It beats a block of the same hook."""
    workspace.hooks(Stop=kit.answer(**{"continue": False, "decision": "block", "reason": "r"}))
    async with workspace.agent(Say("one"), Say("two")) as agent:
        await run(agent)
        assert len(agent.model.requests) == 1
        [result] = [event.data for event in agent.session.events if event.type == "hook/result"]
        assert result.decision == "block"


async def test_a_stop_hook_that_hangs_stops(workspace, kit):
    """A failure is no wish to go on."""
    workspace.hooks(Stop=kit.command("sleep 60", timeout=0.2))
    async with workspace.agent(Say("one"), Say("two")) as agent:
        with anyio.fail_after(20):
            await run(agent)
        assert len(agent.model.requests) == 1


# -- sessions and subagents --------------------------------------------------------------------------------------------


async def test_session_start_is_part_of_the_first_request(workspace, kit):
    """However long the hook takes: the first prompt waits for it."""
    workspace.hooks(SessionStart=kit.command("sleep 0.3; echo 'branch: main'"))
    async with workspace.agent(Say("done")) as agent:
        await run(agent)
        assert sent(agent) == ["branch: main", "go"]
        said = next(event.data for event in agent.session.events if event.type == "user/message")
        assert said.source == PluginSource("claude-hooks")
        assert points(agent) == []


async def test_session_start_is_matched_by_source(workspace, kit):
    """And told it."""
    spy = workspace.spy()
    workspace.hooks(SessionStart=[
        {"matcher": "resume", "hooks": [kit.command("echo never")]}, {"matcher": "startup", "hooks": [spy]},
    ])  # fmt: skip
    async with workspace.agent(Say("done")) as agent:
        await run(agent)
        assert sent(agent) == ["go"]
    assert [told["source"] for told in workspace.told()] == ["startup"]


async def test_a_session_start_that_hangs(workspace, kit):
    """The prompt waits until the hook has timed out, and goes on."""
    workspace.hooks(SessionStart=kit.command("sleep 60", timeout=0.2))
    async with workspace.agent(Say("done")) as agent:
        with anyio.fail_after(20):
            await run(agent)
        assert sent(agent) == ["go"]


async def test_cancel_while_the_session_starts(workspace):
    """A turn that waits for it can be cancelled at once."""
    workspace.hooks(SessionStart=workspace.spy("sleep 60"))
    async with workspace.agent(Say("never")) as agent:
        agent.followup("go")
        with anyio.fail_after(20):
            while not workspace.seen.exists():  # noqa: ASYNC110 - another process cannot set an event
                await anyio.sleep(0.01)
            agent.cancel()
            await agent.when_idle()
        assert agent.model.requests == []


async def test_dispose_ends_what_starts_the_session(workspace):
    """No hook outlives its agent, and closing does not wait for it."""
    workspace.hooks(SessionStart=workspace.spy("sleep 60"))
    with anyio.fail_after(20):
        async with workspace.agent():
            while not workspace.seen.exists():  # noqa: ASYNC110 - another process cannot set an event
                await anyio.sleep(0.01)


async def test_session_end(workspace):
    """The host waits for it, and it is told once."""
    workspace.hooks(SessionEnd=workspace.spy())
    async with workspace.agent(Say("done")) as agent:
        await run(agent)
        assert workspace.told() == []
    [told] = workspace.told()
    assert (told["session_id"], told["reason"]) == (agent.id, "other")


async def test_session_end_does_not_hold_the_host(workspace, kit):
    """It has a few seconds."""
    workspace.hooks(SessionEnd=kit.command("sleep 60"))
    with anyio.fail_after(20):
        async with workspace.agent(event_timeouts={"session:end": 0.3}):
            pass


async def test_async_hooks_end_with_the_session(workspace):
    """Nobody waits for them, and they do not outlive the agent."""
    workspace.hooks(PreToolUse=workspace.spy("sleep 60", **{"async": True}))
    with anyio.fail_after(20):
        async with workspace.agent(CALL, Say("done")) as agent:
            await run(agent)


async def test_subagents_have_events_of_their_own(workspace, kit):
    """SubagentStart adds to the child's first request; SessionStart, UserPromptSubmit, Stop are not for children."""
    spy = workspace.spy
    workspace.hooks(
        SubagentStart=spy("echo 'you are a child'"), SubagentStop=spy(),
        SessionStart=spy(), UserPromptSubmit=spy(), Stop=spy("exit 2"), SessionEnd=spy(),
    )  # fmt: skip
    async with workspace.agent(Say("child"), stop_cap=0) as agent:
        result = await agent.spawn("explorer", "look")
        assert result.text == "child"
        assert sent(agent) == ["you are a child", "look"]
        with anyio.fail_after(20):
            while len(workspace.told()) < 3:  # noqa: ASYNC110 - another process cannot set an event
                await anyio.sleep(0.01)
        # The parent's own start and the child's run side by side.
        told = {one["hook_event_name"]: one for one in workspace.told()}
        assert sorted(told) == ["SessionStart", "SubagentStart", "SubagentStop"]
        begin, stop = told["SubagentStart"], told["SubagentStop"]
        assert (begin["agent_type"], begin["agent_id"]) == ("explorer", result.session_id)
        assert (stop["agent_type"], stop["session_id"]) == ("explorer", agent.id)
    assert [told["hook_event_name"] for told in workspace.told()][3:] == ["SessionEnd"]


@pytest.mark.parametrize("denial", ["exit 2", """echo '{"decision": "block", "continue": false}'"""])
async def test_what_is_only_told_cannot_deny(workspace, denial):
    """Sessions and subagents begin and end whatever their hooks say, and the log has nothing of them."""
    spy = workspace.spy(denial)
    workspace.hooks(SessionStart=spy, SubagentStart=spy, SubagentStop=spy, SessionEnd=spy)
    async with workspace.agent(Say("child"), Say("done")) as agent:
        assert (await agent.spawn("explorer", "look")).text == "child"
        await run(agent)
        assert [sent(agent), sent(agent, 1)] == [["look"], ["go"]]
        assert (ends(agent), points(agent)) == (["completed"], [])
        with anyio.fail_after(20):
            while len(workspace.told()) < 3:  # noqa: ASYNC110 - another process cannot set an event
                await anyio.sleep(0.01)
    told = sorted(one["hook_event_name"] for one in workspace.told())
    assert told == ["SessionEnd", "SessionStart", "SubagentStart", "SubagentStop"]


async def test_subagents_are_matched_by_type(workspace, kit):
    """The type the child was spawned under."""
    workspace.hooks(SubagentStart=[
        {"matcher": "explorer", "hooks": [kit.command("echo yes")]},
        {"matcher": "other", "hooks": [kit.command("echo no")]},
    ])  # fmt: skip
    async with workspace.agent(Say("child")) as agent:
        await agent.spawn("explorer", "look")
        assert sent(agent) == ["yes", "look"]


async def test_calls_of_subagents_are_guarded(workspace, kit):
    """PreToolUse holds for children, too."""
    workspace.hooks(PreToolUse=kit.command("exit 2"))
    async with workspace.agent(CALL, Say("child")) as agent:
        await agent.spawn("explorer", "look")
    assert len(agent.model.requests) == 2
    assert workspace.ran == []
