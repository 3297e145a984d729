"""Subagents: a session of their own, the same policies, and the parent's cancel reaches them."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dshhooks.agent.causes import ParentCause, UserCause
from hookspecs.decisions import ApprovalOutcome, Ask, BlockPrompt, Deny
from hookspecs.errors import HarnessError
from tests.agent.kit import CallTools, Fail, Gate, Model, Plugin, Say, data, host, reasons, said, sent, tool

pytestmark = pytest.mark.anyio


def delegating(done: list[Any] | None = None) -> Any:
    """A tool that runs its ``prompt`` in a subagent and answers with its text."""

    async def execute(args: Any, run: Any) -> str:
        result = await run.agent.spawn("helper", args["prompt"])
        if done is not None:
            done.append(result)
        return result.text

    return tool("delegate", execute)


def delegate(prompt: str = "look") -> CallTools:
    """The model delegates."""
    return CallTools([("delegate", {"prompt": prompt})])


async def test_a_subagent_has_a_session_of_its_own() -> None:
    """The child's header names its parent and its depth; its answer is the result, and it is gone afterwards."""
    done: list[Any] = []
    async with host(steps=[delegate(), Say("found it"), Say("thanks")], tools=[delegating(done)]) as h:
        agent = await h.run("one")
        [result] = done
        assert (result.text, result.ok, result.reason.kind) == ("found it", True, "completed")
        child = h.recorder.sessions[1]
        assert child.id == result.session_id
        assert (child.header.parent_session, child.header.delegation_depth) == (agent.id, 1)
        assert sent(h.requests[1]) == ["look"]
        assert h.harness.agents.list() == [agent]
        assert said(agent.session, "assistant/message")[-1] == "thanks"
        assert not child.live


async def test_a_subagent_of_a_subagent_is_one_deeper() -> None:
    """Depth counts the agents between a session and a person."""
    script = [delegate(), delegate("deeper"), Say("bottom"), Say("middle"), Say("top")]
    async with host(steps=script, tools=[delegating()]) as h:
        await h.run("one")
        assert [session.header.delegation_depth for session in h.recorder.sessions] == [0, 1, 2]
        assert [session.header.parent_session for session in h.recorder.sessions[1:]] == [
            session.id for session in h.recorder.sessions[:2]
        ]


async def test_start_and_end_are_told() -> None:
    """``subagent_start`` before the child's first turn, ``subagent_end`` once, with parent, child and type."""
    told: list[tuple[str, str, str, list[str]]] = []

    def hear(what: str) -> Any:
        def hook(parent: Any, agent: Any, agent_type: str) -> None:
            told.append((what, parent.id, agent_type, reasons(agent.session)))

        return hook

    plugin = Plugin(subagent_start=hear("start"), subagent_end=hear("end"))
    async with host(plugin, steps=[Say("x")]) as h:
        agent = await h.agent()
        await agent.spawn("helper", "look")
        assert told == [("start", agent.id, "helper", []), ("end", agent.id, "helper", ["completed"])]


async def test_an_injection_at_the_start_is_part_of_the_first_request() -> None:
    """What a ``subagent_start`` observer injects the child reads first."""
    plugin = Plugin(subagent_start=lambda agent: agent.inject("be brief"))
    async with host(plugin, steps=[Say("x")]) as h:
        result = await (await h.agent()).spawn("helper", "look")
        assert sent(h.requests[0]) == ["be brief", "look"]
        assert result.ok


async def test_a_subagent_is_owned() -> None:
    """While it lives the child is no root, and is owned by its parent and grandparent."""
    seen: list[Any] = []

    def look(parent: Any, agent: Any) -> None:
        agents = parent.harness.agents
        seen.append((agents.roots() == [parent], agents.is_owned_by(agent, parent), agents.is_owned_by(parent, agent)))

    async with host(Plugin(subagent_start=look), steps=[Say("x")]) as h:
        await (await h.agent()).spawn("helper", "look")
        assert seen == [(True, True, False)]


async def test_the_same_policies_see_the_childs_calls() -> None:
    """A global policy, guard and prompt policy stand before the child's tools and prompts as well."""
    asked: list[tuple[str, int]] = []

    def policy(execution: Any) -> Any:
        asked.append((execution.name, execution.agent.session.header.delegation_depth))
        return Deny("not this") if execution.name == "danger" else None

    ran: list[int] = []
    danger = tool("danger", lambda _args, _run: ran.append(1))
    script = [delegate(), CallTools([("danger", {})]), Say("could not"), Say("ok")]
    async with host(Plugin(tools_pre_execute=policy), steps=script, tools=[delegating(), danger]) as h:
        await h.run("one")
        assert asked == [("delegate", 0), ("danger", 1)]
        assert ran == []
        assert "not this" in str(data(h.recorder.sessions[1], "tool/result")[0].content)


async def test_a_blocked_subagent_says_so() -> None:
    """A prompt policy's block is the result's reason."""
    async with host(Plugin(agent_prompt_submit=lambda: BlockPrompt("no secrets")), steps=[]) as h:
        result = await (await h.agent()).spawn("helper", "look")
        assert (result.ok, result.reason.kind, result.text) == (False, "rejected", "")


async def test_a_failing_subagent_says_so() -> None:
    """A failed request of the child is the result's reason; the parent's turn goes on."""
    done: list[Any] = []
    async with host(steps=[delegate(), Fail("SERVER"), Say("too bad")], tools=[delegating(done)]) as h:
        agent = await h.run("one")
        assert (done[0].ok, done[0].reason.failure.code) == (False, "SERVER")
        assert reasons(agent.session) == ["completed"]


async def test_an_ask_of_the_child_is_answered_and_recorded_in_its_own_log() -> None:
    """An approval of the child's call stands in the child's log."""
    plugin = Plugin(
        tools_pre_execute=lambda execution: Ask("sure?") if execution.name == "echo" else None,
        approval_request=lambda: ApprovalOutcome.ALLOWED_ONCE,
    )
    script = [delegate(), CallTools([("echo", {})]), Say("x"), Say("ok")]
    async with host(plugin, steps=script, tools=[delegating(), tool()]) as h:
        await h.run("one")
        parent, child = h.recorder.sessions
        assert len(data(child, "approval/asked")) == len(data(child, "approval/decided")) == 1
        assert data(parent, "approval/asked") == []


@pytest.mark.parametrize("nested", [False, True], ids=["child", "grandchild"])
async def test_the_parents_cancel_reaches_it(nested: bool) -> None:
    """Cancelled while the child streams: both turns are aborted and balanced; the child's cause is its parent."""
    gate = Gate()
    script = [delegate(), *([delegate("deeper")] if nested else []), gate, Say("x")]
    async with host(model=Model(script), tools=[delegating()]) as h:
        agent = await h.agent()
        agent.followup("one")
        await gate.reached.wait()
        agent.cancel()
        await agent.when_idle()
        assert [reasons(session) for session in h.recorder.sessions] == [["aborted"]] * len(h.recorder.sessions)
        assert h.recorder.cancels[0] == UserCause()
        assert set(h.recorder.cancels[1:]) == {ParentCause()}
        assert h.harness.agents.list() == [agent]


async def test_the_parents_cancel_reaches_it_while_the_parent_is_idle() -> None:
    """A subagent the host spawned is cancelled with its parent, though the parent has no turn."""
    gate = Gate()
    async with host(model=Model([gate])) as h:
        agent = await h.agent()
        results: list[Any] = []

        async def spawn() -> None:
            results.append(await agent.spawn("helper", "look"))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(spawn)
            await gate.reached.wait()
            agent.cancel()
        assert (results[0].ok, results[0].reason.kind) == (False, "aborted")


async def test_the_parents_cancel_reaches_it_while_it_asks() -> None:
    """Cancelled while the child waits for a person: nobody waits on, and the late answer runs nothing."""
    gate = Gate()
    ran: list[int] = []
    danger = tool("danger", lambda _args, _run: ran.append(1))

    async def answer() -> None:
        await gate()

    def policy(execution: Any) -> Any:
        return Ask() if execution.name == "danger" else None

    plugin = Plugin(tools_pre_execute=policy, approval_request=answer)
    async with host(plugin, steps=[delegate(), CallTools([("danger", {})])], tools=[delegating(), danger]) as h:
        agent = await h.agent()
        agent.followup("one")
        await gate.reached.wait()
        agent.cancel()
        await agent.when_idle()
        assert ran == []
        assert [reasons(session) for session in h.recorder.sessions] == [["aborted"], ["aborted"]]
        assert data(h.recorder.sessions[1], "approval/decided")[0].outcome == "cancelled"


async def test_a_cancel_before_the_child_began() -> None:
    """The parent's turn is cancelled while the child is being created: it never asks the model anything."""
    plugin = Plugin(subagent_start=lambda parent: parent.cancel())
    async with host(plugin, steps=[delegate(), Say("never")], tools=[delegating()]) as h:
        agent = await h.run("one")
        assert len(h.requests) == 1
        assert reasons(agent.session) == ["aborted"]
        assert reasons(h.recorder.sessions[1]) == []


async def test_a_child_that_never_ran_is_not_ok() -> None:
    """A child cancelled before its turn has no reason to call itself completed."""

    def cancel(parent: Any, agent: Any) -> None:
        agent.inject("a turn that completed")
        parent.cancel()

    async with host(Plugin(subagent_start=cancel), steps=[]) as h:
        result = await (await h.agent()).spawn("helper", "look")
        assert (result.ok, result.reason.kind) == (False, "aborted")


async def test_disposing_the_parent_disposes_the_child() -> None:
    """A disposed parent takes its child along; both logs are balanced."""
    gate = Gate()
    async with host(model=Model([delegate(), gate]), tools=[delegating()]) as h:
        agent = await h.agent()
        agent.followup("one")
        await gate.reached.wait()
        await agent.dispose()
        assert reasons(agent.session) == ["disposed"]
        assert reasons(h.recorder.sessions[1]) in (["disposed"], ["aborted"])
        assert h.harness.agents.list() == []


async def test_a_child_that_disposes_its_parent() -> None:
    """A tool of the child that disposes the parent: no deadlock, both gone."""

    async def murder(_args: Any, run: Any) -> str:
        await run.agent.parent.dispose()
        return "x"

    script = [delegate(), CallTools([("murder", {})])]
    async with host(steps=script, tools=[delegating(), tool("murder", murder)]) as h:
        agent = await h.agent()
        agent.followup("one")
        await agent.when_idle()
        await agent.dispose()
        assert reasons(agent.session) == ["disposed"]
        assert h.harness.agents.list() == []


async def test_a_cancelled_caller_leaves_no_child() -> None:
    """When the task that spawned is cancelled the child is stopped, disposed and told of as ended."""
    gate = Gate()
    ended: list[str] = []
    async with host(Plugin(subagent_end=lambda agent: ended.append(agent.status)), model=Model([gate])) as h:
        agent = await h.agent()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.spawn, "helper", "look")
            await gate.reached.wait()
            tasks.cancel_scope.cancel()
        assert ended == ["disposed"]
        assert reasons(h.recorder.sessions[1]) == ["aborted"]
        assert h.harness.agents.list() == [agent]


async def test_a_bad_prompt_is_refused_and_leaves_nothing() -> None:
    """A prompt that is no content raises; the child is gone."""
    async with host() as h:
        agent = await h.agent()
        with pytest.raises(TypeError):
            await agent.spawn("helper", 5)
        assert h.harness.agents.list() == [agent]


async def test_a_child_that_cannot_be_created() -> None:
    """A checkpoint that refuses the child: the exception reaches the spawner, nobody is told of a subagent."""
    told: list[int] = []

    def refuse(agent: Any) -> None:
        if agent.parent is not None:
            raise HarnessError("no helpers today", "NO_HELPERS")

    plugin = Plugin(agent_created=refuse, subagent_start=lambda: told.append(1), subagent_end=lambda: told.append(2))
    async with host(plugin) as h:
        agent = await h.agent()
        with pytest.raises(HarnessError, match="no helpers today"):
            await agent.spawn("helper", "look")
        assert told == []
        assert h.harness.agents.list() == [agent]
        assert agent.children == []


async def test_children_beside_each_other() -> None:
    """Two parallel-safe delegations run at the same time, each with its own answer."""

    async def execute(args: Any, run: Any) -> str:
        return (await run.agent.spawn("helper", args["prompt"])).text

    def echo(options: Any) -> Say:
        return Say(f"re {options.messages[0].content[0].text}")

    both = tool("delegate", execute, is_concurrency_safe=lambda _args: True)
    calls = CallTools([("delegate", {"prompt": "a"}), ("delegate", {"prompt": "b"})])
    async with host(steps=[calls, echo, echo, Say("ok")], tools=[both]) as h:
        agent = await h.run("one")
        texts = [result.content[0].text for result in data(agent.session, "tool/result")]
        assert texts == ["re a", "re b"]


async def test_a_child_may_do_no_more_than_its_parent() -> None:
    """The parent's guards and restrictions hold for the child as well, and go with it."""
    ran: list[str] = []

    def noting(name: str) -> Any:
        async def execute(args: Any, run: Any) -> str:
            ran.append(name)
            return "done"

        return tool(name, execute)

    script = [CallTools([("hidden", {}), ("guarded", {}), ("free", {})]), Say("that was all")]
    async with host(steps=script, tools=[noting("hidden"), noting("guarded"), noting("free")]) as h:
        agent = await h.agent()
        agent.ctx.restrict(deny=["hidden"])
        agent.ctx.guard(lambda execution: "not here" if execution.name == "guarded" else None)
        await agent.spawn("helper", "look")
        assert ran == ["free"]
        results = data(h.recorder.sessions[1], "tool/result")
        assert [result.is_error for result in results] == [True, True, False]
        assert results[0].error.code == "UNKNOWN_TOOL"
        assert results[1].content[0].text == "Error: not here"


async def test_a_driver_that_was_cancelled_keeps_nobody_waiting() -> None:
    """Its host is going down: what is pending will never run, and who cleans up must not wait for it."""
    async with host(steps=[Say("a")]) as h:
        agent = await h.run("one")
        agent.driver.done.set()
        agent.queue("two")
        agent.cancel()
        with anyio.fail_after(5):
            await agent.when_idle()
        agent.driver.done = anyio.Event()
