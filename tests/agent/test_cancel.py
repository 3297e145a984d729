"""Cancelling an agent's work, and waiting for quiet (spec/core.md 4.12, 4.13)."""

from __future__ import annotations

from contextvars import Context
from typing import Any

import anyio
import anyio.to_thread
import attrs
import pytest
from anyio.lowlevel import checkpoint, current_token

from dshhooks.agent import handle
from dshhooks.agent.causes import DisposedCause, ParentCause, UserCause, interrupt_reason_of
from hookspecs.decisions import BlockPrompt
from hookspecs.errors import LlmError
from hookspecs.model import FinishChunk, StopFinish, TextDelta
from hookspecs.signal import CancelSource
from tests.agent.kit import CallTools, Fail, Gate, Model, Plugin, Say, data, host, kinds, reasons, said, sent, tool

pytestmark = pytest.mark.anyio


class Streaming:
    """A model that says one thing and then streams until it is cancelled."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.requests: list[Any] = []
        self.reason: Any = None

    async def stream(self, options: Any) -> Any:
        """Yield half an answer."""
        self.requests.append(options)
        yield TextDelta(0, "half")
        self.started.set()
        await options.signal.wait()
        self.reason = options.signal.reason
        raise LlmError("aborted", "ABORTED")


async def test_cancelling_an_idle_agent_does_nothing() -> None:
    """Case 178: no event, and the next prompt runs."""
    async with host(steps=[Say("a")]) as h:
        agent = await h.agent()
        agent.cancel()
        await h.run("one", agent=agent)
        assert h.recorder.cancels == []
        assert reasons(agent.session) == ["completed"]


async def test_cancel_before_the_driver_wakes_drops_what_is_queued() -> None:
    """Case 179: no turn, one discard that lists the items, and ``when_idle`` resolves."""
    async with host(steps=[Say("a")]) as h:
        agent = await h.agent()
        ids = [agent.followup("one"), agent.queue("two")]
        agent.cancel()
        await agent.when_idle()
        assert h.recorder.ids("discard") == ids
        assert list(agent.session.events) == []
        assert h.recorder.cancels == [UserCause()]
        assert "running" not in h.recorder.statuses


async def test_what_is_sent_after_such_a_cancel_runs() -> None:
    """Items enqueued after a pre-run cancel are not poisoned by it."""
    async with host(steps=[Say("a")]) as h:
        agent = await h.agent()
        agent.followup("one")
        agent.cancel()
        agent.followup("two")
        await agent.when_idle()
        assert said(agent.session) == ["two"]


async def test_cancel_stops_a_stream_and_drops_the_tail() -> None:
    """Case 180: aborted turn, tail discarded; the adapter's signal says who cancelled."""
    model = Streaming()
    async with host(model=model) as h:
        agent = await h.agent()
        agent.followup("one")
        await model.started.wait()
        tail = agent.followup("two")
        steering = agent.steer("wait")
        agent.cancel()
        await agent.when_idle()
        assert reasons(agent.session) == ["aborted"]
        assert h.recorder.ids("discard") == [tail, steering]
        assert model.reason == UserCause()
        assert model.requests[0].signal.reason.kind == "user"
        assert data(agent.session, "assistant/message") == []
        assert h.recorder.errors == []


async def test_an_adapter_that_ignores_its_signal_is_cancelled() -> None:
    """A stream that never looks at its signal ends all the same."""
    started, unwound = anyio.Event(), anyio.Event()

    class Deaf:
        async def stream(self, options: Any) -> Any:
            yield TextDelta(0, "half")
            started.set()
            try:
                await anyio.sleep_forever()
            finally:
                unwound.set()

    async with host(model=Deaf()) as h:
        agent = await h.agent()
        agent.followup("one")
        await started.wait()
        agent.cancel()
        await agent.when_idle()
        assert unwound.is_set()
        assert reasons(agent.session) == ["aborted"]


async def test_the_first_cause_wins() -> None:
    """Case 181: ``parent`` then ``user``: the runtime reason is the first, frozen; the record has only its kind."""
    model = Streaming()
    cause = ParentCause()
    async with host(model=model) as h:
        agent = await h.agent()
        agent.followup("one")
        await model.started.wait()
        agent.cancel(cause)
        agent.cancel(UserCause())
        await agent.when_idle()
        reason = model.requests[0].signal.reason
        assert reason == ParentCause()
        with pytest.raises((attrs.exceptions.FrozenInstanceError, AttributeError)):
            reason.kind = "user"
        [end] = [event for event in agent.session.events if event.type == "turn/end"]
        assert end.wire["reason"] == {"kind": "aborted"}


@pytest.mark.parametrize("cause", ["user", DisposedCause(), UserCause, 5])
async def test_other_causes_are_refused(cause: Any) -> None:
    """Only ``UserCause()`` and ``ParentCause()`` may be given; nothing is cancelled."""
    async with host(steps=[Say("a")]) as h:
        agent = await h.agent()
        agent.followup("one")
        with pytest.raises(TypeError):
            agent.cancel(cause)
        await agent.when_idle()
        assert reasons(agent.session) == ["completed"]


SEAMS = [
    "agent_prompt_submit", "system_prompt_assemble", "agent_session_prefix", "agent_pre_step", "agent_request",
    "agent_step_result", "agent_post_step", "agent_turn_continuation", "agent_turn_stopping", "agent_turn_stop",
    "agent_request_error",
]  # fmt: skip


@pytest.mark.parametrize("seam", SEAMS)
async def test_cancel_in_every_seam(seam: str) -> None:
    """Case 184: a hook that waits for its signal, then returns: the turn is aborted, balanced, and told of once."""
    waiting = anyio.Event()
    heard: list[Any] = []

    async def wait(signal: Any) -> None:
        waiting.set()
        heard.append(await signal.wait())

    async def assemble(context: Any) -> None:
        await wait(context.signal)

    hook = assemble if seam == "system_prompt_assemble" else wait
    script = [Fail("SERVER")] if seam == "agent_request_error" else [Say("a")]
    async with host(Plugin(**{seam: hook}), steps=script) as h:
        agent = await h.agent()
        agent.followup("one")
        await waiting.wait()
        agent.cancel()
        await agent.when_idle()
        assert heard == [UserCause()]
        assert reasons(agent.session) == ["aborted"]
        assert h.recorder.errors == []
        assert h.recorder.cancels == [UserCause()]


@pytest.mark.parametrize("seam", SEAMS)
async def test_a_hook_that_ignores_the_cancel_is_cancelled_in_the_end(seam: str, monkeypatch: Any) -> None:
    """A hook that hangs gets some time, then it is cancelled too: the driver is never stuck."""
    monkeypatch.setattr(handle, "GRACE", 0.01)
    waiting, unwound = anyio.Event(), anyio.Event()

    async def hang() -> None:
        waiting.set()
        try:
            await anyio.sleep_forever()
        finally:
            unwound.set()

    script = [Fail("SERVER"), Say("b")] if seam == "agent_request_error" else [Say("a"), Say("b")]
    async with host(Plugin(**{seam: hang}), steps=script) as h:
        agent = await h.agent()
        agent.followup("one")
        await waiting.wait()
        agent.cancel()
        await agent.when_idle()
        assert unwound.is_set()
        assert reasons(agent.session) == ["aborted"]


def from_the_loop(fn: Any) -> None:
    """Call it the way a signal handler is called: by the loop, in no task, and in a context of nobody's."""
    loop: Any = current_token().native_token
    soon = getattr(loop, "call_soon_threadsafe", None) or loop.run_sync_soon
    Context().run(soon, fn)


@pytest.mark.parametrize("how", ["callback", "thread"])
@pytest.mark.parametrize("hook", ["agent_pre_step", "tools_pre_execute"])
async def test_a_cancel_from_outside_of_every_task(hook: str, how: str, monkeypatch: Any) -> None:
    """From a signal handler or another thread it ends a hook that hangs just the same; observers may wait there."""
    monkeypatch.setattr(handle, "GRACE", 0.01)
    waiting, told = anyio.Event(), anyio.Event()

    async def hang() -> None:
        waiting.set()
        await anyio.sleep_forever()

    async def observe() -> None:
        await checkpoint()
        told.set()

    plugin = Plugin(**{hook: hang, "agent_cancel_requested": observe})
    async with host(plugin, steps=[CallTools([("wait", {})])], tools=[tool("wait")]) as h:
        agent = await h.agent()
        agent.followup("one")
        await waiting.wait()
        if how == "thread":
            await anyio.to_thread.run_sync(agent.cancel)
        else:
            from_the_loop(agent.cancel)
        await agent.when_idle()
        await told.wait()
        assert reasons(agent.session) == ["aborted"]


async def test_cancel_during_a_tool() -> None:
    """Case 184: a cancelled tool's call is answered, post-step sees the aborted signal, the turn is aborted."""
    running = anyio.Event()
    seen: list[bool] = []

    async def body(_args: Any, _run: Any) -> None:
        running.set()
        await anyio.sleep_forever()

    plugin = Plugin(agent_post_step=lambda signal: seen.append(signal.aborted))
    script = [CallTools([("slow", {}), ("slow", {})])]
    async with host(plugin, steps=script, tools=[tool("slow", body)]) as h:
        agent = await h.agent()
        agent.followup("one")
        await running.wait()
        agent.cancel()
        await agent.when_idle()
        codes = [result.error.code for result in data(agent.session, "tool/result")]
        assert codes == ["ABORTED", "ABORTED_BEFORE_DISPATCH"]
        assert seen == [True]
        assert reasons(agent.session) == ["aborted"]


async def test_a_hook_that_awaits_in_a_cancelled_post_step_is_let_finish() -> None:
    """Post-step of a cancelled batch may still await, to save something for example."""
    saved: list[bool] = []

    async def save(agent: Any) -> None:
        await anyio.lowlevel.checkpoint()
        saved.append(True)

    async def body(_args: Any, run: Any) -> str:
        run.agent.cancel()
        return "x"

    plugin = Plugin(agent_post_step=save)
    async with host(plugin, steps=[CallTools([("t", {})])], tools=[tool("t", body)]) as h:
        agent = await h.run("one")
        assert saved == [True]
        assert reasons(agent.session) == ["aborted"]


async def test_a_closed_turn_cannot_be_cancelled() -> None:
    """Case 185: cancel from a turn/end listener and during the flush: completed, signal live, nothing announced."""
    signals: list[Any] = []

    def listen(session: Any, event: Any) -> None:
        if event.type == "turn/end":
            session.agent.cancel()

    plugin = Plugin(
        agent_pre_step=lambda signal: signals.append(signal),
        session_event=listen,
        session_flush=lambda session: session.agent.cancel(),
    )
    async with host(plugin, steps=[Say("a"), Say("b")]) as h:
        agent = await h.run("one")
        await h.run("two", agent=agent)
        assert reasons(agent.session) == ["completed", "completed"]
        assert [signal.aborted for signal in signals] == [False, False]
        assert h.recorder.cancels == []


async def test_a_cancel_in_the_flush_drops_the_queue_and_nothing_else() -> None:
    """With something queued the cancel is effective: the queue goes, the closed turn stays."""
    plugin = Plugin(session_flush=lambda session: session.agent.cancel())
    async with host(plugin, steps=[Say("a"), Say("b")]) as h:
        agent = await h.run("one", "two")
        assert said(agent.session) == ["one"]
        assert h.recorder.cancels == [UserCause()]
        await h.run("three", agent=agent)
        assert said(agent.session) == ["one", "three"]


async def test_when_idle_waits_for_what_replaced_the_cancelled_work() -> None:
    """Case 186: A is cancelled and replaced by B before the driver wakes: A's ``when_idle`` resolves after B's turn."""
    async with host(steps=[Say("a")]) as h:
        agent = await h.agent()
        seen: list[list[str]] = []

        async def wait() -> None:
            await agent.when_idle()
            seen.append(reasons(agent.session))

        agent.followup("A")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            agent.cancel()
            agent.followup("B")
        assert seen == [["completed"]]
        assert said(agent.session) == ["B"]


async def test_a_waiter_of_cancelled_work_is_released() -> None:
    """Who waits for work that is cancelled before it began does not wait for ever."""
    async with host() as h:
        agent = await h.agent()
        async with anyio.create_task_group() as tasks:
            agent.followup("A")
            tasks.start_soon(agent.when_idle)
            agent.cancel()


async def test_keep_inbox_keeps_it() -> None:
    """The turn is aborted, nothing is discarded; preserved steering becomes a turn, behind what is queued."""
    gate = Gate()
    async with host(model=Model([gate, Say("b"), Say("c")])) as h:
        agent = await h.agent()
        agent.followup("one")
        await gate.reached.wait()
        agent.followup("two")
        agent.steer("wait")
        agent.cancel(keep_inbox=True)
        await agent.when_idle()
        assert reasons(agent.session) == ["aborted", "completed", "completed"]
        assert said(agent.session) == ["one", "two", "wait"]
        assert h.recorder.ids("discard") == []


async def test_keep_inbox_with_only_queued_items_is_a_no_op() -> None:
    """Without a turn there is nothing such a cancel could do."""
    async with host(steps=[Say("a")]) as h:
        agent = await h.agent()
        agent.queue("one")
        agent.cancel(keep_inbox=True)
        assert h.recorder.cancels == []
        await h.run("two", agent=agent)
        assert said(agent.session) == ["one", "two"]


async def test_what_a_cancel_listener_enqueues_is_cleared_too() -> None:
    """``agent_cancel_requested`` fires first; items enqueued there are part of the discard."""
    plugin = Plugin(agent_cancel_requested=lambda agent: agent.followup("too late"))
    model = Streaming()
    async with host(plugin, model=model) as h:
        agent = await h.agent()
        agent.followup("one")
        await model.started.wait()
        agent.cancel()
        await agent.when_idle()
        assert [message.content[0].text for what, message in h.recorder.inbox if what == "discard"] == ["too late"]


async def test_what_an_abort_listener_enqueues_survives() -> None:
    """The cleared set was fixed before the abort: an abort listener's followup runs."""
    gate = Gate()

    def arm(agent: Any, turn: int, signal: Any) -> None:
        if turn == 1:
            signal.add_listener(lambda: agent.followup("after"))

    async with host(Plugin(agent_pre_step=arm), model=Model([gate, Say("b")])) as h:
        agent = await h.agent()
        agent.followup("one")
        await gate.reached.wait()
        agent.cancel()
        await agent.when_idle()
        assert reasons(agent.session) == ["aborted", "completed"]
        assert said(agent.session) == ["one", "after"]


async def test_a_running_listener_that_cancels() -> None:
    """Cancelled by who hears ``running``: no turn begins, the agent comes to rest."""

    def cancel(agent: Any, status: str) -> None:
        if status == "running":
            agent.cancel()

    async with host(Plugin(agent_status=cancel), steps=[Say("a")]) as h:
        agent = await h.run("one")
        assert list(agent.session.events) == []
        assert agent.status == "idle"
        assert h.recorder.statuses == ["running", "idle"]


async def test_cancel_wins_over_an_error() -> None:
    """A hook that raises once the turn was cancelled does not make it an error."""

    def fail(agent: Any) -> None:
        agent.cancel()
        raise ValueError("too late")

    async with host(Plugin(agent_pre_step=fail)) as h:
        agent = await h.run("one")
        assert reasons(agent.session) == ["aborted"]
        assert h.recorder.errors == []


async def test_a_blocked_prompt_of_a_cancelled_turn_is_not_recorded() -> None:
    """Cancelled while the policy decides: aborted, and neither prompt nor block is in the log."""

    def block(agent: Any) -> Any:
        agent.cancel()
        return BlockPrompt("no")

    async with host(Plugin(agent_prompt_submit=block)) as h:
        agent = await h.run("one")
        assert kinds(agent.session) == ["turn/start", "turn/end"]
        assert reasons(agent.session) == ["aborted"]


async def test_the_next_prompt_after_a_cancel_sees_the_conversation() -> None:
    """An aborted turn's prompt stays in the history."""
    gate = Gate()
    async with host(model=Model([gate, Say("b")])) as h:
        agent = await h.agent()
        agent.followup("one")
        await gate.reached.wait()
        agent.cancel()
        await h.run("two", agent=agent)
        assert sent(h.requests[0]) == ["one", "two"]


def test_interrupt_reason_of() -> None:
    """The cause of an aborted turn signal; nothing for a live one or somebody else's reason."""
    live, ours, foreign = CancelSource(), CancelSource(), CancelSource()
    ours.abort(UserCause())
    foreign.abort({"kind": "user", "more": 1})
    assert interrupt_reason_of(live.signal) is None
    assert interrupt_reason_of(ours.signal) == UserCause()
    assert interrupt_reason_of(foreign.signal) is None


async def test_the_interrupt_reason_is_known_after_the_turn() -> None:
    """The reason can be asked for once the owner retired."""
    signals: list[Any] = []
    gate = Gate()
    async with host(Plugin(agent_pre_step=lambda signal: signals.append(signal)), model=Model([gate])) as h:
        agent = await h.agent()
        agent.followup("one")
        await gate.reached.wait()
        agent.cancel(ParentCause())
        await agent.when_idle()
        assert interrupt_reason_of(signals[0]) == ParentCause()


async def test_an_answer_that_came_before_the_cancel_is_not_recorded_half() -> None:
    """Cancelled by a chunk listener: chunks stay, there is no assistant message, and no step-result."""

    class Two:
        async def stream(self, options: Any) -> Any:
            yield TextDelta(0, "half")
            yield FinishChunk(StopFinish())

    def listen(session: Any, event: Any) -> None:
        if event.type == "assistant/chunk":
            session.agent.cancel()

    async with host(Plugin(session_event=listen), model=Two()) as h:
        agent = await h.run("one")
        assert kinds(agent.session, "assistant/chunk", "assistant/message") == ["assistant/chunk"]
        assert reasons(agent.session) == ["aborted"]
