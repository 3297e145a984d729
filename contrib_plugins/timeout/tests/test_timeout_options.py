"""The table ``[plugin.timeout]``: defaults and refusals."""

from __future__ import annotations

import math

import pytest
from dshhooks_timeout import MAX_SECONDS, Timeout, TimeoutOptions


def test_defaults():
    """Without options no tool gets a deadline it did not declare."""
    assert TimeoutOptions() == TimeoutOptions(default=None, tools={})
    assert isinstance(Timeout(), Timeout)


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, MAX_SECONDS + 0.001])
def test_impossible_default(seconds):
    """A default outside (0, MAX_SECONDS] is refused by name; 0 does not mean "no deadline"."""
    with pytest.raises(ValueError, match=r"^default must be more than 0 and at most 2147483.647 seconds"):
        TimeoutOptions(default=seconds)


@pytest.mark.parametrize("seconds", ["5", True, False, [1]])
def test_default_of_another_type(seconds):
    """A default that is no number is refused, and a bool is none."""
    with pytest.raises(TypeError, match=r"^default must be a number of seconds"):
        TimeoutOptions(default=seconds)


@pytest.mark.parametrize(("seconds", "kind"), [(0, ValueError), (False, TypeError), (None, TypeError)])
def test_impossible_override(seconds, kind):
    """An override that would switch the deadline off is refused, naming the tool."""
    with pytest.raises(kind, match=r"^tools\['bash'\] must be"):
        TimeoutOptions(tools={"read": 1.0, "bash": seconds})


def test_overrides_that_are_no_table():
    """``tools`` is a table."""
    with pytest.raises(TypeError, match=r"^tools must be a table"):
        TimeoutOptions(tools=["bash"])


def test_longest_deadline():
    """The longest deadline is 2**31 - 1 milliseconds."""
    assert TimeoutOptions(default=MAX_SECONDS).default == 2_147_483.647
