"""Asks the model again after failures that may pass."""

from __future__ import annotations

from dshhooks_llm_retry.options import RequestRetryOptions
from dshhooks_llm_retry.plugin import RequestRetry

__all__ = ["RequestRetry", "RequestRetryOptions"]
