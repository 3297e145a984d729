"""The table ``[plugin.repeat-reminder]`` and its patterns."""

from __future__ import annotations

import re
import time

import pytest
from dshhooks_repeat_reminder import RepeatReminder, RepeatReminderOptions
from dshhooks_repeat_reminder.options import matches
from hypothesis import given
from hypothesis import strategies as st


def test_defaults():
    """The defaults are those of the specification."""
    assert RepeatReminderOptions() == RepeatReminderOptions(
        thresholds=(3, 5, 8), include=(), exclude=(), arguments_preview_chars=500
    )
    assert isinstance(RepeatReminder(), RepeatReminder)


@pytest.mark.parametrize("thresholds", [[], [1], [3, 0], [2.0], [True, 3], ["3"], 3, None])
def test_impossible_thresholds(thresholds):
    """There is at least one threshold, and each is a whole number of at least 2."""
    with pytest.raises(ValueError, match=r"^thresholds must be a non-empty list of whole numbers of at least 2"):
        RepeatReminderOptions(thresholds=thresholds)


def test_threshold_twice():
    """No threshold is given twice."""
    with pytest.raises(ValueError, match=r"^thresholds must not hold a number twice: \[3, 5, 3\]"):
        RepeatReminderOptions(thresholds=[3, 5, 3])


@pytest.mark.parametrize("name", ["include", "exclude"])
@pytest.mark.parametrize("patterns", ["bash", [""], [1], None])
def test_impossible_patterns(name, patterns):
    """Patterns are a list of non-empty strings, and a string is no list."""
    with pytest.raises(ValueError, match=rf"^{name} must be a list of non-empty patterns"):
        RepeatReminderOptions(**{name: patterns})


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "500"])
def test_impossible_preview(count):
    """A preview has at least one character."""
    with pytest.raises(ValueError, match=r"^arguments_preview_chars must be a whole number of at least 1"):
        RepeatReminderOptions(arguments_preview_chars=count)


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("bash", "bash", True),
        ("bash", "bash2", False),
        ("bash", "Bash", False),
        ("read_*", "read_file", True),
        ("read_*", "read_", True),
        ("read_*", "pre_read_file", False),
        ("*_file", "read_file", True),
        ("a*a", "a", False),
        ("a*b*c", "axxbxxc", True),
        ("a*b*c", "axxcxxb", False),
        ("*", "", True),
        ("a.c", "abc", False),
        ("a[bc]", "ab", False),
        ("a?c", "abc", False),
        ("**", "x\ny", True),
    ],
)
def test_pattern(pattern, name, fits):
    """``*`` stands for anything, the whole name has to fit, and every other character is literal."""
    assert matches(pattern, name) is fits


@given(st.text("ab*"), st.text("ab"))
def test_patterns_are_what_a_regular_expression_says(pattern, name):
    """A pattern fits where the same expression with ``.*`` does."""
    expression = ".*".join(re.escape(part) for part in pattern.split("*"))
    assert matches(pattern, name) is bool(re.fullmatch(expression, name, re.DOTALL))


def test_pattern_with_many_stars():
    """A long name and many stars take no time worth mentioning."""
    started = time.perf_counter()
    assert not matches("*a" * 50 + "*b", "a" * 10_000)
    assert time.perf_counter() - started < 1
