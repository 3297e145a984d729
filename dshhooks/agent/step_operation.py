"""A step as an operation: from the moment it opens to the commit of its end (spec/operations.md 1.13)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from dshhooks.agent.within import Within, at_place, ended
from dshhooks.llm.request import nothing_said
from dshhooks.operations.call import Coordinates
from dshhooks.operations.kinds import Operation, Outcome
from dshhooks.operations.owner import begin_here
from dshhooks.operations.payloads import StepData
from dshhooks.operations.place import Place, current_place
from dshhooks.operations.runner import Runner
from dshhooks.operations.scope import Scope

if TYPE_CHECKING:
    from dshhooks.agent.step import Step, StepOutcome

__all__ = ["observed_step"]

Body = Callable[..., Awaitable["StepOutcome"]]


async def observed_step(step: Step, runner: Runner, body: Body, *args: Any) -> StepOutcome:
    """Run what a step does once it opens, as an operation.

    Raises:
        Interrupted: An observer cancelled the step, or what ran in it.
        Exception: What the body raised.
    """
    if not runner.handles(Operation.STEP):
        return await at_place(_place(step), body, *args)
    return await at_place(_place(step), _observed, step, runner, body, *args)


async def _observed(step: Step, runner: Runner, body: Body, *args: Any) -> StepOutcome:
    scope = begin_here(runner, Operation.STEP, StepData(step.number - 1))
    try:
        outcome = await Within(scope).run(body, *args)
    except BaseException as exc:
        scope.finish(*ended(Operation.STEP, exc, step.signal))
        raise
    _finish(scope, outcome)
    return outcome


def _place(step: Step) -> Place:
    agent = step.agent
    here = Coordinates(agent.id, agent.id, str(step.turn), str(step.number))
    return Place(here, agent.agent_type, current_place().cause)


def _finish(scope: Scope, outcome: StepOutcome) -> None:
    if outcome.empty:
        # The log keeps the step, as spec/core.md 4.8 says; for whoever measures, nothing came of it.
        scope.finish(Outcome.FAILED, nothing_said())
    else:
        scope.finish(Outcome.COMPLETED)
