"""What is sent to an agent: where it goes, in which order, and what is refused (spec/core.md 4.2 to 4.5)."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from dshhooks.agent.inbox import ResolvedInput
from dshhooks.session.events import CompletedEnd, InjectionTrigger, MessageTrigger, TurnStart
from dshhooks.session.memory import MemoryStore
from hookspecs.decisions import AllowPrompt
from hookspecs.errors import HarnessError
from hookspecs.json import MISSING
from hookspecs.values import HookContext, PluginSource, TextBlock, UnknownBlock, UnknownSource, UserSource
from tests.agent.kit import CallTools, Gate, Plugin, Say, context, data, host, kinds, reasons, said, sent, tool

pytestmark = pytest.mark.anyio

NOT_JSON = UnknownBlock("odd", {"n": float("nan")})


# -- one send, one turn ------------------------------------------------------------------------------------------------


async def test_followups_in_one_tick_get_a_turn_each() -> None:
    """Case 122: two turns in order, each its own user message, one running interval."""
    async with host(steps=[Say("1"), Say("2")]) as h:
        agent = await h.run("first", "second")
        order = ["turn/start", "user/message", "turn/end"]
        assert kinds(agent.session, *order) == order * 2
        assert said(agent.session) == ["first", "second"]
        assert [event.turn for event in data(agent.session, "turn/start")] == [1, 2]
        assert h.recorder.statuses == ["running", "idle"]
        assert sent(h.requests[1]) == ["first", "1", "second"]


async def test_a_lone_queued_item_runs_nothing() -> None:
    """Case 123: ``when_idle`` resolves at once and there is no turn; a later followup runs the quiet item first."""
    async with host(steps=[Say("1"), Say("2")]) as h:
        agent = await h.agent()
        agent.queue("quiet")
        await agent.when_idle()
        assert kinds(agent.session) == []
        assert h.recorder.statuses == []
        await h.run("loud", agent=agent)
        assert said(agent.session) == ["quiet", "loud"]


async def test_a_queued_item_behind_a_followup_stays_queued() -> None:
    """Spec 4.3: with ``followup(A)``, ``queue(B)``, A runs and the driver parks with B pending."""
    async with host(steps=[Say("1")]) as h:
        agent = await h.agent()
        agent.followup("a")
        agent.queue("b")
        await agent.when_idle()
        assert said(agent.session) == ["a"]
        assert len(agent.inbox._ordinary) == 1
        assert agent.status == "idle"


async def test_steering_an_idle_agent_is_a_prompt() -> None:
    """Case 125: two turns, not two steps; the messages are ordinary and wake."""
    async with host(steps=[Say("1"), Say("2")]) as h:
        agent = await h.agent()
        agent.steer("a")
        agent.steer("b")
        await agent.when_idle()
        assert said(agent.session) == ["a", "b"]
        assert len(data(agent.session, "turn/start")) == 2
        assert [(m.steering, m.wakeup) for what, m in h.recorder.inbox if what == "enqueue"] == [(False, True)] * 2


async def test_steering_a_running_agent_reaches_the_next_step() -> None:
    """Spec 4.2: it waits in the steering FIFO and becomes ``steering/message`` of the running turn."""
    gate = Gate()
    async with host(steps=[gate, CallTools([("echo", {})]), Say("done")], tools=[tool()]) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        agent.steer("faster")
        gate.open()
        await agent.when_idle()
        assert kinds(agent.session, "steering/message", "turn/start", "step/start") == [
            "turn/start", "step/start", "steering/message", "step/start"
        ]  # fmt: skip
        assert sent(h.requests[1])[-1] == "faster"
        assert [m.steering for what, m in h.recorder.inbox if what == "dequeue"] == [False, True]


async def test_leftover_steering_is_dequeued_as_ordinary() -> None:
    """Spec 4.2: steering after the turn's end is not announced twice; its dequeue says ``steering=False``."""
    late: list[Any] = []

    def session_event(event: Any) -> None:
        if event.type == "turn/end" and not late:
            late.append(agent.steer("too late"))

    async with host(Plugin("late", session_event=session_event), steps=[Say("1"), Say("2")]) as h:
        agent = await h.agent()
        await h.run("go", agent=agent)
        told = [(what, m.steering) for what, m in h.recorder.inbox if m.id == late[0]]
        assert told == [("enqueue", True), ("dequeue", False)]
        assert said(agent.session) == ["go", "too late"]
        assert kinds(agent.session, "steering/message") == []


async def test_a_message_sent_by_an_enqueue_listener_lands_behind() -> None:
    """Spec 4.2: the enqueue comes before the enqueue event."""
    sent_again: list[Any] = []

    def agent_inbox_enqueue(agent: Any) -> None:
        if not sent_again:
            sent_again.append(True)
            agent.followup("behind")

    async with host(Plugin(agent_inbox_enqueue=agent_inbox_enqueue), steps=[Say("1"), Say("2")]) as h:
        assert said((await h.run("front")).session) == ["front", "behind"]


# -- what is accepted --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        {"content": [NOT_JSON]},
        {"content": 7},
        {"content": [TextBlock]},
        {"source": "user"},
        {"source": UserSource},
        {"source": UnknownSource("odd", {1: "int key"})},
        {"contexts": ["no context"]},
        {"contexts": [HookContext([NOT_JSON], PluginSource("p"))]},
        {"contexts": [HookContext("x", PluginSource("p"), meta=float("inf"))]},
        {"contexts": [HookContext("x", PluginSource("p"), meta=(1, 2))]},
        {"meta": float("nan")},
        {"meta": {1: "int key"}},
    ],
    ids=str,
)
async def test_a_bad_followup_is_refused_at_once(bad: dict[str, Any]) -> None:
    """Case 126: TypeError to the sender; nothing is announced or appended, and the agent still works."""
    async with host(steps=[Say("1")]) as h:
        agent = await h.agent()
        with pytest.raises(TypeError):
            agent.followup(**{"content": "x", **bad})
        assert h.recorder.inbox == []
        assert kinds(agent.session) == []
        assert said((await h.run("fine", agent=agent)).session) == ["fine"]


@pytest.mark.parametrize("bad", [{"content": [NOT_JSON]}, {"source": "plugin"}, {"meta": {1, 2}}], ids=str)
async def test_a_bad_injection_appends_nothing(bad: dict[str, Any]) -> None:
    """Case 126: the same for ``inject``: no turn is opened for it."""
    async with host(steps=[Say("1")]) as h:
        agent = await h.agent()
        with pytest.raises(TypeError):
            agent.inject(**{"content": "x", **bad})
        assert kinds(agent.session) == []
        assert h.recorder.flushes == 0
        await h.run("fine", agent=agent)


async def test_an_injection_carries_no_contexts() -> None:
    """Spec 4.2: a non-waking next-step input with contexts is refused; nothing is appended."""
    async with host() as h:
        agent = await h.agent()
        with pytest.raises(TypeError, match="contexts"):
            agent.send(ResolvedInput("x", UserSource(), (context("c"),), target="next-step", wakeup=False))
        assert kinds(agent.session) == []


async def test_an_unknown_target_is_refused() -> None:
    """Spec 4.2: an input goes to the next turn or the next step, never to a guess."""
    with pytest.raises(ValueError, match="target"):
        ResolvedInput("x", UserSource(), target="somewhere")  # type: ignore[arg-type]


async def test_what_was_sent_is_detached_from_the_sender() -> None:
    """Case 127: the original is recorded though the caller mutates it, and what observers get is frozen."""
    blob: dict[str, Any] = {"type": "odd", "n": [1]}
    content: list[Any] = [TextBlock("hello"), UnknownBlock("odd", blob)]
    meta: dict[str, Any] = {"k": "v"}
    async with host(steps=[Say("1")]) as h:
        agent = await h.agent()
        agent.followup(content, meta=meta)
        content.append(TextBlock("more"))
        blob["n"].append(2)
        meta["k"] = "w"
        await agent.when_idle()
        (message,) = data(agent.session, "user/message")
        assert message.content == (TextBlock("hello"), UnknownBlock("odd", {"type": "odd", "n": [1]}))
        assert message.meta == {"k": "v"}
        told = h.recorder.inbox[0][1]
        assert told.content == message.content
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            told.content = ()
        with pytest.raises(TypeError):
            told.content[1].data["n"].append(3)


async def test_send_applies_no_defaults() -> None:
    """Case 128: explicit fields are taken as they are, and the id returned is the one announced."""
    source = PluginSource("mailer")
    async with host(steps=[Say("1")]) as h:
        agent = await h.agent()
        sent_id = agent.send(ResolvedInput("x", source, [context("c")], {"m": 1}, "next-turn", wakeup=False))
        (_, message) = h.recorder.inbox[0]
        assert (message.id, message.source, message.wakeup, message.steering) == (sent_id, source, False, False)
        assert message.contexts == (context("c"),)
        assert not hasattr(message, "meta")
        await agent.when_idle()
        assert kinds(agent.session) == []
        await h.run("go", agent=agent)
        assert data(agent.session, "turn/start")[0].trigger == MessageTrigger(source)
        assert data(agent.session, "user/message")[0].meta == {"m": 1}


async def test_ids_are_unique_across_verbs_and_agents() -> None:
    """Spec 4.2: every accepted input gets an id of its own."""
    async with host(steps=[Say("1")] * 8) as h:
        agents = [await h.agent(), await h.agent()]
        ids = [send("x") for agent in agents for send in (agent.followup, agent.queue, agent.steer, agent.inject)]
        assert len(set(ids)) == 8
        for agent in agents:
            await agent.when_idle()


@pytest.mark.parametrize("verb", ["followup", "queue", "steer", "inject"])
async def test_a_disposed_agent_takes_nothing(verb: str) -> None:
    """Spec 4.2: after disposal every verb raises, and nothing is announced."""
    async with host() as h:
        agent = await h.agent()
        await agent.dispose()
        with pytest.raises(HarnessError) as caught:
            getattr(agent, verb)("x")
        assert caught.value.code == "AGENT_DISPOSED"
        assert h.recorder.inbox == []


# -- injecting ---------------------------------------------------------------------------------------------------------


async def test_an_injection_is_nobodys_words_by_default() -> None:
    """Case 129: its source is a plugin with an empty name, never the user."""
    async with host() as h:
        agent = await h.agent()
        agent.inject("x")
        assert data(agent.session, "user/message")[0].source == PluginSource("")


async def test_an_idle_injection_is_a_turn_without_a_model() -> None:
    """Case 130: start, message, end at once; the model is not asked, and one flush follows."""
    async with host() as h:
        agent = await h.agent()
        agent.inject("note", source=PluginSource("p"), meta={"k": 1})
        assert kinds(agent.session) == ["turn/start", "user/message", "turn/end"]
        assert data(agent.session, "turn/start")[0].trigger == InjectionTrigger(PluginSource("p"))
        assert data(agent.session, "turn/end")[0].reason == CompletedEnd()
        assert data(agent.session, "user/message")[0].meta == {"k": 1}
        assert (agent.status, h.requests, h.recorder.inbox) == ("idle", [], [])
        await agent.dispose()
        assert h.recorder.flushes == 1
        assert h.recorder.errors == []


async def test_injections_and_prompts_share_the_count_of_turns() -> None:
    """Spec 4.4: an injection's turn is a turn; the prompt after it sees its message."""
    async with host(steps=[Say("1")]) as h:
        agent = await h.agent()
        agent.inject("before")
        await h.run("go", agent=agent)
        agent.inject("after")
        assert [start.turn for start in data(agent.session, "turn/start")] == [1, 2, 3]
        assert sent(h.requests[0]) == ["before", "go"]


async def test_a_failing_flush_of_an_injection_is_told_not_raised() -> None:
    """Spec 4.4: ``agent_error`` with the turn and step 0; the injector hears nothing."""

    def session_flush() -> None:
        raise OSError("disk full")

    async with host(Plugin(session_flush=session_flush)) as h:
        agent = await h.agent()
        agent.inject("note")
        await agent.dispose()
        assert [(turn, step, str(error)) for turn, step, error in h.recorder.errors] == [(1, 0, "disk full")]


async def test_an_injection_whose_turn_is_refused_opens_nothing() -> None:
    """Spec 4.4: the error goes to the caller; no event, no flush, and the next one works."""

    def refuse(event: Any) -> None:
        if event.type == "turn/start":
            raise RuntimeError("not now")

    async with host() as h:
        agent = await h.agent()
        with agent.session.add_validator(refuse), pytest.raises(RuntimeError, match="not now"):
            agent.inject("x")
        assert kinds(agent.session) == []
        agent.inject("y")
        await agent.dispose()
        assert h.recorder.flushes == 1
        assert said(agent.session) == ["y"]


async def test_a_refused_injection_leaves_a_balanced_turn() -> None:
    """Spec 4.4: when only the message is refused, the turn that was opened for it is closed."""

    def refuse(event: Any) -> None:
        if event.type == "user/message":
            raise RuntimeError("not this")

    async with host() as h:
        agent = await h.agent()
        with agent.session.add_validator(refuse), pytest.raises(RuntimeError, match="not this"):
            agent.inject("x")
        assert kinds(agent.session) == ["turn/start", "turn/end"]


async def test_an_injection_into_a_running_turn_lands_where_the_log_stands() -> None:
    """Spec 4.4: while the model streams it comes before the answer (and 10.10)."""
    gate = Gate()
    async with host(steps=[gate, Say("answer")]) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        agent.inject("meanwhile")
        gate.open()
        await agent.when_idle()
        assert kinds(agent.session, "user/message", "assistant/message") == ["user/message"] * 2 + ["assistant/message"]
        assert sent(h.requests[0]) == ["go"]


async def test_an_injection_goes_into_a_turn_that_was_left_open() -> None:
    """Case 132: the log decides, not the status: an open turn takes the message and no turn is added."""
    async with host(balanced=False) as h:
        agent = await h.agent()
        agent.session.append(TurnStart(1, MessageTrigger(UserSource())))
        assert agent.status == "idle"
        agent.inject("x")
        assert kinds(agent.session) == ["turn/start", "user/message"]
        await agent.dispose()
        assert h.recorder.flushes == 0


async def test_injecting_from_an_observer_of_the_log_is_refused() -> None:
    """Spec 4.4: a direct append would be re-entrant; the error stays with the observer and nothing opens."""
    errors: list[BaseException] = []

    def session_event(event: Any) -> None:
        if event.type in ("turn/start", "turn/end"):
            try:
                agent.inject("from inside")
            except HarnessError as exc:
                errors.append(exc)

    async with host(Plugin(session_event=session_event), steps=[Say("1")]) as h:
        agent = await h.agent()
        await h.run("go", agent=agent)
        assert [exc.code for exc in errors] == ["REENTRANT_APPEND"] * 2
        assert said(agent.session) == ["go"]
        assert reasons(agent.session) == ["completed"]


# -- the start of a session --------------------------------------------------------------------------------------------


async def test_a_session_start_listener_injects_before_the_first_turn() -> None:
    """Case 134: told once, before the creation returns; the first request contains what it injected."""
    starts: list[str] = []

    def agent_session_start(agent: Any, source: str) -> None:
        starts.append(source)
        agent.inject("house rules")

    async with host(Plugin(agent_session_start=agent_session_start), steps=[Say("1"), Say("2")]) as h:
        agent = await h.agent()
        assert starts == ["startup"]
        assert kinds(agent.session) == ["turn/start", "user/message", "turn/end"]
        await h.run("a", "b", agent=agent)
        assert starts == ["startup"]
        assert sent(h.requests[0]) == ["house rules", "a"]


async def test_a_raising_session_start_listener_is_contained() -> None:
    """Case 135: the agent is usable; a resumed session says ``resume``."""
    starts: list[str] = []

    def agent_session_start(source: str) -> None:
        starts.append(source)
        raise RuntimeError("no")

    store = MemoryStore()
    async with host(Plugin(agent_session_start=agent_session_start), steps=[Say("1"), Say("2")], store=store) as h:
        agent = await h.run("one")
        session_id = agent.id
        await agent.dispose()
        again = await h.harness.resume_agent(session_id)
        await h.run("two", agent=again)
        assert starts == ["startup", "resume"]
        assert said(again.session) == ["one", "two"]


# -- metas and contexts ------------------------------------------------------------------------------------------------


async def test_metas_are_durable_and_hidden_from_the_model() -> None:
    """Case 144: a followup's and a steer's meta stand on their events and never in a request."""
    gate = Gate()
    async with host(steps=[gate, CallTools([("echo", {})]), Say("done")], tools=[tool()]) as h:
        agent = await h.agent()
        agent.followup("go", meta={"secret": "f"})
        await gate.reached.wait()
        agent.steer("on", meta={"secret": "s"})
        gate.open()
        await agent.when_idle()
        assert data(agent.session, "user/message")[0].meta == {"secret": "f"}
        assert data(agent.session, "steering/message")[0].meta == {"secret": "s"}
        for request in h.requests:
            assert "secret" not in repr(request)


async def test_steering_brings_its_contexts() -> None:
    """Spec 4.8: a prefix is baked into the steering message, separate contexts follow it; no prompt policy is asked."""
    asked: list[Any] = []

    def agent_prompt_submit(content: Any) -> AllowPrompt | None:
        asked.append(content)
        return None

    gate = Gate()
    prefix = HookContext("prefix", PluginSource("p"), "prompt-prefix", meta={"k": 1})
    steps = [gate, CallTools([("echo", {})]), Say("x")]
    async with host(Plugin(agent_prompt_submit=agent_prompt_submit), steps=steps, tools=[tool()]) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        agent.steer("on", contexts=[context("beside"), prefix])
        gate.open()
        await agent.when_idle()
        (steering,) = data(agent.session, "steering/message")
        assert [block.text for block in steering.content] == ["prefix", "---", "on"]
        assert steering.envelope.display_content == (TextBlock("on"),)
        assert [(c.source, c.meta) for c in steering.envelope.prefix_contexts] == [(PluginSource("p"), {"k": 1})]
        assert said(agent.session) == ["go", "beside"]
        assert len(asked) == 1


async def test_a_prompt_without_a_prefix_has_no_envelope() -> None:
    """Spec 4.7: the envelope is there only when something was baked in."""
    async with host(steps=[Say("1")]) as h:
        agent = await h.agent()
        agent.followup("go", contexts=[context("beside")])
        await agent.when_idle()
        assert [message.envelope for message in data(agent.session, "user/message")] == [MISSING, MISSING]
