"""What a model is asked: configuration, prefix, header, boundary, answer (spec/core.md 4.8)."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from dshhooks.agent.prompt import PromptSection
from dshhooks.session.memory import MemoryStore
from hookspecs.decisions import ContinueTurn
from hookspecs.errors import HarnessError
from hookspecs.json import MISSING
from hookspecs.model import (
    BlockEnd,
    FinishChunk,
    LlmCallConfig,
    MaxTokensFinish,
    StopFinish,
    TextDelta,
    TokenUsage,
    ToolCallsFinish,
    UsageChunk,
)
from hookspecs.values import Message, PluginSource, ReasoningBlock, TextBlock, ToolCallBlock
from tests.agent.kit import CallTools, Plugin, Say, context, data, host, kinds, reasons, said, sent, tool, wrap

pytestmark = pytest.mark.anyio


class Chunks:
    """A model that answers with given chunks, request by request."""

    def __init__(self, *answers: list[Any]) -> None:
        self.answers, self.requests = list(answers), []

    async def stream(self, options: Any) -> Any:
        """Yield the next answer's chunks."""
        self.requests.append(options)
        for chunk in self.answers.pop(0):
            yield chunk


def cut(*blocks: Any) -> list[Any]:
    """An answer that ran into the token limit."""
    return [*(BlockEnd(at, block) for at, block in enumerate(blocks)), FinishChunk(MaxTokensFinish())]


CALL = ToolCallBlock("c1", "echo", "{}")


async def test_a_replaced_config_stays_in_force() -> None:
    """Case 158: a model chosen in turn 1 is still used in turn 2, and the header is logged once."""

    def choose(turn: int, config: Any) -> Any:
        return attrs.evolve(config, model="other") if turn == 1 else None

    async with host(Plugin(agent_request=choose), steps=[Say("a"), Say("b")]) as h:
        agent = await h.run("one", "two")
        assert [request.model for request in h.requests] == ["other", "other"]
        assert [header.reason for header in data(agent.session, "request/header")] == ["initial"]


async def test_the_header_is_logged_again_when_it_changes() -> None:
    """A header that differs is logged as a change, and only then."""

    def choose(turn: int, config: Any) -> Any:
        return attrs.evolve(config, temperature=0.5) if turn == 2 else None

    async with host(Plugin(agent_request=choose), steps=[Say("a"), Say("b"), Say("c")]) as h:
        agent = await h.run("one", "two", "three")
        headers = data(agent.session, "request/header")
        assert [header.reason for header in headers] == ["initial", "change"]
        assert [request.temperature for request in h.requests] == [None, 0.5, 0.5]


async def test_a_header_without_prompt_tools_and_prefix_has_none_of_them() -> None:
    """Empty parts are absent from the canonical header."""
    async with host(steps=[Say("a")]) as h:
        agent = await h.run("one")
        [logged] = [event for event in agent.session.events if event.type == "request/header"]
        assert logged.wire["header"] == {"config": {"provider": "scripted", "model": "m"}}


async def test_a_tool_that_appears_changes_the_header() -> None:
    """Tools are part of the header, sorted by name."""
    async with host(steps=[Say("a"), Say("b")], tools=[tool("b")]) as h:
        agent = await h.run("one")
        h.harness.tools.register(tool("a"))
        await h.run("two", agent=agent)
        headers = data(agent.session, "request/header")
        assert [[schema.name for schema in header.header.tools] for header in headers] == [["b"], ["a", "b"]]
        assert [header.reason for header in headers] == ["initial", "change"]


async def test_the_seed_config_cannot_be_mutated() -> None:
    """Mutating the configuration handed to ``agent_request`` fails the turn."""

    def mutate(config: Any) -> None:
        config.model = "other"

    async with host(Plugin(agent_request=mutate), steps=[Say("a")]) as h:
        agent = await h.run("one")
        assert reasons(agent.session) == ["error"]
        assert h.requests == []


@pytest.mark.parametrize("config", [LlmCallConfig("", "m"), LlmCallConfig("scripted", "")])
async def test_a_request_needs_provider_and_model(config: Any) -> None:
    """Without provider or model the turn fails, and recovery is not asked."""
    asked: list[Any] = []
    plugin = Plugin(agent_request=lambda: config, agent_request_error=lambda: asked.append(1))
    async with host(plugin, steps=[Say("a")]) as h:
        agent = await h.run("one")
        [end] = data(agent.session, "turn/end")
        assert (end.reason.code, end.reason.step, asked) == ("NO_MODEL", 1, [])


async def test_nonsense_for_a_config_names_the_plugin() -> None:
    """Anything but a config is an invalid decision of that plugin."""
    async with host(Plugin("odd", agent_request=lambda: "gpt"), steps=[Say("a")]) as h:
        agent = await h.run("one")
        [end] = data(agent.session, "turn/end")
        assert end.reason.code == "INVALID_DECISION"
        assert "odd" in end.reason.message


async def test_an_inject_inside_agent_request_reaches_the_next_request() -> None:
    """Case 159: what is injected in ``agent_request`` is not in this request but in the next."""

    def inject(agent: Any, turn: int) -> None:
        if turn == 1:
            agent.inject("by the way")

    async with host(Plugin(agent_request=inject), steps=[Say("a"), Say("b")]) as h:
        await h.run("one", "two")
        assert sent(h.requests[0]) == ["one"]
        assert sent(h.requests[1]) == ["one", "by the way", "a", "two"]


async def test_what_pre_step_appends_is_part_of_the_request() -> None:
    """Case 160: a pre-step append stands before ``step/start`` and is in this step's request."""
    async with host(Plugin(agent_pre_step=lambda agent: agent.inject("note")), steps=[Say("a")]) as h:
        agent = await h.run("one")
        assert kinds(agent.session)[:4] == ["turn/start", "user/message", "user/message", "step/start"]
        assert sent(h.requests[0]) == ["one", "note"]


async def test_a_raising_pre_step_opens_no_step() -> None:
    """Case 160: a pre-step that raises fails the turn at that step, and the step is never opened."""

    def refuse(step: int) -> None:
        if step == 2:
            raise HarnessError("enough", "STEP_BUDGET")

    async with host(Plugin(agent_pre_step=refuse), steps=[CallTools([("echo", {})])], tools=[tool()]) as h:
        agent = await h.run("one")
        [end] = data(agent.session, "turn/end")
        assert (end.reason.step, end.reason.code) == (2, "STEP_BUDGET")
        assert kinds(agent.session, "step/start", "step/end") == ["step/start", "step/end"]
        assert [(turn, step) for turn, step, _ in h.recorder.errors] == [(1, 2)]


async def test_the_session_prefix_is_composed_once() -> None:
    """Case 161: two contributors, asked once in two turns, in plugin order; in the header, not in the history."""
    asked: list[str] = []

    def contributor(name: str) -> Plugin:
        def prefix() -> list[Message]:
            asked.append(name)
            return [Message("user", name)]

        return Plugin(name, agent_session_prefix=prefix)

    async with host(contributor("first"), contributor("second"), steps=[Say("a"), Say("b")]) as h:
        agent = await h.run("one", "two")
        assert asked == ["first", "second"]
        assert sent(h.requests[1]) == ["first", "second", "one", "a", "two"]
        assert [message.content[0].text for message in agent.session.messages()] == ["one", "a", "two", "b"]
        [header] = data(agent.session, "request/header")
        assert [message.content[0].text for message in header.header.message_prefix] == ["first", "second"]


async def test_a_resumed_agent_composes_its_prefix_again() -> None:
    """A new instance asks for the prefix again and logs a ``resume`` header."""
    asked: list[int] = []

    def prefix() -> list[Message]:
        asked.append(1)
        return [Message("user", f"rules {len(asked)}")]

    store = MemoryStore()
    async with host(Plugin(agent_session_prefix=prefix), steps=[Say("a"), Say("b")], store=store) as h:
        agent = await h.run("one")
        await agent.dispose()
        again = await h.harness.resume_agent(agent.id)
        await h.run("two", agent=again)
        assert sent(h.requests[1]) == ["rules 2", "one", "a", "two"]
        assert [header.reason for header in data(again.session, "request/header")] == ["initial", "resume"]


async def test_the_prefix_of_an_interrupted_turn_is_forgotten() -> None:
    """A prefix that was composed while the turn was cancelled is asked for again."""
    asked: list[int] = []

    def prefix(agent: Any) -> list[Message]:
        asked.append(1)
        if len(asked) == 1:
            agent.cancel()
        return [Message("user", f"rules {len(asked)}")]

    async with host(Plugin(agent_session_prefix=prefix), steps=[Say("a")]) as h:
        agent = await h.run("one")
        await h.run("two", agent=agent)
        assert reasons(agent.session) == ["aborted", "completed"]
        assert sent(h.requests[0]) == ["rules 2", "one", "two"]


@pytest.mark.parametrize("answer", ["text", 5, [5], [Message("user", [ToolCallBlock("c", "t", object())])]])  # type: ignore[arg-type]
async def test_a_bad_prefix_fails_the_turn_and_is_asked_for_again(answer: Any) -> None:
    """Nonsense for a prefix fails this turn; the next turn asks again."""
    answers = [answer, [Message("user", "rules")]]
    plugin = Plugin(agent_session_prefix=lambda: answers.pop(0))
    async with host(plugin, steps=[Say("a")]) as h:
        agent = await h.run("one", "two")
        assert reasons(agent.session) == ["error", "completed"]
        assert sent(h.requests[0]) == ["rules", "one", "two"]


async def test_step_result_rewrites_log_history_and_dispatch() -> None:
    """Case 163: a rewritten answer with one more call is what is logged, derived and dispatched; no replay state."""
    chunks = [BlockEnd(0, TextBlock("original")), FinishChunk(StopFinish(), {"id": 7})]

    def rewrite(step: int, message: Message) -> Message | None:
        return attrs.evolve(message, content=[TextBlock("rewritten"), CALL]) if step == 1 else None

    model = Chunks(chunks, [BlockEnd(0, TextBlock("done")), FinishChunk(StopFinish())])
    async with host(Plugin(agent_step_result=rewrite), model=model, tools=[tool()]) as h:
        agent = await h.run("one")
        assert said(agent.session, "assistant/message") == ["rewritten\n[tool-call content]", "done"]
        assert "original" not in str(list(agent.session.messages()))
        assert data(agent.session, "tool/call")[0].call_id == "c1"
        assert data(agent.session, "assistant/message")[0].provenance.replay_state is MISSING


async def test_an_untouched_answer_keeps_its_replay_state() -> None:
    """Replay state survives when the content is what was assembled, also through an equal copy."""
    copy = Plugin(agent_step_result=lambda message: attrs.evolve(message, content=list(message.content)))
    model = Chunks([BlockEnd(0, TextBlock("a")), FinishChunk(StopFinish(), {"id": 7})])
    async with host(copy, model=model) as h:
        agent = await h.run("one")
        assert data(agent.session, "assistant/message")[0].provenance.replay_state == {"id": 7}


@pytest.mark.parametrize("how", ["raises", "cancels", "nonsense", "lossy"])
async def test_a_failed_step_result_leaves_an_empty_answer(how: str) -> None:
    """A step-result that fails or is interrupted: the answer is recorded without content, its usage kept."""

    def hook(agent: Any, message: Message) -> Any:
        if how == "raises":
            raise ValueError("no")
        if how == "cancels":
            agent.cancel()
        if how == "lossy":
            return attrs.evolve(message, content=[ToolCallBlock("c", "t", object())])  # type: ignore[arg-type]
        return "nonsense" if how == "nonsense" else None

    usage = TokenUsage(3, 4)
    model = Chunks([BlockEnd(0, TextBlock("a")), UsageChunk(usage), FinishChunk(StopFinish(), {"id": 7})])
    async with host(Plugin(agent_step_result=hook), model=model) as h:
        agent = await h.run("one")
        [answer] = data(agent.session, "assistant/message")
        assert (answer.content, answer.usage, answer.provenance.replay_state) == ((), usage, MISSING)
        assert reasons(agent.session) == ["aborted" if how == "cancels" else "error"]
        assert [message.role for message in agent.session.messages()] == ["user"]


async def test_max_tokens_drops_calls_and_sticks() -> None:
    """Case 165: a cut answer's calls are not run; the turn ends max-tokens, also after a clean step; not the next."""
    more = [ContinueTurn(), None, None]
    clean = [BlockEnd(0, TextBlock("fine")), FinishChunk(StopFinish())]
    model = Chunks(cut(TextBlock("so"), CALL), clean, clean)
    async with host(Plugin(agent_turn_continuation=lambda: more.pop(0)), model=model, tools=[tool()]) as h:
        agent = await h.run("one", "two")
        assert said(agent.session, "assistant/message") == ["so", "fine", "fine"]
        assert data(agent.session, "tool/call") == []
        assert reasons(agent.session) == ["max-tokens", "completed"]


async def test_calls_added_to_a_cut_answer_are_removed_again() -> None:
    """A rewrite cannot smuggle calls into an answer that was cut."""
    add = Plugin(agent_step_result=lambda message: attrs.evolve(message, content=[*message.content, CALL]))
    async with host(add, model=Chunks(cut(TextBlock("so"))), tools=[tool()]) as h:
        agent = await h.run("one")
        assert data(agent.session, "tool/call") == []
        assert said(agent.session, "assistant/message") == ["so"]


async def test_an_empty_stream_is_recorded_with_no_sources() -> None:
    """An answer without any chunk is recorded, with an explicit empty list of sources."""
    async with host(model=Chunks([])) as h:
        agent = await h.run("one")
        [answer] = [event for event in agent.session.events if event.type == "assistant/message"]
        assert (answer.source_event_seqs, answer.data.content) == ((), ())
        assert reasons(agent.session) == ["completed"]


async def test_an_answer_names_its_chunks() -> None:
    """The assistant message's sources are the seqs of all its chunks."""
    async with host(steps=[Say("a")]) as h:
        agent = await h.run("one")
        chunks = tuple(event.seq for event in agent.session.events if event.type == "assistant/chunk")
        [answer] = [event for event in agent.session.events if event.type == "assistant/message"]
        assert answer.source_event_seqs == chunks


async def test_a_stream_listener_that_raises_is_no_request_failure() -> None:
    """An ``llm_stream`` wrapper's exception fails the turn without asking recovery."""
    asked: list[Any] = []

    async def broken(options: Any, *, call_next: Any) -> Any:
        raise ValueError("listener")

    plugin = Plugin(llm_stream=wrap(broken), agent_request_error=lambda: asked.append(1))
    async with host(plugin, steps=[Say("a")]) as h:
        agent = await h.run("one")
        assert reasons(agent.session) == ["error"]
        assert (asked, h.requests) == ([], [])
        assert isinstance(h.recorder.errors[0][2], ValueError)


async def test_an_unregistered_provider_may_be_served_by_a_listener() -> None:
    """No adapter is tolerated when an ``llm_stream`` implementation serves the route."""

    async def chunks() -> Any:
        for chunk in (TextDelta(0, "served"), FinishChunk(StopFinish())):
            yield chunk

    async with host(Plugin(llm_stream=lambda: chunks()), provider="nobody") as h:
        agent = await h.run("one")
        assert said(agent.session, "assistant/message") == ["served"]


async def test_a_provider_nobody_serves_is_a_request_failure() -> None:
    """No adapter at all is the request's failure and offered to recovery."""
    asked: list[Any] = []
    plugin = Plugin(agent_request_error=lambda failure: asked.append(failure.code))
    async with host(plugin, provider="nobody") as h:
        agent = await h.run("one")
        assert asked == ["NO_ADAPTER"]
        assert data(agent.session, "turn/end")[0].reason.failure.code == "NO_ADAPTER"


async def test_every_request_of_a_rich_session_is_in_its_log() -> None:
    """Case 196: tools, prefix, sections, contexts, rewrites, steering, injections: all requests are rebuilt."""
    rewrite = Plugin(
        "rewrite",
        agent_session_prefix=lambda: [Message("user", "rules")],
        agent_request=lambda step, config: attrs.evolve(config, temperature=float(step)),
        agent_step_result=lambda message: attrs.evolve(
            message, content=[block for block in message.content if block.kind != "reasoning"]
        ),
        agent_pre_step=lambda agent, step: agent.inject(f"before {step}", source=PluginSource("p"), meta={"n": step}),
        tools_post_execute=lambda: None,
    )
    thinking = [
        BlockEnd(0, ReasoningBlock("hm")),
        BlockEnd(1, ToolCallBlock("c1", "echo", '{"x": "\\ud800"}')),
        FinishChunk(ToolCallsFinish(), {"opaque": [1]}),
    ]
    model = Chunks(thinking, [BlockEnd(0, TextBlock("ü")), FinishChunk(StopFinish())], cut(TextBlock("z")))
    async with host(rewrite, model=model, tools=[tool()]) as h:
        h.harness.prompts.section(PromptSection("p", "You are {{model}}."))
        agent = await h.agent()
        agent.inject("between turns")
        agent.followup("one", contexts=[context("aside"), context("kept apart", k=1)], meta={"m": 1})
        await agent.when_idle()
        await h.run("two", agent=agent)
        assert len(h.requests) == 3
