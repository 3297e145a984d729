"""Compaction: the conversation so far is replaced by a summary the model writes (decisions.md 5.3, 7.24)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from dshhooks.agent.operations import DIRECT, Stretch, runner_of
from dshhooks.engine.faults import for_host, is_fault
from dshhooks.engine.scope import tied_scope
from dshhooks.llm.assembler import BlockAssembler
from dshhooks.llm.request import failure_in
from dshhooks.session.event import Replace
from dshhooks.session.events import CompletedEnd, InjectionTrigger, TurnEnd, TurnStart, UserMessage
from dshhooks.session.surface import derive
from hookspecs.errors import HarnessError
from hookspecs.model import GenerateOptions
from hookspecs.signal import CancelSignal
from hookspecs.values import Message, PluginSource, TextBlock, content_text

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent

__all__ = ["Attempt", "cancelled", "compact"]

_SOURCE = PluginSource("compaction")
_ASK = (
    "Summarize this conversation so that the work can go on from the summary alone: the goal, what was decided and "
    "done, what is open, and every name, path and number that is still needed. Answer with the summary only."
)
_HEAD = "Summary of the conversation so far:\n\n"


async def compact(agent: Agent) -> bool:
    """Replace every message on the surface by one summary; False when there is nothing to summarize.

    While tools run, their step is left as it is: their results must find the answer that called them.

    Raises:
        HarnessError: ``AGENT_DISPOSED``, ``COMPACTION_CANCELLED``, ``NO_MODEL``, ``EMPTY_RESPONSE``, or
            ``COMPACTION_UNAVAILABLE``: a guard denied it; a guard that broke is ``PLUGIN_FAILED`` or
            ``OPERATION_BLOCKED``.
        Exception: The model request failed; the conversation is unchanged.
    """
    if agent.disposed:
        raise HarnessError(f"agent {agent.id!r} is disposed", "AGENT_DISPOSED")
    nodes = _settled(agent)
    if len(nodes) < 2:
        return False
    with agent.beside() as signal:
        attempt = Attempt(agent, nodes, _request(agent, nodes, signal))
        runner = runner_of(agent)
        if runner is None:
            return await attempt.run()
        from dshhooks.agent.compaction_operation import observed_compaction

        return await observed_compaction(attempt, runner)


def cancelled() -> HarnessError:
    """Return what a cancelled compaction is told to its caller as."""
    return HarnessError("compaction was cancelled", "COMPACTION_CANCELLED")


def _settled(agent: Agent) -> tuple[int, ...]:
    """Return the surface up to the calls that still run."""
    session = agent.session
    nodes = tuple(session.surface)
    if not agent.batching:
        return nodes
    answers = [at for at, seq in enumerate(nodes) if session.events[seq].type == "assistant/message"]
    return nodes[: answers[-1]] if answers else nodes


def _request(agent: Agent, nodes: tuple[int, ...], signal: CancelSignal) -> GenerateOptions:
    config = agent.config_seed()
    if not config.provider or not config.model:
        raise HarnessError("no provider or model to write a summary", "NO_MODEL")
    said = (derive(agent.session.events[seq]) for seq in nodes)
    messages = (*(message for message in said if message is not None), Message("user", (TextBlock(_ASK),)))
    return GenerateOptions(
        config.provider, config.model, messages, signal=signal, session_id=agent.id, purpose="compaction"
    )


@frozen
class Installed:
    """What became of a summary.

    Args:
        done: Whether it stands in the conversation's place.
        error: Why that is not durable, which was told already; ``None`` when it is.
    """

    done: bool
    error: BaseException | None = None


@frozen(eq=False)
class Attempt:
    """One attempt to replace a conversation.

    Args:
        agent: Whose.
        nodes: What is replaced: the seqs of its messages.
        request: What the model is asked.
    """

    agent: Agent
    nodes: tuple[int, ...]
    request: GenerateOptions

    async def run(self, stretch: Stretch = DIRECT) -> bool:
        """Ask for the summary and put it in place; False when somebody else replaced what was summarized.

        Args:
            stretch: Where it runs. What is replaced is replaced and flushed whatever becomes of what runs there.
        """
        summary = await stretch.run(self.summary)
        return (await stretch.outlast(self.install, summary)).done

    async def summary(self) -> str:
        """Return what the model makes of the conversation.

        Raises:
            HarnessError: ``COMPACTION_CANCELLED``, ``EMPTY_RESPONSE``.
            Exception: The request failed.
        """
        signal = self.request.signal
        try:
            text = await self._text()
        except BaseException as exc:
            if not is_fault(exc):
                raise
            if signal.aborted:
                raise cancelled() from exc
            raise for_host(exc)  # noqa: B904 - the exception itself, or it is the cause
        if signal.aborted:
            raise cancelled()
        return text

    async def _text(self) -> str:
        """Return the answer's text; anything once the signal aborted."""
        assembler = BlockAssembler()
        with tied_scope(self.request.signal):
            stream = await self.agent.harness.llm.open(self.request, agent=self.agent)
            try:
                async for chunk in stream:
                    assembler.push(chunk)
            finally:
                await stream.aclose()
        failed = failure_in(assembler.finish)
        if failed is not None:
            raise failed[0]
        text = content_text([block for block in assembler.blocks() if block.kind == "text"])
        if not text.strip():
            raise HarnessError("the model wrote no summary", "EMPTY_RESPONSE")
        return text

    async def install(self, summary: str) -> Installed:
        """Put the summary in the conversation's place, if that is still there, and flush it."""
        session = self.agent.session
        if tuple(session.surface)[: len(self.nodes)] != self.nodes:
            return Installed(False)
        if session.open_turn is not None:
            self._replace(summary)
            return Installed(True, await self.agent.flush(session.open_turn, session.open_step or 0))
        turn = session.last_turn + 1
        session.append(TurnStart(turn, InjectionTrigger(_SOURCE)))
        try:
            self._replace(summary)
        finally:
            session.append(TurnEnd(turn, CompletedEnd()))
        return Installed(True, await self.agent.flush(turn, 0))

    def _replace(self, summary: str) -> None:
        data: Any = UserMessage(_HEAD + summary, _SOURCE)
        operation = Replace(self.nodes[0], self.nodes[-1])
        self.agent.session.append(data, surface_op=operation, source_event_seqs=self.nodes)
