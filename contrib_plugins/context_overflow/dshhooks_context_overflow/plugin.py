"""The plugin: it compacts when a request did not fit, or when the next one may not."""

from __future__ import annotations

import logging
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

import attrs

from dshhooks import (
    MISSING,
    CancelSignal,
    GenerateOptions,
    HarnessError,
    LlmFailure,
    RetryRequest,
    StreamChunk,
    error_chain,
    hookimpl,
)
from dshhooks_context_overflow.options import ContextOverflowOptions
from dshhooks_context_overflow.squeeze import Squeeze, squeezes

if TYPE_CHECKING:
    from dshhooks import Agent

__all__ = ["ContextOverflow"]

OVERFLOW: Final = "CONTEXT_WINDOW_EXCEEDED"
_DEFAULTS: Final = ContextOverflowOptions()
_log = logging.getLogger("dshhooks.context-overflow")
# How the summary asked for in this task is to be pressed; the request comes back to us through ``llm_stream``.
_squeeze: ContextVar[Squeeze | None] = ContextVar("dshhooks_context_overflow", default=None)


class ContextOverflow:
    """Replaces a conversation that got too long by a summary the model writes, and lets the turn go on.

    After ``CONTEXT_WINDOW_EXCEEDED`` the request is tried again only if the conversation really was replaced; else the
    decision is left to others. With ``threshold_tokens`` it also happens behind a step, before the overflow. A
    compaction that fails is logged and changes nothing.

    Args:
        options: The table ``[plugin.context-overflow]``.
    """

    def __init__(self, options: ContextOverflowOptions = _DEFAULTS) -> None:
        self._options = options
        self._relieved: weakref.WeakSet[Agent] = weakref.WeakSet()  # compacted since they were last below the threshold

    @hookimpl
    async def agent_request_error(
        self, agent: Agent, failure: LlmFailure, prior_failures: tuple[LlmFailure, ...]
    ) -> RetryRequest | None:
        """Compact and try again, within the budget for failures of this code."""
        spent = sum(prior.code == OVERFLOW for prior in prior_failures)
        if failure.code != OVERFLOW or spent >= self._options.max_recoveries:
            return None
        return RetryRequest() if await self._compacted(agent) else None

    @hookimpl
    async def agent_post_step(self, agent: Agent, signal: CancelSignal) -> None:
        """Compact when the step's request used more than the threshold."""
        threshold = self._options.threshold_tokens
        if threshold is None or signal.aborted:
            return
        if _used(agent) < threshold:
            self._relieved.discard(agent)
        elif agent in self._relieved:
            # What is over the threshold is not the conversation: prompt, tools, or the summary itself.
            _log.warning("agent %r: still over %d tokens after a compaction; not trying again", agent.id, threshold)
        elif await self._compacted(agent):
            self._relieved.add(agent)

    @hookimpl(wrapper=True)
    async def llm_stream(
        self, options: GenerateOptions, *, call_next: Callable[..., Awaitable[AsyncIterator[StreamChunk]]]
    ) -> AsyncIterator[StreamChunk]:
        """Press the conversation a summary is asked of, when the whole of it did not fit either."""
        squeeze = _squeeze.get()
        if squeeze is None or options.purpose != "compaction":
            return await call_next()
        # The last message asks for the summary.
        shorter = (*squeeze.messages(options.messages[:-1]), options.messages[-1])
        return await call_next(options=attrs.evolve(options, messages=shorter))

    async def _compacted(self, agent: Agent) -> bool:
        """Compact; return whether the conversation was replaced."""
        before = agent.session.replace_generation
        for squeeze in squeezes(self._options.excerpt_chars):
            token = _squeeze.set(squeeze)
            try:
                await agent.compact()
                break
            except Exception as exc:  # noqa: BLE001 - the request's own failure is what the turn ends with
                if not isinstance(exc, HarnessError) or exc.code != OVERFLOW:
                    _log.warning("agent %r: compaction failed: %s", agent.id, error_chain(exc))
                    break
                _log.info("agent %r: the summary does not fit either", agent.id)
            finally:
                _squeeze.reset(token)
        return agent.session.replace_generation > before


def _used(agent: Agent) -> int:
    """Return what the last request cost, cached tokens too; 0 when the provider did not say."""
    for event in reversed(agent.session.events):
        if event.type == "assistant/message":
            usage = event.data.usage
            if usage is MISSING:
                return 0
            cached = (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
            return int(usage.input_tokens + usage.output_tokens + cached)
    return 0
