"""Through the real loop: what is tried again, what the log says, and how a wait ends."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from importlib.metadata import entry_points

import anyio
import pytest
from dshhooks_llm_retry import RequestRetry, RequestRetryOptions
from hypothesis import given
from hypothesis import strategies as st

from dshhooks import (
    CallTools,
    CancelSource,
    Fail,
    FailRequest,
    Harness,
    LlmFailure,
    RetryRequest,
    Say,
    ScriptedAdapter,
    hookimpl,
    tool,
)

BUSY = Fail("SERVER", "busy")
LONG = 60.0  # seconds no test waits for: the wait is ended


def quick(**options):
    """A plugin whose waits are over at once."""
    return RequestRetry(RequestRetryOptions(**{"initial_delay": 0.001, "max_delay": 0.001, **options}))


def slow(**options):
    """A plugin whose waits do not end by themselves."""
    return RequestRetry(RequestRetryOptions(**{"initial_delay": LONG, "max_delay": LONG, **options}))


@tool
def nothing() -> str:
    """Do nothing."""
    return "done"


class Watch:
    """Hears of waits and of what recovery is asked."""

    name = "watch"

    def __init__(self):
        self.waiting = anyio.Event()
        self.errors = []

    @hookimpl
    def session_event(self, event):
        if event.type == "llm/retry":
            self.waiting.set()

    @hookimpl
    def agent_error(self, error):
        self.errors.append(error)


@asynccontextmanager
async def host(tmp_path, steps, *plugins):
    """A host with a scripted model, an agent of it, and the model."""
    config = tmp_path / "dshhooks.toml"
    config.write_text('[plugins]\nautoload = false\n[agent]\nprovider = "scripted"\nmodel = "m"\n', encoding="utf-8")
    model = ScriptedAdapter(steps)
    async with Harness.open(config, plugins=plugins) as harness:
        harness.llm.register_adapter(["scripted"], model)
        harness.tools.register(nothing)
        yield await harness.create_agent(), model


async def run(tmp_path, steps, *plugins, prompts=1):
    """Run prompts to their end; return the agent and how often the model was asked."""
    async with host(tmp_path, steps, *plugins) as (agent, model):
        for number in range(prompts):
            agent.followup(f"prompt {number}")
            await agent.when_idle()
        return agent, len(model.requests)


def retries(agent):
    """The ``llm/retry`` events."""
    return [event.data for event in agent.session.events if event.type == "llm/retry"]


def ends(agent):
    """How the turns ended."""
    return [event.data.reason for event in agent.session.events if event.type == "turn/end"]


@pytest.mark.anyio
class TestLoop:
    async def test_it_tries_again(self, tmp_path):
        """A failure that passes is not the turn's; each retry is a step of its own and stands in the log before it."""
        agent, requests = await run(tmp_path, [BUSY, Fail("TIMEOUT", "late"), Say("fine")], quick())
        assert requests == 3
        assert [end.kind for end in ends(agent)] == ["completed"]
        first, second = retries(agent)
        assert (first.turn, first.step, first.retry, first.max_retries) == (1, 1, 1, 2)
        assert (second.turn, second.step, second.retry, second.max_retries) == (1, 2, 2, 2)
        assert (first.failure, second.failure) == (LlmFailure("busy", "SERVER"), LlmFailure("late", "TIMEOUT"))
        kinds = [event.type for event in agent.session.events if event.type.startswith(("step/", "llm/"))]
        assert kinds == ["step/start", "step/end", "llm/retry"] * 2 + ["step/start", "step/end"]

    async def test_not_for_ever(self, tmp_path):
        """The budget is spent; the turn ends with the last failure, told once."""
        watch = Watch()
        agent, requests = await run(tmp_path, [BUSY, BUSY, Fail("SERVER", "still")], quick(), watch)
        assert requests == 3
        assert [(end.kind, end.step, end.failure.code) for end in ends(agent)] == [("error", 3, "SERVER")]
        assert [error.message for error in watch.errors] == ["still"]

    async def test_a_success_starts_the_count_again(self, tmp_path):
        """The budget is for failures in a row, within a turn as well."""
        steps = [BUSY, BUSY, CallTools([("nothing", {})]), BUSY, BUSY, Say("fine")]
        agent, requests = await run(tmp_path, steps, quick())
        assert (requests, [end.kind for end in ends(agent)]) == (6, ["completed"])
        assert [data.retry for data in retries(agent)] == [1, 2, 1, 2]

    async def test_none_at_all(self, tmp_path):
        """A budget of 0 switches it off."""
        agent, requests = await run(tmp_path, [BUSY], quick(max_transient_retries=0))
        assert (requests, retries(agent), ends(agent)[0].kind) == (1, [], "error")

    @pytest.mark.parametrize("code", ["AUTH", "QUOTA", "INVALID_REQUEST", "CONTEXT_WINDOW_EXCEEDED", "UNKNOWN"])
    async def test_other_codes(self, tmp_path, code):
        """They are somebody else's."""
        agent, requests = await run(tmp_path, [Fail(code, "no")], quick())
        assert (requests, retries(agent), ends(agent)[0].failure.code) == (1, [], code)

    async def test_a_foreign_exception(self, tmp_path):
        """It has no code, whatever attributes it has."""

        def lost(_options):
            error = OSError("lost")
            error.code = "SERVER"
            raise error

        agent, requests = await run(tmp_path, [lost], quick())
        assert (requests, ends(agent)[0].failure.code) == (1, "UNKNOWN")

    async def test_a_broken_plugin_around_the_request(self, tmp_path):
        """Its failure is not the model's, so it is not tried again."""

        class Broken:
            @hookimpl(wrapper=True)
            async def llm_stream(self, options, *, call_next):
                raise TimeoutError("mine")

        agent, requests = await run(tmp_path, [Say("never")], quick(), Broken())
        assert (requests, retries(agent), ends(agent)[0].code) == (0, [], "PLUGIN_FAILED")

    async def test_the_providers_wish(self, tmp_path):
        """It is followed to the letter, without jitter, and kept in the log."""
        plugin = quick(initial_delay=0.5, max_delay=1.0, jitter_ratio=1.0)
        agent, requests = await run(tmp_path, [Fail("RATE_LIMIT", "wait", 0.004), Say("fine")], plugin)
        assert requests == 2
        assert [(data.delay_ms, data.failure.retry_after) for data in retries(agent)] == [(4, 0.004)]

    async def test_a_provider_that_wants_too_much(self, tmp_path):
        """It is not waited for."""
        agent, requests = await run(tmp_path, [Fail("RATE_LIMIT", "wait", 1.001)], quick(max_delay=1.0))
        assert (requests, retries(agent), ends(agent)[0].kind) == (1, [], "error")

    async def test_budgets_add_up(self, tmp_path):
        """Failures another policy takes care of do not count."""

        class Other:
            @hookimpl
            def agent_request_error(self, failure):
                return RetryRequest() if failure.code == "QUOTA" else None

        steps = [Fail("QUOTA", "q"), BUSY, Fail("QUOTA", "q"), BUSY, Fail("QUOTA", "q"), Say("fine")]
        agent, requests = await run(tmp_path, steps, quick(), Other())
        assert (requests, [data.retry for data in retries(agent)]) == (6, [1, 2])

    async def test_somebody_else_decides_first(self, tmp_path):
        """Who stands in front may answer, and nothing is waited for or written."""

        class First:
            @hookimpl
            def agent_request_error(self):
                return FailRequest()

        agent, requests = await run(tmp_path, [BUSY, Say("fine")], First(), slow())
        assert (requests, retries(agent)) == (1, [])

    async def test_the_next_prompt_works(self, tmp_path):
        """A turn that failed has not used up the next one's budget."""
        agent, requests = await run(tmp_path, [BUSY, BUSY, BUSY, BUSY, Say("fine")], quick(), prompts=2)
        assert (requests, [end.kind for end in ends(agent)]) == (5, ["error", "completed"])

    async def test_it_says_so(self, tmp_path, caplog):
        """Each wait is logged, for whoever watches the process."""
        with caplog.at_level(logging.INFO, "dshhooks.llm-retry"):
            await run(tmp_path, [BUSY, Say("fine")], quick())
        assert ["SERVER; trying again in" in message for message in caplog.messages] == [True]


@pytest.mark.anyio
class TestWaits:
    async def test_a_cancelled_turn(self, tmp_path):
        """The wait ends at once, the turn is aborted, the model is not asked again, and the next prompt works."""
        watch = Watch()
        async with host(tmp_path, [BUSY, Say("fine")], watch, slow()) as (agent, model):
            agent.followup("hello")
            await watch.waiting.wait()
            agent.cancel()
            with anyio.fail_after(LONG / 2):
                await agent.when_idle()
            assert (len(model.requests), watch.errors) == (1, [])
            agent.followup("again")
            await agent.when_idle()
        assert [end.kind for end in ends(agent)] == ["aborted", "completed"]

    async def test_closing(self, tmp_path):
        """The wait ends, the request fails with its own failure, and so does every later one."""
        watch, plugin = Watch(), slow()
        async with host(tmp_path, [BUSY, BUSY, Say("fine")], watch, plugin) as (agent, model):
            agent.followup("hello")
            await watch.waiting.wait()
            plugin.close()
            plugin.close()
            with anyio.fail_after(LONG / 2):
                await agent.when_idle()
            agent.followup("again")
            await agent.when_idle()
            assert len(model.requests) == 2
        assert [(end.kind, end.failure.code) for end in ends(agent)] == [("error", "SERVER")] * 2
        assert len(retries(agent)) == 1

    async def test_a_host_that_closes(self, tmp_path):
        """It does not wait for the wait."""
        watch = Watch()
        with anyio.fail_after(LONG / 2):
            async with host(tmp_path, [BUSY], watch, slow()) as (agent, _):
                agent.followup("hello")
                await watch.waiting.wait()
        assert [end.kind for end in ends(agent)] == ["disposed"]

    async def test_a_captured_callback_after_closing(self):
        """It answers fail and does not leave it to others, whatever the code."""
        plugin = quick()
        plugin.close()
        for code in ("SERVER", "AUTH"):
            answer = await plugin.agent_request_error(None, 1, 1, LlmFailure("m", code), (), CancelSource().signal)
            assert answer == FailRequest()

    async def test_a_log_that_refuses(self, tmp_path):
        """Nothing is waited for that could not be announced; the turn ends with the request's failure."""

        def refuse(event):
            if event.type == "llm/retry":
                raise ValueError("not in my log")

        async with host(tmp_path, [BUSY, Say("fine")], slow()) as (agent, model):
            agent.session.add_validator(refuse)
            agent.followup("hello")
            with anyio.fail_after(LONG / 2):
                await agent.when_idle()
            assert len(model.requests) == 1
        assert [(end.kind, end.failure.code) for end in ends(agent)] == [("error", "SERVER")]


class TestDelays:
    def delay(self, retry, rng=0.5, **options):
        """How long it would wait before a retry."""
        plugin = RequestRetry(RequestRetryOptions(**{"max_transient_retries": 10**9, **options}), rng=lambda: rng)
        return plugin._delay(LlmFailure("m", "SERVER"), retry)

    def test_doubling(self):
        """Twice as long each time, up to the longest."""
        assert [self.delay(retry) for retry in range(1, 8)] == [0.5, 1.0, 2.0, 4.0, 8.0, 10.0, 10.0]

    @pytest.mark.parametrize(("rng", "delay"), [(0.0, 0.9), (0.5, 1.0), (1.0, 1.1)])
    def test_jitter(self, rng, delay):
        """A share of the wait, up or down."""
        assert self.delay(2, rng) == pytest.approx(delay)

    def test_jitter_does_not_exceed_the_longest(self):
        """Not even by a little."""
        assert self.delay(9, 1.0) == 10.0

    @given(
        st.integers(1, 10**9),
        st.floats(0, 1, exclude_max=True),
        st.floats(0.001, 1e300),
        st.floats(1, 1e6),
        st.floats(0, 1),
    )
    def test_any_wait(self, retry, rng, initial, factor, ratio):
        """It is never negative and never longer than the longest."""
        longest = initial * factor
        got = self.delay(retry, rng, initial_delay=initial, max_delay=longest, jitter_ratio=ratio)
        assert 0 <= got <= longest


def test_the_entry_point():
    """Its name is the plugin's name everywhere."""
    found = [entry for entry in entry_points(group="dshhooks") if entry.name == "llm-retry"]
    assert [entry.load() for entry in found] == [RequestRetry]
