"""The table ``[plugin.retry]``: defaults and refusals."""

from __future__ import annotations

import math

import pytest
from dshhooks_retry import Retry, RetryOptions


def test_defaults():
    """Without options only late calls are tried again, three times in all."""
    options = RetryOptions()
    assert (options.attempts, options.codes, options.names, options.tools) == (3, ("TOOL_TIMEOUT",), (), ())
    assert isinstance(Retry(), Retry)


@pytest.mark.parametrize("attempts", [0, -1, True, 1.5, "3"])
def test_impossible_attempts(attempts):
    """There is at least one attempt."""
    with pytest.raises(ValueError, match=r"^attempts must be a whole number of at least 1"):
        RetryOptions(attempts=attempts)


@pytest.mark.parametrize("name", ["initial_delay", "max_delay", "jitter"])
@pytest.mark.parametrize("seconds", [-0.1, math.nan, math.inf, True, "1"])
def test_impossible_seconds(name, seconds):
    """Times are finite and not negative."""
    with pytest.raises(ValueError, match=rf"^{name} must be a number of seconds"):
        RetryOptions(**{name: seconds})


def test_longest_pause_below_the_first():
    """The longest pause is no shorter than the first."""
    with pytest.raises(ValueError, match=r"^max_delay must be at least initial_delay \(2\), not 1"):
        RetryOptions(initial_delay=2.0, max_delay=1.0)


@pytest.mark.parametrize("name", ["codes", "names", "tools"])
@pytest.mark.parametrize("value", ["TOOL_TIMEOUT", [""], [1], None])
def test_impossible_names(name, value):
    """Lists hold non-empty strings, and a string is no list."""
    with pytest.raises(ValueError, match=rf"^{name} must be a list of non-empty strings"):
        RetryOptions(**{name: value})


def test_named_twice():
    """Nothing is named twice."""
    with pytest.raises(ValueError, match=r"^tools must not name anything twice"):
        RetryOptions(tools=["bash", "bash"])


@pytest.mark.parametrize("code", ["ABORTED", "ABORTED_BEFORE_DISPATCH", "INVALID_ARGS"])
def test_codes_that_are_never_retried(code):
    """A code that cannot be made retryable is refused where it is written."""
    with pytest.raises(ValueError, match=rf"^codes must not hold '{code}'"):
        RetryOptions(codes=["FLAKY", code])
