"""Would the tool have run? The table of cases/clients/observed.md 2 as a function; what it does not list counts as yes.

Written from the measurements and from nothing in ``dshhooks``: it is what the answers are judged by.
"""

from __future__ import annotations

import json
from typing import Any

CODEX_FIELDS = {"decision", "reason", "hookSpecificOutput", "systemMessage", "continue", "stopReason"}
CODEX_SPECIFIC = {"hookEventName", "permissionDecision", "permissionDecisionReason", "additionalContext"}


def would_run(client: str, event: str, stdout: bytes, stderr: bytes, code: int) -> bool:
    """Say whether a tool call goes through after this answer, or hangs for ever."""
    return not _DENIED[client](event, _document(stdout), stdout, stderr, code)


def would_submit(client: str, stdout: bytes, stderr: bytes, code: int) -> bool:
    """Say whether a prompt goes through after this answer (observed.md 4, row "prompt")."""
    document = _document(stdout)
    block = isinstance(document, dict) and document.get("decision") == "block" and bool(document.get("reason"))
    if client in ("copilot", "copilot-native"):
        return not (block and code == 0)
    return not (block and code in (0, 2)) and not (code == 2 and stderr.strip())


def _document(stdout: bytes) -> Any:
    try:
        return json.loads(stdout.decode("utf-8"))
    except ValueError:
        return None  # a second line, a byte-order mark, half a document: "RAN" all through the table


def _nulls(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_nulls, value.values()))
    return value is None


def _specific(document: Any, event: str) -> bool:
    """A deny in hookSpecificOutput under the event's own name, with a reason, and no null anywhere."""
    if not isinstance(document, dict) or _nulls(document):
        return False
    specific = document.get("hookSpecificOutput")
    return (
        isinstance(specific, dict)
        and specific.get("hookEventName") == event
        and specific.get("permissionDecision") == "deny"
        and _said(specific.get("permissionDecisionReason"))
    )


def _asks(document: Any, event: str) -> bool:
    specific = document.get("hookSpecificOutput") if isinstance(document, dict) else None
    return (
        isinstance(specific, dict)
        and specific.get("hookEventName") == event
        and specific.get("permissionDecision") == "ask"
    )


def _said(reason: Any) -> bool:
    return isinstance(reason, str) and bool(reason.strip())


def _top(document: Any, *words: str) -> bool:
    return isinstance(document, dict) and document.get("decision") in words and _said(document.get("reason"))


def _claude(event: str, document: Any, _out: bytes, _err: bytes, code: int) -> bool:
    if code == 2:
        return True
    return code == 0 and (_specific(document, event) or _top(document, "block") or _asks(document, event))


def _codex(event: str, document: Any, _out: bytes, err: bytes, code: int) -> bool:
    if code == 2:
        return bool(err.strip())
    if code or not isinstance(document, dict) or set(document) - CODEX_FIELDS or document.get("continue") is False:
        return False
    if set(document.get("hookSpecificOutput", {})) - CODEX_SPECIFIC:
        return False
    return _specific(document, event) or _top(document, "block")


def _gemini(_event: str, document: Any, out: bytes, err: bytes, code: int) -> bool:
    if code == 2:
        return _top(document, "deny", "block") if document is not None else bool(out.strip() or err.strip())
    return code == 0 and _top(document, "deny", "block")


def _qwen(event: str, document: Any, _out: bytes, err: bytes, code: int) -> bool:
    if code == 2:
        return bool(err.strip())
    return code == 0 and (_specific(document, event) or _top(document, "block", "deny") or _asks(document, event))


def _copilot(event: str, document: Any, _out: bytes, _err: bytes, code: int) -> bool:
    if code == 2:
        return True
    return code == 0 and (_specific(document, event) or _asks(document, event))


def _copilot_native(_event: str, document: Any, _out: bytes, _err: bytes, code: int) -> bool:
    if code == 2:
        return True
    return code == 0 and isinstance(document, dict) and document.get("permissionDecision") == "deny"


def _vibe(_event: str, document: Any, _out: bytes, _err: bytes, code: int) -> bool:
    exactly = isinstance(document, dict) and set(document) == {"decision", "reason"}
    return code == 0 and exactly and _top(document, "deny")


def _openhands(_event: str, document: Any, _out: bytes, _err: bytes, code: int) -> bool:
    return code == 2 or (code == 0 and _top(document, "deny"))


_DENIED = {
    "claude": _claude,
    "codex": _codex,
    "gemini": _gemini,
    "qwen": _qwen,
    "copilot": _copilot,
    "copilot-native": _copilot_native,
    "vibe": _vibe,
    "openhands": _openhands,
}
