"""Hooks around tool calls, through the real loop and real processes."""

from __future__ import annotations

import logging
from importlib.metadata import entry_points

import anyio
import pytest
from dshhooks_claude_hooks import ClaudeHooks

from dshhooks import (
    ApprovalOutcome,
    Block,
    CallTools,
    Deny,
    HookContext,
    PluginSource,
    Say,
    ToolRegistry,
    content_text,
    hookimpl,
    tool,
)
from dshhooks.bridge import HookInvoked, HookPluginOptions, HookResult, RawResult
from hookspecs.errors import HarnessError
from hookspecs.json import MISSING

pytestmark = pytest.mark.anyio

CALL = CallTools([("echo", {"text": "hi"})])


def results(agent):
    """What the model was told of its calls."""
    return [event.data for event in agent.session.events if event.type == "tool/result"]


def texts(agent):
    """The same as texts."""
    return [content_text(result.content) for result in results(agent)]


def logged(agent, kind):
    """The data of the log's events of one type."""
    return [event.data for event in agent.session.events if event.type == kind]


async def run(agent, prompt="go"):
    """One prompt, to the end."""
    agent.followup(prompt)
    await agent.when_idle()


async def test_no_files_no_trace(workspace, caplog):
    """Where no hook file is, nothing is run, logged or said."""
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert texts(agent) == ["said hi"]
        assert not [event.type for event in agent.session.events if event.type.startswith("hook/")]
    assert caplog.records == []


async def test_exit_2_denies(workspace, kit):
    """What the hook writes to stderr is what the model is told; the tool does not run."""
    workspace.hooks(PreToolUse=kit.command("echo 'not here' >&2; exit 2"))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        [result] = results(agent)
        assert result.is_error
        assert "not here" in content_text(result.content)
        assert workspace.ran == []


@pytest.mark.parametrize(
    "hook",
    [
        {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}},
        {"decision": "block"},
    ],
)
async def test_deny_without_reason(workspace, kit, hook):
    """Case 126: a deny that says nothing says that a hook did it."""
    workspace.hooks(PreToolUse=kit.answer(**hook))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert texts(agent)[0] == "Error: blocked by PreToolUse hook"
        assert workspace.ran == []


async def test_exit_2_without_words(workspace, kit):
    """Exit 2 that says nothing, too."""
    workspace.hooks(PreToolUse=kit.command("exit 2"))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert "blocked by PreToolUse hook" in texts(agent)[0]


async def test_ask_without_anybody_to_ask(workspace, kit):
    """Case 126: ask is a deny where nobody answers."""
    workspace.hooks(PreToolUse=kit.scoped("PreToolUse", permissionDecision="ask", permissionDecisionReason="sure?"))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert results(agent)[0].is_error
        assert workspace.ran == []
        assert logged(agent, "hook/result")[0].decision == "ask"
        assert texts(agent) == ["Error: sure?"]


async def test_ask(workspace, kit):
    """A person decides, and is shown the reason."""
    shown = []

    class Person:
        @hookimpl
        def approval_request(self, request):
            shown.append(request.reason)
            return ApprovalOutcome.ALLOWED_ONCE

    workspace.hooks(PreToolUse=kit.scoped("PreToolUse", permissionDecision="ask", permissionDecisionReason="sure?"))
    async with workspace.agent(CALL, Say("done"), plugins=[Person]) as agent:
        await run(agent)
        assert (texts(agent), shown) == (["said hi"], ["sure?"])


async def test_allow_is_no_approval(workspace, kit):
    """A hook that allows lets the others decide."""

    class Policy:
        @hookimpl
        def tools_pre_execute(self):
            return Deny("policy says no")

    workspace.hooks(PreToolUse=kit.scoped("PreToolUse", permissionDecision="allow"))
    async with workspace.agent(CALL, Say("done"), plugins=[Policy]) as agent:
        await run(agent)
        assert "policy says no" in texts(agent)[0]


async def test_exit_1_is_no_decision(workspace, kit):
    """As in the product: only exit 2 denies."""
    workspace.hooks(PreToolUse=kit.command("exit 1"))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert texts(agent) == ["said hi"]


async def test_matchers(workspace, kit):
    """Names of this host's tools are matched; aliases let files written for other names match."""
    workspace.hooks(PreToolUse=[{"matcher": "Bash", "hooks": [kit.command("exit 2")]}])
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert texts(agent) == ["said hi"]
    async with workspace.agent(CALL, Say("done"), tool_aliases={"echo": ["Bash"]}) as agent:
        await run(agent)
        assert results(agent)[0].is_error


async def test_a_matcher_that_misses_a_tool_is_told_once(workspace, kit, caplog):
    """Files as they are for Claude Code name `Bash`; where the shell is called `bash` they would guard nothing."""
    workspace.hooks(PreToolUse=[{"matcher": "Bash", "hooks": [kit.command("exit 2")]}])
    async with workspace.agent(CallTools([("bash", {}), ("bash", {})]), Say("done")) as agent:
        agent.harness.tools.register(tool(lambda: "ran", name="bash", description="Run."))
        await run(agent)
        assert texts(agent) == ["ran", "ran"]
    assert len([record for record in caplog.records if "tool_aliases.bash" in record.getMessage()]) == 1


@pytest.mark.parametrize("hook", [("sleep 60", 0.2), ("cd /; exec sleep 60", 0.2)])
async def test_a_hook_that_hangs_denies(workspace, kit, hook):
    """No usable answer is no permission."""
    workspace.hooks(PreToolUse=kit.command(hook[0], timeout=hook[1]))
    async with workspace.agent(CALL, Say("done")) as agent:
        with anyio.fail_after(20):
            await run(agent)
        assert "timed out after 0.2s" in texts(agent)[0]
        assert workspace.ran == []


async def test_a_hook_that_cannot_start_denies(workspace, kit):
    """So is one whose working directory is gone."""
    workspace.hooks(PreToolUse=kit.command("true", cwd="nowhere"))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert "hook failed" in texts(agent)[0]


@pytest.mark.parametrize("policy", ["warn", "ignore"])
async def test_failures_need_not_deny(workspace, kit, policy):
    """`on_error` gives the behaviour of the product; the hook's own word stands above it."""
    hanging = kit.command("sleep 60", timeout=0.2)
    workspace.hooks(PreToolUse=hanging)
    async with workspace.agent(CALL, Say("done"), on_error=policy) as agent:
        await run(agent)
        assert texts(agent) == ["said hi"]
    workspace.hooks(PreToolUse={**hanging, "onError": "block"})
    async with workspace.agent(CALL, Say("done"), on_error=policy) as agent:
        await run(agent)
        assert results(agent)[0].is_error


async def test_what_a_hook_is_told(workspace):
    """The call as it is, whose session, and where."""
    workspace.hooks(PreToolUse=workspace.spy(), PostToolUse=workspace.spy())
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        before, after = workspace.told()
        call = {"tool_name": "echo", "tool_input": {"text": "hi"}, "tool_use_id": "call-1"}
        base = {"session_id": agent.id, "cwd": str(workspace.project)}
        assert before.items() >= {**call, **base, "hook_event_name": "PreToolUse"}.items()
        assert after.items() >= {**call, **base, "hook_event_name": "PostToolUse", "tool_response": "said hi"}.items()


async def test_post_block_is_feedback(workspace, kit):
    """Case 127: the model reads the feedback instead of the result, and the contexts; the call stays as it was."""
    workspace.hooks(PostToolUse=kit.answer(
        decision="block", reason="do it again",
        hookSpecificOutput={"hookEventName": "PostToolUse", "additionalContext": "a hint"},
    ))  # fmt: skip
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert texts(agent) == ["do it again"]
        assert logged(agent, "tool/call")[0].arguments == '{"text":"hi"}'
        assert workspace.ran == ["hi"]
        sent = [content_text(message.content) for message in agent.model.requests[1].messages]
        assert "a hint" in sent
        assert not any("said hi" in text for text in sent)


async def test_post_block_without_reason(workspace, kit):
    """Feedback has a default text."""
    workspace.hooks(PostToolUse=kit.answer(decision="block"))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert texts(agent) == ["blocked by PostToolUse hook"]


async def test_contexts_are_before_those_of_others(workspace, kit):
    """Ours first, one message with a block for each hook, said by the plugin."""

    class Other:
        @hookimpl(wrapper=True)
        async def tools_post_execute(self, *, call_next):
            from attrs import evolve

            decision = await call_next()
            return evolve(decision, contexts=(HookContext("theirs", PluginSource("other")), *decision.contexts))

    one = kit.scoped("PostToolUse", additionalContext="one")
    two = kit.scoped("PostToolUse", additionalContext="two")
    workspace.hooks(PostToolUse=[{"hooks": [one, two]}])
    async with workspace.agent(CALL, Say("done"), plugins=[Other]) as agent:
        await run(agent)
        ours, theirs = [event for event in logged(agent, "user/message") if event.source.kind == "plugin"]
        assert [block.text for block in ours.content] == ["one", "two"]
        assert ours.source == PluginSource("claude-hooks")
        assert content_text(theirs.content) == "theirs"


@pytest.mark.parametrize(("ours", "feedback"), [({}, "theirs"), ({"decision": "block", "reason": "ours"}, "ours")])
async def test_contexts_beside_a_block_of_others(workspace, kit, ours, feedback):
    """They come first here, too; of two feedbacks the model reads ours."""

    class Other:
        @hookimpl
        def tools_post_execute(self):
            return Block("theirs", [HookContext("their context", PluginSource("other"))])

    scoped = {"hookEventName": "PostToolUse", "additionalContext": "our context"}
    workspace.hooks(PostToolUse=kit.answer(**ours, hookSpecificOutput=scoped))
    async with workspace.agent(CALL, Say("done"), plugins=[Other]) as agent:
        await run(agent)
        assert texts(agent) == [feedback]
        said = [event for event in logged(agent, "user/message") if event.source.kind == "plugin"]
        assert [content_text(message.content) for message in said] == ["our context", "their context"]


async def test_continue_false_changes_no_call(workspace, kit):
    """It is for the end of a turn: the tool runs, its result stays, and the turn goes on."""
    stop = kit.answer(**{"continue": False, "stopReason": "enough"})
    workspace.hooks(PreToolUse=stop, PostToolUse=stop)
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert (texts(agent), len(agent.model.requests)) == (["said hi"], 2)
        assert [result.decision for result in logged(agent, "hook/result")] == ["stop", "stop"]


async def test_contexts_of_pre_tool_use(workspace, kit):
    """What a hook says before the call is read after it."""
    workspace.hooks(PreToolUse=kit.scoped("PreToolUse", additionalContext="mind the gap"))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        sent = [content_text(message.content) for message in agent.model.requests[1].messages]
        assert sent[-1] == "mind the gap"


async def test_failing_tools_have_an_event_of_their_own(workspace):
    """An error is PostToolUseFailure and not PostToolUse."""
    workspace.hooks(PostToolUse=workspace.spy(), PostToolUseFailure=workspace.spy())
    async with workspace.agent(CallTools([("fail", {})]), Say("done")) as agent:
        await run(agent)
        [told] = workspace.told()
        assert told["hook_event_name"] == "PostToolUseFailure"
        assert "it broke" in told["error"]


async def test_a_failing_post_hook_hides_nothing(workspace, kit):
    """The call has happened: its result stays unless the hook itself says `onError: block`."""
    workspace.hooks(PostToolUse=kit.command("sleep 60", timeout=0.2))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert texts(agent) == ["said hi"]
    workspace.hooks(PostToolUse=kit.command("sleep 60", timeout=0.2, onError="block"))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert "hook failed" in texts(agent)[0]


async def test_updated_input_is_recorded_and_not_applied(workspace, kit, caplog):
    """What was allowed is what runs; the wish is in the log of warnings."""
    workspace.hooks(PreToolUse=kit.scoped("PreToolUse", permissionDecision="allow", updatedInput={"text": "other"}))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert texts(agent) == ["said hi"]
    assert "updatedInput is recorded and not applied" in caplog.text


async def test_system_messages_are_warnings(workspace, kit, caplog):
    """There is nobody here to show them to."""
    workspace.hooks(PreToolUse=kit.answer(systemMessage="careful"))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
    assert "a hook of PreToolUse says: careful" in caplog.text


async def test_pairs_in_the_log(workspace, kit):
    """Every run is a pair of events with one id, and says what it was."""
    noisy = kit.command("printf '%0600d' 0 >&2; exit 2")
    workspace.hooks(PreToolUse=[{"matcher": "echo", "hooks": [noisy]}], PostToolUseFailure=kit.command("exit 3"))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        first, *_ = invoked = logged(agent, "hook/invoked")
        result, *_ = ended = logged(agent, "hook/result")
        assert [event.handler_id for event in invoked] == [event.handler_id for event in ended]
        assert (first.turn, first.point, first.dialect, first.matcher) == (1, "PreToolUse", "claude-code", "echo")
        assert (result.decision, result.exit_code, len(result.stderr_summary)) == ("deny", 2, 501)
        assert result.duration_ms > 0


@pytest.mark.parametrize(
    ("answered", "word"),
    [
        ({"decision": "block", "reason": "r"}, "block"),
        ({"decision": "approve"}, "approve"),
        ({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}, "ask"),
        ({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}, "deny"),
        ({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}, "allow"),
        ({"continue": False}, "stop"),
        ({}, "pass"),
    ],
)
async def test_the_log_has_the_word_of_the_hook(workspace, kit, answered, word):
    """As it was said: a decision that has two words keeps the one it came with."""
    workspace.hooks(PreToolUse=kit.answer(**answered))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert [result.decision for result in logged(agent, "hook/result")] == [word]


async def test_a_killed_hook_has_no_exit_code_in_the_log(workspace, kit):
    """It came to none; what it printed is the summary."""
    workspace.hooks(PreToolUse=kit.command("echo last words >&2; kill -9 $$"))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        [result] = logged(agent, "hook/result")
        assert (result.exit_code, result.stderr_summary, result.decision) == (MISSING, "last words", "deny")


async def test_what_cannot_be_a_pair_is_refused(workspace, kit):
    """Nobody can write of a hook that did not run, or into a turn that is over."""
    workspace.hooks(PreToolUse=kit.command("true"))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        before = len(agent.session.events)
        for event in (HookInvoked(1, "PreToolUse", "claude-code", "h"), HookResult(1, "PreToolUse", "h", "pass", 1.0)):
            with pytest.raises(HarnessError) as raised:
                agent.session.append(event)
            assert raised.value.code == "HOOK_PAIRING"
        assert len(agent.session.events) == before


async def test_pairs_are_complete_after_a_cancel(workspace):
    """Case 130: a turn cancelled in the middle of a hook has the hook's result in its log."""
    workspace.hooks(PreToolUse=workspace.spy("sleep 60"))
    async with workspace.agent(CALL, Say("done")) as agent:
        agent.followup("go")
        with anyio.fail_after(20):
            while not workspace.seen.exists():  # noqa: ASYNC110 - another process cannot set an event
                await anyio.sleep(0.01)
            agent.cancel()
            await agent.when_idle()
        [invoked], [result] = logged(agent, "hook/invoked"), logged(agent, "hook/result")
        assert invoked.handler_id == result.handler_id
        assert result.decision == "pass"
        assert agent.session.open_turn is None
        assert workspace.ran == []
        assert logged(agent, "turn/end")[0].reason.kind == "aborted"


async def test_project_files_need_trust(workspace, kit, caplog):
    """What a checkout brought does not run, and somebody is told once; `trust_project` says otherwise."""
    workspace.hooks(workspace.project, PreToolUse=kit.command("exit 2"))
    async with workspace.agent(CALL, CALL, Say("done")) as agent:
        await run(agent)
        assert texts(agent) == ["said hi", "said hi"]
    assert caplog.text.count("is not trusted") == 1
    async with workspace.agent(CALL, Say("done"), trust_project=True) as agent:
        await run(agent)
        assert results(agent)[0].is_error


async def test_broken_files_are_told(workspace, kit, caplog):
    """A hook that was dropped guards nothing: that is said, and the others run."""
    workspace.hooks(PreToolUse=[{"hooks": [{"type": "Command", "command": "true"}, kit.command("exit 2")]}])
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert results(agent)[0].is_error
    assert any(record.levelno == logging.ERROR and "Command" in record.message for record in caplog.records)


async def test_files_of_other_dialects_are_not_ours(workspace, monkeypatch):
    """Neither at their places nor pinned by the environment."""
    spied = workspace.hooks(PreToolUse=workspace.spy("exit 2"))
    other = workspace.home / ".codex" / "hooks.json"
    other.parent.mkdir()
    spied.rename(other)
    monkeypatch.setenv("DSHHOOKS_BRIDGE_CONFIG", str(other))
    async with workspace.agent(CALL, Say("done")) as agent:
        await run(agent)
        assert texts(agent) == ["said hi"]
    assert workspace.told() == []


async def test_one_pinned_file(workspace, kit, tmp_path):
    """`config_path` is the only file, trusted, and in our dialect whatever it is called."""
    workspace.hooks(PreToolUse=workspace.spy())
    pinned = workspace.hooks(tmp_path, PreToolUse=kit.command("exit 2")).rename(tmp_path / "hooks.json")
    async with workspace.agent(CALL, Say("done"), config_path=str(pinned)) as agent:
        await run(agent)
        assert results(agent)[0].is_error
    assert workspace.told() == []


async def test_calls_without_an_agent(workspace, kit):
    """Policies hold for them as well; there is no log to write to."""
    workspace.hooks(PreToolUse=[{"matcher": "echo", "hooks": [kit.command("exit 2")]}])
    registry = ToolRegistry()
    registry.hooks.register(ClaudeHooks(HookPluginOptions(home=str(workspace.home))))
    registry.register(workspace.tools()[0])
    result = await registry.call("echo", {"text": "hi"})
    assert result.is_error
    assert workspace.ran == []


async def test_kinds_of_other_plugins(workspace):
    """A plugin that brings a kind of hooks brings it here, too."""

    class Chat:
        async def run(self, job):
            return RawResult(exit_code=2, stderr=f"chat says no to {job.hook.fields['room']}")

    class Brings:
        @hookimpl
        def register_bridge_handlers(self, handlers):
            handlers.register("chat", Chat)

    workspace.hooks(PreToolUse={"type": "chat", "room": "lobby"})
    async with workspace.agent(CALL, Say("done"), plugins=[Brings]) as agent:
        await run(agent)
        assert "chat says no to lobby" in texts(agent)[0]


async def test_hooks_at_the_same_time(workspace, kit):
    """`parallel` changes neither the answer nor the pairs in the log."""
    hooks = [kit.command("sleep 0.2; exit 2"), kit.scoped("PreToolUse", permissionDecision="allow")]
    workspace.hooks(PreToolUse=[{"hooks": hooks}])
    async with workspace.agent(CALL, Say("done"), parallel=True) as agent:
        await run(agent)
        assert workspace.ran == []
        ids = [[event.handler_id for event in logged(agent, kind)] for kind in ("hook/invoked", "hook/result")]
        assert sorted(ids[0]) == sorted(ids[1])
        assert len(set(ids[0])) == 2


async def test_reload(workspace, kit):
    """Files are read again when somebody says so."""
    async with workspace.agent(CALL, Say("done"), CALL, Say("done")) as agent:
        await run(agent)
        workspace.hooks(PreToolUse=kit.command("exit 2"))
        workspace.hooked.reload()
        await run(agent, "again")
        assert [result.is_error for result in results(agent)] == [False, True]


def test_the_entry_point():
    """Its name is the plugin's name everywhere."""
    found = [entry for entry in entry_points(group="dshhooks") if entry.name == "claude-hooks"]
    assert [entry.load() for entry in found] == [ClaudeHooks]


@pytest.mark.parametrize("wrong", [
    {"profile": "x"}, {"on_error": "x"}, {"stop_cap": -1}, {"timeout_sec": -1.0}, {"llm": {"model": "m"}},
    {"event_timeouts": {"x": 1.0}},
])  # fmt: skip
def test_wrong_options(wrong):
    """They stop the start."""
    with pytest.raises((ValueError, TypeError)):
        HookPluginOptions(**wrong)
