"""The wrapper: it calls the rest of the chain again while tenacity says so."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import anyio

from dshhooks import CancelSignal, ToolExecution, ToolFailure, ToolResult, hookimpl
from dshhooks_retry.options import NEVER_RETRIED, RetryOptions

if TYPE_CHECKING:
    from tenacity import RetryCallState

__all__ = ["Retry"]

_DEFAULTS: Final = RetryOptions()
_log = logging.getLogger("dshhooks.retry")

CallNext = Callable[[], Awaitable[ToolResult]]


class Retry:
    """Calls a tool again when it failed for a reason that may pass.

    Only a tool that may run twice: it declares ``idempotent=True`` or ``tools`` lists it. Only a failure whose code is
    in ``codes`` or whose error class is in ``names``: a denial, a block and an exception from outside the
    :class:`HarnessError` tree have neither, so they are never tried again; cancelled calls and invalid arguments are
    not either, whatever is listed. After the last attempt its result is returned as it is.

    A pause ends at once when ``execution.signal`` aborts; then there is no further attempt.

    Args:
        options: The table ``[plugin.retry]``.
    """

    def __init__(self, options: RetryOptions = _DEFAULTS) -> None:
        self._options = options
        self._codes = frozenset(options.codes)
        self._names = frozenset(options.names)
        self._tools = frozenset(options.tools)

    @hookimpl(wrapper=True)
    async def tools_execute(self, execution: ToolExecution, *, call_next: CallNext) -> ToolResult:
        """Run the call once, or as often as it is worth it."""
        if self._options.attempts == 1 or not self._may_repeat(execution):
            return await call_next()
        return await self._repeated(execution, call_next)

    def _may_repeat(self, execution: ToolExecution) -> bool:
        return execution.name in self._tools or getattr(execution.definition, "idempotent", False) is True

    async def _repeated(self, execution: ToolExecution, call_next: CallNext) -> ToolResult:
        import tenacity  # not at the top: a host that starts need not wait for it

        options, signal = self._options, execution.signal
        last: ToolResult | None = None

        async def attempt() -> ToolResult:
            nonlocal last
            # tenacity attempts again after every pause; one that was cut short ends with what there is.
            if last is None or not signal.aborted:
                last = await call_next()
            return last

        delay = tenacity.wait_exponential(multiplier=options.initial_delay, max=options.max_delay)
        # Made for this call: an AsyncRetrying keeps the state of a run and must not be shared by concurrent ones.
        retrying = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(options.attempts),
            wait=delay + tenacity.wait_random(0, options.jitter),
            retry=tenacity.retry_if_result(lambda result: not signal.aborted and self._may_pass(result)),
            sleep=lambda seconds: _pause(seconds, signal),
            before_sleep=lambda state: _say(execution, state),
            retry_error_callback=lambda _state: last,
        )
        return await retrying(attempt)

    def _may_pass(self, result: ToolResult) -> bool:
        if not isinstance(result, ToolFailure) or result.error.info is None:
            return False
        info = result.error.info
        return info.code not in NEVER_RETRIED and (info.code in self._codes or info.name in self._names)


async def _pause(seconds: float, signal: CancelSignal) -> None:
    """Wait, but not past the signal's abort."""
    with anyio.move_on_after(seconds):
        await signal.wait()


def _say(execution: ToolExecution, state: RetryCallState) -> None:
    _log.info(
        "attempt %d of tool %r (call %s) failed; trying again in %.2f s",
        state.attempt_number, execution.name, execution.call_id, state.upcoming_sleep,
    )  # fmt: skip
