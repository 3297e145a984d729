"""Values that were filled as a draft are as frozen as those their constructor made."""

from __future__ import annotations

import copy
import pickle
import weakref

import pytest
from attrs.exceptions import FrozenInstanceError

from dshhooks.operations import Call, Coordinates, JournalAppendData, Operation, Outcome, Result
from dshhooks.operations.call import begun, ended, now
from dshhooks.operations.payloads import append_data

AT, WHERE, DATA = now(), Coordinates("session-1"), append_data("event", "7")
CALL = begun(Operation.JOURNAL_APPEND, DATA, WHERE, "", None, AT)
MADE = [
    (DATA, JournalAppendData("event", "7")),
    (CALL, Call(Operation.JOURNAL_APPEND, DATA, WHERE, started_at=AT)),
    (
        ended(CALL, DATA, Outcome.COMPLETED, None, AT, 0.5),
        Result(Operation.JOURNAL_APPEND, DATA, WHERE, "", None, AT, AT, Outcome.COMPLETED, None, 0.5),
    ),
]
values = pytest.mark.parametrize(("drafted", "constructed"), MADE, ids=lambda value: type(value).__name__)


@values
def test_is_what_the_constructor_makes(drafted: object, constructed: object) -> None:
    """A sealed draft is an instance of the class, and every field is there."""
    assert type(drafted) is type(constructed)
    assert drafted == constructed
    assert repr(drafted) == repr(constructed)


@values
def test_cannot_be_changed(drafted: object, constructed: object) -> None:
    """Nobody assigns to a sealed draft, or adds to it (C1)."""
    for name in ("operation", "family", "anything"):
        with pytest.raises(FrozenInstanceError):
            setattr(drafted, name, "mine")
    assert not hasattr(drafted, "__dict__")
    assert drafted == constructed


@values
def test_can_be_referred_to_weakly_copied_and_pickled(drafted: object, constructed: object) -> None:
    """An observer may key a weak mapping by it, copy it, and send it elsewhere."""
    assert weakref.ref(drafted)() is drafted
    assert copy.copy(drafted) == constructed
    assert pickle.loads(pickle.dumps(drafted)) == constructed
