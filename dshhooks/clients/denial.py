"""The answers that must not depend on the installation: how each client is denied, in its measured form.

Imports nothing of ours and nothing that is not built in, and is importable by path: whoever cannot import the rest
still denies with this (cases/clients/observed.md 2; decisions.md 7.26).
"""

from __future__ import annotations

__all__ = ["CLIENTS", "GATES", "clean", "denial", "encode", "gate_of", "silent"]

Wire = tuple[bytes, bytes, int]

# What a gating event gates, by client and by the client's own word for the event.
GATES: dict[str, dict[str, str]] = {
    "claude": {"PreToolUse": "tool", "PermissionRequest": "permission", "UserPromptSubmit": "prompt",
               "Stop": "stop"},
    "codex": {"PreToolUse": "tool", "PermissionRequest": "permission", "UserPromptSubmit": "prompt",
              "Stop": "stop"},
    "gemini": {"BeforeTool": "tool", "BeforeAgent": "prompt", "AfterAgent": "stop"},
    "qwen": {"PreToolUse": "tool", "PermissionRequest": "permission", "UserPromptSubmit": "prompt",
             "Stop": "stop"},
    "copilot": {"PreToolUse": "tool", "permissionRequest": "permission", "PermissionRequest": "permission",
                "UserPromptSubmit": "prompt", "Stop": "stop"},
    "copilot-native": {"preToolUse": "tool", "permissionRequest": "permission", "userPromptSubmitted": "prompt",
                       "agentStop": "stop"},
    "vibe": {"pre_tool": "tool"},
    "openhands": {"PreToolUse": "tool", "UserPromptSubmit": "prompt", "Stop": "stop"},
    "opencode": {"tool.execute.before": "tool", "chat.message": "prompt"},
}  # fmt: skip

CLIENTS = tuple(GATES)

# Codex cuts context at about 10 kB; a reason is for a person and a model, and need not be longer than this.
MAX_REASON = 4000

_NO_REASON = "dshhooks denied this without saying why"
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def gate_of(client: str, event: str | None) -> str | None:
    """Return what the event gates: ``tool``, ``permission``, ``prompt``, ``stop``; ``None``: nothing known."""
    return GATES.get(client, {}).get(event or "")


def silent() -> Wire:
    """Return the answer that changes nothing in every client."""
    return b"", b"", 0


def denial(client: str, event: str | None, reason: object) -> Wire:
    """Return what this client was measured to honour as a denial.

    Args:
        client: A name of :data:`CLIENTS`; any other one gets the portable denial.
        event: The client's own word for the event; ``None`` when it could not be read.
        reason: Why, for a person; made non-empty, printable and short.

    Returns:
        The bytes for stdout, the bytes for stderr, and the exit code.
    """
    text = clean(reason)
    if client == "vibe":  # it reads this spelling at exit 0 only, whatever the event
        return encode({"decision": "deny", "reason": text}), b"", 0
    if client in ("openhands", "opencode"):  # exit 2 and this spelling block; either one alone would do
        return encode({"decision": "deny", "reason": text}), _stderr(text), 2
    gate = gate_of(client, event)
    if gate is None:
        return _portable(event, text)
    return encode(_OBJECTS[gate](client, event, text)), b"", 0


def _tool(client: str, event: str | None, text: str) -> dict[str, object]:
    if client == "gemini":
        return {"decision": "deny", "reason": text}
    decision: dict[str, object] = {"permissionDecision": "deny", "permissionDecisionReason": text}
    return decision if client == "copilot-native" else {"hookSpecificOutput": {"hookEventName": event, **decision}}


def _permission(client: str, event: str | None, text: str) -> dict[str, object]:
    decision: dict[str, object] = {"behavior": "deny", "message": text}
    if client in ("copilot", "copilot-native"):
        return decision
    return {"hookSpecificOutput": {"hookEventName": event, "decision": decision}}


def _block(_client: str, _event: str | None, text: str) -> dict[str, object]:
    return {"decision": "block", "reason": text}


_OBJECTS = {"tool": _tool, "permission": _permission, "prompt": _block, "stop": _block}


def _portable(event: str | None, text: str) -> Wire:
    """Return the one answer that Claude, Codex, Gemini, qwen, both Copilots and OpenHands honour before a tool."""
    specific = {
        "hookEventName": event if event and event.isidentifier() and len(event) < 64 else "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": text,
    }
    return encode({"decision": "block", "reason": text, "hookSpecificOutput": specific}), _stderr(text), 2


def clean(reason: object, limit: int = MAX_REASON) -> str:
    """Return a text every client can take: not empty, no control characters, no lone surrogates, not too long."""
    text = reason if type(reason) is str else _text_of(reason)
    more = len(text) > limit
    # str.isprintable() is false for control characters, surrogates and line separators alike.
    text = "".join(c if c in "\n\t" or c.isprintable() else " " for c in text[:limit]).strip()
    return (text + (" …" if more else "")) if text else _NO_REASON


def _text_of(reason: object) -> str:
    try:
        return str(reason)[:MAX_REASON] + ""
    except BaseException:  # noqa: BLE001 - whatever str() of a plugin's object does, this is a denial
        return ""


def _stderr(text: str) -> bytes:
    return (text + "\n").encode("utf-8", "replace")


def encode(document: dict[str, object]) -> bytes:
    """Return one line of ASCII JSON. By hand, for texts and objects only: the json module may be what is broken."""
    return (_value(document) + "\n").encode("ascii")


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_text(str(key))}:{_value(member)}" for key, member in value.items()) + "}"
    return _text(str(value))


def _text(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(c) or (c if " " <= c <= "~" else _unicode(ord(c))) for c in text) + '"'


def _unicode(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
