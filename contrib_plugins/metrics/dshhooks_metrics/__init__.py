"""What tools do, measured: OpenTelemetry, Prometheus, and a summary in memory."""

from __future__ import annotations

from dshhooks_metrics.options import MetricsOptions
from dshhooks_metrics.plugin import Metrics
from dshhooks_metrics.summary import Outcome, ToolSummary

__all__ = ["Metrics", "MetricsOptions", "Outcome", "ToolSummary"]
