"""The rules of the log's events about hooks: a pair for each run, inside one turn."""

from __future__ import annotations

import pytest

from dshhooks.bridge import HookInvoked, HookResult
from dshhooks.bridge.journal import register
from dshhooks.bridge.pairing import pairing
from dshhooks.session import events
from dshhooks.session.codec import Codec
from dshhooks.session.enclosure import TurnEnclosure
from dshhooks.session.log import Session
from dshhooks.session.variants import Variants
from hookspecs.errors import HarnessError
from hookspecs.values import UserSource
from tests.session.kit import header


@pytest.fixture
def session():
    """A session whose log follows the rules."""
    variants = Variants()
    register(variants)
    made = Session(header(), Codec(variants), enclosure=TurnEnclosure())
    made.add_validator(pairing(made))
    return made


def turn(session):
    """Begin a turn and return its number."""
    number = session.last_turn + 1
    session.append(events.TurnStart(number, events.MessageTrigger(UserSource())))
    return number


def end(session, number):
    """End it."""
    session.append(events.TurnEnd(number, events.CompletedEnd()))


def invoked(number=1, run="h", point="PreToolUse"):
    """A run that begins."""
    return HookInvoked(number, point, "codex", run)


def result(number=1, run="h", point="PreToolUse"):
    """Its end."""
    return HookResult(number, point, run, "pass", 1.0)


def refused(session, event, why):
    """Say that an event stays out of the log, and why."""
    before = len(session.events)
    with pytest.raises(HarnessError, match=why) as raised:
        session.append(event)
    assert raised.value.code == "HOOK_PAIRING"
    assert len(session.events) == before


@pytest.mark.parametrize("event", [invoked(), result()])
def test_outside_a_turn(session, event):
    """Neither before the first nor after the last."""
    refused(session, event, "no turn is open")
    end(session, turn(session))
    refused(session, event, "no turn is open")


@pytest.mark.parametrize("event", [invoked(2), result(2)])
def test_another_turn(session, event):
    """The turn it names is the one that is open."""
    turn(session)
    refused(session, event, "it names turn 2, and open is turn 1")


def test_a_result_needs_its_run(session):
    """The same turn, point and id; what began in an earlier turn is over."""
    turn(session)
    session.append(invoked())
    refused(session, result(run="other"), "'other' of PreToolUse")
    refused(session, result(point="Stop"), "'h' of Stop")
    end(session, 1)
    turn(session)
    refused(session, result(2), "waiting for a result")


def test_runs_are_counted(session):
    """As many results as beginnings, in any order, among other events."""
    turn(session)
    session.append(invoked(run="a"))
    session.append(invoked(run="a"))
    session.append(invoked(run="b"))
    session.append(result(run="a"))
    session.append(result(run="b"))
    session.append(result(run="a"))
    refused(session, result(run="a"), "waiting")
    session.append(invoked(run="a"))
    session.append(result(run="a"))


def test_other_events_are_none_of_its_business(session):
    """They are checked by others."""
    end(session, turn(session))
    assert [event.type for event in session.events] == ["turn/start", "turn/end"]
