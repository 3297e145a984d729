"""Exit codes, JSON answers and failures: what a run means."""

from __future__ import annotations

import json

import pytest

from dshhooks.bridge.dialects import DIALECTS, PROFILES
from dshhooks.bridge.errors import UnknownEventError
from dshhooks.bridge.events import EVENTS
from dshhooks.bridge.folding import fold
from dshhooks.bridge.options import Limits
from dshhooks.bridge.outcomes import RawResult
from dshhooks.bridge.payloads import build_payload, encode
from dshhooks.bridge.response import BLOCKED, decode_response
from tests.bridge.kit import codes, decode, group, parsed

BLOCK = '{"decision":"block","reason":"r"}'


def scoped(decision: str | None = "deny", name: str | None = "PreToolUse", **members: object) -> str:
    """An answer with an event block."""
    block = {"hookEventName": name, "permissionDecision": decision, **members}
    return json.dumps({"hookSpecificOutput": {key: value for key, value in block.items() if value is not None}})


def contexts(code: int, stdout: bytes | str, event: str = "SessionStart", **more: object) -> tuple[str, ...]:
    """The folded contexts of one run."""
    return fold([decode(code, stdout, event=event, **more)], event).contexts


class TestExitCodes:
    """0 speaks, 2 denies, the others fail without an opinion."""

    def test_silence(self):
        """Case 66: exit 0 with nothing on stdout has no opinion and no context."""
        outcome = decode(0)
        assert (outcome.decision, outcome.reason, outcome.notes) == ("none", None, ())
        assert contexts(0, " \n ") == ()

    @pytest.mark.parametrize("dialect", DIALECTS)
    @pytest.mark.parametrize("profile", PROFILES)
    def test_exit_2_denies(self, dialect, profile):
        """Case 67: the reason is what stderr says."""
        outcome = decode(2, stderr="no\n", dialect=dialect, profile=profile)
        assert (outcome.decision, outcome.reason, outcome.exit_code) == ("deny", "no", 2)

    @pytest.mark.parametrize("dialect", DIALECTS)
    @pytest.mark.parametrize("stderr", ["", " \n"])
    def test_exit_2_without_words(self, dialect, stderr):
        """Case 68: still a deny, with the default text."""
        outcome = decode(2, stderr=stderr, dialect=dialect)
        assert (outcome.decision, outcome.reason) == ("deny", BLOCKED)

    @pytest.mark.parametrize("profile", PROFILES)
    @pytest.mark.parametrize(
        "answer", ['{"decision":"approve"}', scoped("allow", permissionDecisionReason="fine"), "{"]
    )
    def test_exit_2_beats_what_is_printed(self, profile, answer):
        """Case 69: an approval on stdout changes nothing."""
        outcome = decode(2, answer, "no", profile=profile)
        assert (outcome.decision, outcome.reason) == ("deny", "no")

    def test_exit_2_may_say_why_in_json(self):
        """In Claude's current reading the answer's reason wins over stderr, and its other members count."""
        answer = '{"decision":"block","reason":"json","systemMessage":"m","continue":false}'
        outcome = decode(2, answer, "stderr")
        assert (outcome.reason, outcome.messages, outcome.stop) == ("json", ("m",), True)
        for dialect, profile in (("claude", "seed"), ("codex", "current"), ("native", "seed")):
            outcome = decode(2, answer, "stderr", dialect=dialect, profile=profile)
            assert (outcome.reason, outcome.messages) == ("stderr", ())

    @pytest.mark.parametrize("code", [1, 3, 64, 255])
    def test_other_exits_have_no_opinion(self, code):
        """Case 70: in the seed nothing is read; the action goes on, and the log says so."""
        outcome = decode(code, BLOCK, "oops", profile="seed")
        assert (outcome.decision, codes(outcome)) == ("none", ["hook-exit"])
        assert "oops" in outcome.notes[0].message

    @pytest.mark.parametrize("code", [1, 127])
    def test_how_much_of_stderr_a_note_has(self, code):
        """500 characters, or as many as the runtime's option says."""
        (note,) = decode(code, stderr="x" * 600, profile="seed").notes
        assert (note.level, note.message.partition(": ")[2]) == ("warning", "x" * 500 + "…")
        (note,) = decode(code, stderr="x" * 600, profile="seed", stderr_cap=3).notes
        assert note.message.partition(": ")[2] == "xxx…"

    def test_other_exits_in_claude_today(self):
        """Valid JSON counts whatever the exit code; anything else printed does not."""
        assert decode(1, BLOCK).decision == "deny"
        assert decode(1, '{"systemMessage":"m"}').messages == ("m",)
        assert contexts(1, "plain") == ()
        assert decode(1, "{bad").decision == "none"

    def test_other_exits_in_codex_today(self):
        """A deny is not dropped for a formal reason; the rest of such an answer is."""
        outcome = decode(1, '{"decision":"block","reason":"r","systemMessage":"m"}', dialect="codex")
        assert (outcome.decision, outcome.reason, outcome.messages) == ("deny", "r", ())
        assert decode(1, '{"decision":"approve"}', dialect="codex").decision == "none"
        assert decode(1, scoped("ask"), dialect="codex").decision == "ask"

    def test_failed_output_is_no_context(self):
        """What a failing hook printed never reaches the model."""
        for profile in PROFILES:
            assert contexts(1, "hello", profile=profile) == ()
            assert contexts(2, "hello", profile=profile) == ()

    @pytest.mark.parametrize("code", [126, 127])
    def test_a_command_that_is_not_there(self, code):
        """Case 98: an ordinary exit with a note of its own, since nothing was checked."""
        outcome = decode(code, stderr="sh: nothing: not found")
        assert (outcome.decision, outcome.failure, codes(outcome)) == ("none", None, ["hook-command-not-found"])

    def test_a_signal_inside_a_shell(self):
        """Exit 128+n is an ordinary exit; the log names the signal."""
        assert "SIGTERM" in decode(143).notes[0].message

    @pytest.mark.parametrize(
        "stderr",
        ["python: can't open file '/x/guard.py': [Errno 2] No such file or directory",
         "sh: 0: cannot open guard.sh: No such file"],
    )  # fmt: skip
    def test_a_deny_from_a_missing_script(self, stderr):
        """Python and dash exit 2 when the script is missing: still a deny, with a note."""
        outcome = decode(2, stderr=stderr)
        assert (outcome.decision, codes(outcome)) == ("deny", ["deny-from-missing-script"])


class TestAnswers:
    """The members of a JSON answer."""

    def test_block(self):
        """Case 71: the old top-level word."""
        outcome = decode(0, BLOCK)
        assert (outcome.decision, outcome.reason) == ("deny", "r")

    def test_approve(self):
        """Its counterpart."""
        assert decode(0, '{"decision":"approve"}').decision == "allow"

    @pytest.mark.parametrize("word", ["deny", "allow", "ask", "Block", "BLOCK", "", 3, True, ["block"]])
    def test_other_words_decide_nothing(self, word):
        """Case 72: they are ignored and noted."""
        outcome = decode(0, json.dumps({"decision": word}))
        assert (outcome.decision, codes(outcome)) == ("none", ["answer-decision-unknown"])

    @pytest.mark.parametrize("word", ["allow", "ask", "deny"])
    def test_the_event_block_overrides(self, word):
        """Case 73: permissionDecision wins over decision, in both directions."""
        document = json.loads(BLOCK) | json.loads(scoped(word))
        assert decode(0, json.dumps(document)).decision == word

    def test_a_block_for_another_event(self):
        """Case 74: it is dropped, and the top level stays."""
        document = json.loads(BLOCK) | json.loads(scoped("allow", "Stop"))
        outcome = decode(0, json.dumps(document))
        assert (outcome.decision, outcome.reason, codes(outcome)) == ("deny", "r", ["answer-for-another-event"])
        assert decode(0, scoped("deny", "Stop")).decision == "none"

    @pytest.mark.parametrize("dialect", DIALECTS)
    def test_a_block_without_a_name(self, dialect):
        """A deny is not dropped for that; a warning is noted."""
        outcome = decode(0, scoped(name=None), dialect=dialect)
        assert (outcome.decision, codes(outcome)) == ("deny", ["answer-without-event"])

    def test_names_after_a_canonical_dispatch(self):
        """A correct answer counts however the event was dispatched."""
        for name in ("tool:before", "PreToolUse"):
            assert decode(0, scoped(), event=name).decision == "deny"
        assert decode(0, scoped(name="PostToolUse"), event="PostToolUseFailure", dialect="codex").decision == "deny"
        assert decode(0, scoped(name="PostToolUse"), event="PostToolUseFailure").decision == "none"
        assert decode(0, scoped(), event="tool:before", dialect="native").decision == "deny"

    def test_reasons(self):
        """The block's reason wins, an empty one is none, and the top level's is better than none."""
        assert decode(0, scoped(permissionDecisionReason="why")).reason == "why"
        assert decode(0, scoped(permissionDecisionReason="")).reason is None
        document = {"reason": "top", **json.loads(scoped())}
        assert decode(0, json.dumps(document)).reason == "top"

    def test_deferring(self):
        """It is no opinion, and noted."""
        outcome = decode(0, scoped("defer"))
        assert (outcome.decision, codes(outcome)) == ("none", ["answer-defers"])

    def test_stop(self):
        """Only false asks to stop; the reason goes with it."""
        outcome = decode(0, '{"continue":false,"stopReason":"s"}')
        assert (outcome.stop, outcome.stop_reason, outcome.decision) == (True, "s", "none")
        assert not decode(0, '{"continue":true,"stopReason":"s"}').stop

    @pytest.mark.parametrize(
        "document",
        [{"continue": "false"}, {"ok": "false"}, {"ok": 0}, {"reason": 5}, {"additionalContext": ["x"]},
         {"systemMessage": {}}, {"hookSpecificOutput": "x"},
         {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": "x"}}],
    )  # fmt: skip
    def test_wrong_types_are_absent(self, document):
        """Case 89: they are ignored and noted, and nothing raises."""
        outcome = decode(0, json.dumps(document))
        assert codes(outcome) == ["answer-field-ignored"]
        assert (outcome.decision, outcome.stop, outcome.contexts, outcome.update_input) == ("none", False, (), None)

    def test_nulls_are_absent(self):
        """Null members say nothing, silently."""
        members = ("decision", "reason", "continue", "ok", "stopReason", "systemMessage", "additionalContext",
                   "hookSpecificOutput")  # fmt: skip
        outcome = decode(0, json.dumps(dict.fromkeys(members)))
        assert (outcome.decision, outcome.notes) == ("none", ())

    def test_contexts_and_messages(self):
        """Top-level context first, then the block's; blank ones are dropped."""
        document = {"additionalContext": "a", "systemMessage": "m"}
        document |= json.loads(scoped(None, additionalContext="b"))
        outcome = decode(0, json.dumps(document))
        assert (outcome.contexts, outcome.messages) == (("a", "b"), ("m",))
        assert decode(0, '{"additionalContext":" \\n"}').contexts == ()

    @pytest.mark.parametrize("profile", PROFILES)
    def test_a_rewrite_is_recorded(self, profile):
        """updatedInput is kept for the record and warned about, in both profiles."""
        outcome = decode(0, scoped(None, updatedInput={"command": "x"}), profile=profile)
        assert (outcome.update_input, codes(outcome)) == ({"command": "x"}, ["answer-rewrites-input"])

    def test_a_number_without_end(self):
        """1e999 is JSON, and nobody could write the infinity it is read as: it is null, and a deny beside it stays."""
        outcome = decode(0, scoped("deny", updatedInput={"a": 0}).replace("0", "[-1e999, 1.5]"))
        assert (outcome.decision, outcome.update_input) == ("deny", {"a": [None, 1.5]})

    def test_ok_is_heard_from_every_kind(self):
        """ok:false denies, whatever the event block says; ok:true decides nothing."""
        document = {"ok": False, **json.loads(scoped("allow", "Stop"))}
        outcome = decode(0, json.dumps(document))
        assert (outcome.decision, outcome.reason) == ("deny", "denied by evaluation")
        assert decode(0, json.dumps({"ok": False, **json.loads(scoped("allow"))})).decision == "deny"
        assert decode(0, '{"ok":true}').decision == "none"

    @pytest.mark.parametrize(
        ("document", "reason"),
        [
            ({"ok": False, "reason": "r"}, "r"),
            ({"ok": False, "decision": "block", "reason": "r"}, "r"),
            ({"ok": False, "reason": "r", **json.loads(scoped("deny", permissionDecisionReason="d"))}, "d"),
            ({"ok": False, "reason": "r", **json.loads(scoped("allow", permissionDecisionReason="fine"))}, "r"),
            ({"ok": False, **json.loads(scoped("allow", permissionDecisionReason="fine"))}, "denied by evaluation"),
            ({"ok": False, **json.loads(scoped("ask", permissionDecisionReason="sure?"))}, "denied by evaluation"),
        ],
    )
    def test_why_ok_is_false(self, document, reason):
        """The answer's reason, or the default text; never why its event block would let the call pass."""
        outcome = decode(0, json.dumps(document))
        assert (outcome.decision, outcome.reason) == ("deny", reason)

    @pytest.mark.parametrize(
        ("answer", "said"),
        [('{"decision":"block"}', "block"), ('{"decision":"approve"}', "approve"), (scoped("deny"), "deny"),
         (scoped("ask"), "ask"), (json.dumps({"decision": "block", **json.loads(scoped("allow"))}), "allow"),
         ('{"ok":false}', None), ('{"decision":"deny"}', None), ("{}", None), ("", None)],
    )  # fmt: skip
    def test_the_word_as_it_was_said(self, answer, said):
        """Kept for the record: allow and approve are one decision, and two words."""
        assert decode(0, answer).said == said
        assert decode(1, answer, dialect="codex").said == (said if said not in ("approve", "allow") else None)
        assert decode(2, answer).said is None
        assert decode(-9, answer, on_error="block").said is None

    def test_unknown_members_are_ignored(self):
        """More members than we know are no reason to drop a deny."""
        outcome = decode(0, json.dumps({"suppressOutput": True, "x": 1, **json.loads(scoped(x=1))}))
        assert (outcome.decision, outcome.notes) == ("deny", ())


class TestText:
    """Where JSON begins, and what is none."""

    def test_broken_json_on_a_context_event(self):
        """Case 77: plain text with a diagnostic; with strict_json a failure and no context."""
        assert contexts(0, "{bad") == ("{bad",)
        assert codes(decode(0, "{bad", event="SessionStart")) == ["json-looking-output-invalid"]
        strict = decode(0, "{bad", event="SessionStart", strict_json=True)
        assert strict.failure == "reply"
        assert fold([strict], "SessionStart").contexts == ()

    def test_text_elsewhere_is_nothing(self):
        """Case 78: plain text on an event without context goes nowhere."""
        outcome = decode(0, "hello")
        assert fold([outcome], "PreToolUse").contexts == ()
        assert (outcome.stdout, outcome.decision) == ("hello", "none")

    @pytest.mark.parametrize(
        "stdout", [b"\xef\xbb\xbf" + BLOCK.encode(), f"\ufeff{BLOCK}", f"\r\n{BLOCK}\r\n", f"  {BLOCK}"]
    )
    def test_marks_and_line_ends(self, stdout):
        """Cases 81, 82: a byte-order mark and white space around JSON do not matter."""
        assert decode(0, stdout).decision == "deny"

    def test_utf_16(self):
        """PowerShell's output is read by its mark."""
        assert decode(0, BLOCK.encode("utf-16")).decision == "deny"

    @pytest.mark.parametrize("stdout", [BLOCK + BLOCK, BLOCK + "\ntext", BLOCK + "\n" + BLOCK])
    def test_two_documents(self, stdout):
        """Case 83: not structured; the diagnostic names where the second begins; nothing is decided."""
        outcome = decode(0, stdout)
        assert (outcome.decision, codes(outcome)) == ("none", ["json-looking-output-invalid"])
        assert "extra data after the first object at char" in outcome.notes[0].message

    def test_text_before_json(self):
        """Nothing is decided by JSON after noise, and the log says why."""
        outcome = decode(0, f"welcome\n{BLOCK}\n")
        assert (outcome.decision, codes(outcome)) == ("none", ["json-after-noise"])
        assert codes(decode(0, "welcome\n{bad")) == []

    @pytest.mark.parametrize("stdout", ['[{"decision":"block"}]', '"text"', "3", "null"])
    def test_other_json_is_plain_text(self, stdout):
        """Case 85: arrays and quoted texts are text."""
        assert decode(0, stdout).decision == "none"
        assert contexts(0, stdout) == (stdout,)

    @pytest.mark.parametrize("stdout", [b"\xff\xfeA", b"\xff\xff", b"\xc3(", b"\xfe\xff\xd8", bytes(range(256))])
    def test_no_bytes_raise(self, stdout):
        """Case 87: whatever bytes come, they become some text."""
        decode(0, stdout, event="SessionStart")
        decode(2, stdout, stdout)
        decode(1, stdout, stdout)

    @pytest.mark.parametrize(
        "text",
        ['{"a":NaN}', '{"a":-Infinity}', '{"a":' + "9" * 5000 + "}", '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"],
    )
    def test_hostile_json(self, text):
        """NaN, numbers too long and nesting too deep are invalid, not a crash."""
        assert codes(decode(0, text)) == ["json-looking-output-invalid"]

    def test_duplicate_keys(self):
        """The last one counts."""
        assert decode(0, '{"decision":"approve","decision":"block"}').decision == "deny"

    def test_text_is_made_fit(self):
        """Escape sequences and NUL are stripped, line ends are unified, the length is bounded with a mark."""
        assert contexts(0, "\x1b[31mred\x1b[0m\r\nline\0\n") == ("red\nline",)
        (text,) = fold([decode(0, "x" * 20, event="SessionStart")], "SessionStart", limits=Limits(context=5)).contexts
        assert text == "xxxxx\n[15 characters dropped]"
        assert decode(2, stderr="\x1b[1mno\x1b[0m").reason == "no"


class TestFailures:
    """No usable answer, and what onError makes of it."""

    def failed(self, **more: object) -> object:
        """A run that timed out after printing a deny."""
        raw = RawResult(None, BLOCK, "e", failure="timeout", error="timed out after 0.3s")
        return decode_response(raw, "PreToolUse", **more)  # type: ignore[arg-type]

    def test_a_failure_has_no_opinion(self):
        """What was printed stays in the record and counts for nothing."""
        outcome = self.failed()
        assert (outcome.decision, outcome.exit_code, outcome.failure) == ("none", None, "timeout")
        assert (outcome.stdout, outcome.error, codes(outcome)) == (BLOCK, "timed out after 0.3s", ["hook-timeout"])

    def test_block_makes_it_a_deny(self):
        """Case 92: the reason says that the hook failed; on an event that cannot be blocked it is downgraded."""
        outcome = self.failed(on_error="block")
        assert (outcome.decision, outcome.reason) == ("deny", "hook failed: timed out after 0.3s")
        folded = fold([outcome], "tool:after")
        assert (folded.decision, folded.downgraded, folded.raw_decision) == ("none", True, "deny")

    def test_ignore_is_quiet(self):
        """No warning then."""
        assert [note.level for note in self.failed(on_error="ignore").notes] == ["info"]

    def test_an_abort_is_no_deny(self):
        """What the host aborted needs no deny."""
        raw = RawResult(failure="aborted", error="hook aborted by the host")
        assert decode_response(raw, "PreToolUse", on_error="block").decision == "none"

    def test_death_by_signal(self):
        """Case 95: no exit code, the signal is named, onError applies."""
        outcome = decode(-9, BLOCK, on_error="block")
        assert (outcome.exit_code, outcome.failure, outcome.decision) == (None, "signal", "deny")
        assert outcome.error == "killed by signal SIGKILL"
        assert decode(-200).error == "killed by signal 200"
        assert decode(-9, on_error="ignore").decision == "none"

    @pytest.mark.parametrize(("event", "decision"), [("PreToolUse", "deny"), ("Stop", "deny"), ("PostToolUse", "none")])
    def test_the_exit_code_is_lost(self, event, decision):
        """Somebody else collected it: it may have been a deny, so where one counts it is one, whatever the policy."""
        outcome = decode(None, '{"systemMessage": "m"}', event=event, on_error="ignore")
        assert (outcome.failure, outcome.exit_code, outcome.decision, outcome.messages) == (
            "signal",
            None,
            decision,
            (),
        )
        assert "SIGCHLD" in str(outcome.error)

    def test_cut_json(self):
        """JSON that was cut off is no context; with block it is a failure."""
        raw = RawResult(0, '{"a":"' + "x" * 10, stdout_truncated=True)
        outcome = decode_response(raw, "SessionStart")
        assert (outcome.stdout_truncated, codes(outcome)) == (True, ["output-truncated"])
        assert fold([outcome], "SessionStart").contexts == ()
        assert decode_response(raw, "SessionStart", on_error="block").failure == "reply"
        assert contexts(0, "x") == ("x",)

    @pytest.mark.parametrize("on_error", ["warn", "ignore", "block"])
    @pytest.mark.parametrize("code", [0, 1])
    def test_cut_json_may_have_been_a_deny(self, code, on_error):
        """Where a deny counts it is one, whatever failures do otherwise: a deny is not dropped for being long."""
        raw = RawResult(code, '{"reason":"' + "x" * 10, stdout_truncated=True)
        outcome = decode_response(raw, "PreToolUse", on_error=on_error)
        assert (outcome.decision, outcome.failure, outcome.exit_code) == ("deny", "reply", code)
        assert "was cut at" in str(outcome.reason)

    def test_text_that_was_cut(self):
        """Is text: it decides nothing, however long it was; nor does JSON on an exit on which none is read."""
        raw = RawResult(0, "x" * 10, stdout_truncated=True)
        assert decode_response(raw, "PreToolUse").decision == "none"
        raw = RawResult(1, '{"reason":"x', stdout_truncated=True)
        assert decode_response(raw, "PreToolUse", profile="seed").decision == "none"

    def test_failing_closed_on_any_exit(self):
        """With onFailure: block an unexpected exit is a failure, unless the answer decides."""
        outcome = decode(1, exit_other_is_failure=True, on_error="block")
        assert (outcome.decision, outcome.failure, outcome.exit_code) == ("deny", "exit", 1)
        assert decode(1, BLOCK, exit_other_is_failure=True, on_error="block").reason == "r"
        assert decode(0, exit_other_is_failure=True).failure is None

    def test_a_detached_run_says_nothing(self):
        """It was not waited for."""
        outcome = decode_response(RawResult(0, BLOCK, detached=True), "PreToolUse")
        assert (outcome.decision, outcome.detached) == ("none", True)


class TestOracle:
    """A model's reply."""

    def test_words(self):
        """ok:false denies with a reason or the default one; ok:true does not allow."""
        assert decode(0, '{"ok":false,"reason":"r"}', kind="oracle").reason == "r"
        assert decode(0, '{"ok":false}', kind="oracle").reason == "denied by evaluation"
        assert decode(0, '{"ok":true}', kind="oracle").decision == "none"
        assert decode(0, scoped("ask"), kind="oracle").decision == "ask"

    @pytest.mark.parametrize(
        "reply",
        ['```json\n{"ok":false}\n```', '```JSON\r\n{"ok":false}\r\n```', '~~~~\n{"ok":false}\n~~~~',
         'Sure:\n\n```\n{"ok": false}\n```\nDone.', '```\nno\n```\n```json\n{"ok":false}\n```',
         '```json {"ok":false} ```',
         '\ufeff{"ok":false}', '```json\n{"ok":false}', '````\n{"ok":false,"reason":"```x```"}\n````'],
    )  # fmt: skip
    def test_fences(self, reply):
        """Case 110: a fenced block is found; the first that is an object counts."""
        assert decode(0, reply, kind="oracle").decision == "deny"

    def test_a_fence_inside_a_string(self):
        """The reply is tried as it is first."""
        reply = json.dumps({"ok": False, "reason": "```json\n{}\n```"})
        assert decode(0, reply, kind="oracle").reason == "```json\n{}\n```"

    @pytest.mark.parametrize(
        "reply", ["", "no", "[]", '"x"', "null", "```\n[1]\n```", '{"ok":"false"}', '{"ok":0}', '{"ok":null}']
    )
    def test_unusable_replies(self, reply):
        """Case 113: no object, or an ok that is no boolean, is a failure and not an approval."""
        outcome = decode(0, reply, kind="oracle", on_error="block")
        assert (outcome.failure, outcome.decision) == ("reply", "deny")

    def test_a_forgotten_verdict(self):
        """A model that forgot the key decided nothing, and that is noted."""
        assert codes(decode(0, '{"reason":"r"}', kind="oracle")) == ["oracle-no-verdict"]


def test_a_stop_without_words():
    """Case 90: the first stop counts, even when only a later one has words."""
    runs = [decode(0, '{"continue":false}'), decode(0, '{"continue":false,"stopReason":"s"}')]
    folded = fold(runs, "PreToolUse")
    assert (folded.stop, folded.stop_reason) == (True, None)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("event", EVENTS.values(), ids=lambda event: event.name)
def test_an_echoing_hook_says_nothing(dialect, event):
    """A hook that prints what it was told decides nothing, on any event, and adds no context."""
    spelling = (*event.spellings[dialect], event.name)[0]
    key = "events" if dialect == "native" else "hooks"
    result, _ = parsed({"version": 1, key: {spelling: [group("cat")]}}, dialect)
    hook = result.groups[0].hooks[0]
    told = build_payload(event, hook, {"reason": "logout", "prompt": "{}"}, dispatched=event.name)
    outcome = decode_response(RawResult(0, encode(told)), event, hook=hook)
    folded = fold([outcome], event)
    assert (folded.decision, folded.reason, folded.contexts, folded.stop) == ("none", None, (), False)


def test_a_hook_brings_its_dialect():
    """With a hook, dialect, profile, kind and id come from it."""
    result, _ = parsed({"hooks": {"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "p"}]}]}})
    hook = result.groups[0].hooks[0]
    outcome = decode_response(RawResult(0, "no"), "PreToolUse", hook=hook)
    assert outcome.failure == "reply"
    assert outcome.notes[0].source == hook.id


def test_an_unknown_event_is_refused():
    """The decoder knows only events of the table."""
    with pytest.raises(UnknownEventError, match="Nope"):
        decode(0, event="Nope")
