"""The registry's side of one execution: what plugins must not see, and the phase it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from hookspecs.errors import HookUsageError
from hookspecs.execution import Approver, ToolRunContext, ToolToken
from hookspecs.json import MISSING, freeze
from hookspecs.signal import NEVER, CancelSignal

if TYPE_CHECKING:
    from dshhooks.tools.definition import ToolDefinition
    from dshhooks.tools.layers import Layers
    from dshhooks.tools.operations import ObservedCall
    from hookspecs.execution import ToolResult
    from hookspecs.values import HookContext

__all__ = ["AROUND", "BODY", "DONE", "POLICY", "ToolRun", "seal"]

POLICY: Final = 0
AROUND: Final = 1
BODY: Final = 2
DONE: Final = 3

_new = object.__new__
_set = object.__setattr__


class ToolRun:
    """Mutable state of one execution, reachable from it only through ``execution._run``."""

    __slots__ = ("_layers", "approver", "caller_signal", "canonical", "clean", "concludes", "deferred", "execution",
                 "final", "finalizer", "invoked", "operation", "stage")  # fmt: skip

    def __init__(
        self, layers: Layers, execution: ToolRunContext, signal: CancelSignal, approver: Approver | None
    ) -> None:
        self._layers, self.execution, self.caller_signal, self.approver = layers, execution, signal, approver
        self.stage = POLICY
        self.final = False  # the outcome is settled: post-execute is skipped
        self.invoked = False  # the body was invoked at least once
        self.deferred: tuple[HookContext, ...] = ()
        self.concludes = False
        self.canonical: tuple[ToolResult, ...] = ()  # every result minted by dispatch for this execution
        self.clean: ToolResult | None = None  # the one result known to be materialized already
        self.finalizer: Any = None
        self.operation: ObservedCall | None = None  # while somebody watches operations

    def definition(self) -> ToolDefinition | None:
        """Return what the calling agent sees under the call's name now."""
        entry = self._layers.get(self.execution.name, self.execution.agent)
        return entry.definition if entry is not None else None

    def replace_signal(self, signal: CancelSignal) -> CancelSignal:
        """Swap the execution's signal for a wrapper; return the one before.

        Raises:
            HookUsageError: Not in the around stage, or the body is running.
        """
        if self.stage != AROUND:
            raise HookUsageError("replace_signal is legal only inside a tools_execute wrapper, around call_next()")
        before = self.execution.signal
        _set(self.execution, "signal", signal)
        return before

    def restore_signal(self, signal: CancelSignal) -> None:
        """Put a signal back; without effect once the around stage is over and the caller's is back anyway."""
        if self.stage in (AROUND, BODY):
            _set(self.execution, "signal", signal)

    def show_signal(self, signal: CancelSignal) -> None:
        """Set the signal everybody sees, from the pipeline."""
        _set(self.execution, "signal", signal)

    def defer(self, context: HookContext) -> None:
        """Keep a context of the body; ignored once the around stage is over (spec/core.md 3.4)."""
        if self.stage in (AROUND, BODY):
            self.deferred = (*self.deferred, context)

    def conclude(self) -> None:
        """Remember that the tool wants the turn to end."""
        if self.stage in (AROUND, BODY):
            self.concludes = True


def seal(call: Any, layers: Layers) -> tuple[ToolRun, BaseException | None]:
    """Read the caller's object once, freeze the arguments and fix the identity (spec/core.md 2.2).

    Returns:
        The run, and why its arguments could not be sealed (``None`` when they could).
    """
    try:
        name, call_id, agent, parent, signal = call.name, call.id, call.agent, call.parent, call.signal
    except AttributeError as exc:
        raise TypeError(f"a ToolCall is needed, not {type(call).__name__}: {exc}") from exc
    approver = getattr(call, "approver", None)
    fault: BaseException | None = None
    try:
        arguments = freeze(call.arguments)
    except (Exception, SystemExit) as exc:  # noqa: BLE001 - whatever reading a caller's object does, it is an outcome
        arguments, fault = MISSING, exc
    if signal is None:
        signal = NEVER
    elif not issubclass(type(signal), CancelSignal):
        fault = fault or TypeError(f"ToolCall.signal must be a CancelSignal or None, not {type(signal).__name__}")
        signal = NEVER
    if type(name) is not str or not name or type(call_id) is not str or not call_id:
        name, call_id = _plain(name), _plain(call_id)
        if not name or not call_id:
            fault = fault or TypeError(f"ToolCall.id and .name must be non-empty str: {call_id!r}, {name!r}")
            name, call_id = name or "?", call_id or "?"
    execution = _new(ToolRunContext)
    run = ToolRun(layers, execution, signal, approver)
    _set(execution, "call_id", call_id)
    _set(execution, "name", name)
    _set(execution, "arguments", arguments)
    _set(execution, "agent", agent)
    _set(execution, "token", ToolToken())
    _set(execution, "parent", parent)
    _set(execution, "signal", signal)
    _set(execution, "_run", run)
    return run, fault


def _plain(text: Any) -> str:
    """Return the exact ``str`` in a ``str`` or subclass (an Enum's member, say); anything else is no text at all."""
    return str.__str__(text) if issubclass(type(text), str) else ""
