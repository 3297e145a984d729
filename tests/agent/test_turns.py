"""A turn from its prompt to its flush, and the driver around it (spec/core.md 4.6 to 4.8)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from dshhooks.session.events import ErrorEnd, MessageTrigger
from hookspecs.errors import HarnessError
from hookspecs.values import PluginSource, UserSource
from tests.agent.kit import CallTools, Gate, Plugin, Say, data, host, kinds, reasons, said, sent, tool

pytestmark = pytest.mark.anyio


# -- what a turn looks like --------------------------------------------------------------------------------------------


async def test_a_simple_turn_is_logged_in_order() -> None:
    """Case 136: start, prompt, step, header, chunks, answer, ends."""
    async with host(steps=[Say("hello")]) as h:
        agent = await h.run("hi")
        types = [event.type for event in agent.session.events]
        assert types == [
            "turn/start", "user/message", "step/start", "request/header", *["assistant/chunk"] * 5,
            "assistant/message", "step/end", "turn/end",
        ]  # fmt: skip
        assert [event.seq for event in agent.session.events] == list(range(len(types)))
        answer = agent.session.events[9]
        assert answer.source_event_seqs == (4, 5, 6, 7, 8)
        assert said(agent.session, "assistant/message") == ["hello"]


async def test_the_trigger_names_who_sent_the_prompt() -> None:
    """Spec 4.7: ``turn/start`` carries the source of the item."""
    async with host(steps=[Say("1"), Say("2")]) as h:
        agent = await h.agent()
        agent.followup("a")
        agent.followup("b", source=PluginSource("mailer"))
        await agent.when_idle()
        triggers = [start.trigger for start in data(agent.session, "turn/start")]
        assert triggers == [MessageTrigger(UserSource()), MessageTrigger(PluginSource("mailer"))]


async def test_a_turn_with_calls_has_a_step_for_each_request() -> None:
    """Spec 4.8: the results of one step are in the request of the next."""
    async with host(steps=[CallTools([("echo", {"a": 1})]), Say("done")], tools=[tool()]) as h:
        agent = await h.run("go")
        assert [(start.turn, start.step) for start in data(agent.session, "step/start")] == [(1, 1), (1, 2)]
        assert len(h.requests) == 2
        (result,) = h.requests[1].messages[-1].content
        assert (result.tool_call_id, result.content[0].text, result.is_error) == ("call-1", "{'a': 1}", False)


async def test_every_turn_is_flushed_before_the_next_one_starts() -> None:
    """Spec 4.7: the next queued item waits for the flush to settle."""
    gate = Gate()

    async def session_flush() -> None:
        await gate()

    async with host(Plugin(session_flush=session_flush), steps=[Say("1"), Say("2")]) as h:
        agent = await h.agent()
        agent.followup("a")
        agent.followup("b")
        await gate.reached.wait()
        assert reasons(agent.session) == ["completed"]
        await anyio.wait_all_tasks_blocked()
        assert said(agent.session) == ["a"]
        assert agent.status == "running"
        gate.open()
        await agent.when_idle()
        assert said(agent.session) == ["a", "b"]
        assert h.recorder.statuses == ["running", "idle"]


async def test_a_failing_flush_keeps_the_turn() -> None:
    """Spec 4.7: told as ``agent_error`` with turn and step; the turn stays committed and the next one runs."""

    def session_flush() -> None:
        raise OSError("disk full")

    async with host(Plugin(session_flush=session_flush), steps=[Say("1"), Say("2")]) as h:
        agent = await h.run("a", "b")
        assert reasons(agent.session) == ["completed", "completed"]
        assert [(turn, step, str(error)) for turn, step, error in h.recorder.errors] == [
            (1, 1, "disk full"), (2, 1, "disk full"),
        ]  # fmt: skip


# -- how it fails ------------------------------------------------------------------------------------------------------


async def test_a_refused_start_loses_the_item_and_nothing_else() -> None:
    """Spec 4.7: the turn never existed: an error at step 0, nothing in the log, and the driver goes on."""

    def refuse(event: Any) -> None:
        if event.type == "turn/start" and not agent.session.events:
            registration.dispose()
            raise RuntimeError("not now")

    async with host(steps=[Say("1")]) as h:
        agent = await h.agent()
        registration = agent.session.add_validator(refuse)
        await h.run("a", "b", agent=agent)
        assert said(agent.session) == ["b"]
        assert [start.turn for start in data(agent.session, "turn/start")] == [1]
        assert [(turn, step, str(error)) for turn, step, error in h.recorder.errors] == [(1, 0, "not now")]


async def test_an_error_is_told_once_as_the_original_object() -> None:
    """Spec 4.7: ``agent_error`` has the exception itself; the log has its chain and who failed."""
    problem = ValueError("bad step")
    problem.__cause__ = KeyError("deeper")

    def agent_pre_step() -> None:
        raise problem

    async with host(Plugin("picky", agent_pre_step=agent_pre_step), steps=[Say("1")]) as h:
        agent = await h.run("go")
        assert [(turn, step, error is problem) for turn, step, error in h.recorder.errors] == [(1, 1, True)]
        (end,) = data(agent.session, "turn/end")
        assert (end.reason.kind, end.reason.step, end.reason.code) == ("error", 1, "PLUGIN_FAILED")
        assert "picky" in end.reason.message
        assert "bad step" in end.reason.message
        assert h.requests == []


async def test_a_coded_error_keeps_its_code() -> None:
    """Spec 4.7: ``{kind: error, step, message, code}`` for a ``HarnessError`` of a plugin's own."""

    def agent_pre_step() -> None:
        raise HarnessError("no more steps", "STEP_BUDGET")

    async with host(Plugin(agent_pre_step=agent_pre_step)) as h:
        agent = await h.run("go")
        assert data(agent.session, "turn/end")[0].reason == ErrorEnd(1, "no more steps", "STEP_BUDGET")


async def test_a_plugin_that_exits_fails_its_turn_only() -> None:
    """Decision 3.7: ``SystemExit`` from a hook is that plugin's failure, not the host's."""

    def agent_pre_step(turn: int) -> None:
        if turn == 1:
            raise SystemExit(3)

    async with host(Plugin(agent_pre_step=agent_pre_step), steps=[Say("1")]) as h:
        agent = await h.run("a", "b")
        assert reasons(agent.session) == ["error", "completed"]
        assert isinstance(h.recorder.errors[0][2], SystemExit)


async def test_a_raising_error_listener_is_contained() -> None:
    """Spec 4.7: the others hear it, and the next prompt runs."""

    def agent_pre_step(turn: int) -> None:
        if turn == 1:
            raise ValueError("first")

    def agent_error() -> None:
        raise RuntimeError("listener")

    plugin = Plugin("p", agent_pre_step=agent_pre_step, agent_error=agent_error)
    async with host(plugin, steps=[Say("1")]) as h:
        agent = await h.run("a", "b")
        assert reasons(agent.session) == ["error", "completed"]
        assert len(h.recorder.errors) == 1


async def test_steering_that_came_too_late_for_a_failed_step_is_not_lost() -> None:
    """Spec 10.11: an ordinary error turn keeps steering: it becomes a queued turn."""

    def agent_post_step(agent: Any, turn: int) -> None:
        if turn == 1:
            agent.steer("still here")
            raise ValueError("post-step")

    async with host(Plugin(agent_post_step=agent_post_step), steps=[Say("1"), Say("2")]) as h:
        agent = await h.run("go")
        assert reasons(agent.session) == ["error", "completed"]
        assert said(agent.session) == ["go", "still here"]
        assert h.recorder.ids("discard") == []


# -- the driver --------------------------------------------------------------------------------------------------------


async def test_idle_waiters_go_before_the_idle_status() -> None:
    """Spec 4.6: whoever waits is released first; each status is told only when it changes."""
    order: list[str] = []

    def agent_status(status: str) -> None:
        order.append(status)

    async with host(Plugin(agent_status=agent_status), steps=[Say("1")]) as h:
        agent = await h.agent()
        release = agent.driver.release
        agent.driver.release = lambda: (order.append("released"), release())[1]  # type: ignore[method-assign]
        await h.run("go", agent=agent)
        assert order[-2:] == ["released", "idle"]
        await agent.when_idle()


async def test_a_prompt_sent_when_idle_is_told_starts_the_agent_again() -> None:
    """Spec 4.6: nothing that wakes is left lying when the driver parks."""
    again: list[Any] = []
    finished = anyio.Event()

    def agent_status(agent: Any, status: str) -> None:
        if status == "idle" and not again:
            again.append(agent.followup("again"))
        elif status == "idle":
            finished.set()

    async with host(Plugin(agent_status=agent_status), steps=[Say("1"), Say("2")]) as h:
        agent = await h.run("go")
        await finished.wait()
        assert said(agent.session) == ["go", "again"]
        assert h.recorder.statuses == ["running", "idle", "running", "idle"]


async def test_cancelling_when_running_is_told_opens_no_turn() -> None:
    """Spec 4.6: the turn's owner is there before the status is told; the item is discarded without a turn."""

    def agent_status(agent: Any, status: str) -> None:
        if status == "running" and not h.recorder.cancels:
            agent.cancel()

    async with host(Plugin(agent_status=agent_status), steps=[Say("1")]) as h:
        agent = await h.run("dropped")
        assert kinds(agent.session) == []
        assert len(h.recorder.ids("discard")) == 1
        assert h.recorder.statuses == ["running", "idle"]
        await h.run("kept", agent=agent)
        assert said(agent.session) == ["kept"]


async def test_cancelling_when_running_is_told_may_keep_the_inbox() -> None:
    """Spec 4.6, 4.12: with ``keep_inbox`` the item gets its turn under a fresh owner."""

    def agent_status(agent: Any, status: str) -> None:
        if status == "running":
            agent.cancel(keep_inbox=True)

    async with host(Plugin(agent_status=agent_status), steps=[Say("1")]) as h:
        agent = await h.run("kept")
        assert reasons(agent.session) == ["completed"]
        assert len(h.recorder.cancels) == 1


async def test_agents_run_beside_each_other() -> None:
    """Spec 4.6: each has a driver of its own; one that waits keeps nobody."""
    gate = Gate()
    async with host(steps=[gate, Say("slow"), Say("fast")]) as h:
        slow, fast = await h.agent(), await h.agent()
        slow.followup("a")
        await gate.reached.wait()
        await h.run("b", agent=fast)
        assert (slow.status, fast.status) == ("running", "idle")
        gate.open()
        await slow.when_idle()
        assert sorted(sent(request)[-1] for request in h.requests) == ["a", "b"]
