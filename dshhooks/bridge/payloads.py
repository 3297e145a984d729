"""What a hook is told: one payload for each dialect, made from the caller's (spec/external-hooks.md A.5)."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from dshhooks.bridge.dialects import EXTRA_MEMBERS, Dialect, Profile, Rules, rules
from dshhooks.bridge.errors import PayloadError
from dshhooks.bridge.events import EVENTS, Event, given_name, subject_of
from dshhooks.bridge.model import Group, Hook

__all__ = ["Payloads", "build_payload", "check_payload", "encode"]

# Events on which `permission_mode` is not promised.
_WITHOUT_MODE: Final = {
    "always": frozenset[str](), "in-turns": frozenset({"session:start", "session:end"}),
    "until-end": frozenset({"session:end"}), "host": frozenset(EVENTS),
}  # fmt: skip
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
    _text(payload if type(payload) is dict else dict(payload))
    _check_keys(payload)
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
    given = given_name(event, source.dialect, target.spelling, dispatched)
    members = {**_promised(event, source.dialect, source.profile), "cwd": cwd, **payload}
    how = rules(source.dialect, source.profile)
    _complete(event, members, payload, given, how)
    return members if how.payload == "flat" else _envelope(event, members, now)


@functools.cache
def _promised(event: Event, dialect: Dialect, profile: Profile) -> Mapping[str, Any]:
    """What the contract promises, with the values for a host that does not say."""
    how = rules(dialect, profile)
    members: dict[str, Any] = {"session_id": "", "transcript_path": how.no_transcript, "cwd": "", "hook_event_name": ""}
    if event.name not in _WITHOUT_MODE[how.permission_mode]:
        members["permission_mode"] = "default"
    for name, (value, events) in EXTRA_MEMBERS.get((dialect, profile), {}).items():
        if events is None or event.name in events:
            members[name] = value
    return {**members, **event.members}


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


def _check_keys(payload: Mapping[str, Any]) -> None:
    """Refuse keys that are no texts: the encoder would turn them into some."""
    pending: list[Any] = [payload]
    for item in pending:
        if isinstance(item, Mapping):
            for key in item:
                if type(key) is not str and not isinstance(key, str):
                    raise PayloadError(f"payload has the key {key!r}, which is no text: JSON has only texts as keys")
            pending += [inner for inner in item.values() if type(inner) not in _SCALARS]
        elif isinstance(item, (list, tuple)):
            pending += [inner for inner in item if type(inner) not in _SCALARS]


_SCALARS: Final = frozenset({str, int, float, bool, type(None)})


class Payloads:
    """The payloads of one dispatch; hooks of one dialect under one event name share theirs."""

    def __init__(self, event: Event, payload: Mapping[str, Any], *, dispatched: str, cwd: str = "") -> None:
        self._event = event
        self._payload = payload
        self._dispatched = dispatched
        self._cwd = cwd
        self._now: datetime | None = None
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
            self._now = self._now or datetime.now(UTC)  # one time for all hooks of the dispatch
            members = build_payload(self._event, target, self._payload, dispatched=self._dispatched,
                                    cwd=self._cwd, now=self._now)  # fmt: skip
            made = self._made[key] = (members, encode(members))
        return made
