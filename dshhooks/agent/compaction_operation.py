"""A compaction as an operation: its guards before the model is asked, its finish last (spec/operations.md 1.16)."""

from __future__ import annotations

import hashlib
from uuid import uuid4

from dshhooks.agent.compaction import Attempt, Installed, cancelled
from dshhooks.agent.ends import Interrupted
from dshhooks.agent.within import Within, at_place, safe_error
from dshhooks.engine.faults import is_fault
from dshhooks.engine.scope import tied_scope
from dshhooks.operations.call import Coordinates
from dshhooks.operations.errors import GuardError, OperationCanceled
from dshhooks.operations.guards import Refusal
from dshhooks.operations.kinds import Operation, Outcome
from dshhooks.operations.owner import start_here
from dshhooks.operations.payloads import CompactionData, CompactionInput, CompactionOutput
from dshhooks.operations.place import Place, current_place
from dshhooks.operations.runner import Runner
from dshhooks.operations.scope import Scope
from dshhooks.operations.verdict import classify
from hookspecs.errors import HarnessError
from hookspecs.json import canonical

__all__ = ["observed_compaction"]


async def observed_compaction(attempt: Attempt, runner: Runner) -> bool:
    """Run an attempt as an operation; see :func:`dshhooks.agent.compaction.compact`."""
    if not runner.handles(Operation.COMPACTION):
        return await attempt.run()
    return await at_place(_place(attempt), _observed, attempt, runner)


async def _observed(attempt: Attempt, runner: Runner) -> bool:
    source = _input(attempt)
    scope = await _started(attempt, runner, source)
    within = Within(scope)
    try:
        summary = await within.run(attempt.summary)
        installed = await within.outlast(attempt.install, summary)
    except BaseException as exc:
        told = cancelled() if isinstance(exc, Interrupted) else None
        scope.finish(*_ended(attempt, exc))
        if told is None:
            raise
    else:
        _finish(scope, source, summary, installed)
        return installed.done
    raise told


async def _started(attempt: Attempt, runner: Runner, source: CompactionInput) -> Scope:
    data = CompactionData(uuid4().hex, source)
    scope: Scope | None = None
    with tied_scope(attempt.request.signal, grace=attempt.agent.grace):
        scope = await start_here(runner, Operation.COMPACTION, data)
    if scope is None:  # cancelled while a guard was asked
        raise cancelled()
    if scope.refusal is not None:
        scope.finish(classify(scope.refusal), scope.refusal)
        raise _unavailable(scope.refusal)
    return scope


def _unavailable(refusal: Refusal) -> HarnessError:
    """Return what whoever asked is told: a denial is no fault, a broken guard is (1.13)."""
    if isinstance(refusal, OperationCanceled):
        return cancelled()
    error = safe_error(Operation.COMPACTION, refusal)
    if isinstance(refusal, GuardError):
        return HarnessError(f"internal: {error}", error.code)
    return HarnessError(f"compaction is unavailable: {error}", "COMPACTION_UNAVAILABLE")


def _ended(attempt: Attempt, exc: BaseException) -> tuple[Outcome, BaseException]:
    if isinstance(exc, Interrupted) and exc.cause is not None:
        return Outcome.CANCELED, exc.cause
    if getattr(exc, "code", None) == "COMPACTION_CANCELLED" and is_fault(exc):
        return Outcome.CANCELED, exc
    return classify(exc), exc


def _finish(scope: Scope, source: CompactionInput, summary: str, installed: Installed) -> None:
    if installed.error is not None:
        # A summary whose record is not durable is no success, whoever goes on with it (1.16).
        scope.finish(Outcome.FAILED, installed.error)
    elif installed.done:
        output = CompactionOutput(source.basis, source.model_key, source.fingerprint, summary)
        scope.finish(Outcome.COMPLETED, output=output)
    else:
        gone = HarnessError("somebody else replaced what was summarized", "COMPACTION_SUPERSEDED")
        scope.finish(Outcome.FAILED, gone)


def _place(attempt: Attempt) -> Place:
    """Return the agent's place; the cause is the turn's only for who is inside that turn."""
    agent, here = attempt.agent, current_place()
    turn = agent.session.open_turn
    inside = turn is not None and here.coordinates.loop == agent.id
    coordinates = Coordinates(agent.id, agent.id, "" if turn is None else str(turn))
    return Place(coordinates, agent.agent_type, here.cause if inside else None)


def _input(attempt: Attempt) -> CompactionInput:
    request, nodes, events = attempt.request, attempt.nodes, attempt.agent.session.events
    model = f"{request.provider}/{request.model}"
    asked = canonical({"model": model, "events": [events[seq].wire for seq in nodes]})
    fingerprint = hashlib.sha256(asked.encode("ascii")).hexdigest()
    return CompactionInput(f"{nodes[0]}-{nodes[-1]}", model, fingerprint, request.messages[:-1], request.max_tokens)
