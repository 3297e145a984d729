"""What an agent does, as OpenTelemetry spans: turns, model requests, tools, waits."""

from __future__ import annotations

from dshhooks_tracing.options import OPERATIONS, TracingOptions
from dshhooks_tracing.plugin import Tracing

__all__ = ["OPERATIONS", "Tracing", "TracingOptions"]
