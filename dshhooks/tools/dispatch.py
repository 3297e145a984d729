"""Core dispatch: find the tool, run its body under the fused signal, make its value canonical (spec/core.md 3.4)."""

from __future__ import annotations

from inspect import isawaitable
from typing import Any, TypeVar

from dshhooks.engine.faults import discard, is_fault
from dshhooks.engine.scope import tied_scope
from dshhooks.tools.execution import AROUND, BODY, ToolRun
from dshhooks.tools.layers import Entry, Layers
from dshhooks.tools.outcome import aborted, authored_content, failure_of
from dshhooks.tools.threads import run_in_thread
from hookspecs.errors import NotLosslessError, ToolNotFoundError, ToolOutputError, error_message
from hookspecs.execution import ToolResult, ToolRunContext, ToolSuccess
from hookspecs.json import MISSING, freeze
from hookspecs.signal import NEVER, CancelSignal, fuse

__all__ = ["canonicalize", "dispatch"]

T = TypeVar("T", bound="ToolResult")


async def dispatch(run: ToolRun, layers: Layers) -> ToolResult:
    """Run the body once and return its normalized result; never raises for a fault of the tool."""
    execution = run.execution
    outer = execution.signal
    signal, untie = fuse(outer, run.caller_signal)
    loosen = _nothing
    try:
        if signal.aborted:
            # Not "before it began" when an earlier attempt of a retrying wrapper has run the body (spec/core.md 3.9).
            return _minted(run, aborted(invoked=run.invoked))
        try:
            entry = _entry(run, layers)
            run.invoked = True
            run.stage = BODY
            if run.operation is not None and (entry.threaded or entry.definition.cancellation == "signal"):
                # No cancel scope reaches this body: the operations' cancellation comes to it as a signal, too.
                signal, loosen = fuse(signal, run.operation.signal())
            run.show_signal(signal)
            if signal is NEVER or entry.definition.cancellation == "signal":
                value = await _invoke(entry, execution)
            else:
                value = await _tied(entry, execution, signal)
            result: ToolResult = _canonical(run, entry, value)
        except BaseException as exc:
            if not is_fault(exc):
                raise
            failure = _minted(run, failure_of(exc, blame=False))
            if run.operation is not None:
                run.operation.note(exc, failure)
            return failure
        return result if not signal.aborted else _minted(run, aborted(invoked=True))
    finally:
        loosen()
        untie()
        # A wrapper that let go of its call_next() may have ended the stage already; then nothing is given back.
        if run.stage == BODY:
            run.stage = AROUND
            run.show_signal(outer)


def _nothing() -> None:
    return None


def canonicalize(run: ToolRun, layers: Layers, value: Any) -> ToolSuccess:
    """Make a value somebody else supplied canonical, by the definition visible now.

    Raises:
        ToolNotFoundError: The tool is gone.
        ToolOutputError: The value does not fit.
    """
    return _canonical(run, _entry(run, layers), value)


def _entry(run: ToolRun, layers: Layers) -> Entry:
    execution = run.execution
    entry = layers.get(execution.name, execution.agent)
    if entry is None:
        raise ToolNotFoundError(f"there is no tool {execution.name!r}")
    return entry


async def _tied(entry: Entry, execution: ToolRunContext, signal: CancelSignal) -> Any:
    value: Any = None
    with tied_scope(signal) as scope:
        value = await _invoke(entry, execution)
    if scope.cancelled_caught:
        return _Unwound
    return value


class _Unwound:
    """What a body torn down by its signal leaves instead of a value."""


async def _invoke(entry: Entry, execution: ToolRunContext) -> Any:
    execute = entry.definition.execute
    if entry.threaded:
        value = await run_in_thread(execute, execution.arguments, execution)
    else:
        value = execute(execution.arguments, execution)
    return await value if isawaitable(value) else value


def _canonical(run: ToolRun, entry: Entry, value: Any) -> ToolSuccess:
    """Freeze, validate and render a value; what goes wrong is ``INVALID_TOOL_OUTPUT``."""
    if value is _Unwound:
        return ToolSuccess(None)  # superseded by ABORTED: the signal is aborted by now
    execution, output = run.execution, entry.definition.output
    try:
        value = freeze(value)
    except NotLosslessError as exc:
        discard(value)
        what = error_message(exc)
        raise ToolOutputError(f"tool {execution.name!r} returned something that is {what}", (what,)) from exc
    violations = entry.validate_output(value)
    if violations:
        what = "; ".join(violations)
        raise ToolOutputError(f"tool {execution.name!r} returned a value outside its schema: {what}", violations)
    try:
        content = authored_content(output.render(execution.arguments, value))
        meta: Any = MISSING
        if output.presentation_meta is not None and execution.parent is None:
            meta = output.presentation_meta(execution.arguments, value)
            discard(meta)
            meta = freeze(meta)
    except BaseException as exc:
        if isinstance(exc, ToolOutputError) or not is_fault(exc):
            raise
        what = f"{type(exc).__name__}: {error_message(exc)}"
        raise ToolOutputError(f"tool {execution.name!r}: rendering the value failed: {what}", (what,)) from exc
    return _minted(run, ToolSuccess(value, content, meta))


def _minted(run: ToolRun, result: T) -> T:
    run.canonical = (*run.canonical, result)
    run.clean = result
    return result
