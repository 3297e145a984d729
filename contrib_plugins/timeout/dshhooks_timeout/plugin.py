"""The wrapper: it swaps the signal, lets the call run, and replaces what a late call brings (spec/core.md 9)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar, Final

import anyio
from attrs import frozen

from dshhooks import CancelSource, ConfigError, ErrorInfo, ToolError, ToolExecution, ToolFailure, ToolResult, hookimpl
from dshhooks_timeout.options import TimeoutOptions, check_seconds

__all__ = ["Timeout", "ToolTimeout"]

_DEFAULTS: Final = TimeoutOptions()
_INFO: Final = ErrorInfo("ToolTimeoutError", "TOOL_TIMEOUT")

CallNext = Callable[[], Awaitable[ToolResult]]


@frozen(eq=False)
class ToolTimeout:
    """The reason a late call's signal carries. Two are never equal: a deadline recognizes only its own.

    Args:
        tool: The tool's name.
        seconds: The deadline that passed.
    """

    code: ClassVar[str] = "TOOL_TIMEOUT"
    tool: str
    seconds: float

    def failure(self) -> ToolFailure:
        """Return the result of a call this deadline ended."""
        milliseconds = round(self.seconds * 1000, 3)
        message = f"tool {self.tool!r} did not finish within {self.seconds:g} s ({milliseconds:.12g} ms)"
        return ToolFailure(ToolError(message, _INFO))


class Timeout:
    """Gives calls a deadline.

    The wrappers further in and the tool's body see a signal that aborts with the caller's or when the time is up,
    whichever comes first. A call is never abandoned: its body is cancelled by that signal and awaited to its end. What
    it brings after its time is up, success or failure, becomes ``TOOL_TIMEOUT``; contexts the body deferred stay.

    Args:
        options: The table ``[plugin.timeout]``.
    """

    def __init__(self, options: TimeoutOptions = _DEFAULTS) -> None:
        self._default = options.default
        self._tools = dict(options.tools)

    @hookimpl(wrapper=True)
    async def tools_execute(self, execution: ToolExecution, *, call_next: CallNext) -> ToolResult:
        """Run the call under its deadline, or untouched when it has none."""
        seconds = self._seconds(execution)
        if seconds is None:
            return await call_next()
        late = ToolTimeout(execution.name, seconds)
        source, upstream = CancelSource(), execution.signal
        untie = upstream.add_listener(lambda: source.abort(upstream.reason))
        try:
            with execution.replace_signal(source.signal):
                result = await _timed(call_next, source, late)
        finally:
            untie()
        return late.failure() if source.signal.reason is late else result

    def _seconds(self, execution: ToolExecution) -> float | None:
        """Look the deadline up.

        Raises:
            ConfigError: The tool declares one that is longer than a timer can be.
        """
        override = self._tools.get(execution.name)
        if override is not None:
            return override
        definition = execution.definition
        declared: float | None = getattr(definition, "timeout", None)
        if declared is None:
            return self._default
        try:
            check_seconds(declared, f"the timeout tool {execution.name!r} declares")
        except (TypeError, ValueError) as exc:
            raise ConfigError(f"{exc}; set plugin.timeout.tools.{execution.name} instead") from exc
        return declared


async def _timed(call_next: CallNext, source: CancelSource, late: ToolTimeout) -> ToolResult:
    """Await ``call_next()`` in this task while a timer runs beside it; its exceptions come out as they are."""
    settled = anyio.Event()
    failure: BaseException | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_timer, source, late, settled)
        try:
            result = await call_next()
        # Everything, cancellation too, leaves the task group by hand: it would wrap an exception in a group, and may
        # take a cancellation that is not its own for one. The timer ends at once, so nothing is held up.
        except BaseException as exc:  # noqa: BLE001 - raised again below
            failure = exc
        settled.set()
    if failure is None:
        return result
    try:
        raise failure
    finally:
        del failure  # the traceback holds this frame: without this every failure is a reference cycle


async def _timer(source: CancelSource, late: ToolTimeout, settled: anyio.Event) -> None:
    with anyio.move_on_after(late.seconds) as clock:
        await settled.wait()
    if clock.cancelled_caught and not settled.is_set():
        source.abort(late)
