"""A harmless call as each client announces it, recorded from the client (cases/clients/observed.md 3)."""

from __future__ import annotations

import json
from typing import Any, Final

__all__ = ["harmless_call"]

_SESSION: Final = "00000000-0000-4000-8000-000000000000"
_INPUT: Final = {"command": "echo hi", "description": "mock call"}
_CLAUDE: Final[dict[str, Any]] = {
    "session_id": _SESSION, "transcript_path": f"~/.claude/projects/-w/{_SESSION}.jsonl", "cwd": "/w",
    "prompt_id": _SESSION, "permission_mode": "default", "effort": {"level": "high"}, "hook_event_name": "PreToolUse",
    "tool_name": "Bash", "tool_input": _INPUT, "tool_use_id": "toolu_mock000001",
}  # fmt: skip

_CALLS: Final[dict[str, dict[str, Any]]] = {
    "claude": _CLAUDE,
    "codex": {
        "session_id": _SESSION, "turn_id": _SESSION, "transcript_path": f"~/.codex/sessions/rollout-{_SESSION}.jsonl",
        "cwd": "/w", "hook_event_name": "PreToolUse", "model": "mock-model", "permission_mode": "bypassPermissions",
        "tool_name": "Bash", "tool_input": {"command": "echo hi"}, "tool_use_id": "call_mock000001",
    },
    "gemini": {
        "session_id": _SESSION, "transcript_path": "~/.gemini/tmp/work/chats/session.jsonl", "cwd": "/w",
        "hook_event_name": "BeforeTool", "timestamp": "2026-11-29T19:38:25.153Z", "tool_name": "run_shell_command",
        "tool_input": {**_INPUT, "is_background": False},
    },
    "qwen": {
        "session_id": _SESSION, "transcript_path": f"~/.qwen/projects/-w/chats/{_SESSION}.jsonl", "cwd": "/w",
        "hook_event_name": "PreToolUse", "timestamp": "2026-11-29T19:44:57.129Z", "permission_mode": "yolo",
        "prompt_id": f"{_SESSION}########0", "tool_name": "run_shell_command",
        "tool_input": {**_INPUT, "is_background": False}, "tool_use_id": "toolu_1795981497124_ccpw2mppe",
        "tool_call_id": "call_mock000001",
    },
    "copilot": {
        "hook_event_name": "PreToolUse", "session_id": _SESSION, "timestamp": "2026-11-29T19:54:05.438Z", "cwd": "/w",
        "tool_name": "Bash", "tool_input": _INPUT,
    },
    "copilot-native": {
        "sessionId": _SESSION, "timestamp": 1795982438823, "cwd": "/w", "toolName": "bash", "toolArgs": _INPUT,
    },
    "vibe": {
        "session_id": _SESSION, "transcript_path": f"~/.vibe/logs/session/unified/{_SESSION}", "cwd": "/w",
        "parent_session_id": None, "hook_event_name": "pre_tool", "tool_name": "file_system.bash",
        "tool_call_id": "call_mock000001", "tool_input": {"command": "echo hi"},
    },
    "openhands": {
        "event_type": "PreToolUse", "tool_name": "terminal", "tool_input": {"command": "echo hi"},
        "tool_response": None, "message": None, "session_id": "s1", "working_dir": "/w", "metadata": {},
    },
    # What our own plugin file writes; opencode itself has no hook commands.
    "opencode": {
        "hook_event_name": "tool.execute.before", "session_id": "ses_mock", "cwd": "/w", "tool_name": "bash",
        "tool_input": _INPUT, "tool_use_id": "call_mock000001",
    },
}  # fmt: skip


def harmless_call(client: str, cwd: str) -> bytes:
    """Return what the client would write to stdin before it runs ``echo hi`` in a folder."""
    call = {name: cwd if name in ("cwd", "working_dir") else value for name, value in _CALLS[client].items()}
    return json.dumps(call).encode()
