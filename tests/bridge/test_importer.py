"""Files of other programs become native ones; what is lost is told, and nothing runs for more than it was meant for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.bridge.foreign import CLIENTS
from dshhooks.bridge.importer import import_document
from tests.bridge.kit import parsed

GEMINI = {
    "theme": "dark",
    "hooks": {
        "BeforeTool": [
            {"matcher": "write_file|replace", "sequential": True,
             "hooks": [{"name": "guard", "type": "command", "command": "$GEMINI_PROJECT_DIR/guard", "timeout": 5000}]},
            {"matcher": "run_.*", "hooks": [{"type": "command", "command": "b"}]},
            {"matcher": "mcp_.*", "hooks": [{"type": "command", "command": "c"}]},
            {"matcher": ".*", "hooks": [{"type": "command", "command": "d", "timeout": 1500}]},
        ],
        "AfterAgent": [{"hooks": [{"type": "command", "command": "e"}]}],
        "AfterModel": [{"hooks": [{"type": "command", "command": "f"}]}],
    },
}  # fmt: skip
CURSOR = {
    "version": 1,
    "hooks": {
        "beforeShellExecution": [{"command": "a", "failClosed": True}, {"command": "b", "matcher": "curl"}],
        "afterFileEdit": [{"command": "c"}],
        "beforeMCPExecution": [{"command": "d"}],
        "stop": [{"command": "e", "loop_limit": 3}],
    },
}
COPILOT = {
    "version": 1,
    "hooks": {
        "preToolUse": [
            {"type": "command", "bash": "a", "powershell": "b", "cwd": "x", "env": {"A": "1"}, "timeoutSec": 5}
        ],
        "PostToolUse": [{"type": "command", "bash": "c", "matcher": "edit|view"}],
        "errorOccurred": [{"type": "command", "bash": "d"}],
    },
}


def groups(data, client):
    """What was imported: (event, matcher, hooks)."""
    events = import_document(data, client).document["events"]
    return [(event, group.get("matcher"), group["hooks"]) for event, many in events.items() for group in many]


def lost(data, client):
    """Where something was lost."""
    return [note.path for note in import_document(data, client).lost if note.level == "warning"]


def test_gemini():
    """Times become seconds, tools keep their name and get ours, the default time is that of Gemini."""
    assert groups(GEMINI, "gemini") == [
        ("tool:before", "write_file|Write|replace|Edit",
         [{"type": "command", "command": "${CLAUDE_PROJECT_DIR}/guard", "timeout": 5}]),
        ("tool:before", "run_shell_command|Bash", [{"type": "command", "command": "b", "timeout": 60}]),
        ("tool:before", None, [{"type": "command", "command": "d", "timeout": 1.5}]),
        ("turn:stop", None, [{"type": "command", "command": "e", "timeout": 60}]),
    ]  # fmt: skip
    assert lost(GEMINI, "gemini") == ["/hooks/BeforeTool/2/matcher", "/hooks/AfterModel", ""]


def test_cursor():
    """Flat hooks become groups; an event about some tools gets a matcher; a matcher about commands cannot be kept."""
    assert groups(CURSOR, "cursor") == [
        ("tool:before", "Shell|Bash", [{"type": "command", "command": "a", "failClosed": True}]),
        ("tool:after", "Write|Edit", [{"type": "command", "command": "c"}]),
        ("turn:stop", None, [{"type": "command", "command": "e"}]),
    ]
    assert "/hooks/beforeShellExecution/1/matcher" in lost(CURSOR, "cursor")
    assert "/hooks/stop/0/loop_limit" in lost(CURSOR, "cursor")


def test_copilot():
    """Both spellings of events, commands by shell, folder, variables."""
    assert groups(COPILOT, "copilot") == [
        ("tool:before", None,
         [{"type": "command", "bash": "a", "powershell": "b", "cwd": "x", "env": {"A": "1"}, "timeout": 5}]),
        ("tool:after", "edit|Edit|view|Read", [{"type": "command", "bash": "c", "timeout": 30}]),
    ]  # fmt: skip
    assert lost(COPILOT, "copilot") == ["/hooks/errorOccurred", ""]


@pytest.mark.parametrize(("data", "client"), [(GEMINI, "gemini"), (CURSOR, "cursor"), (COPILOT, "copilot")])
def test_what_comes_out_is_a_native_file(data, client):
    """Without errors, and with every hook that was imported."""
    imported = import_document(data, client)
    understood, diagnostics = parsed(imported.document, "native", "seed")
    assert [note for note in diagnostics if note.level == "error"] == []
    assert len(understood.groups) == len(groups(data, client))


def test_answers_that_are_not_read_are_told():
    """A guard that answers in its own program's words would fail open without a sound."""
    assert any("answers" in note.message for note in import_document(CURSOR, "cursor").lost)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["hooks", "command", "matcher", "timeout", "type", "env", "bash"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.sampled_from(sorted(CLIENTS)), st.data())
def test_nothing_makes_it_fail(client, data):
    """Whatever stands where hooks should be."""
    events = st.dictionaries(st.sampled_from([*CLIENTS[client].events, "x"]), json_values, max_size=3)
    document = data.draw(json_values | st.fixed_dictionaries({"hooks": events}))
    imported = import_document(document, client)
    parsed(imported.document, "native", "seed")
