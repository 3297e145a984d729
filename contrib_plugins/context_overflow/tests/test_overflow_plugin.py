"""Through the real loop: an overflow is survived, pressure is relieved, and nothing else is touched."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager
from importlib.metadata import entry_points

import anyio
import pytest
from dshhooks_context_overflow import ContextOverflow, ContextOverflowOptions

from dshhooks import (
    CallTools,
    Fail,
    Harness,
    RetryRequest,
    Say,
    ScriptedAdapter,
    content_text,
    hookimpl,
    tool,
)

pytestmark = pytest.mark.anyio
TOO_LONG = Fail("CONTEXT_WINDOW_EXCEEDED", "too long")
SUMMARY = Say("what happened so far")


@tool
def lookup() -> str:
    """Look something up; much comes back."""
    return "word " * 1000


class Watch:
    """Hears of errors."""

    name = "watch"

    def __init__(self):
        self.errors = []

    @hookimpl
    def agent_error(self, error):
        self.errors.append(error)


@asynccontextmanager
async def host(tmp_path, steps, *plugins):
    """An agent of a scripted model, and the model."""
    config = tmp_path / "dshhooks.toml"
    config.write_text('[plugins]\nautoload = false\n[agent]\nprovider = "scripted"\nmodel = "m"\n', encoding="utf-8")
    model = ScriptedAdapter(steps)
    async with Harness.open(config, plugins=plugins) as harness:
        harness.llm.register_adapter(["scripted"], model)
        harness.tools.register(lookup)
        yield await harness.create_agent(), model


async def run(tmp_path, steps, *plugins, prompts=("look it up",)):
    """Run prompts to their end; return the agent and the model."""
    async with host(tmp_path, steps, *plugins) as (agent, model):
        for prompt in prompts:
            agent.followup(prompt)
            await agent.when_idle()
        return agent, model


def overflow(**options):
    """The plugin."""
    return ContextOverflow(ContextOverflowOptions(**options))


def ends(agent):
    """How the turns ended."""
    return [event.data.reason for event in agent.session.events if event.type == "turn/end"]


def purposes(model):
    """What the requests were for."""
    return [request.purpose for request in model.requests]


def seen(request):
    """The texts of a request's messages, results too."""
    texts = []
    for message in request.messages:
        for block in message.content:
            texts.append(content_text(block.content) if block.kind == "tool-result" else getattr(block, "text", ""))
    return texts


class TestOverflow:
    async def test_it_is_survived(self, tmp_path):
        """The conversation becomes a summary and the turn goes on with it, in a new step."""
        agent, model = await run(tmp_path, [CallTools([("lookup", {})]), TOO_LONG, SUMMARY, Say("done")], overflow())
        assert [end.kind for end in ends(agent)] == ["completed"]
        assert purposes(model) == [None, None, "compaction", None]
        assert seen(model.requests[-1]) == ["Summary of the conversation so far:\n\nwhat happened so far"]
        assert agent.session.replace_generation == 1

    async def test_the_budget(self, tmp_path):
        """An overflow that comes back is the turn's, with its own failure."""
        steps = [CallTools([("lookup", {})]), TOO_LONG, SUMMARY, TOO_LONG, Say("never")]
        watch = Watch()
        agent, model = await run(tmp_path, steps, overflow(), watch)
        assert purposes(model) == [None, None, "compaction", None]
        assert [(end.kind, end.failure.code) for end in ends(agent)] == [("error", "CONTEXT_WINDOW_EXCEEDED")]
        assert [error.message for error in watch.errors] == ["too long"]

    async def test_a_success_starts_the_count_again(self, tmp_path):
        """The budget is for overflows in a row."""
        once = [CallTools([("lookup", {})]), TOO_LONG, SUMMARY]
        agent, _ = await run(tmp_path, [*once, *once, Say("done")], overflow())
        assert [end.kind for end in ends(agent)] == ["completed"]
        assert agent.session.replace_generation == 2

    async def test_none_at_all(self, tmp_path):
        """A budget of 0 leaves it to others."""
        agent, model = await run(tmp_path, [CallTools([("lookup", {})]), TOO_LONG], overflow(max_recoveries=0))
        assert (purposes(model), ends(agent)[0].kind) == ([None, None], "error")

    async def test_other_failures(self, tmp_path):
        """They are not about the size."""
        agent, model = await run(tmp_path, [CallTools([("lookup", {})]), Fail("SERVER", "busy")], overflow())
        assert (purposes(model), ends(agent)[0].failure.code) == ([None, None], "SERVER")

    async def test_nothing_to_replace(self, tmp_path):
        """A single prompt that is too long does not get shorter; nobody is asked for a summary."""
        agent, model = await run(tmp_path, [TOO_LONG], overflow())
        assert (purposes(model), ends(agent)[0].failure.code) == ([None], "CONTEXT_WINDOW_EXCEEDED")

    async def test_a_summary_that_fails(self, tmp_path, caplog):
        """It is logged; the turn ends with the overflow and not with that, and others may still decide."""
        asked = []

        class Next:
            @hookimpl
            def agent_request_error(self, failure):
                asked.append(failure.code)
                return RetryRequest() if len(asked) == 1 else None

        steps = [CallTools([("lookup", {})]), TOO_LONG, Fail("SERVER", "busy"), TOO_LONG]
        agent, _ = await run(tmp_path, steps, overflow(), Next())
        assert asked == ["CONTEXT_WINDOW_EXCEEDED"] * 2
        assert ends(agent)[0].failure.code == "CONTEXT_WINDOW_EXCEEDED"
        assert agent.session.replace_generation == 0
        own = [record.getMessage() for record in caplog.records if record.name == "dshhooks.context-overflow"]
        assert ["compaction failed: busy" in message for message in own] == [True]

    async def test_a_summary_that_does_not_fit(self, tmp_path):
        """It is asked again of excerpts, of the newer half, of a quarter; the last message still asks for it."""
        steps = [CallTools([("lookup", {})]), TOO_LONG, TOO_LONG, TOO_LONG, SUMMARY, Say("done")]
        agent, model = await run(tmp_path, steps, overflow(excerpt_chars=400))
        assert [end.kind for end in ends(agent)] == ["completed"]
        whole, excerpts, half = (seen(request) for request in model.requests[2:5])
        assert max(map(len, whole)) == 5000
        assert max(map(len, excerpts[:-1])) < 500
        assert max(map(len, half[:-1])) < 200
        assert whole[-1] == excerpts[-1] == half[-1]
        assert seen(model.requests[-1]) == ["Summary of the conversation so far:\n\nwhat happened so far"]

    async def test_a_summary_that_never_fits(self, tmp_path):
        """It is given up after four times."""
        steps = [CallTools([("lookup", {})]), *[TOO_LONG] * 5, Say("never")]
        agent, model = await run(tmp_path, steps, overflow())
        assert purposes(model) == [None, None, *["compaction"] * 4]
        assert ends(agent)[0].failure.code == "CONTEXT_WINDOW_EXCEEDED"

    async def test_other_requests_are_left_alone(self, tmp_path):
        """What somebody else compacts is not pressed."""
        async with host(tmp_path, [CallTools([("lookup", {})]), Say("done"), SUMMARY], overflow()) as (agent, model):
            agent.followup("look it up")
            await agent.when_idle()
            assert await agent.compact()
        assert max(map(len, seen(model.requests[-1]))) == 5000

    async def test_a_cancelled_turn(self, tmp_path):
        """While the summary is written: the turn is aborted, nothing is replaced, and the next prompt works."""
        writing = anyio.Event()

        class Slow:
            @hookimpl(wrapper=True)
            async def llm_stream(self, options, *, call_next):
                if options.purpose == "compaction":
                    writing.set()
                    await anyio.sleep_forever()
                return await call_next()

        steps = [CallTools([("lookup", {})]), TOO_LONG, Say("fine")]
        async with host(tmp_path, steps, overflow(), Slow()) as (agent, _):
            agent.followup("look it up")
            await writing.wait()
            agent.cancel()
            await agent.when_idle()
            agent.followup("again")
            await agent.when_idle()
        assert [end.kind for end in ends(agent)] == ["aborted", "completed"]
        assert agent.session.replace_generation == 0


class TestPressure:
    # The scripted model says that a request takes 10 tokens, and at least one for the answer.

    async def test_it_is_relieved(self, tmp_path):
        """Behind the step that went over, the conversation is replaced; the next request has the summary."""
        steps = [CallTools([("lookup", {})]), SUMMARY, Say("done")]
        agent, model = await run(tmp_path, steps, overflow(threshold_tokens=11))
        assert purposes(model)[:3] == [None, "compaction", None]
        assert seen(model.requests[2]) == ["Summary of the conversation so far:\n\nwhat happened so far"]
        assert [end.kind for end in ends(agent)] == ["completed"]

    async def test_below_the_threshold(self, tmp_path):
        """Nothing happens, nor without one."""
        for plugin in (overflow(threshold_tokens=12), overflow()):
            _, model = await run(tmp_path, [CallTools([("lookup", {})]), Say("done")], plugin)
            assert purposes(model) == [None, None]

    async def test_not_again_and_again(self, tmp_path, caplog):
        """What a compaction does not relieve is not the conversation; that is said, and tried once more only later."""
        steps = [CallTools([("lookup", {})]), SUMMARY, CallTools([("lookup", {})]), Say("done")]
        _, model = await run(tmp_path, steps, overflow(threshold_tokens=11))
        assert purposes(model) == [None, "compaction", None, None]
        assert ["still over 11 tokens" in message for message in caplog.messages] == [True, True]

    async def test_again_when_it_grew_again(self, tmp_path):
        """A request below the threshold in between makes the next one over it count."""
        big, small = Say("x" * 100), Say("x")
        steps = [big, SUMMARY, small, big, SUMMARY]
        _, model = await run(tmp_path, steps, overflow(threshold_tokens=20), prompts=("a", "b", "c"))
        assert purposes(model) == [None, "compaction", None, None, "compaction"]

    async def test_a_compaction_that_fails(self, tmp_path, caplog):
        """It is logged and the turn goes on as it was."""
        steps = [CallTools([("lookup", {})]), Fail("SERVER", "busy"), Say("done"), Fail("SERVER", "busy")]
        agent, _ = await run(tmp_path, steps, overflow(threshold_tokens=11))
        assert [end.kind for end in ends(agent)] == ["completed"]
        assert ["compaction failed: busy" in message for message in caplog.messages] == [True, True]

    async def test_a_provider_that_does_not_count(self, tmp_path):
        """Without usage there is no pressure."""

        class Silent(ScriptedAdapter):
            def chunks(self, step):
                return [chunk for chunk in super().chunks(step) if chunk.kind != "usage"]

        async with host(tmp_path, [], overflow(threshold_tokens=1)) as (agent, _):
            silent = Silent([CallTools([("lookup", {})]), Say("done")])
            agent.harness.llm.register_adapter(["silent"], silent)
            other = await agent.harness.create_agent(provider="silent")
            other.followup("look it up")
            await other.when_idle()
        assert purposes(silent) == [None, None]


async def test_together_with_llm_retry(tmp_path, caplog):
    """Each has its own budget, whoever stands in front."""
    llm_retry = pytest.importorskip("dshhooks_llm_retry")
    caplog.set_level(logging.INFO)
    busy = Fail("SERVER", "busy")
    for front in (True, False):
        retry = llm_retry.RequestRetry(llm_retry.RequestRetryOptions(initial_delay=0.001, max_delay=0.001))
        plugins = [retry, overflow()] if front else [overflow(), retry]
        steps = [CallTools([("lookup", {})]), busy, TOO_LONG, SUMMARY, busy, Say("done")]
        agent, _ = await run(tmp_path, steps, *plugins)
        assert [end.kind for end in ends(agent)] == ["completed"]


def test_the_entry_point():
    """Its name is the plugin's name everywhere."""
    found = [entry for entry in entry_points(group="dshhooks") if entry.name == "context-overflow"]
    assert [entry.load() for entry in found] == [ContextOverflow]
