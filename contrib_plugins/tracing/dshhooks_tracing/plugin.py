"""The hook: a span for each operation, current while its work runs, ended exactly once, changing nothing."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any, Final

from opentelemetry import context, trace
from opentelemetry.trace import Span, TracerProvider

from dshhooks import hookimpl
from dshhooks_tracing import capture
from dshhooks_tracing.attributes import Opening, closing, opening
from dshhooks_tracing.options import TracingOptions
from dshhooks_tracing.outcome import end_as
from dshhooks_tracing.tally import current_tally, enter_tally

__all__ = ["Tracing"]

TRACER: Final = "dshhooks.tracing"

_DEFAULTS: Final = TracingOptions()
_log = logging.getLogger(TRACER)


class Tracing:
    """Traces what agents do.

    Every chosen operation is a span inside the span of the operation around it, and so is everything traced by the
    code that does the work. A fault of the SDK loses a span, is logged by its class, and goes nowhere.

    Args:
        options: The table ``[plugin.tracing]``.
        tracer_provider: An OpenTelemetry ``TracerProvider`` to use instead of the global one.
    """

    def __init__(self, options: TracingOptions = _DEFAULTS, *, tracer_provider: TracerProvider | None = None) -> None:
        self._options = options
        self._chosen = frozenset(options.operations)
        self._tracer = trace.get_tracer(TRACER, version("dshhooks-tracing"), tracer_provider)

    @hookimpl
    def operation(self, call: Any) -> Generator[None, Any, None]:
        """Begin a span with the operation, and end it with its result."""
        if call.operation not in self._chosen:
            return
        around = context.get_current()
        span = self._begin(call)
        if span is None:
            return
        try:
            result = yield
            self._end(span, result)
            # Not detach: a finish from another thread runs in a copy of the context, and a token is good in its own.
            context.attach(around)
        finally:
            # Here, for an operation that is dropped closes this generator, and its span must not stay open.
            with _contained(call.operation):
                span.end()

    def _begin(self, call: Any) -> Span | None:
        span = None
        with _contained(call.operation):
            how = opening(call, self._options)
            span = self._start(call.operation, how)
            context.attach(trace.set_span_in_context(span))
            self._follow(call.operation, how)
        with _contained(call.operation):
            if self._options.capture_content and span is not None and span.is_recording():
                span.set_attributes(capture.at_begin(call, self._options.max_content))
        return span

    def _start(self, operation: str, how: Opening) -> Span:
        outer = trace.get_current_span()
        if operation == "turn" and _is_over(outer):
            # An agent that outlives the request it was made in: that trace is complete, and the turn no part of it.
            apart, links = trace.set_span_in_context(trace.INVALID_SPAN), [trace.Link(outer.get_span_context())]
            return self._tracer.start_span(how.name, apart, how.kind, how.attributes, links)
        return self._tracer.start_span(how.name, kind=how.kind, attributes=how.attributes)

    def _follow(self, operation: str, how: Opening) -> None:
        if operation == "turn":
            enter_tally(self)
        elif operation == "inference" and (tally := current_tally(self)) is not None:
            tally.ask(how.attributes)

    def _end(self, span: Span, result: Any) -> None:
        with _contained(result.operation):
            if result.operation == "inference" and (tally := current_tally(self)) is not None:
                tally.add(result.payload)
            if not span.is_recording():
                return
        with _contained(result.operation):
            end_as(span, result)
        with _contained(result.operation):
            span.set_attributes(closing(result, current_tally(self)))
        with _contained(result.operation):
            if self._options.capture_content:
                span.set_attributes(capture.at_end(result, current_tally(self), self._options.max_content))


def _is_over(span: Span) -> bool:
    # A span that is not sampled, or another process's, never records; one of ours stops when it ends.
    return not span.is_recording() and not isinstance(span, trace.NonRecordingSpan)


@contextmanager
def _contained(operation: str) -> Iterator[None]:
    try:
        yield
    except Exception as exc:  # noqa: BLE001 - a tracer that breaks must not break the work it describes
        # By its class only: what it says may quote what was traced.
        _log.warning("the span of a %s is not complete: %s", operation, type(exc).__name__)
