"""The event table: names, subjects, and which of two names excludes the other."""

from __future__ import annotations

import pytest

from dshhooks.bridge.dialects import DIALECTS, UNSUPPORTED_EVENTS
from dshhooks.bridge.errors import UnknownEventError
from dshhooks.bridge.events import EVENTS, accepted_names, given_name, resolve, subject_of
from hookspecs.errors import HarnessError
from tests.bridge.kit import commands, group, home_and_project, open_file

BOTH = {"hooks": {"PostToolUse": [group("after")], "PostToolUseFailure": [group("failure")]}}
BASH = {"tool_name": "Bash"}


@pytest.mark.parametrize("event", EVENTS.values(), ids=lambda event: event.name)
def test_every_spelling_is_the_event(event):
    """Case 1: every spelling of every dialect gives the canonical name, which resolves to itself."""
    assert resolve(event.name) is event
    for dialect in DIALECTS:
        for spelling in event.spellings[dialect]:
            assert resolve(spelling) is event


def test_no_event_has_the_name_of_another():
    """Case 1: a name belongs to one event only."""
    names = [name for event in EVENTS.values() for name in event.names]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["pretooluse", "PRETOOLUSE", "", "PreToolUse ", "PermissionRequest"])
def test_an_unknown_event_is_refused_by_name(tmp_path, name):
    """Case 2: names have a case; the request fails, names what it was given, and nothing runs."""
    configuration = open_file(tmp_path / "settings.json", {"hooks": {"PreToolUse": [group("a")]}})
    with pytest.raises(UnknownEventError, match=repr(name)) as raised:
        commands(configuration, name)
    assert raised.value.code == "UNKNOWN_EVENT"
    assert isinstance(raised.value, HarnessError)
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize(
    ("slip", "right"),
    [("PreToolUses", "PreToolUse"), ("STOP", "Stop"), ("Stap", "Stop"), ("Stp", "Stop"), ("Stoop", "Stop"),
     ("notize", "notice"), ("turn:stap", "turn:stop")],
)  # fmt: skip
def test_an_unknown_event_brings_a_suggestion(slip, right):
    """A slip of case, or of one letter in however short a name, is answered with the right name."""
    with pytest.raises(UnknownEventError, match=f"did you mean '{right}'"):
        resolve(slip)


def test_a_name_that_is_like_none_brings_none():
    """A wrong suggestion would be worse: the message has the canonical names instead."""
    with pytest.raises(UnknownEventError, match="canonical names: session:start, session:end"):
        resolve("Spot")


def test_what_is_no_text_is_no_event():
    """A number or null is refused like any other wrong name."""
    with pytest.raises(UnknownEventError, match="None"):
        resolve(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dispatched", "expected"),
    [("PostToolUse", ["after"]), ("PostToolUseFailure", ["failure"]), ("tool:after", ["after", "failure"])],
)
def test_names_of_one_dialect_exclude_each_other(tmp_path, dispatched, expected):
    """Cases 3, 4, 5: a dispatch reaches the name it used; the canonical name reaches both, in file order."""
    assert commands(open_file(tmp_path / "settings.json", BOTH), dispatched, BASH) == expected


def test_names_exclude_in_file_order(tmp_path):
    """Case 5: the file's order counts, not the table's."""
    data = {"hooks": dict(reversed(BOTH["hooks"].items()))}
    assert commands(open_file(tmp_path / "settings.json", data), "tool:after", BASH) == ["failure", "after"]


@pytest.mark.parametrize("dispatched", ["PostToolUse", "PostToolUseFailure", "tool:after", "tool.execute.after"])
def test_a_native_group_always_hears_it(tmp_path, dispatched):
    """Case 6: a group under the canonical name runs whatever name was dispatched."""
    data = {"version": 1, "events": {"tool:after": [group("native")]}}
    assert commands(open_file(tmp_path / "dsh-hooks.json", data), dispatched, BASH) == ["native"]


def test_other_dialects_are_not_excluded(tmp_path):
    """A failing tool reaches Codex and opencode groups, which have no name for a failure of their own."""
    configuration = home_and_project(tmp_path, {
        "home/.claude/settings.json": BOTH,
        "home/.codex/hooks.json": {"hooks": {"PostToolUse": [group("codex")]}},
        "home/.config/opencode/opencode.json": {"hooks": {"tool.execute.after": [group("opencode")]}},
    })  # fmt: skip
    assert commands(configuration, "PostToolUseFailure", BASH) == ["failure", "codex", "opencode"]
    assert commands(configuration, "tool.execute.after", BASH) == ["after", "failure", "codex", "opencode"]


def test_the_first_member_of_the_list_is_the_subject():
    """Case 9: tool_name, then tool, then name."""
    event = EVENTS["tool:before"]
    assert subject_of(event, {"name": "c", "tool": "b", "tool_name": "a"}) == "a"
    assert subject_of(event, {"name": "c", "tool": "b"}) == "b"
    assert subject_of(event, {"name": "c"}) == "c"
    assert subject_of(event, {}) == ""
    assert subject_of(event, {"tool_name": 3, "tool": "b"}) == "b"


def test_an_explicit_subject_wins(tmp_path):
    """Case 10: an explicit subject wins over the payload, also the empty one, which fits only match-all groups."""
    data = {"hooks": {"PreToolUse": [group("named", matcher="Bash"), group("all", matcher="*"), group("bare")]}}
    configuration = open_file(tmp_path / "settings.json", data)
    assert commands(configuration, "PreToolUse", BASH, subject="") == ["all", "bare"]
    assert commands(configuration, "PreToolUse", BASH, subject="Edit") == ["all", "bare"]
    assert commands(configuration, "PreToolUse", BASH) == ["named", "all", "bare"]


def test_the_end_of_a_session_is_compared_by_source(tmp_path):
    """Case 11: without a reason the source is the subject; with one, the reason."""
    data = {"hooks": {"SessionEnd": [group("logout", matcher="logout")]}}
    configuration = open_file(tmp_path / "settings.json", data)
    assert commands(configuration, "SessionEnd", {"source": "logout"}) == ["logout"]
    assert commands(configuration, "SessionEnd", {"source": "logout", "reason": "clear"}) == []


def test_a_hook_is_told_the_name_it_was_configured_under():
    """Its own spelling if its dialect has several; the dispatch's if it is one of them; else the dialect's first."""
    after = EVENTS["tool:after"]
    assert given_name(after, "claude", "PostToolUseFailure", "tool:after") == "PostToolUseFailure"
    assert given_name(after, "claude", "tool:after", "PostToolUseFailure") == "PostToolUseFailure"
    assert given_name(after, "claude", "tool:after", "tool:after") == "PostToolUse"
    assert given_name(after, "codex", "PostToolUse", "PostToolUseFailure") == "PostToolUse"
    assert given_name(after, "native", "tool:after", "PostToolUse") == "tool:after"


def test_answers_may_use_every_name_of_the_event():
    """The name given, the dialect's other names of the event, the canonical one; never the excluded one."""
    before, after = EVENTS["tool:before"], EVENTS["tool:after"]
    assert accepted_names(before, "claude", "PreToolUse", "tool:before") == {"PreToolUse", "tool:before"}
    assert "PostToolUse" in accepted_names(after, "codex", "PostToolUse", "PostToolUseFailure")
    assert "PostToolUse" not in accepted_names(after, "claude", "PostToolUseFailure", "PostToolUseFailure")
    assert "PreToolUse" in accepted_names(before, "native", "tool:before", "tool:before")


def test_no_event_is_both_run_and_unsupported():
    """A dialect's list of events we do not run has none that we do."""
    for dialect in DIALECTS:
        own = {name for event in EVENTS.values() for name in event.spellings[dialect]}
        assert not own & UNSUPPORTED_EVENTS[dialect]
