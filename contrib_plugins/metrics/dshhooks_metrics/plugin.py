"""The hooks: time each dispatch, count each result, change nothing."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final
from weakref import WeakKeyDictionary

from attrs import define

from dshhooks import HarnessError, ToolExecution, ToolFailure, ToolResult, hookimpl
from dshhooks_metrics.options import MetricsOptions
from dshhooks_metrics.otel import Telemetry, TelemetrySpan
from dshhooks_metrics.prometheus import Endpoint
from dshhooks_metrics.summary import Outcome, Summary, ToolSummary, outcome_of

__all__ = ["Metrics"]

_DEFAULTS: Final = MetricsOptions()
_log = logging.getLogger("dshhooks.metrics")

CallNext = Callable[[], Awaitable[ToolResult]]


@define
class _Dispatched:
    """What is remembered of a call between its dispatch and its result."""

    label: str
    seconds: float = 0.0


class Metrics:
    """Measures tool calls.

    Every dispatch is an OpenTelemetry span and a duration; inside a retry plugin every attempt is. Every finished call,
    denied ones included, is counted once, by its final outcome. The result is the very object that came: measuring it
    changes nothing, and a fault of an exporter is logged and goes nowhere.

    Args:
        options: The table ``[plugin.metrics]``.
        tracer_provider: An OpenTelemetry ``TracerProvider`` to use instead of the global one.
        meter_provider: An OpenTelemetry ``MeterProvider`` to use instead of the global one.
    """

    def __init__(
        self, options: MetricsOptions = _DEFAULTS, *, tracer_provider: Any = None, meter_provider: Any = None
    ) -> None:
        self._port = options.prometheus_port
        self._summary = Summary(options.max_tools)
        self._open: WeakKeyDictionary[ToolExecution, _Dispatched] = WeakKeyDictionary()
        self._endpoint: Endpoint | None = None
        self._telemetry: Telemetry | None = None
        try:
            self._telemetry = Telemetry(options.record_arguments, tracer_provider, meter_provider)
        except ImportError:
            _log.debug("opentelemetry is not installed: there will be no spans (extra: otel)")

    # -- for people ------------------------------------------------------------------------------------------------

    def summary(self) -> list[ToolSummary]:
        """Return what every tool did so far, sorted by name."""
        return self._summary.lines()

    @property
    def prometheus_url(self) -> str | None:
        """Where the endpoint listens, or ``None`` while it does not."""
        return self._endpoint.url if self._endpoint is not None else None

    def start(self) -> None:
        """Start the endpoint if there is a ``prometheus_port``; registering the plugin does that.

        Raises:
            ConfigError: ``prometheus_client`` is not installed, or the port is taken.
        """
        if self._port is not None and self._endpoint is None:
            self._endpoint = Endpoint(self._port)

    def close(self) -> None:
        """Stop the endpoint; :meth:`start` may start it again."""
        endpoint, self._endpoint = self._endpoint, None
        if endpoint is not None:
            endpoint.close()

    # -- hooks -----------------------------------------------------------------------------------------------------

    @hookimpl
    def register_tools(self) -> None:
        """Start the endpoint; there are no tools here."""
        # Not in __init__: a plugin may be made only to be looked at.
        self.start()

    @hookimpl(wrapper=True)
    async def tools_execute(self, execution: ToolExecution, *, call_next: CallNext) -> ToolResult:
        """Time the dispatch."""
        call = self._open.get(execution)
        if call is None:
            call = self._open[execution] = _Dispatched(self._summary.label(execution))
        span = self._begin(execution)
        started = perf_counter()
        try:
            result = await call_next()
        except BaseException as exc:
            outcome = Outcome.FAILED if isinstance(exc, Exception) else Outcome.ABORTED
            self._end(span, call, outcome, _code_of(exc), perf_counter() - started)
            raise
        seconds = perf_counter() - started
        code = result.error.info.code if isinstance(result, ToolFailure) and result.error.info else None
        self._end(span, call, outcome_of(execution, result, dispatched=True), code, seconds)
        return result

    @hookimpl
    def tools_result(self, execution: ToolExecution, result: ToolResult) -> None:
        """Count the call. Only here is a denial seen: it is never dispatched."""
        call = self._open.pop(execution, None)
        outcome = outcome_of(execution, result, dispatched=call is not None)
        call = call or _Dispatched(self._summary.label(execution))
        self._summary.add(call.label, outcome, call.seconds)
        with _contained():
            if self._telemetry is not None:
                self._telemetry.count(call.label, outcome)
        with _contained():
            if self._endpoint is not None:
                self._endpoint.count(call.label, outcome)

    def _begin(self, execution: ToolExecution) -> TelemetrySpan | None:
        with _contained():
            return self._telemetry.begin(execution) if self._telemetry is not None else None
        return None

    def _end(
        self, span: TelemetrySpan | None, call: _Dispatched, outcome: Outcome, code: str | None, seconds: float
    ) -> None:
        call.seconds += seconds
        with _contained():
            if span is not None and self._telemetry is not None:
                self._telemetry.end(span, call.label, outcome, code, seconds)
        with _contained():
            if self._endpoint is not None:
                self._endpoint.time(call.label, seconds)


def _code_of(exc: BaseException) -> str:
    return exc.code if isinstance(exc, HarnessError) else type(exc).__name__


@contextmanager
def _contained() -> Iterator[None]:
    try:
        yield
    except Exception as exc:  # noqa: BLE001 - an exporter that breaks must not break the call it describes
        _log.warning("a measurement was lost: %s: %s", type(exc).__name__, exc)
