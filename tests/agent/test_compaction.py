"""``agent.compact()``: the conversation so far becomes a summary (decisions.md 5.3, 7.24)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dshhooks.agent.causes import UserCause
from hookspecs.decisions import RetryRequest
from hookspecs.errors import HarnessError, LlmError
from hookspecs.model import TextDelta
from tests.agent.kit import CallTools, Fail, Gate, Model, Plugin, Say, data, host, kinds, reasons, said, sent, tool

pytestmark = pytest.mark.anyio


async def test_at_idle() -> None:
    """The surface is the summary alone, in a flushed turn of its own; the generation grew; the next request sees it."""
    async with host(steps=[Say("a"), Say("the gist"), Say("b")]) as h:
        agent = await h.run("one")
        flushes = h.recorder.flushes
        assert await agent.compact() is True
        assert h.recorder.flushes == flushes + 1
        assert agent.session.replace_generation == 1
        assert len(agent.session.surface) == 1
        assert kinds(agent.session)[-3:] == ["turn/start", "user/message", "turn/end"]
        await h.run("two", agent=agent)
        assert sent(h.requests[2]) == ["Summary of the conversation so far:\n\nthe gist", "two"]


async def test_its_request() -> None:
    """The summary is asked of the agent's provider, with purpose ``compaction``, over the whole conversation."""
    async with host(steps=[Say("a"), Say("gist")]) as h:
        agent = await h.run("one")
        await agent.compact()
        request = h.requests[1]
        assert (request.provider, request.model, request.purpose) == ("scripted", "m", "compaction")
        assert sent(request)[:2] == ["one", "a"]
        assert len(request.messages) == 3


async def test_nothing_to_compact() -> None:
    """An empty conversation, or a single message, is left alone; the model is not asked."""
    async with host(steps=[Say("a")]) as h:
        agent = await h.agent()
        assert await agent.compact() is False
        agent.inject("one")
        assert await agent.compact() is False
        assert h.requests == []
        assert agent.session.replace_generation == 0


async def test_inside_a_turn() -> None:
    """From a hook between steps: the replacement stands in the open turn, and the next request sees the summary."""
    done: list[bool] = []

    async def compact(agent: Any, step: int) -> None:
        if step == 2:
            done.append(await agent.compact())

    script = [CallTools([("echo", {})]), Say("gist"), Say("b")]
    async with host(Plugin(agent_pre_step=compact), steps=script, tools=[tool()]) as h:
        agent = await h.run("one")
        assert done == [True]
        assert sent(h.requests[2]) == ["Summary of the conversation so far:\n\ngist"]
        assert reasons(agent.session) == ["completed"]


async def test_while_tools_run() -> None:
    """From a tool's body the calling step is left as it is: its results find the answer that called them."""

    async def body(_args: Any, run: Any) -> str:
        return str(await run.agent.compact())

    script = [Say("a"), CallTools([("compact", {})]), Say("gist"), Say("b")]
    async with host(steps=script, tools=[tool("compact", body)]) as h:
        agent = await h.run("one")
        await h.run("two", agent=agent)
        assert "[tool-call content]" not in "".join(sent(h.requests[2]))
        last = h.requests[3].messages
        assert [message.role for message in last] == ["user", "assistant", "user"]
        assert last[1].content[0].id == last[2].content[0].tool_call_id


async def test_cancelled_at_idle() -> None:
    """``agent.cancel()`` reaches a compaction of an idle agent; the conversation is unchanged."""
    gate = Gate()
    async with host(model=Model([Say("a"), gate, Say("b")])) as h:
        agent = await h.run("one")
        before = kinds(agent.session)
        caught: list[HarnessError] = []

        async def compact() -> None:
            try:
                await agent.compact()
            except HarnessError as exc:
                caught.append(exc)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(compact)
            await gate.reached.wait()
            agent.cancel()
        assert [exc.code for exc in caught] == ["COMPACTION_CANCELLED"]
        assert kinds(agent.session) == before
        assert h.recorder.cancels == [UserCause()]
        await h.run("two", agent=agent)
        assert reasons(agent.session) == ["completed", "completed"]


async def test_a_prompt_during_a_compaction_runs_and_can_be_cancelled() -> None:
    """A turn beside a compaction keeps its own cancellation, and is not part of what is replaced."""
    gate, turn = Gate(), Gate()

    class Two:
        requests: list[Any]

        def __init__(self) -> None:
            self.requests = []

        async def stream(self, options: Any) -> Any:
            self.requests.append(options)
            if len(self.requests) == 2:
                await gate()
            elif len(self.requests) == 3:
                await turn()
            yield TextDelta(0, f"answer {len(self.requests)}")

    async with host(model=Two()) as h:
        agent = await h.run("one")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(agent.compact)
            await gate.reached.wait()
            agent.followup("two")
            await turn.reached.wait()
            gate.open()
            await anyio.wait_all_tasks_blocked()
            agent.cancel()
            await agent.when_idle()
        assert reasons(agent.session)[-1] == "aborted"
        assert said(agent.session)[-1].startswith("Summary")
        assert [m.content[0].text[:7] for m in agent.session.messages()] == ["Summary", "two"]


async def test_cancelled_with_its_turn() -> None:
    """Inside a turn the turn's cancel ends the compaction, and the turn is aborted."""
    gate = Gate()

    async def compact(agent: Any) -> None:
        if len(agent.session.surface) > 2:
            await agent.compact()

    script = [Say("a"), gate, Say("never")]
    async with host(Plugin(agent_pre_step=compact), model=Model(script)) as h:
        agent = await h.run("one")
        agent.followup("two")
        await gate.reached.wait()
        agent.cancel()
        await agent.when_idle()
        assert reasons(agent.session) == ["completed", "aborted"]
        assert agent.session.replace_generation == 0
        assert h.recorder.errors == []


@pytest.mark.parametrize(
    ("answer", "error"), [(Fail("SERVER"), LlmError), (Say(""), HarnessError), (Say("  "), HarnessError)]
)
async def test_a_failing_summary_changes_nothing(answer: Any, error: type[Exception]) -> None:
    """A failed request, or a summary without words, raises and leaves the conversation as it was."""
    async with host(steps=[Say("a"), answer, Say("b")]) as h:
        agent = await h.run("one")
        before = list(agent.session.events)
        with pytest.raises(error):
            await agent.compact()
        assert list(agent.session.events) == before
        await h.run("two", agent=agent)
        assert sent(h.requests[2]) == ["one", "a", "two"]


async def test_two_at_once() -> None:
    """Of two compactions at once one replaces; the other finds its ground gone and says False."""
    async with host(steps=[Say("a"), Say("gist"), Say("gist")]) as h:
        agent = await h.run("one")
        results: list[bool] = []

        async def compact() -> None:
            results.append(await agent.compact())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(compact)
            tasks.start_soon(compact)
        assert sorted(results) == [False, True]
        assert agent.session.replace_generation == 1


async def test_again() -> None:
    """A summary can be summarized; every replacement raises the generation."""
    async with host(steps=[Say("a"), Say("gist"), Say("b"), Say("gist of gist")]) as h:
        agent = await h.run("one")
        await agent.compact()
        await h.run("two", agent=agent)
        assert await agent.compact() is True
        assert agent.session.replace_generation == 2
        assert len(agent.session.messages()) == 1


async def test_a_resumed_session_keeps_the_summary() -> None:
    """The replacement is durable: a resumed agent begins from the summary."""
    async with host(steps=[Say("a"), Say("gist"), Say("b")]) as h:
        agent = await h.run("one")
        await agent.compact()
        await agent.dispose()
        again = await h.harness.resume_agent(agent.id)
        await h.run("two", agent=again)
        assert sent(h.requests[2])[0].endswith("gist")


async def test_a_disposed_agent_refuses() -> None:
    """There is nothing to compact for an agent that is gone."""
    async with host(steps=[Say("a")]) as h:
        agent = await h.run("one")
        await agent.dispose()
        with pytest.raises(HarnessError) as caught:
            await agent.compact()
        assert caught.value.code == "AGENT_DISPOSED"


async def test_disposal_ends_it() -> None:
    """Disposing an agent ends its compaction."""
    gate = Gate()
    async with host(model=Model([Say("a"), gate])) as h:
        agent = await h.run("one")
        caught: list[str] = []

        async def compact() -> None:
            try:
                await agent.compact()
            except HarnessError as exc:
                caught.append(exc.code)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(compact)
            await gate.reached.wait()
            await agent.dispose()
        assert caught == ["COMPACTION_CANCELLED"]
        assert reasons(agent.session) == ["completed"]


async def test_without_a_model() -> None:
    """An agent that was told no model says so."""
    async with host(provider=None) as h:
        agent = await h.agent()
        agent.inject("one")
        agent.inject("two")
        with pytest.raises(HarnessError) as caught:
            await agent.compact()
        assert caught.value.code == "NO_MODEL"


async def test_recovery_from_a_full_context() -> None:
    """The pattern: on a full context, compact and retry; the retried request is the summary."""

    async def recover(agent: Any, failure: Any, prior_failures: Any) -> Any:
        if failure.code == "CONTEXT_WINDOW_EXCEEDED" and not prior_failures:
            return RetryRequest() if await agent.compact() else None
        return None

    script = [Say("a"), Fail("CONTEXT_WINDOW_EXCEEDED"), Say("gist"), Say("b")]
    async with host(Plugin(agent_request_error=recover), steps=script) as h:
        agent = await h.run("one", "two")
        assert reasons(agent.session)[-1] == "completed"
        assert len(h.requests[3].messages) == 1
        assert data(agent.session, "turn/end")[-1].turn == 2
