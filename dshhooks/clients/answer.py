"""What is written back to a client: a verdict in that client's own form (cases/clients/observed.md 2, 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dshhooks.clients.denial import clean, denial, encode
from dshhooks.engine.logs import Log
from hookspecs.plain import Plain

if TYPE_CHECKING:
    from dshhooks.clients.event import ClientEvent
    from dshhooks.clients.verdict import Verdict

__all__ = ["SILENT", "Answer", "answer_for", "continuation_text"]

log = Log("dshhooks.clients")

# Codex cuts context at about 10 kB and Claude shows the head of a longer one only.
MAX_CONTEXT = 9000


class Answer(Plain):
    """What a hook command writes and how it exits.

    Args:
        stdout: The bytes for stdout: one line of JSON, or nothing.
        stderr: The bytes for stderr: the reason of a denial at exit 2, or nothing.
        code: The exit code.
        unread: Why the event could not be read, which is then answered as if anything had been asked; empty: it was. A
            process that runs no plugin may still be able to read it, and to know what is at stake.
    """

    stdout: bytes = b""
    stderr: bytes = b""
    code: int = 0
    unread: str = ""


SILENT = Answer()


def answer_for(verdict: Verdict, event: ClientEvent, *, approve: bool = False) -> Answer:
    """Return the answer to an event.

    Args:
        verdict: What plugins made of it.
        event: The event.
        approve: Whether an ``Allow()`` is passed on as the client's approval (decisions.md 7.26).
    """
    if verdict.kind == "deny":
        return Answer(*denial(event.client.name, event.word, verdict.reason))
    if verdict.kind == "ask":
        return _ask(verdict.reason, event)
    if verdict.kind == "feedback":
        return _feedback(verdict, event)
    if verdict.kind == "continue":
        return _go_on(verdict, event)
    if verdict.kind == "allow" and approve and event.client.can_approve:
        return _approval(event)
    return _context(verdict.contexts, event)


def _line(document: dict[str, object]) -> Answer:
    return Answer(encode(document))


def _specific(event: ClientEvent, **members: object) -> Answer:
    return _line({"hookSpecificOutput": {"hookEventName": event.word, **members}})


def _ask(reason: str, event: ClientEvent) -> Answer:
    if event.kind == "tool:permission":
        return SILENT  # a person is being asked at this moment
    if not event.client.can_ask:
        why = f"{clean(reason)} ({event.client.display} cannot ask a person from a hook, so this is denied)"
        return Answer(*denial(event.client.name, event.word, why))
    return _specific(event, permissionDecision="ask", permissionDecisionReason=clean(reason))


def _approval(event: ClientEvent) -> Answer:
    if event.kind == "tool:permission":
        decision: dict[str, object] = {"behavior": "allow"}
        return _line(decision) if event.client.name.startswith("copilot") else _specific(event, decision=decision)
    if event.client.name == "gemini":
        return _line({"decision": "allow"})
    members = {"permissionDecision": "allow", "permissionDecisionReason": "a dshhooks plugin allows it"}
    return _line({**members}) if event.client.name == "copilot-native" else _specific(event, **members)


def _feedback(verdict: Verdict, event: ClientEvent) -> Answer:
    text = "\n".join((verdict.reason, *verdict.contexts))
    # A failed call has its own event in Claude and qwen, whose result cannot be blocked any more.
    if event.client.feedback in ("replaces", "added") and event.word != "PostToolUseFailure":
        return _line({"decision": "block", "reason": clean(text, MAX_CONTEXT)})
    return _context((text,), event)


def _go_on(verdict: Verdict, event: ClientEvent) -> Answer:
    if not event.client.can_continue:
        log.warning("%s cannot be made to go on; a plugin wanted it to", event.client.name)
        return SILENT
    return Answer(*denial(event.client.name, event.word, continuation_text(verdict)))


def continuation_text(verdict: Verdict) -> str:
    """Return what a turn goes on with."""
    return "\n".join((verdict.reason, *verdict.contexts))


def _context(contexts: tuple[str, ...], event: ClientEvent) -> Answer:
    text = "\n\n".join(context for context in contexts if context.strip())
    if not text:
        return SILENT
    if event.kind not in event.client.context:
        log.warning("%s takes no context at %s; a plugin's was dropped", event.client.name, event.word)
        return SILENT
    if event.client.name == "openhands":
        return _line({"additionalContext": clean(text, MAX_CONTEXT)})
    return _specific(event, additionalContext=clean(text, MAX_CONTEXT))
