"""Model requests as operations: what they show, and how they end; a retry is another (spec/operations.md 1.13, B5)."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from dshhooks.operations import Outcome
from hookspecs.decisions import RetryRequest
from hookspecs.errors import LlmError
from hookspecs.json import MISSING
from hookspecs.markers import hookimpl
from hookspecs.model import (
    BlockStart,
    FinishChunk,
    MaxTokensFinish,
    StopFinish,
    TextDelta,
    TokenUsage,
    UsageChunk,
)
from tests.agent.kit import Fail, Gate, Model, Plugin, Say, host, reasons
from tests.operations.loop_kit import CANCELED, COMPLETED, FAILED, INFERENCE, STEP, Chunks
from tests.operations.watch import VALUES, Watch

pytestmark = pytest.mark.anyio


# -- the request -------------------------------------------------------------------------------------------------------

START = (BlockStart(0, "text"), TextDelta(0, "par"))
BROKEN = LlmError("gone", "TRANSPORT")


@pytest.mark.parametrize(
    ("chunks", "outcome", "said", "error"),
    [
        ((*START, TextDelta(0, "t"), UsageChunk(TokenUsage(7, 2)), FinishChunk(StopFinish())), COMPLETED, "part", None),
        ((BROKEN,), FAILED, None, BROKEN),
        ((*START, BROKEN), FAILED, "par", BROKEN),
        ((*START, RuntimeError("crash")), FAILED, "par", RuntimeError),
        ((FinishChunk(StopFinish()),), FAILED, None, "EMPTY_RESPONSE"),
        ((*START, FinishChunk(MaxTokensFinish())), COMPLETED, "par", None),
    ],
    ids=["success", "open error", "mid-stream error", "provider crash", "empty", "cut"],
)
async def test_how_a_request_ends(chunks: Any, outcome: Outcome, said: str | None, error: Any) -> None:
    """Case 83, B5: exactly one finish; a cut stream keeps its safe prefix, metadata only after a clean end."""
    watch = Watch(INFERENCE)
    async with host(watch, model=Chunks(*chunks)) as h:
        await h.run("go")
    result = watch.one(INFERENCE)
    assert result.outcome is outcome
    message = result.payload.ai_message
    assert (message.content[0].text if message is not None else None) == said
    if error is None:
        assert result.payload.stream_result.finish == chunks[-1].reason
        assert result.payload.stream_result.usage == (TokenUsage(7, 2) if len(chunks) == 5 else None)
        return
    assert result.payload.stream_result is None
    if isinstance(error, str):
        assert result.error.code == error
    elif isinstance(error, type):
        assert type(result.error.__cause__ or result.error) is error
    else:
        assert result.error is error


async def test_a_request_cut_by_a_cancel() -> None:
    """Case 83, cancellation: canceled, with what had arrived."""
    gate, watch = Gate(), Watch(INFERENCE)
    async with host(watch, model=Chunks(*START, gate)) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        agent.cancel()
        await agent.when_idle()
    result = watch.one(INFERENCE)
    assert (result.outcome, result.payload.ai_message.content[0].text) == (CANCELED, "par")


async def test_a_retry_is_another_request() -> None:
    """1.13: a request that recovery repeats, and one that a plugin repeats, are operations of their own."""
    again = Plugin("again", agent_request_error=lambda: RetryRequest())
    watch = Watch(STEP, INFERENCE)
    async with host(watch, again, steps=[Fail("SERVER"), Say("yes")]) as h:
        await h.run("go")
    assert watch.outcomes(INFERENCE) == watch.outcomes(STEP) == [FAILED, COMPLETED]

    async def twice(self: Any, options: Any, *, call_next: Any) -> Any:
        async for _ in await call_next():
            pass
        return await call_next()

    wrapper = type("Twice", (), {"name": "twice", "llm_stream": hookimpl(wrapper=True)(twice)})()
    watch, pause = Watch(STEP, INFERENCE), Gate()
    pause.open()  # a model that waits would notice if the first one's end had cancelled what follows
    async with host(watch, wrapper, model=Model([Say("no"), pause, Say("yes")])) as h:
        agent = await h.run("go")
        assert reasons(agent.session) == ["completed"]
    assert (watch.outcomes(INFERENCE), watch.outcomes(STEP)) == ([COMPLETED] * 2, [COMPLETED])


async def test_a_request_is_shown_as_the_model_gets_it() -> None:
    """Spec 2: request transforms run first, so what observers see is what the provider sees."""

    async def colder(self: Any, options: Any, *, call_next: Any) -> Any:
        return await call_next(options=evolve(options, system="colder"))

    wrapper = type("Colder", (), {"name": "colder", "llm_stream": hookimpl(wrapper=True)(colder)})()
    watch = Watch(INFERENCE)
    async with host(watch, wrapper, steps=[Say("yes")]) as h:
        await h.run("go")
        assert watch.calls[0].payload.request == h.requests[0]
    assert watch.calls[0].payload.request.system == "colder"


async def test_nobody_changes_a_request_by_looking() -> None:
    """Case 84: an observer that edits what it was shown edits nothing; the provider has the derived context."""
    failures: list[BaseException] = []

    def edit(call: Any) -> None:
        try:
            call.payload.request.messages = ()
        except AttributeError as exc:
            failures.append(exc)
        VALUES.set(("edited",))

    seen: list[Any] = []
    model = Model([lambda options: seen.append((VALUES.get(), len(options.messages))) or Say("yes")])
    async with host(Watch(INFERENCE, begin=edit), model=model) as h:
        await h.run("go")
    assert len(failures) == 1
    assert seen == [(("edited",), 1)]


async def test_a_request_is_shown_without_what_is_kept_from_its_model() -> None:
    """Spec 1.5, exact: replay state of another provider's answers is not in what observers see either."""
    watch, other = Watch(INFERENCE), Model([Say("yes")])
    first = Chunks(TextDelta(0, "a"), FinishChunk(StopFinish(), {"state": 1}))
    routes = {1: "scripted", 2: "other"}
    switch = Plugin("switch", agent_request=lambda turn, config: evolve(config, provider=routes[turn]))
    async with host(watch, switch, model=first) as h:
        h.harness.llm.register_adapter(["other"], other)
        await h.run("one", "two")
    request = watch.calls[1].payload.request
    assert request == other.requests[0]
    assert request.messages[1].provenance.replay_state is MISSING


async def test_a_stream_that_a_plugin_leaves() -> None:
    """A wrapper that stops reading has not completed the request; the answer it made up instead counts for the step."""

    async def cut(self: Any, options: Any, *, call_next: Any) -> Any:
        chunks = await call_next()

        async def first() -> Any:
            yield await anext(chunks)
            yield TextDelta(0, "mine")
            yield FinishChunk(StopFinish(), MISSING)

        return first()

    wrapper = type("Cut", (), {"name": "cut", "llm_stream": hookimpl(wrapper=True)(cut)})()
    watch = Watch(STEP, INFERENCE)
    async with host(watch, wrapper, steps=[Say("yes")]) as h:
        await h.run("go")
    assert watch.log[2:] == ["finish inference failed", "finish step completed"]
    assert watch.one(INFERENCE).error.code == "STREAM_CLOSED"
