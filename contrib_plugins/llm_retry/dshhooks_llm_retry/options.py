"""The options of the plugin: the table ``[plugin.llm-retry]``."""

from __future__ import annotations

import math
from typing import Any, Final

from attrs import Attribute, field, frozen

__all__ = ["TRANSIENT", "RequestRetryOptions"]

TRANSIENT: Final = ("EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT")
"""Codes of failures that often pass by themselves."""


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _count(_options: object, attribute: Attribute[Any], value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{attribute.name} must be a whole number of at least 0, not {value!r}")


def _seconds(_options: object, attribute: Attribute[Any], value: float) -> None:
    if not _number(value) or value <= 0:
        raise ValueError(f"{attribute.name} must be a positive number of seconds, not {value!r}")


def _max_delay(options: RequestRetryOptions, attribute: Attribute[Any], value: float) -> None:
    _seconds(options, attribute, value)
    if value < options.initial_delay:
        raise ValueError(f"{attribute.name} must be at least initial_delay ({options.initial_delay:g}), not {value:g}")


def _ratio(_options: object, attribute: Attribute[Any], value: float) -> None:
    if not _number(value) or not 0 <= value <= 1:
        raise ValueError(f"{attribute.name} must be a number from 0 to 1, not {value!r}")


def _codes(_options: object, attribute: Attribute[Any], value: tuple[str, ...]) -> None:
    # A str is a sequence too, and would be read as a list of letters.
    if not isinstance(value, (tuple, list)) or not value or not all(isinstance(code, str) and code for code in value):
        raise ValueError(f"{attribute.name} must be a list of one or more non-empty strings, not {value!r}")
    if len(set(value)) != len(value):
        raise ValueError(f"{attribute.name} must not name anything twice: {list(value)!r}")


@frozen(kw_only=True)
class RequestRetryOptions:
    """Which failures are tried again, how often, and how long it waits before (spec/core.md 9).

    Wait ``k`` takes ``initial_delay * 2 ** (k - 1)`` seconds but no more than ``max_delay``, give or take
    ``jitter_ratio`` of it; a provider's own wish is followed to the letter instead.

    Args:
        max_transient_retries: Failures with these codes that are tried again, one after the other, without a request
            that worked in between; 0 switches the plugin off.
        initial_delay: Seconds before the first retry.
        max_delay: Seconds a wait takes at most; a provider that wants longer is not waited for.
        jitter_ratio: From 0 to 1, so that many agents do not come back at once.
        retryable_codes: Codes worth another request.
    """

    max_transient_retries: int = field(default=2, validator=_count)
    initial_delay: float = field(default=0.5, validator=_seconds)
    max_delay: float = field(default=10.0, validator=_max_delay)
    jitter_ratio: float = field(default=0.1, validator=_ratio)
    retryable_codes: tuple[str, ...] = field(default=TRANSIENT, validator=_codes)
