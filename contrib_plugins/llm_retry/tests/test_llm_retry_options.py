"""The table ``[plugin.llm-retry]``: defaults and refusals."""

from __future__ import annotations

import math

import pytest
from dshhooks_llm_retry import RequestRetry, RequestRetryOptions


def test_defaults():
    """As the specification has them, in seconds."""
    options = RequestRetryOptions()
    assert (options.max_transient_retries, options.initial_delay, options.max_delay, options.jitter_ratio) == (
        2, 0.5, 10.0, 0.1,
    )  # fmt: skip
    assert options.retryable_codes == ("EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT")
    assert isinstance(RequestRetry(), RequestRetry)


@pytest.mark.parametrize("count", [-1, True, 1.5, "3", None])
def test_impossible_counts(count):
    """None is fewer than none."""
    with pytest.raises(ValueError, match=r"^max_transient_retries must be a whole number of at least 0"):
        RequestRetryOptions(max_transient_retries=count)


@pytest.mark.parametrize("name", ["initial_delay", "max_delay"])
@pytest.mark.parametrize("seconds", [0, -0.1, math.nan, math.inf, True, "1"])
def test_impossible_seconds(name, seconds):
    """Times are finite and positive."""
    with pytest.raises(ValueError, match=rf"^{name} must be a positive number of seconds"):
        RequestRetryOptions(**{name: seconds})


def test_longest_wait_below_the_first():
    """The longest wait is no shorter than the first."""
    with pytest.raises(ValueError, match=r"^max_delay must be at least initial_delay \(2\), not 1"):
        RequestRetryOptions(initial_delay=2.0, max_delay=1.0)
    assert RequestRetryOptions(initial_delay=2.0, max_delay=2.0).max_delay == 2.0


@pytest.mark.parametrize("ratio", [-0.1, 1.1, math.nan, True, "0"])
def test_impossible_ratios(ratio):
    """A share of the wait."""
    with pytest.raises(ValueError, match=r"^jitter_ratio must be a number from 0 to 1"):
        RequestRetryOptions(jitter_ratio=ratio)


@pytest.mark.parametrize("codes", [[], "SERVER", [""], [1], None])
def test_impossible_codes(codes):
    """At least one, and a string is no list."""
    with pytest.raises(ValueError, match=r"^retryable_codes must be a list of one or more non-empty strings"):
        RequestRetryOptions(retryable_codes=codes)


def test_codes_named_twice():
    """Nothing is named twice."""
    with pytest.raises(ValueError, match=r"^retryable_codes must not name anything twice"):
        RequestRetryOptions(retryable_codes=["SERVER", "SERVER"])
