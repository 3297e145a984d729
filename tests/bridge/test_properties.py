"""Whatever stands in a file, whatever a hook prints: nothing raises, and what is said can be shown."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dshhooks.bridge.dialects import DIALECTS, PROFILES, TYPE_WORDS, UNSUPPORTED_EVENTS, rules
from dshhooks.bridge.events import EVENTS
from dshhooks.bridge.folding import fold
from dshhooks.bridge.matchers import MatcherError, compile_matcher
from dshhooks.bridge.merge import load
from dshhooks.bridge.options import BridgeOptions
from dshhooks.bridge.outcomes import RawResult
from dshhooks.bridge.payloads import Payloads
from dshhooks.bridge.response import decode_response
from dshhooks.bridge.selection import matching, select
from tests.bridge.kit import parsed

RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
NAMES = sorted({name for event in EVENTS.values() for name in event.names} | UNSUPPORTED_EVENTS["claude"])
MEMBERS = [
    "type", "command", "args", "shell", "url", "headers", "allowedEnvVars", "prompt", "model", "timeout", "timeoutSec",
    "env", "cwd", "onError", "onFailure", "failClosed", "statusMessage", "async", "asyncRewake", "if", "once",
    "commandWindows", "command_windows", "windows", "bash", "description", "matcher", "hooks",
]  # fmt: skip
WORDS = sorted(
    {word for words in TYPE_WORDS.values() for word in words} | {"mcp_tool", "Command", "bash", "block", "chat"}
)

KEYS = st.text(max_size=5) | st.sampled_from(MEMBERS)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def mostly(right: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """The right thing most of the time, anything at all otherwise."""
    return st.integers(0, 9).flatmap(lambda number: JSON if number == 0 else right)


TEXT = st.text(max_size=12) | st.sampled_from(["echo a", "http://host/x", "Bash(x *)", "${CLAUDE_PROJECT_DIR}/x", "'"])
PATTERN = st.sampled_from(
    ["Bash", "", "*", "(", "a|b", "mcp__.*", "Bash(x*)", "(?<n>x)", "\\p{L}", "[[:a:]]"]
) | st.text(max_size=8)
HOOK = st.fixed_dictionaries({}, optional={
    "type": mostly(st.sampled_from(WORDS)), "command": mostly(TEXT), "url": mostly(TEXT), "prompt": mostly(TEXT),
    "args": mostly(st.lists(TEXT, max_size=2)), "timeout": mostly(st.floats(0.1, 9e3) | st.integers(1, 9000)),
    "headers": mostly(st.dictionaries(TEXT, TEXT, max_size=2)), "env": mostly(st.dictionaries(TEXT, TEXT, max_size=2)),
    "onError": mostly(st.sampled_from(["warn", "block", "ignore"])), "if": mostly(TEXT), "async": mostly(st.booleans()),
    "once": mostly(st.booleans()), "shell": mostly(st.sampled_from(["bash", "powershell", "fish"])),
    "bash": mostly(TEXT), "commandWindows": mostly(TEXT), "timeoutSec": mostly(st.integers(1, 9)), "x": JSON,
})  # fmt: skip
GROUP = st.fixed_dictionaries(
    {"hooks": mostly(st.lists(mostly(HOOK), max_size=3))}, optional={"matcher": mostly(PATTERN), "x": JSON}
)
MAP = st.dictionaries(
    st.sampled_from(NAMES) | st.text(max_size=6), mostly(st.lists(mostly(GROUP | HOOK), max_size=3)), max_size=4
)
DOCUMENT = mostly(st.fixed_dictionaries(
    {}, optional={"hooks": mostly(MAP), "events": mostly(MAP), "version": mostly(st.just(1)), "disableAllHooks": JSON}
) | MAP)  # fmt: skip
PAYLOAD = st.dictionaries(
    st.sampled_from(["tool_name", "tool_input", "source", "reason", "cwd", "error"]), JSON, max_size=4
)


@settings(RELAXED, max_examples=400)
@given(DOCUMENT, st.sampled_from(DIALECTS), st.sampled_from(PROFILES), st.booleans(), st.sampled_from(NAMES[:3]))
def test_every_document_can_be_read(data, dialect, profile, lenient, file):
    """Any structure gives groups and diagnostics: pointers lead to something, ids are unique, and all can be shown."""
    variables = {"CLAUDE_PROJECT_DIR": "/a b"}
    options = {"lenient": lenient, "kinds": {"chat"}, "variables": variables, "file": f"{file}.json"}
    result, notes = parsed(data, dialect, profile, **options)
    hooks = [hook for made in result.groups for hook in made.hooks]
    assert len({hook.id for hook in hooks}) == len(hooks)
    for note in notes:
        json.dumps(note.as_json())
        assert note.level in ("error", "warning", "info")
        assert points_somewhere(data, note.path)
    for made in result.groups:
        json.dumps(made.as_json())
        assert made.hooks
        assert points_somewhere(data, made.path)
    for hook in hooks:
        assert points_somewhere(data, hook.path)
        assert hook.timeout is None or hook.timeout > 0


def points_somewhere(data: object, pointer: str) -> bool:
    """Follow a JSON pointer."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(data, dict) and name in data:
            data = data[name]
        elif isinstance(data, list) and name.isdigit() and int(name) < len(data):
            data = data[int(name)]
        else:
            return False
    return True


@settings(RELAXED, max_examples=200)
@given(MAP, st.sampled_from(DIALECTS), st.sampled_from(sorted(EVENTS)), PAYLOAD, st.none() | st.text(max_size=5))
def test_every_file_can_be_dispatched(tmp_path_factory, data, dialect, event, payload, subject):
    """What is read can be selected from, told and answered."""
    key = "events" if dialect == "native" else "hooks"
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps({"version": 1, key: data}), encoding="utf-8")
    configuration = load(BridgeOptions(config_path=path, dialect=dialect), environ={})
    verdicts = matching(configuration, event, payload, subject=subject)
    assert [verdict for verdict in select(configuration, event, payload, subject=subject) if verdict.runs] == verdicts
    payload = json.loads(json.dumps(payload, default=str).replace("NaN", "0").replace("Infinity", "0"))
    payloads = Payloads(EVENTS[event], payload, dispatched=event)
    outcomes = []
    for verdict in verdicts:
        told = json.loads(payloads.stdin(verdict.hook))
        assert told["hook_event_name"] in EVENTS[event].names
        outcomes.append(decode_response(RawResult(0, payloads.body(verdict.hook)), event, hook=verdict.hook))
    json.dumps(fold(outcomes, event).as_json())


@settings(RELAXED, max_examples=300)
@given(st.binary(max_size=200))
@example(b"\xff\xfe{")
@example(b"[" * 3000)
def test_every_file_of_bytes_can_be_read(tmp_path_factory, data):
    """A file of any bytes is read or reported."""
    path = tmp_path_factory.getbasetemp() / "settings.json"
    path.write_bytes(data)
    configuration = load(BridgeOptions(config_path=path), environ={})
    assert len(configuration.sources) == 1


ANSWER = st.dictionaries(
    st.sampled_from(["decision", "reason", "continue", "stopReason", "systemMessage", "additionalContext", "ok", "x"]),
    JSON | st.sampled_from(["block", "approve"]), max_size=4,
)  # fmt: skip
SCOPED = ["hookEventName", "permissionDecision", "permissionDecisionReason", "additionalContext", "updatedInput"]
BLOCK = st.dictionaries(
    st.sampled_from(SCOPED),
    JSON | st.sampled_from(["PreToolUse", "deny", "ask", "allow"]), max_size=4,
)  # fmt: skip


@settings(RELAXED, max_examples=400)
@given(
    ANSWER, st.none() | JSON | BLOCK, st.sampled_from([0, 0, 0, 1, 2, 3, 127, -9, None]), st.text(max_size=20),
    st.sampled_from(DIALECTS), st.sampled_from(PROFILES), st.sampled_from(["shell", "oracle"]),
    st.sampled_from(["warn", "block", "ignore"]), st.booleans(), st.sampled_from(sorted(EVENTS)),
)  # fmt: skip
def test_every_answer_can_be_read(answer, block, code, stderr, dialect, profile, kind, on_error, strict, event):
    """Any answer gives an outcome that can be shown; exit 2 denies, and so does a failure that blocks or hides that."""
    document = answer if block is None else {**answer, "hookSpecificOutput": block}
    outcome = decode_response(RawResult(code, json.dumps(document), stderr), event, dialect=dialect, profile=profile,
                              kind=kind, on_error=on_error, strict_json=strict)  # fmt: skip
    json.dumps(outcome.as_json())
    json.dumps(fold([outcome], event).as_json())
    if code == 2 and kind == "shell":
        assert outcome.decision == "deny"
    if outcome.failure is not None:
        lost = code is None and EVENTS[event].blockable
        assert outcome.decision == ("deny" if on_error == "block" or lost else "none")
    if document.get("ok") is False and code == 0 and outcome.failure is None:
        assert outcome.decision == "deny"


@settings(RELAXED, max_examples=200)
@given(st.text(max_size=40), st.sampled_from([0, 1, 2, 126]), st.sampled_from(PROFILES), st.booleans())
def test_every_text_can_be_read(text, code, profile, strict):
    """Any output gives an outcome."""
    for kind in ("shell", "oracle"):
        outcome = decode_response(
            RawResult(code, text, text), "SessionStart", profile=profile, kind=kind, strict_json=strict
        )
        fold([outcome], "SessionStart")


@settings(RELAXED, max_examples=400)
@given(st.text(alphabet="ab|,*.+?()[]{}^$\\-_ <>:=!P1", max_size=12), st.text(alphabet="ab|_-", max_size=12))
def test_every_pattern_is_a_test_or_an_error(pattern, subject):
    """A pattern compiles to a test that never raises, or is refused with our error."""
    for dialect in DIALECTS:
        for profile in PROFILES:
            try:
                matcher = compile_matcher(pattern, rules(dialect, profile))
            except MatcherError:
                continue
            matcher.matches(subject)
            assert matcher.matches("") == (pattern in ("", "*"))
