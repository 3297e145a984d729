"""Compaction: the conversation so far is replaced by a summary the model writes (decisions.md 5.3, 7.24)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dshhooks.engine.faults import for_host, is_fault
from dshhooks.engine.scope import tied_scope
from dshhooks.llm.assembler import BlockAssembler
from dshhooks.session.event import Replace
from dshhooks.session.events import CompletedEnd, InjectionTrigger, TurnEnd, TurnStart, UserMessage
from dshhooks.session.surface import derive
from hookspecs.errors import HarnessError, LlmError
from hookspecs.model import AbortedFinish, ErrorFinish, GenerateOptions
from hookspecs.signal import CancelSignal
from hookspecs.values import Message, PluginSource, TextBlock, content_text

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent

__all__ = ["compact"]

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
        HarnessError: ``AGENT_DISPOSED``, ``COMPACTION_CANCELLED``, ``NO_MODEL``, or ``EMPTY_RESPONSE``.
        Exception: The model request failed; the conversation is unchanged.
    """
    session = agent.session
    if agent.disposed:
        raise HarnessError(f"agent {agent.id!r} is disposed", "AGENT_DISPOSED")
    nodes = _settled(agent)
    if len(nodes) < 2:
        return False
    with agent.beside() as signal:
        try:
            summary = await _summary(agent, nodes, signal)
        except BaseException as exc:
            if not is_fault(exc):
                raise
            if signal.aborted:
                raise _cancelled() from exc
            raise for_host(exc)  # noqa: B904 - the exception itself, or it is the cause
        if signal.aborted:
            raise _cancelled()
    if tuple(session.surface)[: len(nodes)] != nodes:
        return False  # somebody else replaced what was summarized
    await _replace(agent, nodes, summary)
    return True


def _cancelled() -> HarnessError:
    return HarnessError("compaction was cancelled", "COMPACTION_CANCELLED")


def _settled(agent: Agent) -> tuple[int, ...]:
    """Return the surface up to the calls that still run."""
    session = agent.session
    nodes = tuple(session.surface)
    if not agent.batching:
        return nodes
    answers = [at for at, seq in enumerate(nodes) if session.events[seq].type == "assistant/message"]
    return nodes[: answers[-1]] if answers else nodes


async def _summary(agent: Agent, nodes: tuple[int, ...], signal: CancelSignal) -> str:
    """Return what the model makes of it; anything once the signal aborted."""
    config = agent.config_seed()
    if not config.provider or not config.model:
        raise HarnessError("no provider or model to write a summary", "NO_MODEL")
    said = (derive(agent.session.events[seq]) for seq in nodes)
    messages = (*(message for message in said if message is not None), Message("user", (TextBlock(_ASK),)))
    options = GenerateOptions(
        config.provider, config.model, messages, signal=signal, session_id=agent.id, purpose="compaction"
    )
    assembler = BlockAssembler()
    with tied_scope(signal):
        stream = await agent.harness.llm.open(options, agent=agent)
        try:
            async for chunk in stream:
                assembler.push(chunk)
        finally:
            await stream.aclose()
    if isinstance(assembler.finish, (ErrorFinish, AbortedFinish)):
        failure = assembler.finish.failure
        raise LlmError(failure.message, failure.code, status=failure.status, retry_after=failure.retry_after)
    text = content_text([block for block in assembler.blocks() if block.kind == "text"])
    if not text.strip():
        raise HarnessError("the model wrote no summary", "EMPTY_RESPONSE")
    return text


async def _replace(agent: Agent, nodes: tuple[int, ...], summary: str) -> None:
    session = agent.session
    data: Any = UserMessage(_HEAD + summary, _SOURCE)
    operation = Replace(nodes[0], nodes[-1])
    if session.open_turn is not None:
        session.append(data, surface_op=operation, source_event_seqs=nodes)
        return
    turn = session.last_turn + 1
    session.append(TurnStart(turn, InjectionTrigger(_SOURCE)))
    try:
        session.append(data, surface_op=operation, source_event_seqs=nodes)
    finally:
        session.append(TurnEnd(turn, CompletedEnd()))
    await agent.flush(turn, 0)
