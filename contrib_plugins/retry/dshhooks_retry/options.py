"""The options of the plugin: the table ``[plugin.retry]``."""

from __future__ import annotations

import math
from typing import Any, Final

from attrs import Attribute, field, frozen

__all__ = ["NEVER_RETRIED", "RetryOptions"]

NEVER_RETRIED: Final = ("ABORTED", "ABORTED_BEFORE_DISPATCH", "INVALID_ARGS")
"""Codes no option makes retryable: somebody wanted the call to stop, or the same arguments would be refused again."""


def _attempts(_options: object, attribute: Attribute[Any], value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{attribute.name} must be a whole number of at least 1, not {value!r}")


def _seconds(_options: object, attribute: Attribute[Any], value: float) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0:
        raise ValueError(f"{attribute.name} must be a number of seconds, 0 or more, not {value!r}")


def _max_delay(options: RetryOptions, attribute: Attribute[Any], value: float) -> None:
    _seconds(options, attribute, value)
    if value < options.initial_delay:
        raise ValueError(f"{attribute.name} must be at least initial_delay ({options.initial_delay:g}), not {value:g}")


def _names(_options: object, attribute: Attribute[Any], value: tuple[str, ...]) -> None:
    # A str is a sequence too, and would be read as a list of letters.
    if not isinstance(value, (tuple, list)) or not all(isinstance(name, str) and name for name in value):
        raise ValueError(f"{attribute.name} must be a list of non-empty strings, not {value!r}")
    if len(set(value)) != len(value):
        raise ValueError(f"{attribute.name} must not name anything twice: {list(value)!r}")


def _codes(options: object, attribute: Attribute[Any], value: tuple[str, ...]) -> None:
    _names(options, attribute, value)
    for code in value:
        if code in NEVER_RETRIED:
            raise ValueError(f"{attribute.name} must not hold {code!r}: such a call is never made again")


@frozen(kw_only=True)
class RetryOptions:
    """What is tried again, how often, and how long it waits before.

    Pause ``k`` takes ``initial_delay * 2 ** (k - 1)`` seconds but no more than ``max_delay``, plus up to ``jitter``.

    Args:
        attempts: Calls of the tool at most, the first one counted; 1 switches the plugin off.
        initial_delay: Seconds before the second attempt.
        max_delay: Seconds a pause takes at most, without its jitter.
        jitter: Seconds added to each pause at most, at random, so that many agents do not come back at once.
        codes: Error codes worth another attempt.
        names: Error class names worth another attempt, for errors that share a code.
        tools: Tools that may run twice though they do not declare ``idempotent=True``.
    """

    attempts: int = field(default=3, validator=_attempts)
    initial_delay: float = field(default=0.5, validator=_seconds)
    max_delay: float = field(default=10.0, validator=_max_delay)
    jitter: float = field(default=0.25, validator=_seconds)
    codes: tuple[str, ...] = field(default=("TOOL_TIMEOUT",), validator=_codes)
    names: tuple[str, ...] = field(default=(), validator=_names)
    tools: tuple[str, ...] = field(default=(), validator=_names)
