"""Many runs as one answer: the cases, the laws, and the wire forms."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dshhooks.bridge
from dshhooks.bridge.errors import UnknownEventError
from dshhooks.bridge.events import EVENTS
from dshhooks.bridge.folding import fold
from dshhooks.bridge.model import Hook, Source
from dshhooks.bridge.outcomes import Dispatch, FoldedOutcome, Outcome, Run

RANK = ["none", "allow", "ask", "deny"]
TEXTS = st.text(max_size=8)
OUTCOMES = st.builds(
    Outcome,
    exit_code=st.sampled_from([0, 0, 0, 1, 2, None]),
    stdout=TEXTS,
    decision=st.sampled_from(RANK),
    reason=st.none() | TEXTS,
    stop=st.booleans(),
    stop_reason=st.none() | TEXTS,
    contexts=st.lists(TEXTS, max_size=2),
    messages=st.lists(TEXTS, max_size=2),
    update_input=st.none() | st.just({"a": 1}),
    plain=st.booleans(),
)


def say(decision: str, reason: str | None = None, **members: object) -> Outcome:
    """An outcome with a decision."""
    return Outcome(exit_code=0, decision=decision, reason=reason, plain=False, **members)  # type: ignore[arg-type]


class TestDecision:
    """The strictest wins."""

    def test_a_deny_wins(self):
        """Case 115: all reasons of the denies, in order, a blank line between them."""
        folded = fold([say("allow", "x"), say("ask", "y"), say("deny", "a"), say("deny", "b")], "PreToolUse")
        assert (folded.decision, folded.reason) == ("deny", "a\n\nb")

    def test_an_ask_wins_over_an_allow(self):
        """Case 116: with its own reason only."""
        folded = fold([say("ask", "x"), say("allow", "y")], "PreToolUse")
        assert (folded.decision, folded.reason) == ("ask", "x")

    def test_an_allow_needs_no_reason(self):
        """Nobody reads why something is allowed."""
        assert fold([say("allow", "x")], "PreToolUse") == FoldedOutcome(decision="allow")

    def test_a_reason_without_a_decision_is_not_shown(self):
        """An echoed payload may have a reason."""
        assert fold([say("none", "logout")], "session:end").reason is None

    def test_equal_reasons_stay(self):
        """Duplicates are kept, empty ones are not."""
        assert fold([say("deny", "a"), say("deny"), say("deny", ""), say("deny", "a")], "Stop").reason == "a\n\na"

    @pytest.mark.parametrize("event", [event for event in EVENTS.values() if not event.blockable], ids=lambda e: e.name)
    def test_a_deny_that_cannot_be(self, event):
        """On an event that cannot be blocked it is downgraded and kept."""
        folded = fold([say("deny", "a")], event.name)
        assert folded == FoldedOutcome(downgraded=True, raw_decision="deny", raw_reason="a")
        assert fold([say("ask", "a")], event.name) == FoldedOutcome(decision="ask", reason="a")


class TestTexts:
    """Contexts, messages, stops."""

    def test_order(self):
        """Each run's contexts, then what it printed; then the next run."""
        runs = [
            Outcome(exit_code=0, stdout="p1\n", contexts=("a", "b")),
            Outcome(exit_code=0, contexts="c", stdout="p2"),
        ]
        assert fold(runs, "SessionStart").contexts == ("a", "b", "p1", "c", "p2")

    def test_printed_text_counts_where_it_may(self):
        """Only on events with context, after exit 0, when it is no JSON and not blank."""
        printed = Outcome(exit_code=0, stdout="text")
        for event in EVENTS.values():
            assert fold([printed], event.name).contexts == (("text",) if event.context_stdout else ())
        failed, structured = Outcome(exit_code=1, stdout="x"), Outcome(exit_code=0, stdout="{}", plain=False)
        blank = (Outcome(exit_code=0, stdout=" \n"), Outcome(exit_code=0, contexts=" "))
        for outcome in (failed, structured, *blank, Outcome(stdout="x")):
            assert fold([outcome], "SessionStart").contexts == ()

    def test_messages_and_wishes(self):
        """They are collected in order."""
        runs = [
            say("none", messages=("m",), update_input={"a": 1}),
            say("none"),
            say("deny", messages="n", update_input={}),
        ]
        folded = fold(runs, "PreToolUse")
        assert (folded.messages, folded.update_inputs) == (("m", "n"), ({"a": 1}, {}))

    def test_a_stop_is_independent(self):
        """It is passed on whatever the decision and the event."""
        assert fold([say("allow", stop=True, stop_reason="s")], "session:end").stop_reason == "s"


class TestLaws:
    """Case 117 and what else holds for any list."""

    @settings(deadline=None)
    @given(st.lists(OUTCOMES, max_size=6), st.sampled_from(sorted(EVENTS)))
    def test_the_strictest_decision_is_never_lost(self, outcomes, event):
        """Case 117: a deny among any outcomes is the answer, or is kept as the raw one."""
        folded = fold(outcomes, event)
        strictest = max((outcome.decision for outcome in outcomes), key=RANK.index, default="none")
        assert (folded.raw_decision or folded.decision) == strictest
        assert folded.downgraded == (strictest == "deny" and not EVENTS[event].blockable)

    @settings(deadline=None)
    @given(st.lists(OUTCOMES, max_size=6), st.sampled_from(sorted(EVENTS)), st.randoms(use_true_random=False))
    def test_order_changes_only_texts(self, outcomes, event, chance: random.Random):
        """Case 117: permuting outcomes changes the order of texts and nothing else."""
        shuffled = list(outcomes)
        chance.shuffle(shuffled)
        one, other = fold(outcomes, event), fold(shuffled, event)
        for name in ("decision", "downgraded", "raw_decision", "stop"):
            assert getattr(one, name) == getattr(other, name)
        for name in ("contexts", "messages"):
            assert sorted(getattr(one, name)) == sorted(getattr(other, name))

    @settings(deadline=None)
    @given(st.lists(OUTCOMES, max_size=5), st.lists(OUTCOMES, max_size=5), st.sampled_from(sorted(EVENTS)))
    def test_folding_in_two_parts(self, first, second, event):
        """Concatenation: texts are those of the first part, then the second; the decision is the stricter one."""
        whole, one, other = fold(first + second, event), fold(first, event), fold(second, event)
        assert whole.contexts == one.contexts + other.contexts
        assert whole.messages == one.messages + other.messages
        assert whole.update_inputs == one.update_inputs + other.update_inputs
        assert whole.stop == (one.stop or other.stop)
        assert whole.stop_reason == (one.stop_reason if one.stop else other.stop_reason)

    @settings(deadline=None)
    @given(OUTCOMES)
    def test_one_outcome_is_itself(self, outcome):
        """A fold of one says what that one says."""
        folded = fold([outcome], "tool:before")
        assert (folded.decision, folded.stop) == (outcome.decision, outcome.stop)
        assert folded.messages == outcome.messages


class TestWire:
    """camelCase; the members of a run are always there, the optional ones of an answer only with something in them."""

    def test_a_run(self):
        """Ten members, null for what was not said; and what the hook said."""
        silent = {
            "exitCode": None, "stderr": "", "stdout": "", "decision": "none", "reason": None, "stop": False,
            "stopReason": None, "contexts": [], "messages": [], "updateInput": None,
        }  # fmt: skip
        assert Outcome().as_json() == silent
        said = Outcome(exit_code=0, stop=True, stop_reason="s", update_input={"a": 1}, said="block")
        assert said.as_json() == {**silent, "exitCode": 0, "stop": True, "stopReason": "s", "updateInput": {"a": 1}}

    def test_what_a_host_may_show(self):
        """The record of a run has the hook's `statusMessage`, if it has one."""
        source = Source("/f", "claude", "current", "user")
        hook = Hook("id", "shell", source, "tool:before", "PreToolUse", status_message="Checking")
        assert Run(hook, Outcome()).as_json()["hook"] == {
            "id": "id", "dialect": "claude", "event": "tool:before", "kind": "shell", "statusMessage": "Checking",
        }  # fmt: skip

    def test_nothing_ran(self):
        """The neutral answer has the same keys."""
        assert fold([], "tool:before").as_json() == {
            "decision": "none", "stop": False, "contexts": [], "messages": [], "updateInputs": [], "downgraded": False,
        }  # fmt: skip

    def test_downgraded(self):
        """Raw members are there when there is something to keep."""
        document = fold([say("deny", "a", stop=True, stop_reason="s")], "notice").as_json()
        assert document == {
            "decision": "none", "stop": True, "stopReason": "s", "contexts": [], "messages": [], "updateInputs": [],
            "downgraded": True, "rawDecision": "deny", "rawReason": "a",
        }  # fmt: skip

    def test_a_dispatch(self):
        """A run record says which hook it was, and nothing that may hold a secret."""
        source = Source("/f", "claude", "current", "user")
        secrets = {"headers": {"A": "secret"}, "env": {"K": "secret"}, "url": "http://u:p@h/"}
        hook = Hook("id", "webhook", source, "tool:before", "PreToolUse", "Bash", **secrets)
        outcome = Outcome(exit_code=2, stderr="no", decision="deny", reason="no", stdout_truncated=True)
        document = Dispatch("tool:before", fold([outcome], "tool:before"), [Run(hook, outcome, 1.5, "late")]).as_json()
        assert document["canonical"] == "tool:before"
        assert document["outcome"]["decision"] == "deny"
        assert document["runs"] == [{
            "hook": {"id": "id", "dialect": "claude", "event": "tool:before", "kind": "webhook", "matcher": "Bash"},
            "outcome": {"exitCode": 2, "stderr": "no", "stdout": "", "decision": "deny", "reason": "no", "stop": False,
                        "stopReason": None, "contexts": [], "messages": [], "updateInput": None,
                        "stdoutTruncated": True},
            "durationMs": 1.5,
            "error": "late",
        }]  # fmt: skip


def test_an_unknown_event_is_refused():
    """Fold knows only events of the table."""
    with pytest.raises(UnknownEventError, match="Nope"):
        fold([], "Nope")


def test_fold_is_a_function_of_the_package():
    """The public name is the function, whatever was imported before."""
    assert dshhooks.bridge.fold is fold
