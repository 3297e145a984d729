"""No input makes an answer under which a tool was measured to run (issue 5, observed.md 2)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.clients.denial import GATES, clean, denial, encode
from dshhooks.clients.failure import failed, peek
from dshhooks.clients.recognise import word_of
from dshhooks.clients.table import CLIENTS as TABLE
from hookspecs.decisions import Ask, Block, BlockPrompt, Deny
from tests.clients.kit import BEFORE, SAMPLES, ask, plugin, sample
from tests.clients.ran import would_run, would_submit

pytestmark = pytest.mark.usefixtures("own_state")

CLIENTS = st.sampled_from(sorted(BEFORE))
TEXTS = st.text(st.characters(codec=None, categories=None)) | st.sampled_from(
    ["", " ", "\n", "\x00", "\ud800", "\u2028", "x" * 5000]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
WORDS = st.sampled_from(sorted({word for words in GATES.values() for word in words})) | TEXTS
# Words under which no client waits for an answer, by the table.
OBSERVING = {word for row in TABLE.values() for word in row.events} - {w for words in GATES.values() for w in words}
MEMBERS = ("hook_event_name", "event_type", "hookName", "tool_name", "toolName", "tool_input", "toolArgs", "session_id",
           "sessionId", "cwd", "timestamp", "stop_hook_active", "prompt", "turn_id", "transcript_path")  # fmt: skip


def payloads() -> Any:
    """Objects that look like events, and objects that do not."""
    near = st.fixed_dictionaries({}, optional={name: JSON | WORDS for name in MEMBERS})
    return near | st.dictionaries(TEXTS, JSON, max_size=4)


def never(execution: Any) -> Deny:
    """A policy that lets nothing through, so that whatever passes was not judged."""
    return Deny("no")


POLICY = plugin(tools_pre_execute=never, agent_prompt_submit=lambda agent: BlockPrompt("no"))


def holds(client: str, stdin: bytes, answer: Any) -> bool:
    """Whether an event that may gate something was held up by this answer."""
    payload = peek(stdin)
    word = word_of(client, payload)
    gate = GATES[client].get(word or "")
    if word in OBSERVING or gate in ("stop", "permission") or _elsewhere(client, word):
        return True
    if gate == "prompt":
        nobodys = client == "qwen" and payload.get("prompt") == ""
        return nobodys or client == "openhands" or not would_submit(client, answer.stdout, answer.stderr, answer.code)
    return not would_run(client, _named(client, word), answer.stdout, answer.stderr, answer.code)


def _elsewhere(client: str, word: str | None) -> bool:
    """Whether this client observes what others gate by the same word: OpenHands' and Copilot's events, say."""
    return word in TABLE[client].events and word not in GATES[client]


def _named(client: str, word: str | None) -> str:
    return word if word in GATES[client] else "PreToolUse"


@given(CLIENTS, st.binary())
def test_no_bytes_are_taken_for_permission(client, stdin):
    """Arbitrary bytes on stdin, for every client."""
    assert holds(client, stdin, ask(client, stdin, POLICY))


@given(CLIENTS, payloads())
def test_no_json_is_taken_for_permission(client, payload):
    """Arbitrary JSON, near an event and far from one."""
    stdin = json.dumps(payload).encode()
    assert holds(client, stdin, ask(client, stdin, POLICY))


@given(CLIENTS, payloads())
def test_no_change_to_a_call_is_taken_for_permission(client, changes):
    """A recorded call with members added and replaced."""
    changes.pop("hook_event_name", None), changes.pop("event_type", None), changes.pop("hookName", None)
    changes.pop("toolResult", None)
    stdin = json.dumps({**SAMPLES[client][BEFORE[client]], **changes}).encode()
    assert holds(client, stdin, ask(client, stdin, POLICY))


@given(CLIENTS, TEXTS, st.sampled_from([Deny, Ask]))
def test_no_reason_breaks_a_denial(client, reason, decision):
    """Empty, blank, control characters, lone surrogates, long: the answer is one that was measured to hold."""
    answer = ask(client, sample(client, BEFORE[client]), plugin(tools_pre_execute=lambda execution: decision(reason)))
    assert not would_run(client, sample(client, BEFORE[client]).get("hook_event_name", ""), *_wire(answer))


@given(CLIENTS, JSON)
def test_no_answer_of_a_plugin_is_taken_for_permission(client, answered):
    """Whatever a policy returns that is neither a decision nor `None`."""
    answer = ask(client, sample(client, BEFORE[client]), plugin(tools_pre_execute=lambda execution: answered))
    run = would_run(client, sample(client, BEFORE[client]).get("hook_event_name", ""), *_wire(answer))
    assert run is (answered is None)


@given(st.sampled_from(sorted(GATES)) | TEXTS, st.none() | WORDS, st.none() | TEXTS | st.integers() | st.binary())
def test_a_denial_is_one_line_of_ascii_json(client, event, reason):
    """By the encoder that needs no module: what Python's own reads back is what was meant."""
    out, err, code = denial(client, event, reason)
    assert out.isascii()
    assert out.count(b"\n") == 1
    assert clean(reason) in _texts(json.loads(out))
    assert code in (0, 2)
    assert bool(err.strip()) == (code == 2)


def _texts(document: Any) -> list[str]:
    """Every text in a document; anything but texts and objects in it fails."""
    if isinstance(document, dict):
        return [text for member in document.values() for text in _texts(member)]
    assert isinstance(document, str)
    return [document]


@given(st.dictionaries(TEXTS, TEXTS))
def test_the_encoder_agrees_with_pythons(document):
    """Escapes, characters beyond the first plane, lone surrogates."""
    assert json.loads(encode(document)) == json.loads(json.dumps(document))


@given(st.sampled_from(["auto", "", "nobody"]), payloads(), st.text())
def test_a_failure_is_never_silent_where_something_may_be_gated(client, payload, reason):
    """Also for a client that is not known: silence is for words that gate nothing in any client."""
    stdin = json.dumps(payload).encode()
    out, _, _ = failed(client, stdin, {}, reason)
    if not out:
        word = word_of("copilot-native", payload)
        assert all(word not in words or words[word] == "stop" for words in GATES.values())


def test_a_reason_of_a_megabyte_is_cut():
    """Clients cut or reject long answers; the head of a reason says what it is about."""
    out, _, _ = denial("claude", "PreToolUse", "x" * 1_000_000)
    assert len(out) < 5000


def test_feedback_of_a_megabyte_is_cut():
    """Codex cuts context at about ten thousand characters by itself."""
    block = plugin(tools_post_execute=lambda execution, result: Block("y" * 1_000_000))
    assert len(ask("claude", sample("claude", "PostToolUse"), block).stdout) < 10_000


def _wire(answer: Any) -> tuple[bytes, bytes, int]:
    return answer.stdout, answer.stderr, answer.code
