"""A turn as an operation: its guards before anything durable, its finish after (spec/operations.md 1.13, B6, B8)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from dshhooks.agent.within import Within, ended, place_of, safe_error
from dshhooks.engine.faults import is_fault
from dshhooks.engine.observe import described
from dshhooks.operations.errors import CallError, GuardError, SnapshotError
from dshhooks.operations.kinds import Operation, Outcome
from dshhooks.operations.owner import start_here
from dshhooks.operations.payloads import TurnData
from dshhooks.operations.place import enter_place
from dshhooks.operations.runner import Runner
from dshhooks.operations.scope import Scope
from dshhooks.session.events import InputRejected
from hookspecs.values import Message

if TYPE_CHECKING:
    from dshhooks.agent.turn import Turn

__all__ = ["observed_turn"]

log = logging.getLogger("dshhooks.agent")


async def observed_turn(turn: Turn, runner: Runner) -> None:
    """Run a turn as an operation; of one that a guard refused, only an ``input/rejected`` is left."""
    enter_place(place_of(turn.agent, turn.number, turn.item))
    if not runner.handles(Operation.TURN):
        await turn.work()
        return
    scope = await _started(turn, runner)
    if scope is None:
        return
    within = Within(scope)
    # Once the turn has ended this does nothing: it has no owner any more.
    scope.token.signal.add_listener(lambda: turn.agent.stop_turn(turn.signal, scope.token.reason))
    try:
        error = await (_refused(turn, scope, within) if scope.refusal is not None else turn.work(within))
    except BaseException as exc:
        scope.finish(*ended(Operation.TURN, exc, turn.signal))
        raise
    scope.finish(*(ended(Operation.TURN, error, turn.signal) if error is not None else (Outcome.COMPLETED,)))


async def _started(turn: Turn, runner: Runner) -> Scope | None:
    """Begin the operation; ``None`` when the turn was cancelled while guards were asked, and never was."""
    message = Message("user", turn.item.message.content)
    scope: Scope | None = None
    try:
        with turn.agent.patience():
            scope = await start_here(runner, Operation.TURN, TurnData(turn.number, message))
    except (CallError, SnapshotError) as exc:
        # Nobody can be asked about what cannot be shown, so it does not run (C3).
        turn.agent.tell("agent_error", turn.agent, turn.number, 0, exc)
        await _reject(turn, "turn was blocked: its input cannot be shown to guards")
    return scope


async def _refused(turn: Turn, scope: Scope, within: Within) -> BaseException:
    """Resolve the refused input, and return what ended the operation."""
    refusal: Any = scope.refusal
    error = safe_error(Operation.TURN, refusal)
    if isinstance(refusal, GuardError):
        turn.agent.tell("agent_error", turn.agent, turn.number, 0, error)
    failure = await within.outlast(_reject, turn, str(error))
    return failure or refusal


async def _reject(turn: Turn, reason: str) -> BaseException | None:
    """Write down that an input gets no turn; return why that failed."""
    agent, message = turn.agent, turn.item.message
    outcome = "rejected" if message.source.kind == "user" else "cancelled"
    agent.drop_owner()
    try:
        agent.session.append(InputRejected(str(message.id), message.source, outcome, reason))
    except BaseException as exc:
        if not is_fault(exc):
            raise
        log.error("agent %r: the rejected input could not be written down: %s", agent.id, described(exc))
        return exc
    return await agent.flush(turn.number, 0)
