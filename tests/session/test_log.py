"""Appending to a session: what is refused, what is frozen, who hears (spec/core.md 5.1 to 5.4)."""

from __future__ import annotations

from typing import Any

import pytest

from dshhooks.session.enclosure import TurnEnclosure
from dshhooks.session.event import APPEND, Event, Replace
from dshhooks.session.events import (
    AssistantMessage,
    CompletedEnd,
    MessageTrigger,
    SteeringMessage,
    StepEnd,
    StepStart,
    ToolResultRecorded,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from dshhooks.session.log import Session
from hookspecs.errors import NotLosslessError, SealedError
from hookspecs.values import TextBlock, ToolResultBlock, UnknownBlock
from tests.session.kit import CODEC, MODEL, USER, append, begin, calls, header, kinds, log, moved, refused, say, turns


def opened() -> Session:
    """A session with an open step and one user message."""
    session = log()
    begin(session)
    return session


class TestAppend:
    @pytest.mark.parametrize(
        "meta", [{"x": float("nan")}, {"x": (1,)}, {1: "x"}, object()], ids=lambda value: type(value).__name__
    )
    def test_refuses_what_is_not_lossless(self, meta: Any) -> None:
        """Case 191: data that is not lossless JSON raises, and the log is unchanged."""
        session = opened()
        before = list(session.events)
        with pytest.raises(NotLosslessError):
            session.append(UserMessage("x", USER, meta=meta), surface_op=APPEND)
        assert list(session.events) == before

    def test_refuses_a_surface_event_without_operation(self) -> None:
        """Case 191: a surface type needs surface_op."""
        session = opened()
        with refused("INVALID_SURFACE"):
            session.append(UserMessage("x", USER))
        assert kinds(session.events)[-1] == "step/start"

    def test_refuses_an_operation_on_other_events(self) -> None:
        """Case 191: surface_op on step/end is refused, and the enclosure did not follow it."""
        session = opened()
        with refused("INVALID_SURFACE"):
            session.append(StepEnd(1, 1), surface_op=APPEND)
        session.append(StepEnd(1, 1))

    def test_snapshots_its_data(self) -> None:
        """What the caller changes later does not show in the log."""
        session, meta = opened(), {"tags": ["a"]}
        event = session.append(UserMessage("x", USER, meta=meta), surface_op=APPEND)
        meta["tags"].append("b")
        assert event.wire["meta"] == {"tags": ["a"]}
        assert event.data.meta == {"tags": ["a"]}

    def test_returns_the_logged_event_with_its_seq(self) -> None:
        """Seqs count from 0; the returned event is the one in the log."""
        session = opened()
        event = say(session)
        assert event.seq == 3
        assert session.events[3] is event

    def test_is_refused_after_the_end(self) -> None:
        """A disposed session takes nothing more."""
        session = opened()
        session.live = False
        with refused("SESSION_NOT_LIVE"):
            say(session)

    def test_an_event_is_sealed(self) -> None:
        """Neither the event nor its wire form can be changed."""
        event = say(opened())
        with pytest.raises(SealedError):
            event.seq = 9  # type: ignore[misc]
        with pytest.raises(TypeError):
            event.wire["content"] = []

    def test_views_do_not_grow(self) -> None:
        """A view taken before an append does not show it."""
        session = opened()
        before = session.events
        say(session)
        assert len(before) == 3
        assert len(session.events) == 4


class TestValidators:
    def test_a_refusal_leaves_no_gap(self) -> None:
        """Case 193: when a validator raises once and the append is tried again, it gets the same seq."""
        session, raised = log(), []

        def once(event: Event) -> None:
            if not raised:
                raised.append(event.seq)
                raise ValueError("not now")

        session.add_validator(once)
        with pytest.raises(ValueError, match="not now"):
            session.append(TurnStart(1, MessageTrigger(USER)))
        assert len(session.events) == 0
        assert session.append(TurnStart(1, MessageTrigger(USER))).seq == raised[0] == 0

    def test_may_not_append(self) -> None:
        """An append from inside a validator would get the seq of the event it validates."""
        session = opened()
        session.add_validator(lambda event: say(session) if event.type == "step/end" else None)
        with refused("REENTRANT_APPEND"):
            session.append(StepEnd(1, 1))
        assert [event.seq for event in session.events] == [0, 1, 2]

    def test_can_be_taken_back(self) -> None:
        """A disposed registration validates nothing."""
        session = opened()
        session.add_validator(lambda event: 1 / 0).dispose()
        say(session)


class TestPublication:
    def test_nested_append_is_refused(self) -> None:
        """Case 192: an observer cannot append to the session it hears of; the event it hears stays."""
        failures: list[BaseException] = []

        def publish(session: Session, event: Event) -> None:
            try:
                say(session)
            except BaseException as exc:
                failures.append(exc)

        session = Session(header(), CODEC, publish=publish)
        session.append(TurnStart(1, MessageTrigger(USER)))
        assert [exc.code for exc in failures] == ["REENTRANT_APPEND"]  # type: ignore[attr-defined]
        assert kinds(session.events) == ["turn/start"]

    def test_the_event_is_the_last_of_the_log(self) -> None:
        """Who hears of an event finds it in the log."""
        heard = []
        session = Session(header(), CODEC, publish=lambda session, event: heard.append(session.events[-1] is event))
        append(session)
        assert heard == [True] * len(session.events)


class TestSeed:
    def test_must_count_from_zero(self) -> None:
        """A seed with a gap is refused."""
        with refused("INVALID_SEED", "event 1 stands at 0"):
            Session(header(), CODEC, seed=turns()[1:])

    def test_is_not_published(self) -> None:
        """What was there before is not repeated."""
        heard: list[Event] = []
        Session(header(), CODEC, seed=turns(), publish=lambda session, event: heard.append(event))
        assert heard == []

    def test_is_validated_like_appends(self) -> None:
        """An unbalanced seed is refused where turns are checked."""
        twice = [*turns(), *moved(turns(), len(turns()))]
        with refused("TURN_ENCLOSURE", "turn 1 starts after turn 1"):
            Session(header(), CODEC, seed=twice, enclosure=TurnEnclosure())


class TestReplace:
    def test_needs_full_provenance(self) -> None:
        """Case 194: a replace that does not name every node it shadows is refused, the surface unchanged."""
        session = opened()
        say(session)
        before = list(session.surface)
        with refused("INVALID_SURFACE", "missing"):
            session.append(UserMessage("both", USER), surface_op=Replace(1, 3), source_event_seqs=[1])
        assert list(session.surface) == before == [1, 3]
        assert session.replace_generation == 0

    def test_puts_one_event_in_place_of_several(self) -> None:
        """A replace stands where the replaced nodes stood; the log keeps them."""
        session = opened()
        say(session)
        session.append(UserMessage("both", USER), surface_op=Replace(1, 3), source_event_seqs=[1, 3])
        assert list(session.surface) == [4]
        assert [message.content for message in session.messages()] == [(TextBlock("both"),)]
        assert session.replace_generation == 1

    def test_refuses_nodes_that_are_shadowed(self) -> None:
        """What was replaced is not on the surface any more."""
        session = opened()
        session.append(UserMessage("a", USER), surface_op=Replace(1, 1), source_event_seqs=[1])
        with refused("INVALID_SURFACE", "not on the surface"):
            session.append(UserMessage("b", USER), surface_op=Replace(1, 1), source_event_seqs=[1])

    def test_a_result_may_change_only_its_content(self) -> None:
        """A replacing tool/result differs in nothing else from the one it replaces."""
        session = opened()
        calls(session, 1, ["c"], ["c"], ["c"])
        at = session.events[-1].seq
        with refused("INVALID_SURFACE", "only the content"):
            session.append(
                ToolResultRecorded(1, 1, "c", "cut", True), surface_op=Replace(at, at), source_event_seqs=[at]
            )
        session.append(ToolResultRecorded(1, 1, "c", "cut", False), surface_op=Replace(at, at), source_event_seqs=[at])
        assert session.messages()[-1].content == (ToolResultBlock("c", "cut"),)

    def test_views_before_a_replace_keep_what_they_showed(self) -> None:
        """A snapshot of the messages does not change under a reader."""
        session = opened()
        before = session.messages()
        session.append(UserMessage("new", USER), surface_op=Replace(1, 1), source_event_seqs=[1])
        assert before[0].content == (TextBlock("prompt 1"),)


class TestMessages:
    def test_skips_empty_answers_and_wraps_results(self) -> None:
        """Case 195: an empty assistant/message is skipped; a tool/result is a user message with one block."""
        session = opened()
        calls(session, 1, ["c"], ["c"], ["c"])
        session.append(AssistantMessage(1, 1, (), MODEL), surface_op=APPEND)
        messages = session.messages()
        assert [message.role for message in messages] == ["user", "assistant", "user"]
        assert messages[2].content == (ToolResultBlock("c", "done"),)
        assert messages[1].provenance == MODEL

    def test_render_content_verbatim(self) -> None:
        """Source and meta of a message are not rendered; unknown blocks stay."""
        session = opened()
        block = UnknownBlock("image", {"type": "image", "url": "x"})
        session.append(SteeringMessage(1, (block,), USER, meta={"a": 1}), surface_op=APPEND)
        assert session.messages()[-1].content == (block,)

    def test_are_derived_once(self) -> None:
        """Deriving again builds only what is new."""
        session = opened()
        first = session.messages()[0]
        say(session)
        assert session.messages()[0] is first


class TestEnclosure:
    @pytest.mark.parametrize(
        "data",
        [TurnStart(1, MessageTrigger(USER)), TurnStart(2, MessageTrigger(USER)), TurnEnd(1, CompletedEnd()),
         TurnEnd(2, CompletedEnd()), StepStart(1, 2), StepEnd(1, 2), StepEnd(2, 1)],
        ids=lambda value: type(value).__name__,
    )  # fmt: skip
    def test_refuses_and_does_not_follow(self, data: Any) -> None:
        """What does not fit an open step is refused, and what fits is taken afterwards."""
        session = opened()
        with refused("TURN_ENCLOSURE"):
            session.append(data)
        session.append(StepEnd(1, 1))
        session.append(TurnEnd(1, CompletedEnd()))

    def test_refuses_events_outside_a_turn(self) -> None:
        """Every event stands in a turn."""
        with refused("TURN_ENCLOSURE", "outside a turn"):
            say(log())

    def test_a_result_needs_its_call_in_the_same_step(self) -> None:
        """An unresolved call is forgotten when its step ends."""
        session = opened()
        calls(session, 1, ["c"], ["c"])
        session.append(StepEnd(1, 1))
        session.append(StepStart(1, 2))
        with refused("TURN_ENCLOSURE", "no tool/call"):
            session.append(ToolResultRecorded(1, 2, "c", "late", False), surface_op=APPEND)
