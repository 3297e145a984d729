"""Tokens and finish reasons of model requests, and what they add up to for a turn."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult

from dshhooks import (
    ErrorFinish,
    GenerateOptions,
    LlmFailure,
    MaxTokensFinish,
    Message,
    StopFinish,
    TokenUsage,
    ToolCallsFinish,
    UnknownFinish,
)
from dshhooks.operations import (
    Around,
    Call,
    InferenceData,
    Operation,
    OperationSet,
    Outcome,
    StepData,
    StreamResult,
    TurnData,
    compile_set,
)

pytestmark = pytest.mark.anyio

SAID = Message("assistant", "yes")
STOP = StreamResult(TokenUsage(10, 5), StopFinish())


def request(model="m"):
    """The call of a model request."""
    return Call(Operation.INFERENCE, InferenceData(GenerateOptions("scripted", model)))


async def asked(runner, ended=STOP, outcome=Outcome.COMPLETED, model="m"):
    """One model request."""
    scope = await runner.start(request(model))
    scope.finish(outcome, ai_message=SAID, stream_result=ended)


async def turn(runner, body, *args):
    """One turn."""
    async with runner.operation(Call(Operation.TURN, TurnData(0))) as op:
        await op.run(body, *args)


def counted(span):
    """The token counts of a span, by the conventions' names without their prefix."""
    prefix = "gen_ai.usage."
    facts = span.attributes.items()
    return {name.removeprefix(prefix): value for name, value in facts if name.startswith(prefix)}


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        (TokenUsage(10, 5), {"input_tokens": 10, "output_tokens": 5}),
        (TokenUsage(0, 0), {"input_tokens": 0, "output_tokens": 0}),
        (
            TokenUsage(10, 5, 100, 1000, 3),
            {
                "input_tokens": 1110,
                "output_tokens": 5,
                "cache_read.input_tokens": 100,
                "cache_creation.input_tokens": 1000,
                "reasoning.output_tokens": 3,
            },
        ),
        (None, {}),
    ],
)
async def test_tokens(anyio_backend, recorder, usage, counts):
    """Input includes what a cache read or wrote, as the conventions have it; what was not told is left out."""
    await asked(recorder.runner(recorder.plugin()), StreamResult(usage, StopFinish()))
    assert counted(recorder.spans[0]) == counts


@pytest.mark.parametrize(
    ("finish", "reasons"),
    [
        (StopFinish(), ("stop",)),
        (ToolCallsFinish(), ("tool_call",)),
        (MaxTokensFinish(), ("length",)),
        (ErrorFinish(LlmFailure("busy", "SERVER")), ("error",)),
        (UnknownFinish("content_filter", {}), ("content_filter",)),
        (None, None),
    ],
)
async def test_finish_reasons(anyio_backend, recorder, finish, reasons):
    """Reasons are the conventions' words where they have one."""
    await asked(recorder.runner(recorder.plugin()), StreamResult(TokenUsage(1, 1), finish))
    assert recorder.spans[0].attributes.get("gen_ai.response.finish_reasons") == reasons


async def test_a_stream_that_was_cut(anyio_backend, recorder):
    """Without an end of the stream nobody knows what it cost or why it ended."""
    await asked(recorder.runner(recorder.plugin()), None, Outcome.FAILED)
    assert counted(recorder.spans[0]) == {}
    assert "gen_ai.response.finish_reasons" not in recorder.spans[0].attributes


async def test_a_turn_is_the_sum_of_its_requests(anyio_backend, recorder):
    """The turn's span counts what its requests cost, and says who answered last."""
    runner = recorder.runner(recorder.plugin())

    async def body():
        await asked(runner, StreamResult(TokenUsage(10, 5, 100), StopFinish()), model="small")
        await asked(runner, model="large")

    await turn(runner, body)
    span = recorder.named("invoke_agent")
    assert counted(span) == {"input_tokens": 120, "output_tokens": 10, "cache_read.input_tokens": 100}
    assert (span.attributes["gen_ai.request.model"], span.attributes["gen_ai.provider.name"]) == ("large", "scripted")


async def test_a_turn_that_cost_nothing(anyio_backend, recorder):
    """Nothing is a count, too."""
    runner = recorder.runner(recorder.plugin())
    await turn(runner, asked, runner, StreamResult(TokenUsage(0, 0), StopFinish()))
    assert counted(recorder.named("invoke_agent")) == {"input_tokens": 0, "output_tokens": 0}


async def test_a_turn_that_asked_nobody(anyio_backend, recorder):
    """No request, no model, no tokens."""

    async def body():
        pass

    await turn(recorder.runner(recorder.plugin()), body)
    assert [name for name in recorder.spans[0].attributes if name.startswith(("gen_ai.usage", "gen_ai.request"))] == []


async def test_a_turn_inside_a_turn(anyio_backend, recorder):
    """A subagent's tokens are its own."""
    runner = recorder.runner(recorder.plugin())

    async def body():
        await asked(runner)
        await turn(runner, asked, runner)
        await asked(runner)

    await turn(runner, body)
    assert [counted(span)["output_tokens"] for span in recorder.spans if span.name == "invoke_agent"] == [5, 10]


async def test_requests_that_are_not_sampled(anyio_backend, recorder):
    """A turn counts its requests, whether a sampler wants to see each of them or not."""

    class NoRequests(Sampler):
        def should_sample(self, _context, _trace, name, kind=None, attributes=None, links=None):
            return SamplingResult(Decision.DROP if name.startswith("chat") else Decision.RECORD_AND_SAMPLE)

        def get_description(self):
            return "no requests"

    recorder.provider.sampler = NoRequests()
    runner = recorder.runner(recorder.plugin())
    await turn(runner, asked, runner)
    (span,) = recorder.spans
    assert counted(span) == {"input_tokens": 10, "output_tokens": 5}


async def test_two_tracers(anyio_backend, recorder):
    """Each counts a request once; the spans of the second are inside those of the first."""
    tracers = (recorder.plugin(), recorder.plugin(agent_name="second"))
    told = [Around(operation, tracer.operation) for tracer in tracers for operation in Operation]
    runner = compile_set(OperationSet(around=told))
    await turn(runner, asked, runner)
    assert counted(recorder.named("invoke_agent")) == counted(recorder.named("invoke_agent second"))
    assert counted(recorder.named("invoke_agent")) == {"input_tokens": 10, "output_tokens": 5}
    assert recorder.around(recorder.named("invoke_agent second")) == "invoke_agent"


async def test_requests_outside_the_turn(anyio_backend, recorder):
    """What runs beside a turn is not counted for it."""
    runner = recorder.runner(recorder.plugin())
    scope = await runner.start(Call(Operation.TURN, TurnData(0)))
    await asked(runner)
    scope.finish(Outcome.COMPLETED)
    assert counted(recorder.named("invoke_agent")) == {}


async def test_without_requests_chosen(anyio_backend, recorder):
    """Nothing is counted when requests are no spans, and a request without its turn is one by itself."""
    runner = recorder.runner(recorder.plugin(operations=["turn"]))
    await turn(runner, asked, runner)
    assert counted(recorder.spans[0]) == {}
    await asked(recorder.runner(recorder.plugin(operations=["inference", "step"])))
    assert recorder.spans[-1].name == "chat m"


async def test_an_end_nobody_can_read(anyio_backend, recorder, caplog):
    """An end of the stream that cannot be read is left out; everything else is there."""
    runner = recorder.runner(recorder.plugin())

    async def body():
        await asked(runner, {"no": "usage"})

    await turn(runner, body)
    assert recorder.named("chat m").attributes["dshhooks.operation.outcome"] == "completed"
    assert recorder.named("invoke_agent").attributes["gen_ai.request.model"] == "m"
    assert "AttributeError" in caplog.text


async def test_a_step_has_no_tokens(anyio_backend, recorder):
    """Counts are on requests and turns."""
    (await recorder.runner(recorder.plugin()).start(Call(Operation.STEP, StepData(0)))).finish(Outcome.COMPLETED)
    assert counted(recorder.spans[0]) == {}
