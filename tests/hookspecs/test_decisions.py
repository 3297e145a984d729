"""hookspecs.decisions: constructors check types, not JSON (decisions.md 7.5)."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from hookspecs.decisions import (
    Accept,
    Allow,
    AllowPrompt,
    ApprovalOutcome,
    Ask,
    Block,
    BlockPrompt,
    ContinueTurn,
    Deny,
    FailRequest,
    RetryRequest,
    SteeringReason,
    StopTurn,
)
from hookspecs.json import MISSING
from hookspecs.values import HookContext, PluginSource, TextBlock, UserSource

CONTEXT = HookContext("note", PluginSource("p"))


class TestReasons:
    @pytest.mark.parametrize("decision", [Deny, BlockPrompt])
    def test_a_refusal_needs_words(self, decision: Any) -> None:
        """Deny and BlockPrompt take a str, perhaps an empty one, and nothing else."""
        assert decision("no").reason == "no"
        assert decision("").reason == ""
        for bad in (None, 7, b"no", TextBlock("no")):
            with pytest.raises(TypeError, match=rf"{decision.__name__}\(reason=\.\.\.\) must be a str"):
                decision(bad)
        with pytest.raises(TypeError):
            decision()

    def test_asking_may_say_why(self) -> None:
        """Ask takes a str or nothing."""
        assert Ask().reason is None
        assert Ask("root?").reason == "root?"
        with pytest.raises(TypeError, match="Ask"):
            Ask(7)  # type: ignore[arg-type]


class TestContent:
    def test_accept_keeps_what_it_is_not_given(self) -> None:
        """Absent differs from null: None replaces the value, nothing does not."""
        assert (Accept().content, Accept().value, Accept().contexts) == (MISSING, MISSING, ())
        assert Accept(value=None).value is None
        assert Accept(content="").content == (TextBlock(""),)

    def test_allow_prompt_keeps_what_it_is_not_given(self) -> None:
        """The same for prompts."""
        assert (AllowPrompt().content, AllowPrompt().contexts) == (MISSING, ())
        assert AllowPrompt("hi").content == (TextBlock("hi"),)

    def test_feedback_is_content(self) -> None:
        """Block needs feedback: a str or blocks."""
        assert Block("no").feedback == (TextBlock("no"),)
        assert Block([TextBlock("no")]).feedback == (TextBlock("no"),)
        with pytest.raises(TypeError):
            Block()  # type: ignore[call-arg]

    @pytest.mark.parametrize("bad", [None, 7, ["text"], {"text": "x"}])
    @pytest.mark.parametrize(
        "make", [Block, AllowPrompt, lambda c: Accept(content=c), lambda c: SteeringReason(c, UserSource())]
    )
    def test_content_is_checked(self, make: Any, bad: Any) -> None:
        """What is no content is refused when the decision is made."""
        with pytest.raises(TypeError, match="content"):
            make(bad)

    def test_json_is_not_checked(self) -> None:
        """A value no log could keep is found later, when the result is materialized."""
        assert Accept(value={1, 2}).value == {1, 2}
        assert Block([TextBlock(float("nan"))])  # type: ignore[arg-type]


class TestContexts:
    @pytest.mark.parametrize("make", [Accept, AllowPrompt, lambda contexts: Block("x", contexts)])
    def test_are_a_sequence_of_contexts(self, make: Any) -> None:
        """Lists become tuples; anything but contexts is refused, with its place."""
        contexts = [CONTEXT]
        decision = make(contexts=contexts)
        contexts.clear()
        assert decision.contexts == (CONTEXT,)
        for bad in (CONTEXT, "note", None, {CONTEXT}, iter(())):
            with pytest.raises(TypeError, match="contexts must be"):
                make(contexts=bad)
        with pytest.raises(TypeError, match=r"contexts\[1\]"):
            make(contexts=(CONTEXT, "note"))


class TestContinuation:
    def test_a_reason_is_content_with_a_source(self) -> None:
        """ContinueTurn carries a SteeringReason or nothing."""
        assert ContinueTurn().reason is None
        reason = SteeringReason("go on", PluginSource("p"))
        assert ContinueTurn(reason).reason is reason
        assert reason.content == (TextBlock("go on"),)

    @pytest.mark.parametrize("bad", ["go on", 7, CONTEXT, SteeringReason])
    def test_other_reasons_are_refused(self, bad: Any) -> None:
        """A bare str has no source and is refused."""
        with pytest.raises(TypeError, match="SteeringReason"):
            ContinueTurn(bad)

    @pytest.mark.parametrize("bad", [None, "user", UserSource])
    def test_a_reason_needs_a_source(self, bad: Any) -> None:
        """The source of a reason is checked as a context's is."""
        with pytest.raises(TypeError, match="message source"):
            SteeringReason("go on", bad)


class TestAll:
    @pytest.mark.parametrize(
        "decision",
        [Allow(), Deny("x"), Ask(), Accept(), Block("x"), AllowPrompt(), BlockPrompt("x"), StopTurn(), ContinueTurn(),
         FailRequest(), RetryRequest(), SteeringReason("x", UserSource())],
        ids=lambda d: type(d).__name__,
    )  # fmt: skip
    def test_are_frozen_values(self, decision: Any) -> None:
        """A decision equals its like, can be hashed, and cannot be changed or extended."""
        assert decision == attrs.evolve(decision)
        assert hash(decision) == hash(attrs.evolve(decision))
        for name in [field.name for field in attrs.fields(type(decision))] + ["extra"]:
            with pytest.raises(AttributeError):
                setattr(decision, name, None)

    def test_are_told_apart_by_type(self) -> None:
        """Decisions without fields are not interchangeable, and none is true or false by accident."""
        assert Allow() != StopTurn()
        assert FailRequest() != RetryRequest()
        assert Deny("x") != BlockPrompt("x")
        assert all((Allow(), Deny(""), Ask(), StopTurn()))

    def test_outcomes_are_closed(self) -> None:
        """There are four outcomes of asking a person, with the names the log uses."""
        assert [outcome.value for outcome in ApprovalOutcome] == [
            "allowed-once",
            "rejected",
            "cancelled",
            "unavailable",
        ]
