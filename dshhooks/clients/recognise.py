"""Which client is calling, and its own word for the event, from the payload and the environment.

Imports nothing: failing answers need this too. The payload is looked at first, because a client started inside
another one inherits that one's variables (cases/clients/observed.md 3).
"""

from __future__ import annotations

__all__ = ["VARIABLES", "client_of", "session_of", "word_of"]

# The variables that recognising a client looks at, and nothing else is taken along.
VARIABLES = (
    "CLAUDECODE", "CLAUDE_PROJECT_DIR", "COPILOT_CLI", "COPILOT_PROJECT_DIR", "GEMINI_PROJECT_DIR",
    "GEMINI_SESSION_ID", "OPENHANDS_EVENT_TYPE", "OPENHANDS_PROJECT_DIR", "QWEN_PROJECT_DIR",
)  # fmt: skip

_VIBE = ("pre_tool", "post_tool", "post_agent")
_GEMINI = ("BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel",
           "BeforeToolSelection", "PreCompress")  # fmt: skip
_CLAUDE = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "UserPromptSubmit", "SessionStart",
           "SessionEnd", "Stop", "SubagentStart", "SubagentStop", "Notification", "PreCompact")  # fmt: skip
_FOLDERS = ("claude", "codex", "gemini", "qwen", "copilot", "vibe")


def client_of(payload: object, environment: object) -> str | None:
    """Return the client's name, or ``None`` when nothing tells it.

    Args:
        payload: The parsed JSON, whatever it is.
        environment: A mapping of variables; those of :data:`VARIABLES` count.
    """
    if not isinstance(payload, dict):
        return None
    word = payload.get("hook_event_name")
    if "event_type" in payload and word is None:
        return "openhands"
    if "sessionId" in payload:
        return "copilot-native"
    if word in _VIBE:
        return "vibe"
    if word in _GEMINI:
        return "gemini"
    return _dialect(payload, environment if isinstance(environment, dict) else {}) if word in _CLAUDE else None


def _dialect(payload: dict[str, object], environment: dict[str, str]) -> str | None:
    """Tell the clients that use Claude's words apart."""
    if "turn_id" in payload:
        return "codex"
    folder = _folder(payload.get("transcript_path"))
    if folder is not None:
        return folder
    if "timestamp" in payload:
        if "permission_mode" in payload:
            return "qwen"
        return "gemini" if "GEMINI_PROJECT_DIR" in environment and "QWEN_PROJECT_DIR" not in environment else "copilot"
    if "prompt_id" in payload or "effort" in payload:
        return "claude"
    return _by_environment(environment)


def _folder(path: object) -> str | None:
    """Return the client in whose folder the transcript is: ``~/.codex/sessions/…``."""
    if isinstance(path, str):
        for name in _FOLDERS:
            if f"/.{name}/" in path:
                return name
    return None


def _by_environment(environment: dict[str, str]) -> str | None:
    # The most special first: qwen sets Gemini's and Claude's variables too, Gemini and Copilot set Claude's.
    if "OPENHANDS_EVENT_TYPE" in environment:
        return "openhands"
    if "QWEN_PROJECT_DIR" in environment:
        return "qwen"
    if "COPILOT_CLI" in environment or "COPILOT_PROJECT_DIR" in environment:
        return "copilot"
    if "GEMINI_PROJECT_DIR" in environment:
        return "gemini"
    return "claude" if "CLAUDE_PROJECT_DIR" in environment or "CLAUDECODE" in environment else None


def word_of(client: str, payload: object) -> str | None:
    """Return the client's own word for the event; ``None`` when the payload has none.

    Copilot's native events carry no name: their members tell them.
    """
    if not isinstance(payload, dict):
        return None
    for member in ("hook_event_name", "hookName", "event_type", "hookEventName"):
        word = payload.get(member)
        if isinstance(word, str) and word:
            return word
    return _by_members(payload) if client in ("copilot-native", "copilot") else None


def session_of(payload: object) -> str:
    """Return the client's id of the session; empty when the payload has none."""
    if isinstance(payload, dict):
        for member in ("session_id", "sessionId"):
            session = payload.get(member)
            if isinstance(session, str) and session:
                return session
    return ""


def _by_members(payload: dict[str, object]) -> str | None:
    if "toolName" in payload:
        return "postToolUse" if "toolResult" in payload else "preToolUse" if "toolArgs" in payload else None
    for member, word in (
        ("prompt", "userPromptSubmitted"),
        ("source", "sessionStart"),
        ("stopReason", "agentStop"),
        ("reason", "sessionEnd"),
        ("notification_type", "notification"),
    ):
        if member in payload:
            return word
    return None
