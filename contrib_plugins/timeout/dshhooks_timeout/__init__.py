"""A deadline for tool calls: late ones fail with ``TOOL_TIMEOUT``."""

from __future__ import annotations

from dshhooks_timeout.options import MAX_SECONDS, TimeoutOptions
from dshhooks_timeout.plugin import Timeout, ToolTimeout

__all__ = ["MAX_SECONDS", "Timeout", "TimeoutOptions", "ToolTimeout"]
