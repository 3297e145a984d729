"""The description of an operation, at its start and at its finish (spec/operations.md 1.5)."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import attrs
from attrs import field, frozen

from dshhooks.operations.draft import Drafted, draft_of
from dshhooks.operations.errors import CallError
from dshhooks.operations.kinds import Operation, Outcome
from dshhooks.operations.payloads import PAYLOADS, Payload
from dshhooks.operations.snapshot import freeze, only_plain, shown_again

__all__ = ["Call", "Cause", "Coordinates", "Result", "begun", "check_call", "ended", "frozen_call", "now"]


now: Final = partial(datetime.now, UTC)


@frozen
class Coordinates:
    """Where in the work it happens; parts that do not apply are empty."""

    session: str = ""
    loop: str = ""
    turn: str = ""
    step: str = ""


@frozen
class Cause:
    """What made it happen.

    Args:
        command_id: The command, if one did.
        event_id: The event, if one did.
        tool_execution_id: The tool execution, if one did.
        coordinates: Where that was.
        human: True for a person, False for a machine, None when nobody knows.
    """

    command_id: str = ""
    event_id: str = ""
    tool_execution_id: str = ""
    coordinates: Coordinates = Coordinates()
    human: bool | None = None


shown_again(Coordinates, Cause)


@frozen
class Call(Drafted):
    """An operation that begins. Callbacks get a frozen copy; ``repr`` and :meth:`describe` hold no payload text.

    Args:
        operation: Which of the eight.
        payload: What it is about, of the class that belongs to the operation.
        coordinates: Where it happens.
        agent_name: Whose it is.
        cause: What made it happen.
        started_at: The owner's clock, aware UTC.
    """

    operation: Operation
    payload: Payload = field(default=None, repr=False)
    coordinates: Coordinates = Coordinates()
    agent_name: str = ""
    cause: Cause | None = None
    started_at: datetime = field(factory=now)

    def describe(self) -> dict[str, str | int | float | bool]:
        """Return the facts that may be logged: names, ids, times. Everything else may be sensitive."""
        return _described(self)


@frozen
class Result(Drafted):
    """An operation that has finished: the call's identity and payload, terminal fields filled.

    Args:
        ended_at: Never before ``started_at``, even when the clock stepped back.
        outcome: How it ended.
        error: The very exception the owner has, unredacted; for trusted code only.
        elapsed: Seconds between start and finish, by a clock that never steps.
    """

    operation: Operation
    payload: Payload = field(repr=False)
    coordinates: Coordinates
    agent_name: str
    cause: Cause | None
    started_at: datetime
    ended_at: datetime
    outcome: Outcome
    error: BaseException | None = field(default=None, repr=False)
    elapsed: float = 0.0

    def describe(self) -> dict[str, str | int | float | bool]:
        """Return the facts that may be logged: names, ids, times, outcome. Not the error."""
        ended: dict[str, str | float] = {
            "ended_at": self.ended_at.isoformat(),
            "elapsed": self.elapsed,
            "outcome": str(self.outcome),
        }
        return {**_described(self), **ended}


def _described(call: Call | Result) -> dict[str, str | int | float | bool]:
    facts: dict[str, Any] = {"operation": str(call.operation), "started_at": call.started_at.isoformat()}
    facts |= {name: part for name, part in attrs.asdict(call.coordinates).items() if part}
    if call.agent_name:
        facts["agent_name"] = call.agent_name
    for name in call.payload.SAFE:
        fact = getattr(call.payload, name)
        if type(fact) in (str, int, bool) and fact != "":
            facts[name] = fact
    return facts


def check_call(call: Any) -> None:
    """Refuse a call that does not describe an operation.

    Raises:
        CallError: ``unknown_operation``, or ``invalid_payload`` for a missing one, another operation's, or a start
            time without a time zone.
    """
    if type(call) is not Call:
        raise CallError(f"an operation is described by a Call, not by {type(call).__name__}")
    if type(call.operation) is not Operation:
        raise CallError("the call's operation must be a member of Operation", "unknown_operation")
    expected, payload = PAYLOADS[call.operation], type(call.payload)
    if payload is not expected:
        raise CallError(f"{call.operation} needs a {expected.__name__}, not {payload.__name__}")
    started = call.started_at
    if type(started) is not datetime or started.tzinfo is None:
        raise CallError(f"{call.operation} needs an aware datetime as started_at")


_CallDraft: Final = draft_of(Call)
_ResultDraft: Final = draft_of(Result)


def begun(
    operation: Operation, payload: Payload, where: Coordinates, name: str, cause: Cause | None, at: datetime
) -> Call:
    """Return the call of an operation that begins; all it is given is right, and frozen."""
    call = _CallDraft()
    call.operation, call.payload, call.coordinates = operation, payload, where
    call.agent_name, call.cause, call.started_at = name, cause, at
    call.__class__ = Call
    return call  # type: ignore[no-any-return]  # by now it is one


def ended(
    call: Call, payload: Payload, outcome: Outcome, error: BaseException | None, at: datetime, elapsed: float
) -> Result:
    """Return how a call ended, with the payload it has at its end."""
    started = call.started_at
    result = _ResultDraft()
    result.operation, result.payload, result.coordinates = call.operation, payload, call.coordinates
    result.agent_name, result.cause, result.started_at = call.agent_name, call.cause, started
    result.ended_at = at if at > started else started
    result.outcome, result.error, result.elapsed = outcome, error, elapsed
    result.__class__ = Result
    return result  # type: ignore[no-any-return]  # by now it is one


def frozen_call(call: Call) -> Call:
    """Return a checked call as its callbacks see it: the same one, unless something in it could be changed.

    Raises:
        SnapshotError: Something in it could, and nobody here knows how to copy it.
    """
    payload = call.payload if only_plain(call.payload) else freeze(call.payload)
    name, coordinates, cause = freeze(call.agent_name), freeze(call.coordinates), freeze(call.cause)
    if payload is call.payload and coordinates is call.coordinates and cause is call.cause and name is call.agent_name:
        return call
    return attrs.evolve(call, payload=payload, coordinates=coordinates, agent_name=name, cause=cause)
