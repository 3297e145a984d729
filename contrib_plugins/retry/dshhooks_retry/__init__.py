"""Repeats failed calls of tools that may run twice."""

from __future__ import annotations

from dshhooks_retry.options import NEVER_RETRIED, RetryOptions
from dshhooks_retry.plugin import Retry

__all__ = ["NEVER_RETRIED", "Retry", "RetryOptions"]
