"""A real agent, traced: which spans there are, inside which, and how they end."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import asynccontextmanager

import anyio
import pytest
from dshhooks_tracing import Tracing
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.trace import StatusCode

from dshhooks import (
    ApprovalOutcome,
    Ask,
    CallTools,
    Deny,
    Fail,
    Harness,
    HarnessError,
    RetryRequest,
    Say,
    ScriptedAdapter,
    ToolDefinition,
    ToolOutput,
    deny,
    hookimpl,
)

pytestmark = pytest.mark.anyio

SECRET = "s3cret"
ADD = CallTools([("add", {"a": 1})])


def tool_of(name, execute, **parts):
    """A tool that answers with a string."""
    output = ToolOutput({"type": "string"}, lambda _args, value: value)
    return ToolDefinition(name, "works", {"type": "object"}, output, execute, **parts)


async def add(_args, _exec):
    """A tool's body."""
    return "three"


async def fail(_args, _exec):
    """A tool's body that fails."""
    raise ZeroDivisionError(SECRET)


async def delegate(_args, exec):
    """A tool's body that asks a subagent."""
    return (await exec.agent.spawn("helper", "look")).text


TOOLS = (tool_of("add", add), tool_of("fail", fail), tool_of("delegate", delegate))


@asynccontextmanager
async def host(tmp_path, steps, *plugins, tools=TOOLS):
    """A host with a scripted model, an agent of it, and the model."""
    config = tmp_path / "dshhooks.toml"
    config.write_text('[plugins]\nautoload = false\n[agent]\nprovider = "scripted"\nmodel = "m"\n', encoding="utf-8")
    model = ScriptedAdapter(steps)
    async with Harness.open(config, plugins=plugins) as harness:
        harness.llm.register_adapter(["scripted"], model)
        for tool in tools:
            harness.tools.register(tool)
        yield await harness.create_agent(), model


async def run(tmp_path, steps, *plugins, tools=TOOLS, prompt="Hi"):
    """Run one prompt to its end; return the agent and how often the model was asked."""
    async with host(tmp_path, steps, *plugins, tools=tools) as (agent, model):
        agent.followup(prompt)
        await agent.when_idle()
        return agent, len(model.requests)


def drawn(recorder):
    """Every span under the one around it, in the order they began; and how it ended, unless it worked."""
    order = recorder.count.begun
    spans = sorted(recorder.spans, key=lambda span: order.index(span.context.span_id))
    lines = []

    def draw(parent, depth):
        for span in spans:
            if (span.parent.span_id if span.parent is not None else None) == parent:
                outcome = span.attributes.get("dshhooks.operation.outcome", "completed")
                lines.append("  " * depth + span.name + (f" [{outcome}]" if outcome != "completed" else ""))
                draw(span.context.span_id, depth + 1)

    draw(None, 0)
    return lines


class Refuse:
    """A guard that refuses one operation."""

    policy_revision = "1"

    def __init__(self, operation):
        self._operation = operation

    @hookimpl
    def operation_guard(self, call):
        return deny("test.no", SECRET) if call.operation == self._operation else None


class Policy:
    """Asks about every call, and answers."""

    def __init__(self, answer):
        self._answer = answer

    @hookimpl
    def tools_pre_execute(self):
        return Ask("really?")

    @hookimpl(tryfirst=True)
    async def approval_request(self, request):
        return self._answer


async def test_a_turn_with_a_tool(anyio_backend, recorder, tmp_path):
    """Agent, steps, model requests and tools nest; ids tie them to the session."""
    agent, _ = await run(tmp_path, [ADD, Say("It is three.")], recorder.plugin())
    assert drawn(recorder) == [
        "invoke_agent",
        "  step",
        "    chat m",
        "    tool_call add",
        "      execute_tool add",
        "  step",
        "    chat m",
    ]
    assert {span.attributes["gen_ai.conversation.id"] for span in recorder.spans} == {agent.session.id}
    assert len({span.context.trace_id for span in recorder.spans}) == 1
    assert recorder.named("invoke_agent").attributes["dshhooks.cause.human"] is True
    assert recorder.named("execute_tool add").attributes["gen_ai.tool.call.id"] == "call-1"


async def test_tokens_and_finish_reasons(anyio_backend, recorder, tmp_path):
    """Each request says what it cost and why it ended; the agent's span has the sum, the model and the provider."""
    await run(tmp_path, [ADD, Say("It is three.")], recorder.plugin())
    chats = [span.attributes for span in recorder.spans if span.name == "chat m"]
    assert [chat["gen_ai.response.finish_reasons"] for chat in chats] == [("tool_call",), ("stop",)]
    assert [chat["gen_ai.usage.input_tokens"] for chat in chats] == [10, 10]
    assert [chat["gen_ai.usage.output_tokens"] for chat in chats] == [1, 3]
    turn = recorder.named("invoke_agent").attributes
    assert (turn["gen_ai.usage.input_tokens"], turn["gen_ai.usage.output_tokens"]) == (20, 4)
    assert (turn["gen_ai.provider.name"], turn["gen_ai.request.model"]) == ("scripted", "m")


async def test_turns_are_counted_apart(anyio_backend, recorder, tmp_path):
    """A second turn begins its own sum, and its own trace."""
    async with host(tmp_path, [Say("one"), Say("two")], recorder.plugin()) as (agent, _):
        for prompt in ("a", "b"):
            agent.followup(prompt)
            await agent.when_idle()
    turns = [span for span in recorder.spans if span.name == "invoke_agent"]
    assert [turn.attributes["gen_ai.usage.input_tokens"] for turn in turns] == [10, 10]
    assert [turn.attributes["dshhooks.turn"] for turn in turns] == ["1", "2"]
    assert turns[0].context.trace_id != turns[1].context.trace_id


async def test_tools_side_by_side(anyio_backend, recorder, tmp_path):
    """Calls that overlap are siblings, and what each traces is its own."""
    both, running = anyio.Event(), []
    own = recorder.provider.get_tracer("test")

    async def body(args, _exec):
        running.append(1)
        if len(running) == 2:
            both.set()
        await both.wait()
        with own.start_as_current_span(f"inside {args['n']}"):
            return "done"

    tools = [tool_of(name, body, is_concurrency_safe=lambda _args: True) for name in ("one", "two")]
    steps = [CallTools([("one", {"n": 1}), ("two", {"n": 2})]), Say("x")]
    await run(tmp_path, steps, recorder.plugin(), tools=tools)
    around = {span.name: recorder.around(span) for span in recorder.spans}
    assert around["inside 1"] == "execute_tool one"
    assert around["inside 2"] == "execute_tool two"
    assert around["tool_call one"] == around["tool_call two"] == "step"


async def test_a_subagent(anyio_backend, recorder, tmp_path):
    """A subagent's turn is inside the tool that asked for it, under its own name, with a count of its own."""
    steps = [CallTools([("delegate", {})]), Say("found"), Say("thanks")]
    await run(tmp_path, steps, recorder.plugin(agent_name="lead"))
    assert drawn(recorder) == [
        "invoke_agent lead",
        "  step",
        "    chat m",
        "    tool_call delegate",
        "      execute_tool delegate",
        "        invoke_agent helper",
        "          step",
        "            chat m",
        "  step",
        "    chat m",
    ]
    lead, helper = recorder.named("invoke_agent lead").attributes, recorder.named("invoke_agent helper").attributes
    assert lead["gen_ai.conversation.id"] != helper["gen_ai.conversation.id"]
    assert (lead["gen_ai.usage.input_tokens"], helper["gen_ai.usage.input_tokens"]) == (20, 10)
    execution = recorder.named("execute_tool delegate").attributes["dshhooks.tool.execution_id"]
    assert (helper["dshhooks.cause.human"], helper["dshhooks.cause.tool_execution_id"]) == (False, execution)


async def test_a_wait_for_approval(anyio_backend, recorder, tmp_path):
    """Waiting for a person is inside the call and outside the tool; the span has the answer."""
    await run(tmp_path, [ADD, Say("x")], recorder.plugin(), Policy(ApprovalOutcome.ALLOWED_ONCE))
    assert drawn(recorder)[2:6] == ["    chat m", "    tool_call add", "      gate_wait", "      execute_tool add"]
    assert recorder.named("gate_wait").attributes["dshhooks.gate.answer"] == "allowed-once"
    assert recorder.named("tool_call add").attributes["dshhooks.permission.effect"] == "approve"


async def test_a_refused_approval(anyio_backend, recorder, tmp_path):
    """A person's no is an answer: the call completes with an error for the model, and no tool runs."""
    await run(tmp_path, [ADD, Say("x")], recorder.plugin(), Policy(ApprovalOutcome.REJECTED))
    assert drawn(recorder)[2:6] == ["    chat m", "    tool_call add", "      gate_wait", "  step"]
    call = recorder.named("tool_call add")
    assert (call.attributes["dshhooks.permission.effect"], call.attributes["dshhooks.tool.is_error"]) == ("deny", True)
    assert call.status.status_code is StatusCode.UNSET


async def test_cancelled_while_somebody_is_asked(anyio_backend, recorder, tmp_path):
    """A wait that is cancelled ends as canceled, without an answer, and no tool runs."""
    asked = anyio.Event()

    class Absent:
        @hookimpl
        def tools_pre_execute(self):
            return Ask("really?")

        @hookimpl(tryfirst=True)
        async def approval_request(self, request):
            asked.set()
            await anyio.sleep_forever()

    async with host(tmp_path, [ADD], recorder.plugin(), Absent()) as (agent, _):
        agent.followup("Hi")
        await asked.wait()
        agent.cancel()
        await agent.when_idle()
    assert drawn(recorder)[2:] == ["    chat m", "    tool_call add [canceled]", "      gate_wait [canceled]"]
    assert "dshhooks.gate.answer" not in recorder.named("gate_wait").attributes


async def test_a_request_that_fails(anyio_backend, recorder, tmp_path):
    """A model that fails fails its request, the step and the turn, each with the code of the failure."""
    await run(tmp_path, [Fail("AUTH", SECRET)], recorder.plugin())
    assert drawn(recorder) == ["invoke_agent [failed]", "  step [failed]", "    chat m [failed]"]
    for span in recorder.spans:
        assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, "AUTH")
        assert SECRET not in span.to_json()


async def test_a_request_that_is_tried_again(anyio_backend, recorder, tmp_path):
    """Each attempt is a span; the turn that recovered is no error."""

    class Again:
        @hookimpl
        def agent_request_error(self):
            return RetryRequest()

    await run(tmp_path, [Fail("SERVER"), Say("x")], recorder.plugin(), Again())
    assert drawn(recorder) == ["invoke_agent", "  step [failed]", "    chat m [failed]", "  step", "    chat m"]


async def test_a_tool_that_fails(anyio_backend, recorder, tmp_path):
    """The tool's span is an error, the call's is not: the model reads of it and goes on."""
    await run(tmp_path, [CallTools([("fail", {})]), Say("x")], recorder.plugin())
    assert drawn(recorder)[3:5] == ["    tool_call fail", "      execute_tool fail [failed]"]
    execution = recorder.named("execute_tool fail")
    assert (execution.status.status_code, execution.attributes["error.type"]) == (StatusCode.ERROR, "ZeroDivisionError")
    assert recorder.named("tool_call fail").attributes["dshhooks.tool.is_error"] is True
    assert [span.name for span in recorder.spans if SECRET in span.to_json()] == []


async def test_a_tool_nobody_has(anyio_backend, recorder, tmp_path):
    """A name a model made up is an execution that finds no tool; plugins around executions might have had one."""
    await run(tmp_path, [CallTools([("made-up", {})]), Say("x")], recorder.plugin())
    assert drawn(recorder)[3:5] == ["    tool_call made-up", "      execute_tool made-up [failed]"]
    assert recorder.named("execute_tool made-up").attributes["error.type"] == "UNKNOWN_TOOL"


async def test_a_call_a_policy_denies(anyio_backend, recorder, tmp_path):
    """What tools_pre_execute denies is a call that completed: policy decided, and no tool ran."""

    class No:
        @hookimpl
        def tools_pre_execute(self):
            return Deny(SECRET)

    await run(tmp_path, [ADD, Say("x")], recorder.plugin(), No())
    assert drawn(recorder)[2:5] == ["    chat m", "    tool_call add", "  step"]
    assert recorder.named("tool_call add").attributes["dshhooks.permission.effect"] == "deny"
    assert [span.name for span in recorder.spans if SECRET in span.to_json()] == []


async def test_a_call_a_guard_denies(anyio_backend, recorder, tmp_path):
    """A denied call is an error with the guard's code; the turn goes on."""
    await run(tmp_path, [ADD, Say("x")], recorder.plugin(), Refuse("tool_call"))
    assert drawn(recorder)[2:5] == ["    chat m", "    tool_call add [denied]", "  step"]
    call = recorder.named("tool_call add")
    assert (call.status.status_code, call.attributes["error.type"]) == (StatusCode.ERROR, "test.no")
    assert [span.name for span in recorder.spans if SECRET in span.to_json()] == []


async def test_a_denied_request(anyio_backend, recorder, tmp_path):
    """The request is denied, step and turn failed, and the model was not asked."""
    _, asked = await run(tmp_path, [Say("x")], recorder.plugin(), Refuse("inference"))
    assert drawn(recorder) == ["invoke_agent [failed]", "  step [failed]", "    chat m [denied]"]
    assert recorder.named("chat m").attributes["error.type"] == "test.no"
    assert asked == 0


async def test_a_denied_turn(anyio_backend, recorder, tmp_path):
    """A turn that was refused is a span, and all there is."""
    _, asked = await run(tmp_path, [Say("x")], recorder.plugin(), Refuse("turn"))
    assert (drawn(recorder), asked) == (["invoke_agent [denied]"], 0)


async def test_a_cancelled_turn(anyio_backend, recorder, tmp_path):
    """Everything that ran ends as canceled, which is nobody's error."""
    running = anyio.Event()

    async def body(_args, _exec):
        running.set()
        await anyio.sleep_forever()

    async with host(tmp_path, [ADD], recorder.plugin(), tools=[tool_of("add", body)]) as (agent, _):
        agent.followup("Hi")
        await running.wait()
        agent.cancel()
        await agent.when_idle()
    assert drawn(recorder) == [
        "invoke_agent [canceled]",
        "  step [canceled]",
        "    chat m",
        "    tool_call add [canceled]",
        "      execute_tool add [canceled]",
    ]
    assert {span.status.status_code for span in recorder.spans} == {StatusCode.UNSET}


@pytest.mark.parametrize("begun", range(1, 13))
async def test_cancelled_anywhere(anyio_backend, recorder, tmp_path, begun):
    """Whichever operation a cancel comes with: every span that began ends once, inside a span that ends later."""

    class Cancel:
        count = 0

        @hookimpl
        def operation(self, call):
            self.count += 1
            if self.count == begun:
                lead.cancel()

    async def beside(_args, _exec):
        await anyio.lowlevel.checkpoint()
        return "done"

    tools = [*TOOLS, tool_of("beside", beside, is_concurrency_safe=lambda _args: True)]
    steps = [CallTools([("beside", {}), ("beside", {})]), CallTools([("delegate", {})]), Say("found"), Say("x")]
    plugins = (recorder.plugin(), Cancel(), Policy(ApprovalOutcome.ALLOWED_ONCE))
    async with host(tmp_path, steps, *plugins, tools=tools) as (lead, _):
        lead.followup("Hi")
        await lead.when_idle()
    ended = [span.context.span_id for span in recorder.spans]
    assert len(ended) >= 1
    assert sorted(ended) == sorted(recorder.count.begun)
    for at, span in enumerate(recorder.spans):
        assert span.parent is None or ended.index(span.parent.span_id) > at


async def test_compaction(anyio_backend, recorder, tmp_path):
    """A compaction between turns is a trace of its own, and its model request is no inference."""
    async with host(tmp_path, [Say("one"), Say("in short: one")], recorder.plugin()) as (agent, _):
        agent.followup("Hi")
        await agent.when_idle()
        assert await agent.compact()
    assert drawn(recorder) == ["invoke_agent", "  step", "    chat m", "compaction"]


async def test_a_compaction_within_a_turn(anyio_backend, recorder, tmp_path):
    """A compaction that a plugin asks for in the middle of a turn is inside the turn, and no step."""

    class Squeeze:
        done = False

        @hookimpl
        async def agent_pre_step(self, agent):
            if not self.done and len(agent.session.messages()) > 2:
                self.done = True
                assert await agent.compact()

    await run(tmp_path, [ADD, Say("in short: three"), Say("x")], recorder.plugin(), Squeeze())
    assert drawn(recorder)[5:] == ["  compaction", "  step", "    chat m"]


async def test_a_denied_compaction(anyio_backend, recorder, tmp_path):
    """A compaction that was refused is an error with the guard's code."""
    async with host(tmp_path, [Say("one")], recorder.plugin(), Refuse("compaction")) as (agent, model):
        agent.followup("Hi")
        await agent.when_idle()
        with pytest.raises(HarnessError):
            await agent.compact()
        assert len(model.requests) == 1
    assert drawn(recorder)[3:] == ["compaction [denied]"]
    assert recorder.named("compaction").attributes["error.type"] == "test.no"


async def test_the_journal_when_asked_for(anyio_backend, recorder, tmp_path):
    """What is written while something runs is inside it."""
    await run(tmp_path, [Say("x")], recorder.all())
    around = {recorder.around(span) for span in recorder.spans if span.name == "journal_append event"}
    assert {"invoke_agent", "step"} <= around


async def test_nothing_that_was_said_by_default(anyio_backend, recorder, tmp_path):
    """A whole conversation leaves no word of it on the spans."""
    steps = [CallTools([("add", {"a": SECRET})], SECRET), Say(SECRET)]
    await run(tmp_path, steps, recorder.all(), prompt=SECRET)
    assert len(recorder.spans) > 7
    assert [span.name for span in recorder.spans if SECRET in span.to_json()] == []


async def test_content_when_asked_for(anyio_backend, recorder, tmp_path):
    """The agent's span has what it was asked and its last answer; the tool's its arguments and its result."""
    await run(tmp_path, [ADD, Say("It is three.")], recorder.plugin(capture_content=True))
    turn, execution = recorder.named("invoke_agent").attributes, recorder.named("execute_tool add").attributes
    assert json.loads(turn["gen_ai.input.messages"]) == [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]
    assert json.loads(turn["gen_ai.output.messages"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "It is three."}], "finish_reason": "stop"}
    ]
    assert json.loads(execution["gen_ai.tool.call.arguments"]) == {"a": 1}
    assert json.loads(execution["gen_ai.tool.call.result"]) == "three"


@pytest.mark.parametrize("moment", ["on_start", "on_end"])
async def test_a_broken_sdk_changes_nothing(anyio_backend, tmp_path, caplog, moment):
    """With a collector that is gone the session is, event by event, what it is without tracing."""

    def broken(*_args, **_more):
        raise RuntimeError(SECRET)

    steps = [CallTools([("add", {}), ("fail", {})]), Say("x")]
    plain, _ = await run(tmp_path, steps)
    provider = TracerProvider()
    provider.add_span_processor(type("Broken", (SpanProcessor,), {moment: broken})())
    traced, _ = await run(tmp_path, steps, Tracing(tracer_provider=provider))
    assert [event.type for event in traced.session.events] == [event.type for event in plain.session.events]
    assert "RuntimeError" in caplog.text
    assert SECRET not in caplog.text.replace("ZeroDivisionError: s3cret", "")


CONFIGURED = """
import sys, anyio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from dshhooks import Harness, Say, ScriptedAdapter

exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

async def main():
    async with Harness.open(sys.argv[1]) as harness:
        harness.llm.register_adapter(["scripted"], ScriptedAdapter([Say("x")]))
        agent = await harness.create_agent()
        agent.followup("Hi")
        await agent.when_idle()

anyio.run(main)
print([span.name for span in exporter.get_finished_spans()])
"""


def test_installed_and_configured(tmp_path):
    """The plugin is found by its name, and its table in the configuration counts."""
    config = tmp_path / "dshhooks.toml"
    config.write_text(
        '[plugins]\nautoload = false\nenable = ["tracing"]\n[agent]\nprovider = "scripted"\nmodel = "m"\n'
        '[plugin.tracing]\nagent_name = "support"\noperations = ["turn", "inference"]\n',
        encoding="utf-8",
    )
    command = [sys.executable, "-c", CONFIGURED, str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("['chat m', 'invoke_agent support']\n", "")
