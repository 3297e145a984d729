"""One turn: the prompt's policy, its steps, and one balanced end whatever happens (spec/core.md 4.7, 4.10, 4.11)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dshhooks.agent.ends import Interrupted, RequestFailed
from dshhooks.agent.inbox import Item, ResolvedInput, seal_input
from dshhooks.agent.operations import DIRECT, Stretch, runner_of
from dshhooks.agent.record import record_prompt
from dshhooks.agent.step import Step, StepOutcome
from dshhooks.engine.faults import is_fault, origin
from dshhooks.engine.observe import described
from dshhooks.session.events import (
    AbortedEnd,
    CompletedEnd,
    DisposedEnd,
    ErrorEnd,
    MaxTokensEnd,
    MessageTrigger,
    PromptBlocked,
    RejectedEnd,
    StepEnd,
    TurnEnd,
    TurnEndReason,
    TurnStart,
)
from dshhooks.tools.outcome import failure_of, seal_content, seal_contexts
from hookspecs.decisions import AllowPrompt, BlockPrompt, ContinueTurn, FailRequest, RetryRequest, StopTurn
from hookspecs.errors import HarnessError, error_chain
from hookspecs.json import MISSING
from hookspecs.model import LlmFailure
from hookspecs.signal import CancelSignal

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent

__all__ = ["Turn"]

log = logging.getLogger("dshhooks.agent")


class Turn:
    """Runs one inbox item to the end of its turn.

    Args:
        agent: The agent.
        number: The turn's number.
        item: Its prompt.
        signal: Cancels it.
    """

    def __init__(self, agent: Agent, number: int, item: Item, signal: CancelSignal) -> None:
        self.agent, self.number, self.item, self.signal = agent, number, item, signal
        self.session = agent.session
        self.step = 0
        self.max_tokens = False
        self.stopped = False  # by agent_turn_stop: pending steering is dropped
        self.opened = False
        self.ended_by: BaseException | None = None
        self._priors: tuple[LlmFailure, ...] = ()

    async def run(self) -> None:
        """Run the turn; as an operation, if anybody watches. Raises nothing but cancellation of the driver's task."""
        runner = runner_of(self.agent)
        if runner is None:
            await self.work()
            return
        from dshhooks.agent.turn_operation import observed_turn

        await observed_turn(self, runner)

    async def work(self, stretch: Stretch = DIRECT) -> BaseException | None:
        """Open the turn, run it, close it; return what ended it otherwise than by itself.

        Args:
            stretch: Where it runs. Its records are written whatever becomes of what runs there.
        """
        recorded = self.agent.harness.config.agent.prompt_admission == "recorded"
        reason: TurnEndReason | None
        error: BaseException | None = None
        try:
            if recorded and not stretch.call(self._open):
                return self.ended_by
            reason = await stretch.run(self._body, recorded)
        except Interrupted as exc:
            reason, self.ended_by = self._interrupted(), exc
        except BaseException as exc:
            if not is_fault(exc):
                stretch.call(self._close, DisposedEnd())
                raise
            self.ended_by = exc
            reason, error = self._failed(exc)
        if reason is not None:
            stretch.call(self._close, reason)
        if error is not None:
            log.warning(
                "agent %r: turn %d failed at step %d: %s", self.agent.id, self.number, self.step, described(error)
            )
            self.agent.tell("agent_error", self.agent, self.number, self.step, error)
        if self.opened:
            # A turn whose end is not durable has failed, whatever else is to be said of it.
            self.ended_by = await stretch.outlast(self.agent.flush, self.number, self.step) or self.ended_by
        return self.ended_by

    def _open(self) -> bool:
        self.number = self.session.last_turn + 1  # an injection may have had a turn since this one was made
        try:
            self.session.append(TurnStart(self.number, MessageTrigger(self.item.message.source)))
        except BaseException as exc:
            if not is_fault(exc):
                raise
            # A turn whose start was refused never existed.
            self.ended_by = exc
            self.agent.tell("agent_error", self.agent, self.number, 0, exc)
            return False
        self.opened = True
        return True

    def _close(self, reason: TurnEndReason) -> None:
        """Close what is open. The cancellation owner goes first: a closed turn cannot be cancelled."""
        self.agent.drop_owner()
        if not self.opened:
            return
        try:
            if self.session.open_step is not None:
                self.session.append(StepEnd(self.number, self.session.open_step))
            self._end(reason)
        except BaseException as exc:
            if not is_fault(exc):
                raise
            self.ended_by = exc
            log.error("agent %r: turn %d could not be closed: %s", self.agent.id, self.number, described(exc))

    def _end(self, reason: TurnEndReason) -> None:
        try:
            self.session.append(TurnEnd(self.number, reason))
        except BaseException as exc:
            if not is_fault(exc):
                raise
            # Whatever is wrong with the reason, or whoever refused it: a turn must not stay open.
            self.session.append(TurnEnd(self.number, ErrorEnd(self.step, described(exc))))

    # -- how it ends -----------------------------------------------------------------------------------------------

    def _interrupted(self) -> TurnEndReason:
        # The agent's end beats an earlier cancel in the record (spec/core.md 4.12).
        return DisposedEnd() if self.agent.disposed else AbortedEnd()

    def _failed(self, exc: BaseException) -> tuple[TurnEndReason, BaseException | None]:
        if self.signal.aborted:
            return self._interrupted(), None
        if isinstance(exc, RequestFailed):
            failure = exc.failure
            original = exc.error
            return ErrorEnd(self.step, failure=_with_message(failure, error_chain(original))), original
        return _error_end(exc, self.step), exc

    def _natural(self) -> TurnEndReason:
        return MaxTokensEnd() if self.max_tokens else CompletedEnd()

    # -- the prompt ------------------------------------------------------------------------------------------------

    async def _body(self, recorded: bool) -> TurnEndReason | None:
        message = self.item.message
        default = AllowPrompt(contexts=message.contexts)
        decision = await self.agent.decide(
            "agent_prompt_submit", default, self.agent, message.content, message.source, self.signal
        )
        if self.signal.aborted:
            raise Interrupted
        if isinstance(decision, BlockPrompt):
            if not recorded:
                return None
            self.session.append(PromptBlocked(message.content, message.source, decision.reason))
            return RejectedEnd(decision.reason)
        content = message.content if decision.content is MISSING else seal_content(decision.content)
        contexts = seal_contexts(decision.contexts)
        if not recorded and not self._open():
            return None
        record_prompt(self.session, content, message.source, contexts, self.item.meta)
        return await self._steps()

    # -- the steps -------------------------------------------------------------------------------------------------

    async def _steps(self) -> TurnEndReason:
        while True:
            self.step += 1
            try:
                outcome = await Step(self.agent, self.number, self.step, self.signal).run()
            except RequestFailed as failed:
                if await self._recovers(failed):
                    continue
                raise
            self._priors = ()
            self.max_tokens = self.max_tokens or outcome.max_tokens
            if not await self._goes_on(outcome):
                return self._natural()

    async def _recovers(self, failed: RequestFailed) -> bool:
        """Close the failed step and ask whether to try again."""
        self.session.append(StepEnd(self.number, self.step))
        if self.signal.aborted:
            raise Interrupted
        try:
            decision = await self.agent.decide(
                "agent_request_error", FailRequest(), self.agent, self.number, self.step, failed.error, failed.failure,
                self._priors, self.signal,
            )  # fmt: skip
        except BaseException as exc:
            if not is_fault(exc):
                raise
            log.warning("agent %r: request recovery failed and counts as no: %s", self.agent.id, described(exc))
            decision = FailRequest()
        if self.signal.aborted:
            raise Interrupted
        if not isinstance(decision, RetryRequest):
            return False
        self._priors = (*self._priors, failed.failure)
        return True

    async def _goes_on(self, outcome: StepOutcome) -> bool:
        """Ask whether another step follows: continuation, turn-stopping, turn-stop (decisions.md 2.2)."""
        agent = self.agent
        if outcome.concludes:
            return False
        default = ContinueTurn() if outcome.had_tool_calls or outcome.steered else StopTurn()
        decision = await agent.decide("agent_turn_continuation", default, agent, self.number, default, self.signal)
        self._check()
        if isinstance(decision, ContinueTurn) and decision.reason is not None:
            reason = ResolvedInput(decision.reason.content, decision.reason.source, target="next-step")
            agent.inbox.put(seal_input(reason, steering=True))
        goes_on = isinstance(decision, ContinueTurn) or agent.inbox.steering
        if not goes_on:
            await agent.ask("agent_turn_stopping", agent, self.number, self.signal)
            self._check()
            goes_on = agent.inbox.steering
        if await agent.decide("agent_turn_stop", None, agent, self.number, self.signal) is not None:
            self._check()
            self.stopped = True
            return False
        self._check()
        return goes_on

    def _check(self) -> None:
        if self.signal.aborted:
            raise Interrupted


def _error_end(exc: BaseException, step: int) -> ErrorEnd:
    if isinstance(exc, HarnessError):
        info = failure_of(exc).error.info
        return ErrorEnd(step, error_chain(exc), info.code if info is not None else MISSING)
    note = origin(exc)
    if note is not None:
        message = f"plugin {note.plugin!r} failed in hook {note.hook!r}: {described(exc)}"
        return ErrorEnd(step, message, "PLUGIN_FAILED")
    return ErrorEnd(step, error_chain(exc), MISSING if isinstance(exc, Exception) else "UNKNOWN")


def _with_message(failure: LlmFailure, message: str) -> LlmFailure:
    import attrs

    return attrs.evolve(failure, message=message or failure.message)
