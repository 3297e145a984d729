"""What a hook is told: one payload for each dialect, made from the caller's (spec/external-hooks.md A.5)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from dshhooks.bridge.dialects import EXTRA_MEMBERS, Rules, rules
from dshhooks.bridge.errors import PayloadError
from dshhooks.bridge.events import Event, given_name, subject_of
from dshhooks.bridge.model import Group, Hook

__all__ = ["Payloads", "build_payload", "check_payload", "encode"]

_OUTSIDE_TURNS: Final = frozenset({"session:start", "session:end"})
_FAILURE: Final = "PostToolUseFailure"


def check_payload(payload: object) -> Mapping[str, Any]:
    """Return a request's payload; ``None`` is an empty one.

    Raises:
        PayloadError: It is no object, or JSON cannot say it: NaN, a key that is no text, a cycle.
    """
    if payload is None:
        return {}
    if not isinstance(payload, Mapping):
        raise PayloadError(f"payload must be a JSON object, not {type(payload).__name__}")
    _text(dict(payload))
    bad = _bad_key(payload)
    if bad is not None:
        raise PayloadError(f"payload has the key {bad}, which is no text: JSON has only texts as keys")
    return payload


def build_payload(
    event: Event,
    target: Hook | Group,
    payload: Mapping[str, Any],
    *,
    dispatched: str,
    cwd: str = "",
    now: datetime | None = None,
) -> dict[str, Any]:
    """Return the payload in the target's dialect; the caller's is never changed.

    Args:
        event: The event's row.
        target: The hook, or its group: its file's dialect and profile, and the event's name there.
        payload: The caller's members. They are kept, whatever they are; those the contract promises are added.
        dispatched: The name the event was dispatched by.
        cwd: The dispatch's working directory, for a payload that does not name one.
        now: The time for an envelope; ``None``: now.
    """
    source = target.source
    how = rules(source.dialect, source.profile)
    given = given_name(event, source.dialect, target.spelling, dispatched)
    members: dict[str, Any] = {"session_id": "", "transcript_path": how.no_transcript, "cwd": cwd}
    members |= {"hook_event_name": given}
    if how.permission_mode == "always" or (how.permission_mode == "in-turns" and event.name not in _OUTSIDE_TURNS):
        members["permission_mode"] = "default"
    for name, (value, events) in EXTRA_MEMBERS.get((source.dialect, source.profile), {}).items():
        if events is None or event.name in events:
            members[name] = value
    members |= event.members
    members |= payload
    _complete(event, members, payload, given, how)
    return members if how.payload == "flat" else _envelope(event, members, now)


def _complete(event: Event, members: dict[str, Any], payload: Mapping[str, Any], given: str, how: Rules) -> None:
    """Set what depends on several members."""
    members["hook_event_name"] = given
    if not members["transcript_path"]:
        members["transcript_path"] = how.no_transcript
    if isinstance(members.get("turn_id"), int):
        members["turn_id"] = str(members["turn_id"])
    if "tool_name" in event.members:
        members["tool_input"] = payload.get("tool_input", {})
        if "tool_name" not in payload:
            members["tool_name"] = subject_of(event, payload)
    if given == _FAILURE:
        members.setdefault("is_interrupt", False)
        if "error" not in members:
            members["error"] = members["tool_response"]
        elif "tool_response" not in payload:
            members["tool_response"] = members["error"]


def _envelope(event: Event, members: dict[str, Any], now: datetime | None) -> dict[str, Any]:
    stamp = (now or datetime.now(UTC)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    rest = {name: value for name, value in members.items() if name not in ("event", "ts")}
    return {"event": event.name, "ts": stamp, **rest}


def encode(members: Mapping[str, Any], *, newline: bool = False) -> bytes:
    """Return compact UTF-8 JSON; lone surrogates are escaped, since no UTF-8 can say them.

    Raises:
        PayloadError: JSON cannot say it.
    """
    text = _text(members)
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        data = json.dumps(members, separators=(",", ":"), allow_nan=False).encode("ascii")
    return data + b"\n" if newline else data


def _text(members: Mapping[str, Any]) -> str:
    try:
        return _encoder(members)
    except (ValueError, TypeError, RecursionError) as exc:
        raise PayloadError(f"payload is not JSON: {exc}") from exc


_encoder: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def _bad_key(value: Any) -> str | None:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, Mapping):
            for key, inner in item.items():
                if not isinstance(key, str):
                    return repr(key)
                if isinstance(inner, (Mapping, list, tuple)):
                    pending.append(inner)
        elif isinstance(item, (list, tuple)):
            pending.extend(inner for inner in item if isinstance(inner, (Mapping, list, tuple)))
    return None


class Payloads:
    """The payloads of one dispatch; hooks of one dialect under one event name share theirs."""

    def __init__(self, event: Event, payload: Mapping[str, Any], *, dispatched: str, cwd: str = "") -> None:
        self._event = event
        self._payload = payload
        self._dispatched = dispatched
        self._cwd = cwd
        self._now = datetime.now(UTC)
        self._made: dict[tuple[str, str, str], tuple[dict[str, Any], bytes]] = {}

    def members(self, target: Hook | Group) -> dict[str, Any]:
        """Return the payload as an object; do not change it."""
        return self._for(target)[0]

    def stdin(self, target: Hook | Group) -> bytes:
        """Return what is written to a process: with a newline where the dialect has one."""
        body = self._for(target)[1]
        return body + b"\n" if rules(target.source.dialect, target.source.profile).stdin_newline else body

    def body(self, target: Hook | Group) -> bytes:
        """Return what is posted, or put into a prompt: no newline in any dialect."""
        return self._for(target)[1]

    def _for(self, target: Hook | Group) -> tuple[dict[str, Any], bytes]:
        key = (target.source.dialect, target.source.profile, target.spelling)
        made = self._made.get(key)
        if made is None:
            members = build_payload(self._event, target, self._payload, dispatched=self._dispatched,
                                    cwd=self._cwd, now=self._now)  # fmt: skip
            made = self._made[key] = (members, encode(members))
        return made
