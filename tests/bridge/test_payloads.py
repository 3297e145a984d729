"""What each dialect is told: golden payloads, and values that JSON or UTF-8 cannot say."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dshhooks.bridge.dialects import DIALECTS, PROFILES
from dshhooks.bridge.errors import PayloadError
from dshhooks.bridge.events import EVENTS, resolve
from dshhooks.bridge.payloads import Payloads, build_payload, check_payload, encode
from hookspecs.json import freeze
from tests.bridge.kit import echo, parsed

NOW = datetime(2026, 11, 29, 12, 30, 15, 123456, tzinfo=UTC)
CALL = {"tool_name": "Bash", "tool_input": {"command": "echo hi"}, "tool_use_id": "t1"}


def hook(dialect: str = "claude", event: str = "tool:before", spelling: str | None = None, profile: str = "current"):
    """A hook of a dialect on an event."""
    key = "events" if dialect == "native" else "hooks"
    name = spelling or (*resolve(event).spellings[dialect], event)[0]  # type: ignore[index]
    result, _ = parsed({"version": 1, key: {name: [{"hooks": [echo("a")]}]}}, dialect, profile)
    return result.groups[0].hooks[0]


def told(target, payload, dispatched: str = "tool:before", **more: object) -> dict[str, object]:
    """The payload a hook gets."""
    return build_payload(resolve(dispatched), target, payload, dispatched=dispatched, now=NOW, **more)  # type: ignore[arg-type]


GOLDEN = {
    ("claude", "current"): {
        "session_id": "s", "transcript_path": "", "cwd": "/w", "hook_event_name": "PreToolUse",
        "permission_mode": "default", **CALL,
    },
    ("codex", "current"): {
        "session_id": "s", "transcript_path": None, "cwd": "/w", "hook_event_name": "PreToolUse",
        "permission_mode": "default", "model": "", "turn_id": "", **CALL,
    },
    ("codex", "seed"): {
        "session_id": "s", "transcript_path": "", "cwd": "/w", "hook_event_name": "PreToolUse",
        "permission_mode": "default", **CALL,
    },
    ("opencode", "current"): {
        "session_id": "s", "transcript_path": "", "cwd": "/w", "hook_event_name": "tool.execute.before",
        "permission_mode": "default", **CALL,
    },
    ("native", "seed"): {
        "event": "tool:before", "ts": "2026-11-29T12:30:15.123Z", "session_id": "s", "transcript_path": "", "cwd": "/w",
        "hook_event_name": "tool:before", **CALL,
    },
}  # fmt: skip


@pytest.mark.parametrize("reading", GOLDEN, ids="-".join)
@pytest.mark.parametrize("dispatched", ["tool:before", "PreToolUse", "tool.execute.before"])
def test_golden(reading, dispatched):
    """Cases 61, 62: every dialect is told in its own words, whatever the event was dispatched as."""
    dialect, profile = reading
    made = told(hook(dialect, profile=profile), {"session_id": "s", **CALL}, dispatched, cwd="/w")
    assert made == GOLDEN[reading]
    assert next(iter(made)) == ("event" if dialect == "native" else "session_id")


@pytest.mark.parametrize("event", EVENTS.values(), ids=lambda event: event.name)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_promised_members_are_there(event, dialect):
    """A script may rely on every member of the contract, even when the host says nothing."""
    made = told(hook(dialect, event.name), {}, event.name)
    assert set(event.members) <= set(made)
    assert {"session_id", "transcript_path", "cwd", "hook_event_name"} <= set(made)


def test_the_callers_members_are_kept():
    """Case 61: unknown members come through, and what the host says stands over our defaults."""
    payload = {**CALL, "prompt_id": "p", "effort": {"level": "high"}, "permission_mode": "plan", "cwd": "/theirs"}
    made = told(hook(), payload, cwd="/ours")
    assert {name: made[name] for name in payload} == payload
    assert told(hook("native"), payload)["permission_mode"] == "plan"


def test_our_words_for_the_event_win():
    """The name of the event is the dialect's, whatever the caller's payload says; so is the envelope."""
    payload = {"hook_event_name": "Nope", "event": "x", "ts": "y"}
    assert told(hook(), payload)["hook_event_name"] == "PreToolUse"
    assert told(hook(), payload)["event"] == "x"
    made = told(hook("native"), payload)
    assert (made["event"], made["ts"][:10], made["hook_event_name"]) == ("tool:before", "2026-11-29", "tool:before")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_callers_payload_is_never_changed(dialect):
    """Not even by one hook for the next."""
    payload = {**CALL, "turn_id": 3}
    before = copy.deepcopy(payload)
    made = told(hook(dialect), payload)
    made["new"] = 1
    assert payload == before
    assert told(hook(dialect), freeze(payload))["tool_name"] == "Bash"


def test_the_subject_fills_in():
    """A tool named otherwise is the tool_name hooks read."""
    assert told(hook(), {"tool": "Bash"})["tool_name"] == "Bash"


class TestFailureOfATool:
    """Claude's second name for one event."""

    def test_both_words(self):
        """A hook is told the error both ways, from whichever the host has."""
        target = hook(event="tool:after", spelling="PostToolUseFailure")
        made = told(target, {**CALL, "error": "boom"}, "PostToolUseFailure")
        assert (made["error"], made["tool_response"], made["is_interrupt"]) == ("boom", "boom", False)
        made = told(target, {**CALL, "tool_response": "text"}, "tool:after")
        assert (made["error"], made["tool_response"]) == ("text", "text")
        assert made["hook_event_name"] == "PostToolUseFailure"

    def test_not_elsewhere(self):
        """An ordinary result has no error."""
        made = told(hook(event="tool:after"), {**CALL, "tool_response": {"stdout": "x"}}, "PostToolUse")
        assert "error" not in made
        assert made["tool_response"] == {"stdout": "x"}


class TestDialects:
    """Small differences."""

    def test_codex(self):
        """A turn's number is a text; no transcript is null; a stop has the last message."""
        assert told(hook("codex"), {"turn_id": 3})["turn_id"] == "3"
        assert told(hook("codex"), {"transcript_path": ""})["transcript_path"] is None
        made = told(hook("codex", "turn:stop"), {}, "Stop")
        assert (made["last_assistant_message"], made["stop_hook_active"]) == (None, False)
        assert "turn_id" not in told(hook("codex", "session:start"), {}, "SessionStart")

    @pytest.mark.parametrize(
        ("dialect", "without"), [("claude", {"session:start", "session:end"}), ("codex", {"session:end"})]
    )
    def test_sessions_without_a_permission_mode(self, dialect, without):
        """As measured: not on these events, unless the host says; to the letter everywhere."""
        for event in EVENTS:
            assert ("permission_mode" in told(hook(dialect, event), {}, event)) == (event not in without)
            assert told(hook(dialect, event), {"permission_mode": "plan"}, event)["permission_mode"] == "plan"
            assert told(hook(dialect, event, profile="seed"), {}, event)["permission_mode"] == "default"

    def test_the_end_of_a_codex_session(self):
        """Exactly what Codex was seen to send."""
        assert told(hook("codex", "session:end"), {"reason": "other"}, "SessionEnd", cwd="/w") == {
            "session_id": "", "transcript_path": None, "cwd": "/w", "hook_event_name": "SessionEnd", "reason": "other",
        }  # fmt: skip

    def test_a_stop_is_told_the_truth(self):
        """What the host says of a forced continuation is what the hook hears."""
        assert told(hook(event="turn:stop"), {"stop_hook_active": True}, "Stop")["stop_hook_active"] is True

    @pytest.mark.parametrize(
        ("dialect", "profile", "newline"),
        [("claude", "current", True), ("claude", "seed", True), ("codex", "seed", True), ("codex", "current", False),
         ("opencode", "current", True), ("native", "seed", True)],
    )  # fmt: skip
    def test_newline(self, dialect, profile, newline):
        """Case 61: one newline on stdin where the dialect has one; none in a posted body."""
        payloads = Payloads(resolve("tool:before"), CALL, dispatched="PreToolUse")
        target = hook(dialect, profile=profile)
        assert payloads.stdin(target).endswith(b"}\n" if newline else b"}")
        assert payloads.body(target).endswith(b"}")
        assert json.loads(payloads.stdin(target)) == payloads.members(target)


class TestEncoding:
    """UTF-8, whatever the text."""

    @pytest.mark.parametrize("text", ["🎉", "读取", "a\u2028b", "\ud800", "x\udcffy", "\0", "\ufeff"])
    def test_every_text(self, text):
        """Case 64: emoji, CJK, line separators and lone surrogates are valid JSON in valid UTF-8."""
        data = encode({"prompt": text})
        assert json.loads(data.decode("utf-8")) == {"prompt": text}
        assert b"\n" not in data

    def test_readable(self):
        """Scripts may search for text as it is written; no mark in front."""
        assert encode({"prompt": "读取🎉"}) == '{"prompt":"读取🎉"}'.encode()

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"x", object()])
    def test_what_json_cannot_say(self, value):
        """An error of the request, before any hook is started."""
        with pytest.raises(PayloadError) as raised:
            check_payload({"a": [value]})
        assert raised.value.code == "INVALID_PAYLOAD"

    @pytest.mark.parametrize("payload", [{1: "a"}, {"a": {None: 1}}, {"a": [{True: 1}]}, {"a": ({2.5: 1},)}])
    def test_keys_must_be_texts(self, payload):
        """The encoder would turn them into texts; we say so instead."""
        with pytest.raises(PayloadError, match="key"):
            check_payload(payload)

    @pytest.mark.parametrize("payload", [[], "x", 3, True])
    def test_a_payload_is_an_object(self, payload):
        """Anything else is refused; nothing is the empty one."""
        with pytest.raises(PayloadError, match="object"):
            check_payload(payload)
        assert check_payload(None) == {}

    def test_cycles_and_depth(self):
        """Neither hangs nor crashes."""
        cycle: dict[str, object] = {}
        cycle["a"] = cycle
        deep: object = "x"
        for _ in range(100_000):
            deep = [deep]
        for payload in (cycle, {"a": deep}):
            with pytest.raises(PayloadError):
                check_payload(payload)


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(
    st.dictionaries(st.text(max_size=12), VALUES, max_size=6),
    st.sampled_from(DIALECTS), st.sampled_from(PROFILES), st.sampled_from(sorted(EVENTS)),
)  # fmt: skip
def test_any_payload_can_be_told(payload, dialect, profile, event):
    """Whatever members a host sends, every hook gets one line of valid JSON with the event's name."""
    target = hook(dialect, event, profile=profile)
    check_payload(payload)
    data = Payloads(resolve(event), payload, dispatched=event).stdin(target)
    assert json.loads(data)["hook_event_name"] == (*resolve(event).spellings[dialect], event)[0]
    assert data.rstrip(b"\n").count(b"\n") == 0
