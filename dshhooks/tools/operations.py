"""A tool call and its execution as operations: where they begin and how they end (spec/operations.md 1.13, B1-B3).

Imported only when somebody takes part. A stage runs in the call's context and stops with its token; what follows the
outcome (finalizing, observers, the log) has its context, and is not stopped.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from dshhooks.engine.trace import current_trace, phase
from dshhooks.operations.context import CurrentOperation, Driven, current_operation, run_in
from dshhooks.operations.errors import GuardError, OperationCanceled
from dshhooks.operations.guards import Refusal
from dshhooks.operations.kinds import Operation, Outcome
from dshhooks.operations.owner import begin_here, check, outliving, start_here, through
from dshhooks.operations.payloads import ToolCallData, ToolExecutionData
from dshhooks.operations.runner import Runner
from dshhooks.operations.scope import Scope
from dshhooks.operations.snapshot import shown_again
from dshhooks.operations.verdict import classify
from dshhooks.tools.outcome import aborted, denial, was_aborted
from dshhooks.tools.preview import bounded, preview
from hookspecs.execution import ErrorInfo, ToolError, ToolFailure, ToolResult, ToolSuccess
from hookspecs.json import MISSING, canonical
from hookspecs.operations import Denial
from hookspecs.signal import NEVER, CancelSignal

if TYPE_CHECKING:
    from dshhooks.tools.execution import ToolRun

__all__ = ["ObservedCall"]

shown_again(ToolSuccess, ToolFailure)  # a call's result is most often its execution's

_PLUGIN_FAILED: Final = ErrorInfo("PluginFailedError", "PLUGIN_FAILED")
_GUARD_FAILED: Final = ErrorInfo("GuardFailedError", "GUARD_FAILED")


class ObservedCall:
    """The operations of one tool call. Whoever admits it finishes it, on every path.

    Args:
        runner: Who is told and asked.
        run: The call's execution.
        raw: The model's own text of the arguments; ``MISSING`` for a call no model made.
    """

    __slots__ = ("_blamed", "_effect", "_error", "_executed", "_id", "_outer", "_preview", "_previewed", "_raw", "_run",
                 "_scope", "reason", "runner", "undecided")  # fmt: skip

    def __init__(self, runner: Runner, run: ToolRun, raw: Any) -> None:
        self.runner = runner
        self.reason = ""  # why policy decided as it did
        self.undecided = False  # whoever was asked is not waited for any more, so the call is refused all the same
        self._run, self._raw, self._id = run, raw, ""
        self._scope: Scope | None = None
        self._outer: CurrentOperation | None = None
        self._effect = ""
        self._error: BaseException | None = None  # what the call ends by, unless something worse comes
        self._blamed: ToolError | None = None  # the error in the failure that was made of it
        self._executed: ToolResult | None = None
        self._previewed: ToolResult | None = None
        self._preview = ""

    # -- the call --------------------------------------------------------------------------------------------------

    async def admit(self, fault: BaseException | None) -> ToolFailure | None:
        """Begin the call and ask the admission guards.

        Args:
            fault: Why it could not be sealed, or ``None``.

        Returns:
            The refusal as the model reads it, which is final; ``None`` when nobody objects.
        """
        if not (self.runner.handles(Operation.TOOL_CALL) or self.runner.handles(Operation.TOOL_EXECUTION)):
            return None
        self._identify(fault)
        if not self.runner.handles(Operation.TOOL_CALL):
            return None
        name = self._run.execution.name
        started = ToolCallData(*self._identity(), summary=bounded(name))
        self._outer = current_operation()
        self._scope = await start_here(self.runner, Operation.TOOL_CALL, started)
        refusal = self._scope.refusal
        if current_trace() is not None:
            _record(name, refusal)
        if refusal is None:
            return None
        self._run.final, self._error = True, refusal
        return _refused(refusal)

    def _identify(self, fault: BaseException | None) -> None:
        arguments = self._run.execution.arguments
        if self._raw is MISSING and arguments is not MISSING:
            self._raw = canonical(arguments)
        if fault is not None and arguments is not MISSING:
            self._error = fault  # no domain failure like bad arguments: the call has no identity
        else:
            self._id = os.urandom(16).hex()

    def _identity(self) -> tuple[str, str, str, Any]:
        execution = self._run.execution
        return self._id, execution.call_id if self._id else "", execution.name, self._raw

    async def permit(self, policy: Callable[..., Any], *, waits: bool) -> ToolResult | None:
        """Run the policy stage and keep what it decided; one that was cancelled or broke has decided nothing.

        Args:
            policy: The stage.
            waits: Whether there is anything in it that a cancellation would have to end.
        """
        stage = self.stretch if waits else self.outlast
        refused: ToolResult | None = await stage(policy, self._run)
        if refused is None:
            self._effect = "approve"
        elif self._error is None and not self.undecided and type(refused) is ToolFailure and refused.error.info is None:
            self._effect, self.reason = "deny", refused.error.message
        return refused

    async def stretch(self, stage: Callable[..., Any], *args: Any) -> Any:
        """Run a stage in the call's context; a cancelled call ends there, as one that was aborted."""
        if self._scope is None:
            return await stage(*args)
        try:
            check(self._scope)
            return await self._scope.run(stage, *args)
        except OperationCanceled as exc:
            return self._aborted(exc)

    def _aborted(self, canceled: OperationCanceled) -> ToolFailure:
        run = self._run
        run.final, self._error = True, canceled
        return aborted(invoked=run.invoked, contexts=run.deferred)

    async def outlast(self, stage: Callable[..., Any], *args: Any) -> Any:
        """Run what follows the outcome: in the call's context, and to its end."""
        if self._scope is None:
            return await stage(*args)
        # A stage is a coroutine function: to call it runs nothing yet.
        return await Driven(outliving(self._scope, self._outer), stage(*args))

    def here(self, fn: Callable[..., Any], *args: Any) -> Any:
        """Call a plain function in the call's context."""
        return fn(*args) if self._scope is None else run_in(outliving(self._scope, self._outer), fn, *args)

    def note(self, error: BaseException, failure: ToolFailure) -> None:
        """Keep the exception a failure was made of; the failure itself does not hold it."""
        self._error, self._blamed = error, failure.error

    def finish(self, result: ToolResult | None, error: BaseException | None = None) -> None:
        """Finish the call, if it was begun; only the first time counts.

        Args:
            result: As the model gets it; ``None`` when there is none.
            error: What ended the call instead.
        """
        error = self._error if error is None else error
        self._error = None  # its traceback holds this very object
        if self._scope is not None and not self._scope.finished:
            canceled = error is None and result is not None and was_aborted(result)
            self._scope.finish(Outcome.CANCELED if canceled else classify(error), error, **self._terminal(result))
            self._run.operation = None  # a run and its execution hold each other, and must not hold all this as well

    def _terminal(self, result: ToolResult | None) -> dict[str, Any]:
        name = self._run.execution.name
        terminal = {
            "summary": bounded(f"{name} {self._raw}" if self._raw else name),
            "permission_effect": self._effect,
            "permission_reason": bounded(self.reason),
        }
        return terminal if result is None else {**terminal, **self._shown(self._unshaped(result), result)}

    def _shown(self, full: ToolResult, result: ToolResult) -> dict[str, Any]:
        if result is not self._previewed:  # most often the call's result is its execution's
            self._previewed, self._preview = result, preview(result.content)
        return {"result": full, "preview": self._preview, "is_error": result.is_error}

    def _unshaped(self, result: ToolResult) -> ToolResult:
        """Return what the tool said, when later stages only changed how much of it the model reads."""
        executed = self._executed
        if executed is None or executed.is_error is not result.is_error:
            return result
        if isinstance(executed, ToolFailure) or isinstance(result, ToolFailure):
            return executed if getattr(executed, "error", None) is getattr(result, "error", MISSING) else result
        return executed if executed.value is result.value else result

    # -- the execution ---------------------------------------------------------------------------------------------

    async def execution(self, dispatch: Callable[..., Any]) -> ToolResult:
        """Run wrappers and tool as a ToolExecution inside the call."""
        if self.runner.handles(Operation.TOOL_EXECUTION):
            result = await self._within(dispatch)
        else:
            result = await self.stretch(self._unwatched, dispatch)
        self._executed = result
        return result

    async def _unwatched(self, dispatch: Callable[..., Any]) -> ToolResult:
        result: ToolResult = await dispatch(self._run)
        self._taken(result)
        return result

    async def _within(self, dispatch: Callable[..., Any]) -> ToolResult:
        """What cancels the call cancels its execution inside, whose cancel scope is enough for both."""
        try:
            if self._scope is not None:
                check(self._scope)
        except OperationCanceled as exc:
            return self._aborted(exc)
        result: ToolResult = await self.outlast(self._execution, dispatch)
        return result

    async def _execution(self, dispatch: Callable[..., Any]) -> ToolResult:
        scope = begin_here(self.runner, Operation.TOOL_EXECUTION, ToolExecutionData(*self._identity()))
        result: ToolResult | None = None
        error: BaseException | None = None
        try:
            result = await through(scope, dispatch, self._run)
            error = self._taken(result)
        except OperationCanceled as exc:
            error, result = exc, self._stopped()
        except BaseException as exc:
            error = exc
            raise
        finally:
            scope.finish(_ended(result, error), error, **({} if result is None else self._shown(result, result)))
            del error  # its traceback holds this frame
        return result

    def _stopped(self) -> ToolFailure:
        call = self._scope
        if call is not None and call.token.cancelled:
            return self._aborted(OperationCanceled(Operation.TOOL_CALL, call.token.reason))
        return aborted(invoked=self._run.invoked, contexts=self._run.deferred)

    def _taken(self, result: ToolResult) -> BaseException | None:
        """Return the exception the result was made of, which is the execution's and not the call's (B2)."""
        error, self._error = self._error, None
        return error if isinstance(result, ToolFailure) and result.error is self._blamed else None

    def signal(self) -> CancelSignal:
        """Return the cancellation of the innermost operation as a signal, for bodies that no cancel scope reaches."""
        operation = current_operation()
        return NEVER if operation is None else operation.token.signal


def _record(name: str, refusal: Refusal | None) -> None:
    # Afterwards: the operation's context must not stay inside this phase.
    with phase("admission", name) as record:
        if record is not None:
            record.outcome, record.detail = _verdict(refusal)


def _verdict(refusal: Refusal | None) -> tuple[str, str]:
    if refusal is None:
        return "allow", ""
    return "aborted" if isinstance(refusal, OperationCanceled) else "deny", str(refusal)


def _refused(refusal: Refusal) -> ToolFailure:
    if isinstance(refusal, Denial):
        return denial(f"denied: {refusal.reason}")
    if isinstance(refusal, GuardError):
        # Its text is fixed: what the guard said is for trusted code only (X1, X2).
        return ToolFailure(ToolError(str(refusal), _PLUGIN_FAILED if refusal.plugin else _GUARD_FAILED))
    return aborted(invoked=False)


def _ended(result: ToolResult | None, error: BaseException | None) -> Outcome:
    if error is not None or not isinstance(result, ToolFailure):
        return classify(error)
    return Outcome.CANCELED if was_aborted(result) else Outcome.FAILED
