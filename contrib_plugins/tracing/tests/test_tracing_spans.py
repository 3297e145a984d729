"""Spans of operations, read back from the real OpenTelemetry SDK: names, attributes, nesting."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import pytest
from dshhooks_tracing import OPERATIONS
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Decision, Sampler, SamplingResult
from opentelemetry.trace import SpanKind, StatusCode

from dshhooks import GenerateOptions
from dshhooks.operations import (
    Call,
    Cause,
    CompactionData,
    CompactionInput,
    Coordinates,
    GateAnswer,
    GateWaitData,
    InferenceData,
    JournalAppendData,
    Operation,
    Outcome,
    StepData,
    ToolCallData,
    ToolExecutionData,
    TurnData,
)

pytestmark = pytest.mark.anyio

PLACE = Coordinates("s1", "a1", "2", "3")
COMMON = {
    "gen_ai.conversation.id": "s1",
    "gen_ai.agent.id": "a1",
    "gen_ai.agent.name": "coder",
    "dshhooks.turn": "2",
    "dshhooks.step": "3",
    "dshhooks.operation.outcome": "completed",
}
TOOL = {"gen_ai.tool.name": "bash", "gen_ai.tool.call.id": "c1", "dshhooks.tool.execution_id": "e1"}
REQUEST = GenerateOptions("openai", "gpt-x", temperature=0.5, max_tokens=100, stop=("END",))

# Operation, payload, terminal fields; the span's name, and what is on it beside COMMON.
SPANS = [
    (
        "turn", TurnData(1), {}, "invoke_agent coder",
        {
            "gen_ai.operation.name": "invoke_agent",
            "dshhooks.cause.human": True,
            "dshhooks.cause.tool_execution_id": "e0",
        },
    ),
    ("step", StepData(0), {}, "step", {}),
    (
        "inference", InferenceData(REQUEST), {}, "chat gpt-x",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "gpt-x",
            "gen_ai.request.stream": True,
            "gen_ai.request.temperature": 0.5,
            "gen_ai.request.max_tokens": 100,
            "gen_ai.request.stop_sequences": ("END",),
        },
    ),
    (
        "compaction", CompactionData("x1", CompactionInput(model_key="m")), {}, "compaction",
        {"dshhooks.compaction.id": "x1", "dshhooks.compaction.model": "m"},
    ),
    (
        "tool_call", ToolCallData("e1", "c1", "bash"), {"permission_effect": "approve", "is_error": False},
        "tool_call bash", {**TOOL, "dshhooks.permission.effect": "approve", "dshhooks.tool.is_error": False},
    ),
    (
        "gate_wait", GateWaitData("g1", "permission", "user", effect="ask"),
        {"answer": GateAnswer("g1", "allow", (), "user")}, "gate_wait",
        {
            "dshhooks.gate.id": "g1",
            "dshhooks.gate.kind": "permission",
            "dshhooks.gate.resolver": "user",
            "dshhooks.gate.effect": "ask",
            "dshhooks.gate.answer": "allow",
            "dshhooks.gate.answer_source": "user",
        },
    ),
    (
        "tool_execution", ToolExecutionData("e1", "c1", "bash"), {"is_error": False}, "execute_tool bash",
        {
            **TOOL,
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.type": "function",
            "dshhooks.tool.is_error": False,
        },
    ),
    (
        "journal_append", JournalAppendData("event", "7"), {}, "journal_append event",
        {"dshhooks.journal.family": "event", "dshhooks.journal.record_id": "7"},
    ),
]  # fmt: skip


def turn(index=0, name="", **parts):
    """The call of a turn."""
    return Call(Operation.TURN, TurnData(index), agent_name=name, **parts)


def tool(call_id="c1", operation=Operation.TOOL_CALL, name="bash"):
    """The call of a tool."""
    kind = ToolCallData if operation is Operation.TOOL_CALL else ToolExecutionData
    return Call(operation, kind("e1", call_id, name))


def ask(model="m", provider="scripted"):
    """The call of a model request."""
    return Call(Operation.INFERENCE, InferenceData(GenerateOptions(provider, model)))


@pytest.mark.parametrize(("operation", "payload", "terminal", "name", "facts"), SPANS, ids=[row[0] for row in SPANS])
async def test_name_kind_and_attributes(anyio_backend, recorder, operation, payload, terminal, name, facts):
    """Each operation has its name, its kind, its attributes, and nothing else."""
    cause = Cause(tool_execution_id="e0", human=True)
    call = Call(Operation(operation), payload, PLACE, "coder", cause)
    scope = await recorder.runner(recorder.all()).start(call)
    scope.finish(Outcome.COMPLETED, **terminal)
    (span,) = recorder.spans
    kind = SpanKind.CLIENT if operation == "inference" else SpanKind.INTERNAL
    assert (span.name, span.kind, span.status.status_code) == (name, kind, StatusCode.UNSET)
    assert dict(span.attributes) == {"dshhooks.operation": operation, **COMMON, **facts}


async def test_what_is_absent_is_left_out(anyio_backend, recorder):
    """Empty coordinates and names are no attributes, and a nameless agent's span is called as the conventions say."""
    (await recorder.runner(recorder.all()).start(turn())).finish(Outcome.COMPLETED)
    (span,) = recorder.spans
    assert (span.name, dict(span.attributes)) == (
        "invoke_agent",
        {
            "dshhooks.operation": "turn",
            "gen_ai.operation.name": "invoke_agent",
            "dshhooks.operation.outcome": "completed",
        },
    )


async def test_the_tracer_says_who_it_is(anyio_backend, recorder):
    """The instrumentation scope is the plugin and its version."""
    (await recorder.runner(recorder.all()).start(turn())).finish(Outcome.COMPLETED)
    scope = recorder.spans[0].instrumentation_scope
    assert (scope.name, scope.version) == ("dshhooks.tracing", version("dshhooks-tracing"))


async def test_spans_nest(anyio_backend, recorder):
    """Operations are inside each other as they run, and what a tool traces is inside the tool."""
    runner = recorder.runner(recorder.all())
    own = recorder.provider.get_tracer("test")

    async def execute():
        with own.start_as_current_span("query"):
            pass

    async def nested(calls, innermost):
        if not calls:
            return await innermost()
        async with runner.operation(calls[0]) as op:
            await op.run(nested, calls[1:], innermost)

    with own.start_as_current_span("request"):
        calls = [turn(), Call(Operation.STEP, StepData(0)), tool(), tool(operation=Operation.TOOL_EXECUTION)]
        await nested(calls, execute)
    names = ["query", "execute_tool bash", "tool_call bash", "step", "invoke_agent", "request"]
    assert [span.name for span in recorder.spans] == names
    assert [recorder.around(span) for span in recorder.spans] == [*names[1:], None]


async def test_calls_side_by_side(anyio_backend, recorder):
    """Calls begun one after another in one task, and ended in another order, are siblings."""
    runner = recorder.runner(recorder.all())

    async def batch():
        scopes = [await runner.start(tool(f"c{number}", name=f"t{number}")) for number in range(3)]
        for scope in (scopes[1], scopes[0], scopes[2]):
            await scope.run(traced)
            scope.finish(Outcome.COMPLETED)

    async def traced():
        assert trace.get_current_span().attributes["gen_ai.tool.name"].startswith("t")

    async with runner.operation(turn()) as op:
        await op.run(batch)
    assert [span.name for span in recorder.spans] == ["tool_call t1", "tool_call t0", "tool_call t2", "invoke_agent"]
    assert [recorder.around(span) for span in recorder.spans] == ["invoke_agent"] * 3 + [None]


async def test_nothing_leaks_to_the_caller(anyio_backend, recorder):
    """Whoever starts an operation has the span current that was current before: during it, and afterwards."""
    runner = recorder.runner(recorder.all())
    with recorder.provider.get_tracer("test").start_as_current_span("mine") as mine:
        scope = await runner.start(turn())
        assert trace.get_current_span() is mine
        scope.finish(Outcome.COMPLETED)
        assert trace.get_current_span() is mine


async def test_an_observer_further_out_finishes_outside_the_span(anyio_backend, recorder):
    """Once a span has ended it is current no longer, for observers that finish after this one."""
    from dshhooks.operations import Around, OperationSet, compile_set

    seen = []

    def outer(_call):
        yield
        seen.append(trace.get_current_span())

    around = [Around(Operation.TURN, outer), Around(Operation.TURN, recorder.all().operation)]
    (await compile_set(OperationSet(around=around)).start(turn())).finish(Outcome.COMPLETED)
    assert seen == [trace.INVALID_SPAN]


async def test_only_chosen_operations(anyio_backend, recorder):
    """What is not chosen is no span; what runs inside it belongs to the span around it."""
    runner = recorder.runner(recorder.plugin(operations=["turn", "tool_execution"]))

    async def in_step():
        async with runner.operation(tool()) as op:
            await op.run(execute)

    async def execute():
        async with runner.operation(tool(operation=Operation.TOOL_EXECUTION)):
            pass

    async with runner.operation(turn()) as op:
        await op.run(in_step)
    assert [span.name for span in recorder.spans] == ["execute_tool bash", "invoke_agent"]
    assert recorder.around(recorder.spans[0]) == "invoke_agent"


async def test_the_journal_is_no_span_by_default(anyio_backend, recorder):
    """Seven of the eight are spans without being asked for."""
    runner = recorder.runner(recorder.plugin())
    for operation, payload, _, _, _ in SPANS:
        (await runner.start(Call(Operation(operation), payload))).finish(Outcome.COMPLETED)
    assert [span.attributes["dshhooks.operation"] for span in recorder.spans] == list(OPERATIONS[:-1])


async def test_agents_without_a_name(anyio_backend, recorder):
    """``agent_name`` is for agents that have none."""
    runner = recorder.runner(recorder.plugin(agent_name="support"))
    for call in (turn(), turn(name="researcher")):
        (await runner.start(call)).finish(Outcome.COMPLETED)
    assert [(span.name, span.attributes["gen_ai.agent.name"]) for span in recorder.spans] == [
        ("invoke_agent support", "support"), ("invoke_agent researcher", "researcher"),
    ]  # fmt: skip


async def test_names_of_providers(anyio_backend, recorder):
    """``providers`` gives a route the conventions' name; other routes keep theirs."""
    runner = recorder.runner(recorder.plugin(providers={"work": "azure.ai.openai"}))
    for route in ("work", "openai"):
        (await runner.start(ask(provider=route))).finish(Outcome.COMPLETED)
    assert [span.attributes["gen_ai.provider.name"] for span in recorder.spans] == ["azure.ai.openai", "openai"]


async def test_names_no_exporter_could_write(anyio_backend, recorder):
    """Lone surrogates a model sent are replaced, and a name is not longer than a name."""
    (await recorder.runner(recorder.all()).start(tool("c\ud800", name="to\udfffol" + "x" * 1000))).finish(
        Outcome.COMPLETED
    )
    (span,) = recorder.spans
    assert (span.name, span.attributes["gen_ai.tool.call.id"]) == ("tool_call to?ol" + "x" * 251, "c?")


async def test_a_sampler_sees_what_it_needs(anyio_backend, recorder):
    """The attributes the conventions want for sampling are there when a span is created."""
    seen = []

    class Watching(Sampler):
        def should_sample(self, _context, _trace, name, kind=None, attributes=None, links=None):
            seen.append((name, kind, dict(attributes)))
            return SamplingResult(Decision.DROP)

        def get_description(self):
            return "watching"

    recorder.provider = TracerProvider(sampler=Watching())
    (await recorder.runner(recorder.all()).start(ask())).finish(Outcome.COMPLETED)
    ((name, kind, attributes),) = seen
    assert (name, kind) == ("chat m", SpanKind.CLIENT)
    assert {"gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.request.model"} <= attributes.keys()


async def test_a_trace_that_is_not_sampled(anyio_backend, recorder):
    """Nothing is recorded, and what runs inside knows that its trace is not sampled."""
    recorder.provider = TracerProvider(sampler=ALWAYS_OFF)
    seen = []
    async with recorder.runner(recorder.all(capture_content=True)).operation(turn()) as op:
        await op.run(lambda: seen.append(trace.get_current_span().get_span_context()))
    assert (seen[0].is_valid, seen[0].trace_flags.sampled, recorder.spans) == (True, False, ())


async def test_a_turn_after_its_request(anyio_backend, recorder):
    """A turn is inside the span its agent was made in until that ends; then it is a trace of its own, linked to it."""
    runner = recorder.runner(recorder.all())
    with recorder.provider.get_tracer("test").start_as_current_span("request") as request:
        (await runner.start(turn())).finish(Outcome.COMPLETED)
        request.end()
        (await runner.start(turn())).finish(Outcome.COMPLETED)
        (await runner.start(ask())).finish(Outcome.COMPLETED)
    inside, _, later, _ = recorder.spans
    assert recorder.around(inside) == "request"
    assert (inside.links, later.parent) == ((), None)
    assert [link.context for link in later.links] == [request.get_span_context()]
    assert later.context.trace_id != request.get_span_context().trace_id
    assert recorder.around(recorder.named("chat m")) == "request"


async def test_a_trace_of_another_process(anyio_backend, recorder):
    """A turn continues the trace that came with a request."""
    remote = trace.SpanContext(1, 2, is_remote=True, trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED))
    with trace.use_span(trace.NonRecordingSpan(remote)):
        (await recorder.runner(recorder.all()).start(turn())).finish(Outcome.COMPLETED)
    assert recorder.spans[0].parent == remote


GLOBAL = """
import anyio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from dshhooks_tracing import Tracing
from dshhooks.operations import Around, Call, Operation, OperationSet, Outcome, TurnData, compile_set

runner = compile_set(OperationSet(around=[Around(Operation.TURN, Tracing().operation)]))

async def turn():
    (await runner.start(Call(Operation.TURN, TurnData(0)))).finish(Outcome.COMPLETED)

anyio.run(turn)
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
anyio.run(turn)
print([span.name for span in exporter.get_finished_spans()])
"""


def test_the_global_provider():
    """Without a provider of its own the plugin uses the global one, also one that is set later; until then, none."""
    done = subprocess.run([sys.executable, "-c", GLOBAL], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("['invoke_agent']\n", "")
