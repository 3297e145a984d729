"""Who decides whether a prompt reaches the model, before or inside the turn (spec/core.md 4.7, 4.14)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from dshhooks.agent.handle import Agent
from dshhooks.session.events import InjectionTrigger, PromptBlocked, RejectedEnd
from dshhooks.session.memory import MemoryStore
from hookspecs.decisions import AllowPrompt, BlockPrompt
from hookspecs.errors import HarnessError
from hookspecs.json import MISSING
from hookspecs.values import HookContext, PluginSource, TextBlock, UnknownBlock, UserSource, content_text
from tests.agent.kit import Gate, Plugin, Recorder, Say, context, data, host, kinds, reasons, said, sent, wrap

pytestmark = pytest.mark.anyio

NOT_JSON = UnknownBlock("odd", {"type": "odd", "n": float("nan")})


def policy(answer: Any, name: str = "policy") -> Plugin:
    """A plugin that answers every prompt the same."""
    return Plugin(name, agent_prompt_submit=lambda: answer)


def blocker(*words: str) -> Plugin:
    """A plugin that blocks prompts with one of the words in them."""

    def agent_prompt_submit(content: Any) -> BlockPrompt | None:
        found = next((word for word in words if word in content_text(content)), None)
        return BlockPrompt(f"no {found} here") if found else None

    return Plugin("blocker", agent_prompt_submit=agent_prompt_submit)


@pytest.fixture(params=["recorded", "unrecorded"])
def admission(request: pytest.FixtureRequest) -> str:
    """Run a test under both settings of ``[agent] prompt_admission``."""
    return str(request.param)


# -- allow -------------------------------------------------------------------------------------------------------------


async def test_other_words_replace_the_prompt(admission: str) -> None:
    """Case 137: the rewritten text is recorded and sent, the original is nowhere in the log."""
    async with host(policy(AllowPrompt("better")), steps=[Say("1")], prompt_admission=admission) as h:
        agent = await h.run("worse")
        assert said(agent.session) == ["better"]
        assert sent(h.requests[0]) == ["better"]
        assert "worse" not in _log(agent)


async def test_additional_contexts_follow_the_prompt(admission: str) -> None:
    """Case 138: separate messages with their own source and meta, in order, seen by pre-step and the first request."""
    seen: list[list[str]] = []

    def agent_pre_step(agent: Any) -> None:
        seen.append([content_text(message.content) for message in agent.session.messages()])

    decision = AllowPrompt(contexts=[context("one", n=1), context("two", n=2)])
    plugins = (policy(decision), Plugin("looker", agent_pre_step=agent_pre_step))
    async with host(*plugins, steps=[Say("1")], prompt_admission=admission) as h:
        agent = await h.run("prompt")
        messages = data(agent.session, "user/message")
        assert [(content_text(m.content), m.source, m.meta) for m in messages] == [
            ("prompt", UserSource(), MISSING),
            ("one", PluginSource("p"), {"n": 1}),
            ("two", PluginSource("p"), {"n": 2}),
        ]
        assert seen == [["prompt", "one", "two"]]
        assert sent(h.requests[0]) == ["prompt", "one", "two"]


async def test_attached_contexts_stand_when_nobody_answers() -> None:
    """Spec 4.7: the default allows the prompt with the contexts it came with."""
    async with host(policy(None), steps=[Say("1")]) as h:
        agent = await h.agent()
        agent.followup("prompt", contexts=[context("attached")])
        await agent.when_idle()
        assert said(agent.session) == ["prompt", "attached"]


async def test_an_answer_that_leaves_attached_contexts_out_drops_them() -> None:
    """Spec 4.7: the decision's contexts are the whole truth."""
    async with host(policy(AllowPrompt()), steps=[Say("1")]) as h:
        agent = await h.agent()
        agent.followup("prompt", contexts=[context("attached")])
        await agent.when_idle()
        assert said(agent.session) == ["prompt"]


async def test_a_wrapper_sees_the_attached_contexts_and_may_add() -> None:
    """Spec 4.7, decision 7.18: what it awaits is the default decision with the attached contexts."""

    @wrap
    def agent_prompt_submit() -> Iterator[None]:
        decision = yield
        return attrs.evolve(decision, contexts=(*decision.contexts, context("mine")))

    async with host(Plugin(agent_prompt_submit=agent_prompt_submit), steps=[Say("1")]) as h:
        agent = await h.agent()
        agent.followup("prompt", contexts=[context("attached")])
        await agent.when_idle()
        assert said(agent.session) == ["prompt", "attached", "mine"]


async def test_a_prefix_is_baked_into_the_rewritten_prompt(admission: str) -> None:
    """Case 143: one message = prefix + delimiter + rewritten prompt; the envelope shows the rewritten one alone."""
    prefix = HookContext("rules", PluginSource("p"), "prompt-prefix", meta={"k": 1})
    decision = AllowPrompt("rewritten", [prefix])
    async with host(policy(decision), steps=[Say("1")], prompt_admission=admission) as h:
        agent = await h.run("original")
        (message,) = data(agent.session, "user/message")
        assert [block.text for block in message.content] == ["rules", "---", "rewritten"]
        assert message.envelope.display_content == (TextBlock("rewritten"),)
        assert [(c.source, c.meta) for c in message.envelope.prefix_contexts] == [(PluginSource("p"), {"k": 1})]
        assert h.requests[0].messages[0].content == message.content


async def test_prefixes_stand_together_and_separate_contexts_follow() -> None:
    """Spec 4.7: all prefix blocks in order, one delimiter, the prompt; the others beside it."""
    contexts = [
        HookContext("p1", PluginSource("a"), "prompt-prefix"), context("s1"),
        HookContext("p2", PluginSource("b"), "prompt-prefix"), context("s2"),
    ]  # fmt: skip
    async with host(policy(AllowPrompt(contexts=contexts)), steps=[Say("1")]) as h:
        agent = await h.run("prompt")
        assert said(agent.session) == ["p1\np2\n---\nprompt", "s1", "s2"]


async def test_the_policy_is_asked_with_what_was_sent(admission: str) -> None:
    """Spec 4.7: content, source and a live signal; the turn is open only where prompts are recorded first."""
    asked: list[Any] = []

    def agent_prompt_submit(agent: Any, content: Any, source: Any, signal: Any) -> None:
        asked.append((content, source, signal.aborted, agent.session.open_turn))

    plugin = Plugin(agent_prompt_submit=agent_prompt_submit)
    async with host(plugin, steps=[Say("1")], prompt_admission=admission) as h:
        await h.run("prompt")
        turn = 1 if admission == "recorded" else None
        assert asked == [((TextBlock("prompt"),), UserSource(), False, turn)]


# -- block -------------------------------------------------------------------------------------------------------------


async def test_a_blocked_prompt_is_recorded_as_blocked() -> None:
    """Case 139: ``prompt/blocked`` and a rejected end; no message, step, request or error; contexts are dropped."""
    asked: list[str] = []
    later = {
        hook: lambda hook=hook: asked.append(hook)
        for hook in ("agent_pre_step", "agent_post_step", "agent_turn_continuation", "agent_turn_stopping",
                     "agent_turn_stop")
    }  # fmt: skip
    async with host(blocker("secret"), Plugin("later", **later)) as h:
        agent = await h.agent()
        agent.followup("a secret", contexts=[context("attached")])
        await agent.when_idle()
        assert kinds(agent.session) == ["turn/start", "prompt/blocked", "turn/end"]
        assert data(agent.session, "prompt/blocked") == [
            PromptBlocked((TextBlock("a secret"),), UserSource(), "no secret here")
        ]
        assert data(agent.session, "turn/end")[0].reason == RejectedEnd("no secret here")
        assert (h.requests, h.recorder.errors, asked, h.recorder.flushes) == ([], [], [], 1)


async def test_a_block_keeps_nothing_from_the_next_prompt() -> None:
    """Case 140: rejected, then completed, and one model call."""
    async with host(blocker("secret"), steps=[Say("1")]) as h:
        agent = await h.run("a secret", "fine")
        assert reasons(agent.session) == ["rejected", "completed"]
        assert [sent(request) for request in h.requests] == [["fine"]]
        assert h.recorder.statuses == ["running", "idle"]


async def test_steering_passes_no_prompt_policy() -> None:
    """Spec 4.7: only prompts are asked about."""

    def agent_post_step(agent: Any, step: int) -> None:
        if step == 1:
            agent.steer("secret")

    async with host(blocker("secret"), Plugin("s", agent_post_step=agent_post_step), steps=[Say("1"), Say("2")]) as h:
        agent = await h.run("fine")
        assert said(agent.session, "steering/message") == ["secret"]
        assert reasons(agent.session) == ["completed"]


# -- when it fails or is cancelled -------------------------------------------------------------------------------------


async def test_a_raising_policy_fails_its_turn_only() -> None:
    """Case 141: an error at step 0 without a recorded prompt, then a completed turn, no idle in between."""

    def agent_prompt_submit(content: Any) -> None:
        if content_text(content) == "bad":
            raise ValueError("no opinion")

    async with host(Plugin("p", agent_prompt_submit=agent_prompt_submit), steps=[Say("1")]) as h:
        agent = await h.run("bad", "good")
        ends = data(agent.session, "turn/end")
        assert [end.reason.kind for end in ends] == ["error", "completed"]
        assert (ends[0].reason.step, ends[0].reason.code) == (0, "PLUGIN_FAILED")
        assert said(agent.session) == ["good"]
        assert h.recorder.statuses == ["running", "idle"]
        assert [(turn, step) for turn, step, _ in h.recorder.errors] == [(1, 0)]


@pytest.mark.parametrize(
    "answer", [AllowPrompt([NOT_JSON]), AllowPrompt(contexts=[HookContext([NOT_JSON], UserSource())])], ids=str
)
async def test_an_answer_no_log_could_hold_fails_the_turn(answer: Any, admission: str) -> None:
    """Decision 7.5: bad JSON inside a decision surfaces as an error; the prompt is not recorded."""
    async with host(policy(answer), steps=[Say("1")], prompt_admission=admission) as h:
        agent = await h.run("prompt")
        assert said(agent.session) == []
        assert h.requests == []
        assert len(h.recorder.errors) == 1


async def test_an_answer_that_is_no_decision_fails_the_turn() -> None:
    """Decision 7.2: never taken for an allow."""
    async with host(policy(True)) as h:
        agent = await h.run("prompt")
        assert data(agent.session, "turn/end")[0].reason.code == "INVALID_DECISION"
        assert said(agent.session) == []


async def test_a_prompt_cancelled_while_it_is_judged_is_not_recorded(admission: str) -> None:
    """Spec 4.7: an abort wins over the answer."""
    gate = Gate()

    async def agent_prompt_submit() -> AllowPrompt:
        await gate()
        return AllowPrompt()

    plugin = Plugin(agent_prompt_submit=agent_prompt_submit)
    async with host(plugin, prompt_admission=admission) as h:
        agent = await h.agent()
        agent.followup("prompt")
        await gate.reached.wait()
        agent.cancel()
        gate.open()
        await agent.when_idle()
        expected = [] if admission == "unrecorded" else ["turn/start", "turn/end"]
        assert kinds(agent.session) == expected
        assert (h.requests, h.recorder.errors) == ([], [])


# -- unrecorded --------------------------------------------------------------------------------------------------------


async def test_an_unrecorded_block_leaves_nothing_durable() -> None:
    """Spec 4.14, decision 2.1: nothing in log or store; who listens live heard it come and go."""
    store = MemoryStore()
    async with host(blocker("secret"), store=store, prompt_admission="unrecorded") as h:
        agent = await h.agent()
        agent.followup("a secret", contexts=[context("attached")], meta={"also": "secret"})
        await agent.when_idle()
        assert kinds(agent.session) == []
        assert await store.list() == []
        assert h.recorder.heard == ["enqueue", "running", "dequeue", "idle"]
        assert (h.requests, h.recorder.errors, h.recorder.flushes) == ([], [], 0)


async def test_an_unrecorded_block_uses_no_turn_number() -> None:
    """Spec 4.14: the next prompt is turn 1."""
    async with host(blocker("secret"), steps=[Say("1"), Say("2")], prompt_admission="unrecorded") as h:
        agent = await h.run("fine", "a secret", "fine too")
        assert [start.turn for start in data(agent.session, "turn/start")] == [1, 2]
        assert said(agent.session) == ["fine", "fine too"]
        assert "secret" not in _log(agent)
        assert h.recorder.statuses == ["running", "idle"]


async def test_an_unrecorded_rewrite_keeps_the_original_from_the_store() -> None:
    """Decision 2.1: what policy took out never reaches disk."""
    store = MemoryStore()
    async with host(policy(AllowPrompt("clean")), steps=[Say("1")], store=store, prompt_admission="unrecorded") as h:
        agent = await h.run("a secret")
        assert kinds(agent.session)[:2] == ["turn/start", "user/message"]
        stored = await store.inspect(agent.id)
        assert "secret" not in json.dumps([event.document() for event in stored.events], default=list)


async def test_an_unrecorded_policy_that_raises_leaves_nothing_durable() -> None:
    """Spec 4.14: no turn exists yet that could end; ``agent_error`` tells, and the next prompt runs."""
    fails = iter([HarnessError("down", "POLICY_DOWN")])

    def agent_prompt_submit() -> None:
        for error in fails:
            raise error

    plugin = Plugin(agent_prompt_submit=agent_prompt_submit)
    async with host(plugin, steps=[Say("1")], prompt_admission="unrecorded") as h:
        agent = await h.run("a", "b")
        assert said(agent.session) == ["b"]
        assert reasons(agent.session) == ["completed"]
        assert [(step, str(error)) for _, step, error in h.recorder.errors] == [(0, "down")]


async def test_an_injection_while_an_unrecorded_prompt_is_judged_goes_first() -> None:
    """Spec 4.4, 4.14: no turn is open, so it gets one; the prompt's turn counts on from there."""

    def agent_prompt_submit(agent: Any) -> None:
        agent.inject("note")

    plugin = Plugin(agent_prompt_submit=agent_prompt_submit)
    async with host(plugin, steps=[Say("1")], prompt_admission="unrecorded") as h:
        agent = await h.run("prompt")
        assert said(agent.session) == ["note", "prompt"]
        starts = data(agent.session, "turn/start")
        assert [start.turn for start in starts] == [1, 2]
        assert isinstance(starts[0].trigger, InjectionTrigger)
        assert sent(h.requests[0]) == ["note", "prompt"]
        assert h.recorder.errors == []


async def test_steering_while_an_unrecorded_prompt_is_judged_is_read_in_its_turn() -> None:
    """Spec 4.14: the opened turn drains what was staged before step 1."""

    def agent_prompt_submit(agent: Any) -> None:
        agent.steer("and quickly")

    plugin = Plugin(agent_prompt_submit=agent_prompt_submit)
    async with host(plugin, steps=[Say("1")], prompt_admission="unrecorded") as h:
        agent = await h.run("prompt")
        assert sent(h.requests[0]) == ["prompt", "and quickly"]
        assert reasons(agent.session) == ["completed"]


async def test_steering_for_an_unrecorded_prompt_that_was_blocked_is_a_prompt_itself() -> None:
    """Spec 4.2: leftover steering becomes an ordinary turn, and is judged as such."""

    def agent_prompt_submit(agent: Any, content: Any) -> None:
        if "secret" in content_text(content):
            agent.steer("fine")

    plugins = (Plugin("steerer", agent_prompt_submit=agent_prompt_submit), blocker("secret"))
    async with host(*plugins, steps=[Say("1")], prompt_admission="unrecorded") as h:
        agent = await h.run("a secret")
        assert said(agent.session) == ["fine"]
        assert reasons(agent.session) == ["completed"]


async def test_both_profiles_tell_observers_the_same() -> None:
    """Spec 4.2: the inbox ledger does not depend on the profile."""
    heard = []
    for admission in ("recorded", "unrecorded"):
        async with host(blocker("secret"), steps=[Say("1")], prompt_admission=admission) as h:
            await h.run("a secret", "fine")
            heard.append(_inbox(h.recorder))
    assert heard[0] == heard[1]


def _inbox(recorder: Recorder) -> list[tuple[str, str]]:
    return [(what, content_text(message.content)) for what, message in recorder.inbox]


def _log(agent: Agent) -> str:
    return repr([event.document() for event in agent.session.events])
