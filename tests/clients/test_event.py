"""Reading what clients write: every recorded event, names and arguments, and what is no event (observed.md 3)."""

from __future__ import annotations

import json

import pytest

from dshhooks.bridge.events import EVENTS
from dshhooks.bridge.foreign import CLIENTS as FOREIGN
from dshhooks.clients.event import EventError, read_event, read_payload
from dshhooks.clients.recognise import client_of
from dshhooks.clients.table import CLIENTS
from tests.clients.kit import AFTER, BEFORE, PROMPT, SAMPLES, START, STOP, event_of, every_sample, sample

KINDS = {
    **dict.fromkeys(BEFORE.values(), "tool:before"),
    **dict.fromkeys(AFTER.values(), "tool:after"),
    **dict.fromkeys(PROMPT.values(), "prompt:submit"),
    **dict.fromkeys(STOP.values(), "turn:stop"),
    **dict.fromkeys(START.values(), "session:start"),
    "PostToolUseFailure": "tool:after", "SessionEnd": "session:end", "end": "session:end", "Notification": "notice",
    "PermissionRequest": "tool:permission", "perm": "tool:permission", "PreCompress": "compact:before",
    "BeforeModel": "other", "AfterModel": "other", "BeforeToolSelection": "other", "post_agent": "turn:stop",
}  # fmt: skip

# Copilot writes these two in its native form under Claude-style settings, too; nothing in them says which it is.
NATIVE_EITHER_WAY = {("copilot", "perm"), ("copilot", "Notification")}


@pytest.mark.parametrize(("client", "name"), every_sample())
def test_every_recorded_event_is_understood(client, name):
    """Kind, session and folder are read from each event that was recorded of a client."""
    event = event_of(client, name)
    assert event.kind == KINDS[name.partition(" ")[0]]
    assert event.session_id
    assert event.cwd == "/w"
    assert event.client is CLIENTS[client]


@pytest.mark.parametrize(("client", "name"), every_sample())
def test_every_client_is_recognised_by_its_payload(client, name):
    """`auto` needs no variables for what was recorded."""
    expected = "copilot-native" if (client, name) in NATIVE_EITHER_WAY else client
    assert client_of(SAMPLES[client][name], {}) == expected


@pytest.mark.parametrize(("client", "name"), every_sample())
def test_the_payload_outweighs_inherited_variables(client, name):
    """A client started inside Claude Code inherits CLAUDECODE and is not taken for it."""
    inherited = {"CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": "/w"}
    expected = "copilot-native" if (client, name) in NATIVE_EITHER_WAY else client
    assert client_of(SAMPLES[client][name], inherited) == expected


@pytest.mark.parametrize(
    ("variables", "client"),
    [
        ({"CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": "/w"}, "claude"),
        ({"GEMINI_PROJECT_DIR": "/w", "CLAUDE_PROJECT_DIR": "/w"}, "gemini"),
        ({"QWEN_PROJECT_DIR": "/w", "GEMINI_PROJECT_DIR": "/w", "CLAUDE_PROJECT_DIR": "/w"}, "qwen"),
        ({"COPILOT_CLI": "1", "CLAUDE_PROJECT_DIR": "/w"}, "copilot"),
        ({"OPENHANDS_EVENT_TYPE": "PreToolUse"}, "openhands"),
        ({}, None),
    ],
)
def test_variables_tell_what_a_bare_payload_does_not(variables, client):
    """The most special variable counts: qwen sets Gemini's and Claude's as well."""
    assert client_of({"hook_event_name": "PreToolUse", "tool_name": "X", "tool_input": {}}, variables) == client


@pytest.mark.parametrize("client", BEFORE)
def test_the_shell_is_called_bash_everywhere(client):
    """A policy asks for `bash` and `command`, whatever the client calls its shell."""
    event = event_of(client, BEFORE[client])
    assert event.tool == "bash"
    assert event.arguments["command"] in ("echo hi", "rm -rf /c/x")


@pytest.mark.parametrize("client", ["claude", "gemini", "qwen"])
def test_a_write_is_write_file_with_a_path(client):
    """The client's own key stays beside ours."""
    event = event_of(client, f"{BEFORE[client]} (write tool)")
    assert event.tool == "write_file"
    assert event.arguments == {"file_path": "/w/f.txt", "content": "hello\\n", "path": "/w/f.txt"}


@pytest.mark.parametrize(
    ("client", "name", "arguments"),
    [
        ("gemini", "run_shell_command", {"command": "git push -f", "cmd": "git status"}),
        ("qwen", "run_shell_command", {"command": "git push -f", "script": "git status"}),
        ("copilot", "bash", {"command": "git push -f", "cmd": None}),
        ("codex", "shell", {"command": ["git", "push", "-f"], "cmd": "git status"}),
        ("claude", "Write", {"path": "/safe", "file_path": "/etc/x", "content": ""}),
        ("copilot", "view", {"path": "/etc/x", "file_path": "/safe"}),
        ("openhands", "file_editor", {"command": "create", "path": "a", "file_text": "x", "content": "y"}),
    ],
)
def test_a_call_that_says_one_thing_in_two_ways_is_no_event(client, name, arguments):
    """Gemini, Qwen Code and Copilot pass on what a tool does not know: policy would judge the one they do not run."""
    with pytest.raises(EventError, match="contradict each other"):
        read_event(client, {**SAMPLES[client][BEFORE[client]], "tool_name": name, "tool_input": arguments}, {})


def test_one_thing_said_twice_alike_is_said_once():
    """Two names with one value leave nothing open."""
    event = event_of("gemini", "BeforeTool", tool_input={"command": "git status", "cmd": "git status"})
    assert event.arguments["command"] == "git status"


@pytest.mark.parametrize(
    ("client", "name"),
    [
        ("codex", "shell"), ("codex", "local_shell"), ("codex", "shell_command"), ("codex", "exec_command"),
        ("qwen", "monitor"), ("claude", "Monitor"), ("openhands", "execute_bash"), ("vibe", "bash"),
        ("vibe", "process.start"), ("claude", "PowerShell"), ("copilot", "powershell"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "arguments", [{"command": "git push -f"}, {"cmd": "git push -f"}, {"command": ["git", "push", "-f"]}], ids=str
)
def test_whatever_runs_a_command_is_bash_with_a_text(client, name, arguments):
    """Also what is no shell by its name, and where the command comes as words: policies look for text in text."""
    event = read_event(client, {**SAMPLES[client][BEFORE[client]], "tool_name": name, "tool_input": arguments}, {})
    assert (event.tool, event.arguments["command"]) == ("bash", "git push -f")


@pytest.mark.parametrize(
    ("client", "name", "arguments", "ours"),
    [
        ("vibe", "file_system.write_file", {"path": "a"}, "write_file"),
        ("vibe", "file_system.read_file", {"path": "a"}, "read_file"),
        ("vibe", "file_system.search_replace", {"file_path": "a"}, "edit_file"),
        ("qwen", "edit", {"file_path": "a"}, "edit_file"),
        ("gemini", "replace", {"file_path": "a"}, "edit_file"),
        ("copilot", "create", {"path": "a"}, "write_file"),
        ("openhands", "file_editor", {"command": "view", "path": "a"}, "read_file"),
        ("openhands", "file_editor", {"command": "create", "path": "a", "file_text": "x"}, "write_file"),
        ("openhands", "file_editor", {"command": "str_replace", "path": "a"}, "edit_file"),
        ("openhands", "file_editor", {"path": "a"}, "edit_file"),
    ],
)
def test_files_are_read_written_and_edited_by_one_name_each(client, name, arguments, ours):
    """A policy of files sees every client's tools, those that are several in one as well."""
    event = read_event(client, {**SAMPLES[client][BEFORE[client]], "tool_name": name, "tool_input": arguments}, {})
    assert (event.tool, event.arguments["path"]) == (ours, "a")


@pytest.mark.parametrize("name", ["mcp__files__bash", "mcp__x__Write"])
def test_mcp_tools_keep_their_names(name):
    """Whoever serves such a tool, it is not the client's own."""
    assert event_of("claude", "PreToolUse", tool_name=name).tool == name


def test_native_arguments_may_be_a_json_text():
    """Copilot's documentation has them so; recorded was an object."""
    event = event_of("copilot-native", "pre", toolArgs=json.dumps({"command": "ls"}))
    assert event.arguments == {"command": "ls"}


def test_qwens_call_id_is_the_models():
    """Its tool_use_id is made up by itself."""
    assert event_of("qwen", "PreToolUse").call_id == "call_mock000001"


@pytest.mark.parametrize(
    ("client", "name", "output", "error"),
    [
        ("claude", "PostToolUse", "hi", None),
        ("codex", "PostToolUse", "hi\n", None),
        ("copilot", "PostToolUse", "hi\n<shellId: 0 completed with exit code 0>", None),
        ("copilot-native", "post", "hi\n<shellId: 0 completed with exit code 0>", None),
        ("claude", "PostToolUseFailure", "", "Exit code 3\nout\nerr"),
    ],
)
def test_results_are_read_in_each_clients_form(client, name, output, error):
    """A text, or one of the clients' objects; a failure says why."""
    event = event_of(client, name)
    assert (event.output, event.error) == (output, error)


@pytest.mark.parametrize(
    ("client", "changes", "error"),
    [
        ("copilot", {"tool_result": {"result_type": "failure", "text_result_for_llm": "no"}}, "no"),
        ("vibe", {"tool_status": "error", "tool_error": "boom"}, "boom"),
        ("vibe", {"tool_status": "cancelled"}, "cancelled"),
        ("gemini", {"tool_response": {"error": {"message": "bad"}}}, "bad"),
    ],
)
def test_failures_are_failures_in_each_clients_form(client, changes, error):
    """A client without an event of its own for failures says so in the result."""
    assert event_of(client, AFTER[client], **changes).error == error


@pytest.mark.parametrize(
    "stdin",
    [b"", b" \n", b"[]", b"null", b'"x"', b"{", b'{"a":NaN}', b"\xff\xfe{}", b'{"a":1}{"b":2}', b"[" * 100_000],
    ids=["empty", "blank", "list", "null", "text", "half", "nan", "utf-16", "two", "deep"],
)
def test_what_is_not_one_json_object_is_refused(stdin):
    """Strict JSON, one object, UTF-8."""
    with pytest.raises(EventError):
        read_payload(stdin)


def test_a_byte_order_mark_is_not_in_the_way():
    """Some shells put one in front."""
    assert read_payload(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    ("client", "changes"),
    [
        ("claude", {"hook_event_name": "Banana"}),
        ("claude", {"hook_event_name": 7}),
        ("claude", {"tool_name": ""}),
        ("claude", {"tool_name": None}),
        ("claude", {"tool_input": "text"}),
        ("claude", {"tool_input": None}),
        ("gemini", {"hook_event_name": "PreToolUse"}),
    ],
)
def test_an_event_that_lacks_what_it_must_have_is_refused(client, changes):
    """No guess is made about a call nobody can see."""
    with pytest.raises(EventError):
        read_event(client, sample(client, BEFORE[client], **changes), {})


def test_the_table_agrees_with_the_bridge_about_events():
    """Both directions call the same events the same: the bridge's files, and these payloads."""
    for client in ("claude", "codex"):
        for event in EVENTS.values():
            for word in event.spellings[client]:
                assert CLIENTS[client].events[word] == event.name
    for word, kind in FOREIGN["gemini"].events.items():
        assert CLIENTS["gemini"].events[word] == kind
