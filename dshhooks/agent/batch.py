"""One step's tool calls: overlapped where they may be, committed in the model's order (spec/core.md 4.9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import anyio
from attrs import define

from dshhooks.session.event import APPEND
from dshhooks.session.events import ToolCallStarted, ToolErrorInfo, ToolResultRecorded
from dshhooks.tools.execution import ToolRun
from dshhooks.tools.outcome import aborted, failure_of
from hookspecs.execution import ToolCall, ToolFailure, ToolResult, ToolSuccess
from hookspecs.json import MISSING, parse
from hookspecs.signal import CancelSignal
from hookspecs.values import ToolCallBlock

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent

__all__ = ["Batch", "arguments_of"]


def arguments_of(raw: str) -> Any:
    """Return what a tool is called with: ``{}`` for nothing, the value of strict JSON, else the text itself."""
    if not raw:
        return {}
    try:
        return parse(raw)
    except ValueError:
        return raw


@define(eq=False)
class _Slot:
    """A call that was started; ``result`` is there once it settled."""

    block: ToolCallBlock
    seq: int
    run: ToolRun
    result: ToolResult | None = None


class Batch:
    """Runs the calls of one step.

    Args:
        agent: Whose calls they are.
        turn: The turn's number.
        step: The step's number.
        signal: The turn's signal.
    """

    def __init__(self, agent: Agent, turn: int, step: int, signal: CancelSignal) -> None:
        self._agent, self._turn, self._step, self._signal = agent, turn, step, signal
        self._pipeline = agent.harness.tools.pipeline
        self._cap = agent.harness.config.agent.max_parallel_tool_calls
        self._settled = anyio.Event()
        self.concludes = False

    async def run(self, calls: Sequence[ToolCallBlock]) -> None:
        """Run all calls; whatever happens, every call of the batch that was logged has its result logged too."""
        at = 0
        while at < len(calls) and not self._signal.aborted:
            if self._mode(calls[at]) == "parallel":
                at += await self._pool(calls[at:])
            else:
                at += await self._pool(calls[at : at + 1], alone=True)
        for block in calls[at:]:
            self._never_started(block)

    def _call(self, block: ToolCallBlock) -> ToolCall:
        return ToolCall(block.id, block.name, arguments_of(block.arguments), self._signal, self._agent)

    def _mode(self, block: ToolCallBlock) -> str:
        return self._agent.harness.tools.execution_mode(self._call(block))

    async def _pool(self, calls: Sequence[ToolCallBlock], *, alone: bool = False) -> int:
        """Run a stretch of calls, rolling; return how many were started."""
        slots: list[_Slot] = []
        committed = 0
        async with anyio.create_task_group() as tasks:
            while True:
                while committed < len(slots) and slots[committed].result is not None:
                    await self._commit(slots[committed])
                    committed += 1
                flying = sum(slot.result is None for slot in slots)
                if self._may_start(calls, len(slots), flying, alone):
                    slots.append(await self._start(calls[len(slots)], tasks))
                elif committed == len(slots):
                    break
                elif slots[committed].result is None:
                    await self._settled.wait()
                    self._settled = anyio.Event()
        return len(slots)

    def _may_start(self, calls: Sequence[ToolCallBlock], started: int, flying: int, alone: bool) -> bool:
        if started >= len(calls) or flying >= self._cap or self._signal.aborted:
            return False
        return alone or self._mode(calls[started]) == "parallel"

    async def _start(self, block: ToolCallBlock, tasks: Any) -> _Slot:
        event = self._log_call(block)
        run, fault = self._pipeline.create(self._call(block))
        slot = _Slot(block, event.seq, run)
        slot.result = failure_of(fault, blame=False) if fault is not None else await self._pipeline.prepare(run)
        if slot.result is None:
            tasks.start_soon(self._dispatch, slot)
        return slot

    async def _dispatch(self, slot: _Slot) -> None:
        slot.result = await self._pipeline.dispatch(slot.run)
        self._settled.set()

    async def _commit(self, slot: _Slot) -> None:
        assert slot.result is not None
        result = await self._pipeline.finalize(slot.run, slot.result)
        slot.result = result
        self._log_result(slot.block, slot.seq, result)
        self._agent.late.extend(result.contexts)
        if isinstance(result, ToolSuccess) and result.concludes_turn:
            self.concludes = True

    def _never_started(self, block: ToolCallBlock) -> None:
        """Log a call that cancellation kept from starting: no policy saw it, nobody is told of a result."""
        event = self._log_call(block)
        self._log_result(block, event.seq, aborted(invoked=False))

    def _log_call(self, block: ToolCallBlock) -> Any:
        return self._agent.session.append(
            ToolCallStarted(self._turn, self._step, block.id, block.name, block.arguments)
        )

    def _log_result(self, block: ToolCallBlock, call_seq: int, result: ToolResult) -> None:
        error: Any = MISSING
        if isinstance(result, ToolFailure) and result.error.info is not None:
            error = ToolErrorInfo(result.error.info.name, result.error.info.code)
        self._agent.session.append(
            ToolResultRecorded(
                self._turn, self._step, block.id, result.content, result.is_error, error, result.meta
            ),
            surface_op=APPEND,
            source_event_seqs=(call_seq,),
        )
