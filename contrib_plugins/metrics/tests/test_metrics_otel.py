"""Spans and measurements, read back from the real OpenTelemetry SDK."""

from __future__ import annotations

import json
import logging

import anyio
import pytest
from dshhooks_metrics import Metrics, MetricsOptions

from dshhooks import CancelSource, Deny, HarnessError, ToolCall, hookimpl

pytest.importorskip("opentelemetry.sdk")

from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

pytestmark = pytest.mark.anyio


class Recorder:
    """An SDK that keeps everything in memory."""

    def __init__(self):
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider(metric_readers=[self.reader])

    def plugin(self, **options):
        return Metrics(MetricsOptions(**options), tracer_provider=self.tracers, meter_provider=self.meters)

    @property
    def spans(self):
        return self.exporter.get_finished_spans()

    def points(self, name):
        """The data points of a metric."""
        data = self.reader.get_metrics_data()
        found = [
            point
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        ]
        return found


@pytest.fixture
def recorder():
    recorder = Recorder()
    yield recorder
    recorder.tracers.shutdown()
    recorder.meters.shutdown()


async def test_span_of_a_success(anyio_backend, work, registry_of, recorder):
    """A dispatch is a span named and attributed as the GenAI conventions say, and nothing else is on it."""
    registry = registry_of(work(), recorder.plugin())
    await registry.execute(ToolCall("call_7", "work", {"token": "s3cret"}))
    (span,) = recorder.spans
    assert (span.name, span.kind, span.status.status_code) == (
        "execute_tool work", SpanKind.INTERNAL, StatusCode.UNSET,
    )  # fmt: skip
    assert dict(span.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "work",
        "gen_ai.tool.call.id": "call_7",
        "gen_ai.tool.type": "function",
        "dshhooks.tool.outcome": "ok",
    }
    assert "s3cret" not in span.to_json()


async def test_span_of_a_failure(anyio_backend, work, registry_of, recorder):
    """A failure's span has its code as ``error.type``, and not its message, which may quote arguments."""

    async def broken(args, _exec):
        raise HarnessError(f"cannot use {args['token']}", "BROKEN")

    await registry_of(work(broken), recorder.plugin()).call("work", {"token": "s3cret"})
    (span,) = recorder.spans
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes["error.type"], span.attributes["dshhooks.tool.outcome"]) == ("BROKEN", "failed")
    assert "s3cret" not in span.to_json()


async def test_failure_without_a_code(anyio_backend, work, registry_of, recorder):
    """A foreign exception has no code; the conventions call that ``_OTHER``."""

    async def broken(_args, _exec):
        raise RuntimeError("oops")

    await registry_of(work(broken), recorder.plugin()).call("work")
    assert recorder.spans[0].attributes["error.type"] == "_OTHER"


async def test_cancelled_call(anyio_backend, work, registry_of, recorder):
    """A cancelled call's span says so."""
    source = CancelSource()

    async def body(_args, _exec):
        source.abort("enough")
        return "done"

    registry = registry_of(work(body), recorder.plugin())
    await registry.execute(ToolCall("c1", "work", signal=source.signal))
    attributes = recorder.spans[0].attributes
    assert (attributes["error.type"], attributes["dshhooks.tool.outcome"]) == ("ABORTED", "aborted")


async def test_cancelled_caller(anyio_backend, work, registry_of, recorder):
    """A span is ended when the caller's own task is cancelled, too."""
    started = anyio.Event()

    async def body(_args, _exec):
        started.set()
        await anyio.sleep_forever()

    registry = registry_of(work(body), recorder.plugin())
    async with anyio.create_task_group() as group:
        group.start_soon(registry.call, "work")
        await started.wait()
        group.cancel_scope.cancel()
    assert recorder.spans[0].attributes["dshhooks.tool.outcome"] == "aborted"


async def test_exception_of_an_inner_wrapper(anyio_backend, work, registry_of, wrap, recorder):
    """A wrapper that raises ends the span with its class, or its code if it has one."""

    async def broken(_execution, _call_next):
        raise RuntimeError("oops")

    await registry_of(work(), recorder.plugin(), wrap(broken)).call("work")
    assert recorder.spans[0].attributes["error.type"] == "RuntimeError"


async def test_arguments_when_asked_for(anyio_backend, work, registry_of, recorder):
    """``record_arguments`` puts the arguments on the span, as JSON."""
    arguments = {"path": "a.txt", "lines": [1, 2]}
    await registry_of(work(), recorder.plugin(record_arguments=True)).call("work", arguments)
    assert json.loads(recorder.spans[0].attributes["gen_ai.tool.call.arguments"]) == arguments


async def test_arguments_that_have_no_text(anyio_backend, work, registry_of, recorder):
    """Arguments too deep to write down do not break the call."""
    deep = []
    for _ in range(100_000):
        deep = [deep]
    result = await registry_of(work(), recorder.plugin(record_arguments=True)).call("work", {"deep": deep})
    assert not result.is_error
    assert recorder.spans[0].attributes["gen_ai.tool.call.arguments"] == "<not shown: RecursionError>"


async def test_names_no_exporter_could_write(anyio_backend, work, registry_of, recorder):
    """Lone surrogates a model sent are replaced."""
    registry = registry_of(work(), recorder.plugin())
    await registry.execute(ToolCall("call\ud800", "wo\udfffrk"))
    (span,) = recorder.spans
    assert (span.name, span.attributes["gen_ai.tool.call.id"]) == ("execute_tool wo?rk", "call?")


async def test_body_runs_inside_the_span(anyio_backend, work, registry_of, recorder):
    """What the body traces is a child of the call's span; afterwards the span of before is current again."""
    tracer = recorder.tracers.get_tracer("test")

    async def body(_args, _exec):
        with tracer.start_as_current_span("child"):
            return "done"

    with tracer.start_as_current_span("parent") as parent:
        await registry_of(work(body), recorder.plugin()).call("work")
        assert trace.get_current_span() is parent
    child, tool, parent = recorder.spans
    assert [span.name for span in (child, tool, parent)] == ["child", "execute_tool work", "parent"]
    assert child.parent.span_id == tool.context.span_id
    assert tool.parent.span_id == parent.context.span_id


async def test_thread_runs_inside_the_span(anyio_backend, work, registry_of, recorder):
    """A plain function in a worker thread runs inside the span, too."""
    seen = []

    def body(_args, _exec):
        seen.append(trace.get_current_span().get_span_context().span_id)
        return "done"

    await registry_of(work(body), recorder.plugin()).call("work")
    assert seen == [recorder.spans[0].context.span_id]


async def test_calls_side_by_side(anyio_backend, work, registry_of, recorder):
    """Calls that overlap have spans of their own, none the other's child."""
    both = anyio.Event()
    running = []

    async def body(_args, _exec):
        running.append(1)
        if len(running) == 2:
            both.set()
        await both.wait()
        return "done"

    registry = registry_of(work(body), recorder.plugin())
    async with anyio.create_task_group() as group:
        group.start_soon(registry.call, "work")
        group.start_soon(registry.call, "work")
    assert [span.parent for span in recorder.spans] == [None, None]


async def test_duration(anyio_backend, work, registry_of, recorder):
    """A dispatch is recorded in ``gen_ai.execute_tool.duration``, in seconds, by tool and outcome."""
    await registry_of(work(), recorder.plugin()).call("work")
    (point,) = recorder.points("gen_ai.execute_tool.duration")
    assert (point.count, 0 < point.sum < 60) == (1, True)
    assert point.explicit_bounds[:2] == (0.01, 0.02)
    assert dict(point.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "work",
        "dshhooks.tool.outcome": "ok",
    }


async def test_attempts_of_a_retry(anyio_backend, work, registry_of, wrap, recorder):
    """Inside a retry plugin every attempt is a span and a duration, and the call is counted once."""

    async def twice(_execution, call_next):
        await call_next()
        return await call_next()

    await registry_of(work(), wrap(twice), recorder.plugin()).call("work")
    assert len(recorder.spans) == 2
    assert recorder.points("gen_ai.execute_tool.duration")[0].count == 2
    assert recorder.points("dshhooks.tool.calls")[0].value == 1


async def test_denial(anyio_backend, work, registry_of, recorder):
    """A denial is counted; it is no execution, so it has neither span nor duration."""

    class Policy:
        @hookimpl
        def tools_pre_execute(self):
            return Deny("no")

    await registry_of(work(), recorder.plugin(), Policy()).call("work")
    (point,) = recorder.points("dshhooks.tool.calls")
    assert (point.value, dict(point.attributes)) == (
        1, {"gen_ai.tool.name": "work", "dshhooks.tool.outcome": "denied"},
    )  # fmt: skip
    assert (recorder.spans, recorder.points("gen_ai.execute_tool.duration")) == ((), [])


async def test_made_up_names(anyio_backend, work, registry_of, recorder):
    """Measurements have a bounded set of tool names, whatever a model makes up; spans keep the name."""
    registry = registry_of(work(), recorder.plugin())
    for number in range(20):
        await registry.call(f"made-up-{number}")
    for metric in ("gen_ai.execute_tool.duration", "dshhooks.tool.calls"):
        (point,) = recorder.points(metric)
        assert point.attributes["gen_ai.tool.name"] == "(unknown)"
    assert recorder.spans[19].attributes["gen_ai.tool.name"] == "made-up-19"


@pytest.mark.parametrize("moment", ["on_start", "on_end"])
async def test_broken_processor(anyio_backend, work, registry_of, recorder, caplog, moment):
    """A span processor that raises loses a measurement, says so, and does not touch the call."""

    def broken(*_args, **_more):
        raise RuntimeError("the collector is gone")

    recorder.tracers.add_span_processor(type("Broken", (SpanProcessor,), {moment: broken})())
    metrics = recorder.plugin()
    with caplog.at_level(logging.WARNING, "dshhooks.metrics"):
        result = await registry_of(work(), metrics).call("work")
    assert (result.value, metrics.summary()[0].ok) == ("done", 1)
    assert "the collector is gone" in caplog.text
    assert trace.get_current_span() is trace.INVALID_SPAN
