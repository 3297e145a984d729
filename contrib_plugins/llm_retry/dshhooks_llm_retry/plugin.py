"""The policy: it answers ``agent_request_error`` after a wait that was announced in the session's log."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import anyio

from dshhooks import CancelSignal, CancelSource, FailRequest, LlmFailure, LlmRetry, RetryRequest, hookimpl
from dshhooks_llm_retry.options import RequestRetryOptions

if TYPE_CHECKING:
    from dshhooks import Agent

__all__ = ["RequestRetry"]

_DEFAULTS: Final = RequestRetryOptions()
_MOST_DOUBLINGS: Final = 1000  # more would overflow a float; max_delay was reached long before
_log = logging.getLogger("dshhooks.llm-retry")


class RequestRetry:
    """Asks the model again when a request failed for a reason that may pass.

    Leaves the decision to others when the failure's code is not listed, when as many failures with listed codes were
    retried already, or when the provider wants more patience than ``max_delay``. Failures with other codes do not
    count: the budgets of different policies add up.

    An ``llm/retry`` event is in the log before the wait begins. The wait ends when the turn is cancelled or the plugin
    is closed; the request fails then.

    Args:
        options: The table ``[plugin.llm-retry]``.
        rng: Returns a number from 0 up to 1, for the jitter.
    """

    def __init__(self, options: RequestRetryOptions = _DEFAULTS, *, rng: Callable[[], float] = random.random) -> None:
        self._options = options
        self._codes = frozenset(options.retryable_codes)
        self._rng = rng
        self._closing = CancelSource()

    @hookimpl
    async def agent_request_error(
        self,
        agent: Agent,
        turn: int,
        step: int,
        failure: LlmFailure,
        prior_failures: tuple[LlmFailure, ...],
        signal: CancelSignal,
    ) -> FailRequest | RetryRequest | None:
        """Wait and try again, or leave it to others."""
        if self._closing.signal.aborted:
            return FailRequest()
        retry = 1 + sum(prior.code in self._codes for prior in prior_failures)
        delay = self._delay(failure, retry)
        if delay is None:
            return None
        most = self._options.max_transient_retries
        agent.session.append(LlmRetry(turn, step, retry, most, round(delay * 1000), failure))
        _log.info("agent %r: %s; trying again in %.2f s (%d of %d)", agent.id, failure.code, delay, retry, most)
        return RetryRequest() if await self._waited(delay, signal) else FailRequest()

    def close(self) -> None:
        """End every wait; from here on every request fails that asks."""
        self._closing.abort("closed")

    def _delay(self, failure: LlmFailure, retry: int) -> float | None:
        """Return how many seconds to wait before retry number ``retry``; ``None``: do not."""
        options = self._options
        if failure.code not in self._codes or retry > options.max_transient_retries:
            return None
        if failure.retry_after is not None:
            return failure.retry_after if failure.retry_after <= options.max_delay else None
        delay = min(options.initial_delay * 2.0 ** min(retry - 1, _MOST_DOUBLINGS), options.max_delay)
        spread = 1 + options.jitter_ratio * (2 * self._rng() - 1)
        return min(delay * spread, options.max_delay)

    async def _waited(self, seconds: float, signal: CancelSignal) -> bool:
        """Wait; return whether nobody wanted it to stop."""
        either = CancelSource()
        untie = [stop.add_listener(lambda: either.abort()) for stop in (signal, self._closing.signal)]
        try:
            with anyio.move_on_after(seconds):
                await either.signal.wait()
        finally:
            for remove in untie:
                remove()
        return not either.signal.aborted
