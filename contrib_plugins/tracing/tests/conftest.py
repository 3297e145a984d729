"""Fixtures: both backends, an SDK that keeps everything in memory, and nobody leaves an operation unfinished."""

from __future__ import annotations

import pytest

pytest.importorskip("opentelemetry.sdk")

from dshhooks_tracing import OPERATIONS, Tracing, TracingOptions
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from dshhooks.operations import Around, Operation, OperationSet, compile_set, track_scopes


class Count(SpanProcessor):
    """Counts how often each span begins and ends."""

    def __init__(self):
        self.begun, self.ended = [], []

    def on_start(self, span, parent_context=None):
        self.begun.append(span.context.span_id)

    def on_end(self, span):
        self.ended.append(span.context.span_id)


class Recorder:
    """The SDK, and runners that are traced by it."""

    def __init__(self):
        self.exporter, self.count = InMemorySpanExporter(), Count()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.provider.add_span_processor(self.count)
        self.faults = []

    def plugin(self, **options):
        return Tracing(TracingOptions(**options), tracer_provider=self.provider)

    def all(self, **options):
        """The plugin, with every operation a span."""
        return self.plugin(operations=OPERATIONS, **options)

    def runner(self, plugin, guards=()):
        """A runner that tells the plugin of everything, and keeps what the plugin raises."""
        told = [Around(operation, plugin.operation) for operation in Operation]
        declared = OperationSet("v1" if guards else "", guards, told)
        return compile_set(declared, on_observer_error=lambda exc, _where: self.faults.append(exc))

    @property
    def spans(self):
        """Ended spans, in the order they ended."""
        return self.exporter.get_finished_spans()

    def named(self, name):
        """The one span of a name."""
        (span,) = [span for span in self.spans if span.name == name]
        return span

    def around(self, span):
        """The name of the span around a span, or ``None``."""
        if span.parent is None:
            return None
        return next(other.name for other in self.spans if other.context.span_id == span.parent.span_id)


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param


@pytest.fixture(scope="session")
def recorder_class():
    """For tests that need one for each of their examples."""
    return Recorder


@pytest.fixture
def recorder():
    recorder = Recorder()
    yield recorder
    recorder.provider.shutdown()
    assert sorted(recorder.count.ended) == sorted(recorder.count.begun), "a span was not ended, or twice"


@pytest.fixture(autouse=True)
def every_scope_is_finished():
    """Fail a test that started an operation and left it."""
    with track_scopes() as scopes:
        yield
        assert [scope for scope in scopes if not scope.finished] == []
