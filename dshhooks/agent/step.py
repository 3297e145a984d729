"""One step: a request to the model, its answer, its tool calls (spec/core.md 4.8)."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import attrs
from anyio.lowlevel import checkpoint
from attrs import frozen

from dshhooks.agent.batch import Batch
from dshhooks.agent.ends import Interrupted, RequestFailed
from dshhooks.agent.operations import runner_of
from dshhooks.agent.record import record_context, record_steering
from dshhooks.engine.scope import tied_scope
from dshhooks.llm.assembler import BlockAssembler
from dshhooks.llm.service import ModelStream, PreparedCall, failure_from, failure_in
from dshhooks.session.event import APPEND
from dshhooks.session.events import (
    AssistantChunk,
    AssistantMessage,
    HeaderSnapshot,
    RequestHeader,
    StepEnd,
    StepStart,
)
from dshhooks.tools.outcome import seal_content
from hookspecs.errors import HarnessError
from hookspecs.json import MISSING
from hookspecs.model import GenerateOptions, LlmCallConfig, MaxTokensFinish
from hookspecs.signal import CancelSignal
from hookspecs.values import AssistantProvenance, Content, Message, ToolCallBlock

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent
    from dshhooks.agent.inference import Requests

__all__ = ["Step", "StepOutcome"]

# An adapter that heeds its signal ends the stream itself, and may say so; one that does not is cancelled right after.
GRACE = 0.1


@frozen
class StepOutcome:
    """What a step that came through means for the turn."""

    had_tool_calls: bool
    steered: bool
    max_tokens: bool
    concludes: bool
    empty: bool = False  # the model answered with nothing


@cache
def _observing() -> tuple[Any, Any]:
    """Import what only they need who are watched."""
    from dshhooks.agent.inference import observed_requests
    from dshhooks.agent.step_operation import observed_step

    return observed_step, observed_requests


class Step:
    """Runs one step.

    Args:
        agent: The agent.
        turn: The turn's number.
        number: The step's number, from 1.
        signal: The turn's signal.
    """

    def __init__(self, agent: Agent, turn: int, number: int, signal: CancelSignal) -> None:
        self.agent, self.turn, self.number, self.signal = agent, turn, number, signal
        self.session = agent.session
        self.max_tokens = False

    async def run(self) -> StepOutcome:
        """Run the step from its steering to its end.

        Raises:
            RequestFailed: The model request failed; the step is still open.
            Interrupted: The turn was cancelled, or this step was by an observer; the step is still open.
            Exception: Anything else that fails the turn; the step may be open.
        """
        await checkpoint()  # a model and tools that never wait must not keep others from running
        self._check()
        self.drain_steering()
        variables = self.agent.prompt_variables()
        with self.agent.patience():
            system, tools = await self.agent.harness.prompts.assemble(self.agent, self.signal, variables)
        self._check()
        prefix = await self.agent.session_prefix(self.signal)
        self._check()
        await self.agent.ask("agent_pre_step", self.agent, self.turn, self.number, self.signal)
        self._check()
        runner = runner_of(self.agent)
        if runner is None:
            return await self._opened(system, tools, prefix)
        observed_step, _ = _observing()
        outcome: StepOutcome = await observed_step(self, runner, self._opened, system, tools, prefix)
        return outcome

    async def _opened(self, system: str | None, tools: Any, prefix: tuple[Message, ...]) -> StepOutcome:
        messages = self.session.messages().with_prefix(prefix)
        self.session.append(StepStart(self.turn, self.number))
        prepared, options = await self._request(system, tools, prefix, messages)
        message = await self._answer(prepared, options)
        calls = [block for block in message.content if isinstance(block, ToolCallBlock)]
        batch = Batch(self.agent, self.turn, self.number, self.signal)
        await self._run_batch(batch, calls)
        # A cancelled batch still gets its post-step, with the aborted signal; then the turn is closed.
        steered = False if self.signal.aborted or batch.concludes else self.drain_steering()
        await self.agent.ask("agent_post_step", self.agent, self.turn, self.number, self.signal)
        self._check()
        self.session.append(StepEnd(self.turn, self.number))
        return StepOutcome(bool(calls), steered, self.max_tokens, batch.concludes, not message.content)

    def _check(self) -> None:
        if self.signal.aborted:
            raise Interrupted

    def drain_steering(self) -> bool:
        """Take pending steering into the log; return whether there was any."""
        drained = False
        while (item := self.agent.inbox.take_steering()) is not None:
            message = item.message
            record_steering(self.session, self.turn, message.content, message.source, message.contexts, item.meta)
            drained = True
        return drained

    # -- the request -----------------------------------------------------------------------------------------------

    async def _request(
        self, system: str | None, tools: Any, prefix: tuple[Message, ...], messages: Any
    ) -> tuple[PreparedCall, GenerateOptions]:
        config = await self._config()
        self._check()
        prepared = self.agent.harness.llm.prepare(config)
        config = prepared.config
        self._log_header(
            HeaderSnapshot(
                config,
                system if system is not None else MISSING,
                tools if tools else MISSING,
                prefix if prefix else MISSING,
            )
        )
        options = GenerateOptions(
            config.provider,
            config.model,
            messages,
            system,
            tools,
            config.reasoning_effort,
            config.temperature,
            config.max_tokens,
            config.stop,
            self.signal,
            self.session.id,
        )
        return prepared, options

    async def _config(self) -> LlmCallConfig:
        seed = self.agent.config_seed()
        config: LlmCallConfig = await self.agent.decide(
            "agent_request", seed, self.agent, self.turn, self.number, seed, self.signal
        )
        if not config.provider or not config.model:
            raise HarnessError(
                "no provider or model to ask: set [agent] provider and model, or pass them to create_agent", "NO_MODEL"
            )
        return config

    def _log_header(self, header: HeaderSnapshot) -> None:
        before = self.session.request_header
        first = not self.agent.requested
        self.agent.requested = True
        if before is None:
            reason = "initial"
        elif first:
            reason = "resume"
        elif header == before:
            return
        else:
            reason = "change"
        self.session.append(RequestHeader(header, reason))

    # -- the answer ------------------------------------------------------------------------------------------------

    async def _answer(self, prepared: PreparedCall, options: GenerateOptions) -> Message:
        assembler, seqs = await self._stream(prepared, options)
        self.max_tokens = isinstance(assembler.finish, MaxTokensFinish)
        provenance = AssistantProvenance(options.provider, options.model, assembler.replay_state)
        without_replay = attrs.evolve(provenance, replay_state=MISSING)
        assembled = assembler.blocks()
        before = Message("assistant", self._without_calls(assembled), provenance)
        try:
            message = await self.agent.decide(
                "agent_step_result", before, self.agent, self.turn, self.number, before, self.signal
            )
            self._check()
            content = seal_content(self._without_calls(message.content))
            unchanged = content == assembled
            self._log_answer(content, provenance if unchanged else without_replay, assembler, seqs)
        except BaseException:
            # The call was paid for: its usage stays in the log, under a message nobody will read.
            self._log_answer((), without_replay, assembler, seqs)
            raise
        return Message(message.role, content, message.provenance)

    def _without_calls(self, content: Content) -> Content:
        if not self.max_tokens:
            return content
        return tuple(block for block in content if not isinstance(block, ToolCallBlock))

    def _log_answer(
        self, content: Content, provenance: AssistantProvenance, assembler: BlockAssembler, seqs: list[int]
    ) -> None:
        usage: Any = assembler.usage if assembler.usage is not None else MISSING
        self.session.append(
            AssistantMessage(self.turn, self.number, content, provenance, usage),
            surface_op=APPEND,
            source_event_seqs=seqs,
        )

    async def _stream(self, prepared: PreparedCall, options: GenerateOptions) -> tuple[BlockAssembler, list[int]]:
        assembler, seqs = BlockAssembler(), []
        stream: ModelStream | None = None
        requests = self._observed_requests()
        try:
            with tied_scope(self.signal, grace=GRACE) as scope:
                around = requests.within(scope) if requests is not None else None
                stream = await self.agent.harness.llm.open(options, prepared=prepared, agent=self.agent, around=around)
                try:
                    async for chunk in stream:
                        self._check()
                        seqs.append(self.session.append(AssistantChunk(self.turn, self.number, chunk)).seq)
                        assembler.push(chunk)
                        self.agent.on_chunk(chunk)
                finally:
                    await stream.aclose()
        except Exception as exc:
            self._check()
            if requests is not None:
                requests.check()
            if stream is not None and stream.is_adapter_failure(exc):
                raise RequestFailed(exc, failure_from(exc)) from exc
            raise
        self._check()
        if requests is not None:
            requests.check()
        failed = failure_in(assembler.finish)
        if failed is not None:
            raise RequestFailed(*failed)
        return assembler, seqs

    def _observed_requests(self) -> Requests | None:
        """Return what makes an operation of each request; ``None`` when nobody is told of them."""
        runner = runner_of(self.agent)
        if runner is None:
            return None
        _, observed_requests = _observing()
        requests: Requests | None = observed_requests(self.agent, runner)
        return requests

    # -- the tool calls --------------------------------------------------------------------------------------------

    async def _run_batch(self, batch: Batch, calls: list[ToolCallBlock]) -> None:
        if not calls:
            return
        self.agent.batching = True
        try:
            await batch.run(calls)
        finally:
            self.agent.batching = False
            self._settle_late()

    def _settle_late(self) -> None:
        """Append what came beside the batch: behind every result, before steering, in the order it was accepted."""
        late, self.agent.late = self.agent.late, []
        for context in late:
            record_context(self.session, context)
