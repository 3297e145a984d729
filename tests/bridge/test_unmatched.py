"""Matchers that mean a tool by the name another program has for it, in a host where it is called something else."""

from __future__ import annotations

import pytest

from dshhooks.bridge.unmatched import unmatched
from tests.bridge.kit import group, open_file


def said(tmp_path, *matchers, event="PreToolUse", tool="bash", aliases=()):
    """What is said of a file with these matchers when a tool is called."""
    groups = [group(str(number), matcher=matcher) for number, matcher in enumerate(matchers)]
    configuration = open_file(tmp_path / "settings.json", {"hooks": {event: groups}}, dialect="claude")
    return list(unmatched(configuration, tool, aliases, "claude-hooks"))


@pytest.mark.parametrize("matcher", ["Bash", "Edit|Bash", "^Bash$"])
def test_a_matcher_that_misses_the_shell(tmp_path, matcher):
    """A guard that guards nothing is named, with the file, the pattern, and the line that mends it."""
    [text] = said(tmp_path, matcher)
    assert text.startswith(f"{tmp_path / 'settings.json'}#/hooks/PreToolUse/0")
    assert f"the matcher {matcher!r} means Bash" in text
    assert 'plugin.claude-hooks.tool_aliases.bash = ["Bash"]' in text


def test_results_are_matched_as_well(tmp_path):
    """The same before and after a call."""
    assert len(said(tmp_path, "Bash", event="PostToolUse")) == 1


@pytest.mark.parametrize("matcher", ["*", "", "bash", "Bash|bash", "(?i)bash", "Edit", "mcp__.*"])
def test_nothing_is_said_where_nothing_is_missed(tmp_path, matcher):
    """Neither of what fits both names, nor of other tools."""
    assert said(tmp_path, matcher) == []


def test_a_tool_that_claude_does_not_have(tmp_path):
    """There is no name a matcher could mean it by."""
    assert said(tmp_path, "Bash", "Read", tool="deploy") == []


def test_an_alias_mends_it(tmp_path):
    """Said no more once the names are told."""
    assert said(tmp_path, "Bash", aliases=["Bash"]) == []


def test_other_events_match_no_tools(tmp_path):
    """Whatever their matcher says."""
    assert said(tmp_path, "Bash", event="SessionStart") == []
