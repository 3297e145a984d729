"""One step's tool calls: overlapped where they may be, committed in the model's order (spec/core.md 4.9)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import anyio
from attrs import define

from dshhooks.engine.faults import is_fault
from dshhooks.engine.scope import tied_scope
from dshhooks.session.event import APPEND
from dshhooks.session.events import ToolCallStarted, ToolErrorInfo, ToolResultRecorded
from dshhooks.tools.execution import BODY, ToolRun
from dshhooks.tools.outcome import aborted
from hookspecs.execution import ErrorInfo, ToolCall, ToolError, ToolFailure, ToolResult, ToolSuccess
from hookspecs.json import MISSING, freeze, parse
from hookspecs.signal import CancelSignal
from hookspecs.values import ToolCallBlock

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent

__all__ = ["Batch", "arguments_of"]

_UNKNOWN: Final = ToolFailure(
    ToolError(
        "it is not known how this call ended: it may have had its effect or not; check before you repeat it",
        ErrorInfo("ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN"),
    )
)


def arguments_of(raw: str) -> Any:
    """Return what a tool is called with: ``{}`` for nothing, the value of strict JSON, else the text itself; frozen."""
    try:
        return freeze(parse(raw) if raw else {})
    except ValueError:
        return raw


@define(eq=False)
class _Slot:
    """One call of the batch and how far it came."""

    block: ToolCallBlock
    call: ToolCall
    seq: int = -1  # of its tool/call, once that is logged
    prepared: ToolRun | None = None  # its operation has begun, if anybody watches
    run: ToolRun | None = None  # there once its call is logged
    result: ToolResult | None = None  # there once it settled
    error: BaseException | None = None  # what kept it from being committed, for those who watch
    answered: bool = False  # its tool/result is logged

    @property
    def invoked(self) -> bool:
        return self.run is not None and self.run.invoked

    def here(self, log: Callable[..., None], *args: Any) -> None:
        """Write to the log in the context of the call's operation."""
        operation = self.prepared.operation if self.prepared is not None else None
        if operation is None:
            log(self, *args)
        else:
            operation.here(log, self, *args)

    def finish(self, result: ToolResult) -> None:
        """Finish the call's operation, once its result is logged or cannot be."""
        error, self.error = self.error, None
        if self.prepared is not None and self.prepared.operation is not None:
            self.prepared.operation.finish(result, error)


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
        self._flying = 0
        self._settled = anyio.Event()
        self._fault: BaseException | None = None  # the scheduler's own: a log that refuses, not a tool that fails
        self.concludes = False

    async def run(self, calls: Sequence[ToolCallBlock]) -> None:
        """Run all calls; however that ends, every call has a result in the log, if the log takes it.

        Raises:
            Exception: The first thing the log refused; raised when everything that was started has settled.
        """
        slots = [_Slot(block, self._call(block)) for block in calls]
        over = anyio.Event()

        def watch(scope: anyio.CancelScope) -> None:
            self._agent.harness.spawn(self._end_if_stuck(slots, scope, over))

        try:
            with tied_scope(self._signal, on_abort=watch):
                await self._schedule(slots)
        finally:
            over.set()
            self._answer_rest(iter(slots))
        fault, self._fault = self._fault, None
        if fault is not None:
            try:
                raise fault
            finally:
                del fault  # or the traceback would hold this frame, and this frame the exception

    async def _schedule(self, slots: Sequence[_Slot]) -> None:
        at = 0
        while at < len(slots) and self._goes_on():
            if self._mode(slots[at]) == "parallel":
                at += await self._pool(slots[at:])
            else:
                await self._attempt(slots[at], self._alone(slots[at]))
                at += 1
        if self._fault is None and self._agent.harness.operations.attended:
            for slot in slots[at:]:
                await self._attempt(slot, self._skip(slot))

    async def _end_if_stuck(self, slots: Sequence[_Slot], scope: anyio.CancelScope, over: anyio.Event) -> None:
        """After a cancel, stop hooks that hang around the calls; never a body, which ends as its tool says."""
        before = None
        while not over.is_set():
            now = [(slot.run and slot.run.stage, slot.result is None, slot.answered) for slot in slots]
            if now == before and not any(stage == BODY for stage, _, _ in now):
                scope.cancel()
                return
            before = now
            with anyio.move_on_after(self._agent.grace):
                await over.wait()

    def _goes_on(self) -> bool:
        return self._fault is None and not self._signal.aborted

    def _call(self, block: ToolCallBlock) -> ToolCall:
        return ToolCall(block.id, block.name, arguments_of(block.arguments), self._signal, self._agent)

    def _mode(self, slot: _Slot) -> str:
        return self._agent.harness.tools.execution_mode(slot.call)

    async def _alone(self, slot: _Slot) -> None:
        run = await self._prepare(slot)
        if slot.result is None:
            slot.result = await self._pipeline.dispatch(run)
        await self._commit(slot)

    async def _pool(self, slots: Sequence[_Slot]) -> int:
        """Run a stretch of calls, rolling; return how many were taken on. The first one is classified already."""
        started = committed = 0
        async with anyio.create_task_group() as tasks:
            while True:
                while committed < started and slots[committed].result is not None:
                    await self._attempt(slots[committed], self._commit(slots[committed]))
                    committed += 1
                if self._may_start(slots, started):
                    started += 1
                    await self._attempt(slots[started - 1], self._start(slots[started - 1], tasks))
                elif committed == started:
                    break
                elif slots[committed].result is None:
                    await self._settled.wait()
                    self._settled = anyio.Event()
        return started

    def _may_start(self, slots: Sequence[_Slot], started: int) -> bool:
        if started >= len(slots) or self._flying >= self._cap or not self._goes_on():
            return False
        return not started or self._mode(slots[started]) == "parallel"

    async def _attempt(self, slot: _Slot, work: Coroutine[Any, Any, None]) -> None:
        """Do one thing; its fault ends the batch, but not before what was started has settled (spec/core.md 10.12)."""
        try:
            await work
        except BaseException as exc:  # noqa: BLE001 - raised by run
            slot.error = exc
            self._note(exc)

    def _note(self, exc: BaseException) -> None:
        if not is_fault(exc):
            try:
                raise exc
            finally:
                del exc
        self._fault = self._fault or exc

    async def _start(self, slot: _Slot, tasks: Any) -> None:
        run = await self._prepare(slot)
        if slot.result is None:
            self._flying += 1
            tasks.start_soon(self._dispatch, slot, run)

    async def _prepare(self, slot: _Slot) -> ToolRun:
        """Log a call and ask the policies; one that may not be dispatched has its result afterwards."""
        slot.result = aborted(invoked=False)  # what it is if the log refuses its call
        refused = await self._admit(slot)
        slot.here(self._log_call)
        run = slot.run = slot.prepared
        assert run is not None
        slot.result = refused if refused is not None else await self._pipeline.prepare(run)
        return run

    async def _admit(self, slot: _Slot) -> ToolResult | None:
        """Begin a call's operation before anything is known of it but what the model said."""
        slot.prepared, fault = self._pipeline.create(slot.call, slot.block.arguments)
        return await self._pipeline.admit(slot.prepared, fault)

    async def _skip(self, slot: _Slot) -> None:
        """Let those who watch know of a call that is never started; no policy sees it and nobody is told of a result.

        Its result is logged with the rest, as every call's that has none.
        """
        from dshhooks.operations.errors import OperationCanceled

        slot.result = aborted(invoked=False)
        await self._admit(slot)
        slot.error = OperationCanceled(reason=self._signal.reason)

    async def _dispatch(self, slot: _Slot, run: ToolRun) -> None:
        try:
            slot.result = await self._pipeline.dispatch(run)
        except BaseException as exc:
            slot.error = exc
            raise
        finally:
            self._flying -= 1
            self._settled.set()

    async def _commit(self, slot: _Slot) -> None:
        if slot.run is None or slot.result is None:
            return
        result = await self._pipeline.finalize(slot.run, slot.result)
        slot.here(self._log_result, result)
        slot.finish(result)
        self._agent.late.extend(result.contexts)
        if isinstance(result, ToolSuccess) and result.concludes_turn:
            self.concludes = True

    def _answer_rest(self, slots: Iterator[_Slot]) -> None:
        """Log what has no result: no policy saw a call that was never started, and nobody is told of its result."""
        try:
            for slot in slots:
                self._settle(slot, _UNKNOWN if slot.invoked else aborted(invoked=False))
        except BaseException:
            self._answer_rest(slots)  # whatever is on its way, the others are not left open
            raise

    def _settle(self, slot: _Slot, result: ToolResult) -> None:
        try:
            self._answer(slot, result)
        finally:
            slot.finish(result)

    def _answer(self, slot: _Slot, result: ToolResult) -> None:
        if slot.answered:
            return
        try:
            if slot.seq < 0:
                slot.here(self._log_call)
            slot.here(self._log_result, result)
        except BaseException as exc:  # noqa: BLE001 - raised by run, unless something worse is on its way
            slot.error = slot.error or exc
            self._note(exc)

    def _log_call(self, slot: _Slot) -> None:
        block = slot.block
        call = ToolCallStarted(self._turn, self._step, block.id, block.name, block.arguments)
        slot.seq = self._agent.session.append(call).seq

    def _log_result(self, slot: _Slot, result: ToolResult) -> None:
        error: Any = MISSING
        if isinstance(result, ToolFailure) and result.error.info is not None:
            error = ToolErrorInfo(result.error.info.name, result.error.info.code)
        self._agent.session.append(
            ToolResultRecorded(
                self._turn, self._step, slot.block.id, result.content, result.is_error, error, result.meta
            ),
            surface_op=APPEND,
            source_event_seqs=(slot.seq,),
        )
        slot.answered = True
