"""What is answered when policy could not be evaluated: a denial where something is gated, else nothing.

Imports the two modules beside it that import nothing; ``json`` when it is needed (decisions.md 7.26).
"""

from __future__ import annotations

from dshhooks.clients.denial import CLIENTS, Wire, clean, denial, gate_of, silent
from dshhooks.clients.recognise import client_of, session_of, word_of

__all__ = ["failed", "failed_event", "observes", "peek"]

# Words no client gates with: whoever sends one, and whatever is wrong, nothing is held up.
_OBSERVING = frozenset({
    "SessionStart", "SessionEnd", "PostToolUse", "PostToolUseFailure", "SubagentStart", "SubagentStop", "Notification",
    "PreCompact", "PreCompress", "AfterTool", "BeforeModel", "AfterModel", "BeforeToolSelection", "sessionStart",
    "sessionEnd", "postToolUse", "subagentStart", "subagentStop", "notification", "preCompact", "errorOccurred",
    "post_tool", "post_agent", "session.created", "session.deleted", "session.idle", "tool.execute.after",
})  # fmt: skip


def failed(client: str, stdin: bytes, environment: object, reason: object, on_error: str = "deny") -> Wire:
    """Return the answer for an event that could not be judged.

    Args:
        client: What the command line said; ``auto`` and names nobody has are recognised from the payload.
        stdin: What the client wrote, as far as it came.
        environment: The variables for recognising.
        reason: What went wrong, for a person.
        on_error: ``"allow"`` for those who want the opposite.
    """
    payload = peek(stdin)
    named = client if client in CLIENTS else client_of(payload, environment)
    return failed_event(named or "", payload, reason, on_error)


def failed_event(client: str, payload: object, reason: object, on_error: str = "deny") -> Wire:
    """Like :func:`failed`, for a payload that was read."""
    word = word_of(client, payload)
    if on_error == "allow" or observes(client, word):
        return silent()
    if gate_of(client, word) == "stop" and not _may_go_on(client, payload, reason):
        return silent()
    return denial(client, word, reason)


def _may_go_on(client: str, payload: object, reason: object) -> bool:
    """Say whether a turn may go on because of a failure: once, or else it might for ever."""
    if isinstance(payload, dict) and payload.get("stop_hook_active") is True:
        return False
    try:
        from dshhooks.clients.state import may_go_on
    except ImportError:  # loaded by path, without the package: the client's own word has to do
        return True
    return may_go_on(client, session_of(payload), clean(reason))


def observes(client: str, word: str | None) -> bool:
    """Say whether nothing waits for the answer to this event."""
    return word in _OBSERVING and gate_of(client, word) is None


def peek(stdin: bytes) -> object:
    """Return the payload as JSON reads it, or ``None``: only for recognising, never for judging."""
    try:
        import json

        # A byte of a tool's output that is no UTF-8 hides neither which event it is nor whether anything is gated.
        return json.loads(stdin.decode("utf-8-sig", "replace"))
    except BaseException:  # noqa: BLE001 - unreadable, too deep, or no json: then nothing is known, and that is gated
        return None
