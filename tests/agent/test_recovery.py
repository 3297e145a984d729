"""What happens when the model request itself fails (spec/core.md 4.11)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from attrs import evolve

from hookspecs.decisions import FailRequest, RetryRequest
from hookspecs.errors import LlmError
from hookspecs.markers import hookimpl
from hookspecs.model import ErrorFinish, FinishChunk, LlmFailure, StopFinish, TextDelta
from tests.agent.kit import CallTools, Fail, Plugin, Say, data, host, kinds, reasons, sent, tool, wrap

pytestmark = pytest.mark.anyio


class Recovery:
    """A recovery policy that retries as often as it was told to, and remembers what it saw."""

    name = "recovery"

    def __init__(self, retries: int = 99, do: Any = None) -> None:
        self.retries, self.do = retries, do
        self.seen: list[tuple[int, int, str, list[str]]] = []

    @hookimpl
    def agent_request_error(self, agent: Any, turn: int, step: int, failure: Any, prior_failures: Any) -> Any:
        self.seen.append((turn, step, failure.code, [prior.code for prior in prior_failures]))
        assert type(prior_failures) is tuple
        if self.do is not None:
            self.do(agent)
        return RetryRequest() if len(prior_failures) < self.retries else None


async def test_a_retry_is_a_new_step() -> None:
    """Case 171: the failed step is closed before recovery; a new step number; recovery's message is in the request."""
    closed: list[bool] = []

    def note(agent: Any) -> None:
        closed.append(agent.session.open_step is None)
        agent.inject("try shorter")

    recovery = Recovery(do=note)
    async with host(recovery, steps=[Fail("SERVER"), Say("a")]) as h:
        agent = await h.run("one")
        assert closed == [True]
        assert [start.step for start in data(agent.session, "step/start")] == [1, 2]
        assert sent(h.requests[1]) == ["one", "try shorter"]
        assert [answer.step for answer in data(agent.session, "assistant/message")] == [2]
        assert reasons(agent.session) == ["completed"]
        assert h.recorder.errors == []


async def test_a_failed_step_has_no_result_no_post_step_and_no_tools() -> None:
    """A failed request leaves its chunks and nothing else; post-step and step-result are not asked."""
    asked: list[str] = []

    class Breaks:
        requests: list[Any]

        async def stream(self, options: Any) -> Any:
            yield TextDelta(0, "half")
            raise LlmError("cut off", "STREAM_CLOSED")

    plugin = Plugin(agent_step_result=lambda: asked.append("result"), agent_post_step=lambda: asked.append("post"))
    async with host(plugin, model=Breaks()) as h:
        agent = await h.run("one")
        assert asked == []
        assert kinds(agent.session, "assistant/message", "assistant/chunk") == ["assistant/chunk"]
        assert kinds(agent.session)[-2:] == ["step/end", "turn/end"]


async def test_priors_are_the_failures_of_one_run() -> None:
    """Case 172: histories seen are [] then [code]; after a success the history is empty again."""
    recovery = Recovery(retries=1)
    script = [Fail("SERVER"), CallTools([("echo", {})]), Fail("TIMEOUT"), Fail("SERVER")]
    async with host(recovery, steps=script, tools=[tool()]) as h:
        agent = await h.run("one")
        assert recovery.seen == [
            (1, 1, "SERVER", []),
            (1, 3, "TIMEOUT", []),
            (1, 4, "SERVER", ["TIMEOUT"]),
        ]
        assert reasons(agent.session) == ["error"]


async def test_the_next_turn_begins_without_history() -> None:
    """A failed turn's failures are not told to the next one."""
    recovery = Recovery(retries=0)
    async with host(recovery, steps=[Fail("SERVER"), Fail("SERVER")]) as h:
        await h.run("one", "two")
        assert [seen[3] for seen in recovery.seen] == [[], []]


@pytest.mark.parametrize("how", ["raises", "nonsense", "exits"])
async def test_a_broken_recovery_counts_as_no(how: str, caplog: pytest.LogCaptureFixture) -> None:
    """Case 173: the turn ends with the original failure, and what the listener did is logged."""

    def broken() -> Any:
        if how == "exits":
            raise SystemExit(1)
        if how == "raises":
            raise ValueError("from the listener")
        return "retry"

    async with host(Plugin("odd", agent_request_error=broken), steps=[Fail("SERVER", "down")]) as h:
        agent = await h.run("one")
        [end] = data(agent.session, "turn/end")
        assert (end.reason.failure.code, end.reason.failure.message) == ("SERVER", "down")
        [(_, _, error)] = h.recorder.errors
        assert isinstance(error, LlmError)
        assert "recovery failed" in caplog.text


async def test_a_finish_error_keeps_its_facts() -> None:
    """Case 174: an in-band failure with status and request id; ``agent_error`` fires once."""
    failure = LlmFailure("overloaded", "SERVER", 529, 2.5, "req-1")

    class InBand:
        async def stream(self, options: Any) -> Any:
            yield TextDelta(0, "half")
            yield FinishChunk(ErrorFinish(failure))

    async with host(model=InBand()) as h:
        agent = await h.run("one")
        [end] = data(agent.session, "turn/end")
        assert end.reason.failure == failure
        assert len(h.recorder.errors) == 1
        [logged] = [event for event in agent.session.events if event.type == "turn/end"]
        assert logged.wire["reason"]["failure"]["providerRetryAfterMs"] == 2500


async def test_the_original_exception_reaches_recovery_and_observers() -> None:
    """Case 209: a foreign exception with a ``code`` of its own: the same object, failure code UNKNOWN."""

    class Foreign(Exception):
        code = "RATE_LIMIT"

    error = Foreign("boom")

    class Raises:
        async def stream(self, options: Any) -> Any:
            raise error
            yield

    seen: list[Any] = []

    def recover(error: Any, failure: Any) -> None:
        seen.append((error, failure.code))

    async with host(Plugin(agent_request_error=recover), model=Raises()) as h:
        await h.run("one")
        assert seen == [(error, "UNKNOWN")]
        assert h.recorder.errors[0][2] is error


async def test_a_cancel_beats_a_retry() -> None:
    """Case 176: cancelled while recovery waits and the listener says retry: aborted, no second request."""
    waiting = anyio.Event()

    async def recover(signal: Any) -> Any:
        waiting.set()
        await signal.wait()
        return RetryRequest()

    async with host(Plugin(agent_request_error=recover), steps=[Fail("SERVER"), Say("a")]) as h:
        agent = await h.agent()
        agent.followup("one")
        await waiting.wait()
        agent.cancel()
        await agent.when_idle()
        assert reasons(agent.session) == ["aborted"]
        assert len(h.requests) == 1
        assert h.recorder.errors == []


async def test_recovery_is_not_asked_once_the_turn_was_cancelled() -> None:
    """A request that fails because the turn was cancelled is no failure."""
    recovery = Recovery()
    started = anyio.Event()

    class Heeds:
        async def stream(self, options: Any) -> Any:
            started.set()
            await options.signal.wait()
            raise LlmError("aborted", "ABORTED")
            yield

    async with host(recovery, model=Heeds()) as h:
        agent = await h.agent()
        agent.followup("one")
        await started.wait()
        agent.cancel()
        await agent.when_idle()
        assert recovery.seen == []
        assert reasons(agent.session) == ["aborted"]


async def test_steering_during_a_failing_step_becomes_a_turn() -> None:
    """Case 177: steering that arrives in a step that errors is a turn of its own."""

    def fail(agent: Any, turn: int) -> Any:
        if turn == 1:
            agent.steer("are you there?")
        return FailRequest()

    async with host(Plugin(agent_request_error=fail), steps=[Fail("SERVER"), Say("yes")]) as h:
        agent = await h.run("one")
        assert reasons(agent.session) == ["error", "completed"]
        assert sent(h.requests[1]) == ["one", "are you there?"]


async def test_a_wrapper_around_recovery_has_the_last_word() -> None:
    """A wrapper sees the default and may replace it."""
    seen: list[Any] = []

    async def wrapper(failure: Any, prior_failures: Any, *, call_next: Any) -> Any:
        seen.append(await call_next())
        return RetryRequest() if not prior_failures else FailRequest()

    async with host(Plugin(agent_request_error=wrap(wrapper)), steps=[Fail("SERVER"), Say("a")]) as h:
        agent = await h.run("one")
        assert seen == [FailRequest()]
        assert reasons(agent.session) == ["completed"]


@pytest.mark.parametrize(
    "hook",
    ["agent_prompt_submit", "system_prompt_assemble", "agent_session_prefix", "agent_pre_step", "agent_request",
     "agent_step_result", "agent_post_step", "agent_turn_continuation"],
)  # fmt: skip
async def test_other_failures_are_not_offered_to_recovery(hook: str) -> None:
    """An exception of any other hook fails the turn without recovery."""

    def fail() -> None:
        raise LlmError("looks like one", "SERVER")

    recovery = Recovery()
    async with host(recovery, Plugin(**{hook: fail}), steps=[Say("a")]) as h:
        agent = await h.run("one")
        assert recovery.seen == []
        assert reasons(agent.session) == ["error"]


async def test_a_nested_model_call_of_middleware_is_not_the_loops_request() -> None:
    """An adapter failure inside an ``llm_stream`` wrapper's own request is a plain turn error."""
    recovery = Recovery()

    async def nested(options: Any, *, call_next: Any) -> Any:
        if options.purpose is None:
            async for _ in h.harness.llm.stream(evolve(options, purpose="session-title")):
                pass
        return await call_next()

    async with host(recovery, Plugin("nests", llm_stream=wrap(nested)), steps=[Fail("SERVER"), Say("a")]) as h:
        agent = await h.run("one")
        assert recovery.seen == []
        assert data(agent.session, "turn/end")[0].reason.code == "SERVER"


async def test_a_stream_that_goes_on_after_an_error_finish_stays_failed() -> None:
    """The last finish counts: an error after a stop is a failure."""

    class Odd:
        async def stream(self, options: Any) -> Any:
            yield FinishChunk(StopFinish())
            yield FinishChunk(ErrorFinish(LlmFailure("late", "SERVER")))

    async with host(model=Odd()) as h:
        agent = await h.run("one")
        assert reasons(agent.session) == ["error"]
