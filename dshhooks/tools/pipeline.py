"""One tool call, phase by phase (spec/core.md 3).

::

    seal ► (admission) ► pre-execute ► ask ► guards ► execute ► dispatch ► post-execute ► finalize_content ► result

Each stage returns a result, or ``None`` from ``prepare`` when the call may be dispatched. ``run.final`` says the
outcome is settled and post-execute is skipped. No stage raises for a tool's or plugin's fault; cancellation of the
caller's own task passes through.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from dshhooks.engine.faults import is_fault
from dshhooks.engine.hooks import Hooks
from dshhooks.engine.observe import observe
from dshhooks.engine.plan import Plan
from dshhooks.engine.trace import phase
from dshhooks.operations.host import Operations
from dshhooks.tools.approval import Approvals
from dshhooks.tools.dispatch import canonicalize, dispatch
from dshhooks.tools.execution import AROUND, DONE, POLICY, ToolRun, seal
from dshhooks.tools.guards import ask_hooks, ask_layer
from dshhooks.tools.layers import Layers
from dshhooks.tools.outcome import aborted, authored_content, blocked, denial, failure_of, materialize, with_contexts
from hookspecs.decisions import Accept, Allow, Ask, Block, Deny
from hookspecs.execution import ToolExecution, ToolFailure, ToolResult, ToolSuccess
from hookspecs.json import MISSING

if TYPE_CHECKING:
    from dshhooks.tools.operations import ObservedCall

__all__ = ["Pipeline"]

_ALLOW = Allow()
_ACCEPT = Accept()


class Pipeline:
    """Runs calls. The stages are apart so that a scheduler can order them (spec/core.md 3.10)."""

    def __init__(self, hooks: Hooks, layers: Layers, approvals: Approvals, operations: Operations) -> None:
        self._hooks, self._layers, self._approvals, self._operations = hooks, layers, approvals, operations

    async def execute(self, call: Any) -> ToolResult:
        """Run one call to its result: prepare, dispatch, finalize."""
        run, fault = self.create(call)
        if run.operation is not None:
            return await self._observed(run, fault)
        result = failure_of(fault, blame=False) if fault is not None else await self.prepare(run)
        if result is None:
            result = await self._dispatch(run)
        return await self.finalize(run, result)

    async def _observed(self, run: ToolRun, fault: BaseException | None) -> ToolResult:
        operation: Any = run.operation
        result: ToolResult | None = None
        error: BaseException | None = None
        try:
            result = await self.admit(run, fault) or await self.prepare(run) or await self.dispatch(run)
            result = await self.finalize(run, result)
        except BaseException as exc:
            error = exc
            raise
        finally:
            operation.finish(result, error)
            del error  # its traceback holds this frame
        return result

    def create(self, call: Any, raw: Any = MISSING) -> tuple[ToolRun, BaseException | None]:
        """Seal the call and capture the visible definition's ``finalize_content``.

        Args:
            call: The call.
            raw: The model's own text of its arguments, for those who watch.
        """
        run, fault = seal(call, self._layers)
        entry = self._layers.get(run.execution.name, run.execution.agent)
        if entry is not None:
            run.finalizer = entry.definition.finalize_content
        run.final = fault is not None
        if self._operations.attended:
            self._attend(run, raw)
        return run, fault

    def _attend(self, run: ToolRun, raw: Any) -> None:
        runner = self._operations.runner(run.execution.agent)
        if runner is not None:
            run.operation = _observing()(runner, run, raw)

    async def admit(self, run: ToolRun, fault: BaseException | None) -> ToolResult | None:
        """Begin the call's operation, if anybody watches, and refuse what could not be sealed or a guard objects to.

        Whoever asks for this finishes ``run.operation``.
        """
        refused = await run.operation.admit(fault) if run.operation is not None else None
        # A guard's refusal stands above the fault (spec/operations.md B3).
        return refused if refused is not None or fault is None else failure_of(fault, blame=False)

    # -- policy ----------------------------------------------------------------------------------------------------

    async def prepare(self, run: ToolRun) -> ToolResult | None:
        """Ask pre-execute, a person if need be, and the guards; ``None`` lets the call be dispatched."""
        if run.operation is not None:
            waits = self._hooks.plan("tools_pre_execute", run.execution.agent).active
            return await run.operation.permit(self._policy if self._hooks.tracing else self._prepare, waits=waits)
        return await (self._policy(run) if self._hooks.tracing else self._prepare(run))

    async def _policy(self, run: ToolRun) -> ToolResult | None:
        with phase("policy", run.execution.name) as record:
            result = await self._prepare(run)
            if record is not None:
                record.outcome, record.detail = _verdict(run, result)
            return result

    async def _prepare(self, run: ToolRun) -> ToolResult | None:
        if run.caller_signal.aborted:
            run.final = True
            return aborted(invoked=False)
        execution = run.execution
        try:
            plan = self._hooks.plan("tools_pre_execute", execution.agent)
            if plan.active:
                decision = await plan.run(plan, (execution,), _ALLOW)
                if type(decision) is not Allow:
                    refused = await self._resolve(decision, run)
                    if refused is not None:
                        return refused
            reason = self._guarded(execution)
        except BaseException as exc:  # noqa: BLE001 - sorted out there
            return _settled(run, exc)
        if reason is not None:
            return denial(reason)
        return aborted(invoked=False) if run.caller_signal.aborted else None

    async def _resolve(self, decision: Any, run: ToolRun) -> ToolResult | None:
        if isinstance(decision, Ask):
            decision = await self._approvals.resolve(decision, run.execution, run.approver)
            if decision is None:
                return aborted(invoked=False)
        if isinstance(decision, Deny):
            return denial(decision.reason)
        # Anything but Allow was refused as INVALID_DECISION by the engine; this is the second lock on that door.
        return None if isinstance(decision, Allow) else denial(f"unknown decision {type(decision).__name__}")

    def _guarded(self, execution: ToolExecution) -> str | None:
        """Ask the global guards, the ``tools_guard`` hooks, the agent's guards; the first reason wins."""
        reason = None
        everybody = self._layers.everybody
        if everybody.guards:
            reason = ask_layer(everybody, execution, self._hooks.tracing)
        if reason is None:
            plan = self._hooks.plan("tools_guard", execution.agent)
            if plan.active:
                reason = ask_hooks(plan, execution)
        layer = self._layers.of(execution.agent)
        if reason is None and layer is not None and layer.guards:
            reason = ask_layer(layer, execution, self._hooks.tracing)
        return reason

    # -- around and dispatch ---------------------------------------------------------------------------------------

    async def dispatch(self, run: ToolRun) -> ToolResult:
        """Run the wrappers around the body and normalize what comes out of them (spec/core.md 3.4)."""
        if run.operation is not None:
            return await run.operation.execution(self._dispatch)
        return await self._dispatch(run)

    async def _dispatch(self, run: ToolRun) -> ToolResult:
        execution = run.execution
        run.stage = AROUND
        try:
            plan = self._hooks.plan("tools_execute", execution.agent)
            if plan.active:
                result = await plan.run(plan, (execution,), None, lambda _execution: self._core(run))
                result = self._normalized(run, result)
            else:
                result = await self._core(run)
            if run.deferred:
                result = with_contexts(result, (*run.deferred, *result.contexts))
        except BaseException as exc:  # noqa: BLE001 - sorted out there
            result = _settled(run, exc)
        finally:
            run.stage = POLICY
            run.show_signal(run.caller_signal)
        return _unless_aborted(run, result)

    async def _core(self, run: ToolRun) -> ToolResult:
        if not self._hooks.tracing:
            return await dispatch(run, self._layers)
        with phase("dispatch", run.execution.name) as record:
            result = await dispatch(run, self._layers)
            if record is not None:
                record.outcome = "failure" if result.is_error else "ok"
                record.detail = result.error.message if isinstance(result, ToolFailure) else ""
            return result

    def _normalized(self, run: ToolRun, result: Any) -> ToolResult:
        """Take a wrapper's result: its own mint as it is, a failure verbatim, any other success from its value on."""
        if result is run.clean or any(result is minted for minted in run.canonical):
            return result  # type: ignore[no-any-return]
        if isinstance(result, ToolFailure):
            # A subclass is read once, here: what it does with its attributes must not reach the later stages.
            own = type(result) is not ToolFailure
            return ToolFailure(result.error, result.content, result.meta, result.contexts) if own else result
        fresh = canonicalize(run, self._layers, result.value)
        return with_contexts(fresh, result.contexts)

    # -- post-execute ----------------------------------------------------------------------------------------------

    async def finalize(self, run: ToolRun, result: ToolResult) -> ToolResult:
        """Ask post-execute unless the outcome is final, then finish."""
        operation = run.operation
        if not run.final:
            plan = self._hooks.plan("tools_post_execute", run.execution.agent)
            if plan.active and operation is None:
                result = await self._review(run, plan, result)
            elif plan.active and operation is not None:
                result = await operation.stretch(self._review, run, plan, result)
        if operation is None:
            return await self.finish(run, result)
        finished: ToolResult = await operation.outlast(self.finish, run, result)
        return finished

    async def _review(self, run: ToolRun, plan: Plan, result: ToolResult) -> ToolResult:
        try:
            decision = await plan.run(plan, (run.execution, result), _ACCEPT)
            if decision is not _ACCEPT:
                result = self._decided(run, result, decision)
            return _unless_aborted(run, result)
        except BaseException as exc:  # noqa: BLE001 - sorted out there
            return _settled(run, exc)

    def _decided(self, run: ToolRun, result: ToolResult, decision: Accept | Block) -> ToolResult:
        if isinstance(decision, Block):
            return blocked(decision)
        contexts = (*result.contexts, *decision.contexts)
        if decision.value is not MISSING:
            if decision.content is not MISSING:
                raise TypeError("tools_post_execute: Accept takes either content or value, not both")
            if result.is_error:
                raise TypeError("tools_post_execute: Accept(value=...) on a failed call; a failure has no value")
            return with_contexts(canonicalize(run, self._layers, decision.value), contexts)
        content: Any = decision.content
        if content is MISSING:
            return with_contexts(result, contexts)
        if isinstance(result, ToolSuccess):
            return ToolSuccess(result.value, content, result.meta, contexts, concludes_turn=result.concludes_turn)
        return ToolFailure(result.error, content, result.meta, contexts)

    # -- finish ----------------------------------------------------------------------------------------------------

    async def finish(self, run: ToolRun, result: ToolResult) -> ToolResult:
        """Materialize, let the tool have its last word on content, freeze the execution, tell the observers."""
        execution = run.execution
        if result is not run.clean:
            result = _materialized(run, result)
        if run.finalizer is not None:
            result = self._finalized(run, result)
        if run.concludes and isinstance(result, ToolSuccess) and not result.concludes_turn:
            result = ToolSuccess(result.value, result.content, result.meta, result.contexts, concludes_turn=True)
        run.stage = DONE
        plan = self._hooks.plan("tools_result", execution.agent)
        if plan.active:
            await observe(plan, (execution, result))
        return result

    def _finalized(self, run: ToolRun, result: ToolResult) -> ToolResult:
        try:
            with phase("finalize_content", run.execution.name) as record:
                content = run.finalizer(run.execution, result)
                if record is not None:
                    record.outcome = "kept" if content is None else "replaced"
            if content is None:
                return result
            content = authored_content(content)
        except BaseException as exc:
            if not is_fault(exc):
                raise
            return _noted(run, exc, failure_of(exc, blame=False))
        if isinstance(result, ToolSuccess):
            return ToolSuccess(
                result.value, content, result.meta, result.contexts, concludes_turn=result.concludes_turn
            )
        return ToolFailure(result.error, content, result.meta, result.contexts)


@cache
def _observing() -> type[ObservedCall]:
    from dshhooks.tools.operations import ObservedCall

    return ObservedCall


def _verdict(run: ToolRun, result: ToolResult | None) -> tuple[str, str]:
    """Say what policy came to: what could not be evaluated, or was cancelled, was not let through either."""
    if not isinstance(result, ToolFailure):
        return "allow", ""
    return "aborted" if run.caller_signal.aborted and result.error.info else "deny", result.error.message


def _settled(run: ToolRun, exc: BaseException) -> ToolFailure:
    """Make a fault the final outcome; let anything else through."""
    if not is_fault(exc):
        try:
            raise exc
        finally:
            del exc  # or the traceback would hold this frame, and this frame the exception
    run.final = True
    return _noted(run, exc, failure_of(exc))


def _noted(run: ToolRun, exc: BaseException, failure: ToolFailure) -> ToolFailure:
    if run.operation is not None:
        run.operation.note(exc, failure)
    return failure


def _materialized(run: ToolRun, result: ToolResult) -> ToolResult:
    try:
        return materialize(result)
    except BaseException as exc:
        if not is_fault(exc):
            raise
        return _noted(run, exc, failure_of(exc, blame=False))


def _unless_aborted(run: ToolRun, result: ToolResult) -> ToolResult:
    """A success is superseded by the caller's cancellation; a failure never is (spec/core.md 3.5)."""
    if result.is_error or not run.caller_signal.aborted:
        return result
    return aborted(invoked=run.invoked, contexts=result.contexts)
