"""OpenTelemetry: one span and one duration for each dispatch, one count for each call.

Names follow the GenAI semantic conventions for tool execution (status: development); what they have no word for is
called ``dshhooks.tool.*``.
"""

from __future__ import annotations

import json
from typing import Any, Final

from dshhooks import ToolExecution
from dshhooks_metrics.summary import Outcome

__all__ = ["SECONDS", "Telemetry", "TelemetrySpan"]

SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
"""Upper bounds of the histograms' buckets, those the conventions give for durations of GenAI operations."""

_OPERATION: Final = {"gen_ai.operation.name": "execute_tool"}
_OUTCOME: Final = "dshhooks.tool.outcome"
# The conventions' word for an error that has no code.
_NO_CODE: Final = "_OTHER"


class Telemetry:
    """The tracer and the instruments.

    Args:
        record_arguments: Put arguments on spans.
        tracer_provider: Where spans go; ``None``: the global provider.
        meter_provider: Where measurements go; ``None``: the global provider.

    Raises:
        ImportError: The OpenTelemetry API is not installed.
    """

    def __init__(self, record_arguments: bool, tracer_provider: Any = None, meter_provider: Any = None) -> None:
        from opentelemetry import context, metrics, trace

        self._context, self._trace = context, trace
        self._record_arguments = record_arguments
        self._tracer = trace.get_tracer("dshhooks.metrics", tracer_provider=tracer_provider)
        meter = metrics.get_meter("dshhooks.metrics", meter_provider=meter_provider)
        self._duration = meter.create_histogram(
            "gen_ai.execute_tool.duration",
            unit="s",
            description="Duration of a tool's execution.",
            explicit_bucket_boundaries_advisory=SECONDS,
        )
        self._calls = meter.create_counter(
            "dshhooks.tool.calls", unit="{call}", description="Tool calls by their final outcome, denied ones included."
        )

    def begin(self, execution: ToolExecution) -> TelemetrySpan:
        """Start a span and make it the current one."""
        attributes = {
            **_OPERATION,
            "gen_ai.tool.name": _encodable(execution.name),
            "gen_ai.tool.call.id": _encodable(execution.call_id),
            "gen_ai.tool.type": "function",
        }
        if self._record_arguments:
            attributes["gen_ai.tool.call.arguments"] = _json(execution.arguments)
        span = self._tracer.start_span(f"execute_tool {attributes['gen_ai.tool.name']}", attributes=attributes)
        return TelemetrySpan(span, self._context.attach(self._trace.set_span_in_context(span)))

    def end(self, opened: TelemetrySpan, label: str, outcome: Outcome, code: str | None, seconds: float) -> None:
        """End a span and record its duration.

        Args:
            opened: What :meth:`begin` returned.
            label: The tool's name, from a bounded set.
            outcome: How this dispatch ended.
            code: The failure's code, if it has one.
            seconds: How long it took.
        """
        self._context.detach(opened.token)
        attributes = {_OUTCOME: str(outcome)}
        if outcome is not Outcome.OK:
            attributes["error.type"] = code or _NO_CODE
            # No description: messages often quote the arguments.
            opened.span.set_status(self._trace.StatusCode.ERROR)
        opened.span.set_attributes(attributes)
        # Recorded while the span is known, so that an exemplar can point at it.
        here = self._trace.set_span_in_context(opened.span)
        self._duration.record(seconds, {**_OPERATION, "gen_ai.tool.name": label, **attributes}, context=here)
        opened.span.end()

    def count(self, label: str, outcome: Outcome) -> None:
        """Count a call that is over."""
        self._calls.add(1, {"gen_ai.tool.name": label, _OUTCOME: str(outcome)})


class TelemetrySpan:
    """An open span and what undoes its being the current one."""

    __slots__ = ("span", "token")

    def __init__(self, span: Any, token: Any) -> None:
        self.span, self.token = span, token


def _encodable(text: str) -> str:
    # A lone surrogate of the model's would make an exporter lose the whole batch.
    return text.encode("utf-8", "replace").decode()


def _json(arguments: Any) -> str:
    try:
        return json.dumps(arguments)
    except (ValueError, RecursionError) as exc:
        return f"<not shown: {type(exc).__name__}>"
