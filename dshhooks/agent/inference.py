"""A model request as an operation: refused, or streamed to its end; a retry is another (spec/operations.md B4, B5)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

import anyio

from dshhooks.agent.ends import Interrupted
from dshhooks.agent.within import safe_error
from dshhooks.llm.assembler import BlockAssembler
from dshhooks.llm.request import Around, close, failure_in, nothing_said
from dshhooks.operations.context import Driven, advance, run_in
from dshhooks.operations.errors import OperationCanceled
from dshhooks.operations.kinds import Operation, Outcome
from dshhooks.operations.owner import start_here
from dshhooks.operations.payloads import InferenceData, StreamResult
from dshhooks.operations.runner import Runner
from dshhooks.operations.scope import Scope
from dshhooks.operations.snapshot import freeze_with, shown_again
from dshhooks.operations.token import Bound
from dshhooks.operations.verdict import classify
from hookspecs.errors import HarnessError
from hookspecs.model import GenerateOptions, StreamChunk
from hookspecs.values import AssistantProvenance, Content, Message

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent

__all__ = ["Requests", "observed_requests"]

Open = Callable[[], AsyncIterator[StreamChunk]]

shown_again(GenerateOptions)  # frozen first with what is known of its conversation


def observed_requests(agent: Agent, runner: Runner) -> Requests | None:
    """Return what makes operations of a step's requests; ``None`` when nobody is told of them."""
    return Requests(agent, runner) if runner.handles(Operation.INFERENCE) else None


class Requests:
    """The requests of one step.

    Args:
        agent: Whose they are.
        runner: Whom to tell and to ask.

    ``canceled`` is set once an observer has cancelled the last of them.
    """

    def __init__(self, agent: Agent, runner: Runner) -> None:
        self._agent, self._runner = agent, runner
        self.canceled: OperationCanceled | None = None

    def check(self) -> None:
        """Stop the turn if an observer has cancelled the request.

        Raises:
            Interrupted: It has.
        """
        if self.canceled is not None:
            raise Interrupted(self.canceled)

    def within(self, scope: anyio.CancelScope) -> Around:
        """Return what stands around each attempt; ``scope`` is open around all of them and ends with one's token."""

        def around(options: GenerateOptions, open_: Open) -> AsyncIterator[StreamChunk]:
            return self._observed(scope, options, open_)

        return around

    async def _observed(
        self, outer: anyio.CancelScope, options: GenerateOptions, open_: Open
    ) -> AsyncIterator[StreamChunk]:
        self.canceled = None  # of an attempt before, which a plugin did not want to be the last
        scope = await self._started(options)
        answer, token, context = _Answer(options, scope), scope.token, scope.context
        try:
            with token.bind(outer) as bound:
                chunks = run_in(context, open_)
                try:
                    bound.check_deadline()  # one that has passed by now holds for a model that never waits, too
                    while not token.cancelled:
                        chunk = advance(context, chunks)
                        if type(chunk) is Driven:
                            chunk = await chunk
                        answer.chunks.append(chunk)
                        yield chunk
                    raise OperationCanceled(Operation.INFERENCE, token.reason)
                except StopAsyncIteration:
                    answer.over = True
                except BaseException as exc:
                    answer.broke(*self._meaning(exc, options, bound))
                    raise
                finally:
                    if not answer.over:
                        await Driven(context, close(chunks))
        finally:
            answer.finish()  # out here: it lets go of the token, which must not end what comes behind this request

    async def _started(self, options: GenerateOptions) -> Scope:
        request = freeze_with(options, options.messages, self._agent.shown)
        self._agent.shown = request.messages
        scope = await start_here(self._runner, Operation.INFERENCE, InferenceData(request))
        refusal = scope.refusal
        if refusal is None:
            return scope
        scope.finish(classify(refusal), refusal)
        if isinstance(refusal, OperationCanceled):
            self.canceled = refusal
        raise safe_error(Operation.INFERENCE, refusal)

    def _meaning(self, exc: BaseException, options: GenerateOptions, bound: Bound) -> tuple[Outcome, BaseException]:
        if options.signal.aborted:
            return Outcome.CANCELED, OperationCanceled(Operation.INFERENCE, options.signal.reason)
        if isinstance(exc, GeneratorExit):
            return Outcome.FAILED, HarnessError("the stream was left before its end", "STREAM_CLOSED")
        if classify(exc) is Outcome.CANCELED and bound.caught:
            self.canceled = OperationCanceled(Operation.INFERENCE, bound.reason)
            return Outcome.CANCELED, self.canceled
        return classify(exc), exc


class _Answer:
    """What has come of one request so far, and its end."""

    def __init__(self, options: GenerateOptions, scope: Scope) -> None:
        self._options, self._scope = options, scope
        self._assembler = BlockAssembler()
        self._end: tuple[Outcome, BaseException] | None = None
        self.chunks: list[StreamChunk] = []
        self.over = False

    def broke(self, outcome: Outcome, error: BaseException) -> None:
        """Remember why there is no more."""
        self._end = outcome, error

    def finish(self) -> None:
        """Finish the operation by what arrived."""
        message = self._message()
        end = self._end or self._told(message)
        if end is None and self.over:
            told = StreamResult(self._assembler.usage, self._assembler.finish)
            self._scope.finish(Outcome.COMPLETED, ai_message=message, stream_result=told)
        else:
            outcome, error = end or (Outcome.FAILED, None)
            self._scope.finish(outcome, error, ai_message=message)

    def _told(self, message: Message | None) -> tuple[Outcome, BaseException] | None:
        failed = failure_in(self._assembler.finish)
        if failed is not None:
            return Outcome.FAILED, failed[0]
        return None if message is not None else (Outcome.FAILED, nothing_said())

    def _message(self) -> Message | None:
        content = self._content()
        provenance = AssistantProvenance(self._options.provider, self._options.model, self._assembler.replay_state)
        return Message("assistant", content, provenance) if content else None

    def _content(self) -> Content:
        assembler = self._assembler
        try:
            for chunk in self.chunks:
                assembler.push(chunk)
        except HarnessError as exc:  # the loop will say so, too; whatever came behind it does not count
            self._end = Outcome.FAILED, exc
        try:
            return assembler.blocks()
        except HarnessError as exc:
            self._end = self._end or (Outcome.FAILED, exc)
            return ()
