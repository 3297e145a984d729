"""The service: adapters by provider name, and one request through the ``llm_stream`` hook (spec/core.md 6)."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import attrs
from attrs import field, frozen

from dshhooks.engine.contribution import Belongings, contribute
from dshhooks.engine.hooks import Hooks, Registration
from dshhooks.engine.observe import described
from dshhooks.llm.request import (
    AdapterStream,
    Around,
    ModelStream,
    PreparedCall,
    Route,
    close,
    failure_from,
    failure_in,
)
from hookspecs.errors import HarnessError, LlmError
from hookspecs.json import MISSING
from hookspecs.model import GenerateOptions, LlmCallConfig, StreamChunk
from hookspecs.values import AssistantProvenance, Message

__all__ = ["LlmAdapter", "LlmService", "ModelStream", "PreparedCall", "ReasoningInfo", "failure_from", "failure_in"]

log = logging.getLogger("dshhooks.llm")


@frozen
class ReasoningInfo:
    """The reasoning efforts a model offers, and the one used when nobody says."""

    efforts: tuple[str, ...] = field(converter=tuple)
    default: str | None = None


@runtime_checkable
class LlmAdapter(Protocol):
    """Talks to one provider: one call is one attempt, tool arguments stay raw text, usage comes before the finish.

    May also offer ``reasoning(model) -> ReasoningInfo | None``.
    """

    def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Yield the chunks of one answer; raise, or finish with ``error`` or ``aborted``, when it fails."""
        ...


class LlmService:
    """Adapters, and requests to them.

    Args:
        hooks: The plugins whose ``llm_stream`` stands around requests; their ``register_llm_adapters`` are called.
    """

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._routes: dict[str, Route] = {}
        hooks.on_arrival(self._welcome)

    def register_adapter(self, providers: Sequence[str], adapter: Any) -> Registration:
        """Serve provider names with an adapter: all of them or none.

        Raises:
            HarnessError: ``INVALID_ADAPTER`` (no names, an empty one, no ``stream``) or ``DUPLICATE_ADAPTER``.
        """
        names = [providers] if isinstance(providers, str) else list(providers)
        if not names or not all(isinstance(name, str) and name for name in names):
            raise HarnessError("register_adapter needs non-empty provider names", "INVALID_ADAPTER")
        if not callable(getattr(adapter, "stream", None)):
            raise HarnessError(f"{type(adapter).__name__} has no stream(options)", "INVALID_ADAPTER")
        for at, name in enumerate(names):
            if name in self._routes or name in names[:at]:
                raise HarnessError(f"provider {name!r} already has an adapter", "DUPLICATE_ADAPTER")
        routes = {name: Route(name, adapter) for name in names}
        self._routes.update(routes)

        def undo() -> None:
            for name, route in routes.items():
                if self._routes.get(name) is route:
                    del self._routes[name]

        return Registration(undo)

    @property
    def providers(self) -> tuple[str, ...]:
        """The provider names that have an adapter."""
        return tuple(self._routes)

    def route(self, provider: str) -> Route:
        """Return who serves a provider.

        Raises:
            LlmError: ``NO_ADAPTER``.
        """
        route = self._routes.get(provider)
        if route is None:
            known = ", ".join(self._routes) or "none"
            raise LlmError(f"no adapter serves provider {provider!r}; there are: {known}", "NO_ADAPTER")
        return route

    def prepare(self, config: LlmCallConfig) -> PreparedCall:
        """Bind a configuration to its adapter and fill in the adapter's default effort.

        Raises:
            LlmError: ``UNSUPPORTED_REASONING_EFFORT``; efforts are never rounded to another.
        """
        route = self._routes.get(config.provider)
        reasoning = getattr(route.adapter, "reasoning", None) if route is not None else None
        info: ReasoningInfo | None = reasoning(config.model) if callable(reasoning) else None
        if info is None:
            return PreparedCall(config, route)
        if config.reasoning_effort is None:
            return PreparedCall(attrs.evolve(config, reasoning_effort=info.default), route)
        if config.reasoning_effort not in info.efforts:
            raise LlmError(
                f"model {config.model!r} has no reasoning effort {config.reasoning_effort!r}; it has: "
                f"{', '.join(info.efforts)}",
                "UNSUPPORTED_REASONING_EFFORT",
            )
        return PreparedCall(config, route)

    async def open(
        self,
        options: GenerateOptions,
        *,
        prepared: PreparedCall | None = None,
        agent: object = None,
        around: Around | None = None,
    ) -> ModelStream:
        """Send one request through ``llm_stream`` and return its stream.

        Args:
            options: The frozen request.
            prepared: What :meth:`prepare` returned for it.
            agent: Whose request it is; its own plugins take part too.
            around: Stands around every attempt at the adapter, inside all hooks.

        Raises:
            HarnessError: ``INVALID_PREPARED_CALL``.
            Exception: What an ``llm_stream`` hook raised, with a note naming it.
        """
        bound = prepared.take(options) if prepared is not None else None
        adapter = AdapterStream(self, options if prepared is not None else None, bound, around)
        plan = self._hooks.plan("llm_stream", agent)
        if not plan.active:
            return ModelStream(await adapter.open(options), adapter)
        try:
            chunks = await plan.run(plan, (options,), None, adapter.open)
        except BaseException:
            await adapter.aclose()  # a wrapper that failed half-way leaves what it had begun to read
            raise
        return ModelStream(chunks, adapter)

    async def stream(self, options: GenerateOptions, *, agent: object = None) -> AsyncIterator[StreamChunk]:
        """Yield the chunks of one request."""
        stream = await self.open(options, agent=agent)
        try:
            async for chunk in stream:
                yield chunk
        finally:
            await stream.aclose()

    async def aclose(self) -> None:
        """Close every adapter that can be closed (``aclose()``), each once; they serve no more requests."""
        adapters = {id(route.adapter): route.adapter for route in self._routes.values()}
        self._routes.clear()
        for adapter in adapters.values():
            try:
                await close(adapter)
            except Exception as exc:  # noqa: BLE001 - the others must be closed too
                log.warning("closing %s failed: %s", type(adapter).__name__, described(exc))

    def visible(self, options: GenerateOptions, adapter: Any) -> GenerateOptions:
        """Return the request without replay state that another adapter left in its messages."""
        messages = options.messages
        # Every request asks it of every message before it.
        told = [each.provenance for each in messages if isinstance(each.provenance, AssistantProvenance)]
        if all([provenance.replay_state is MISSING for provenance in told]):
            return options
        kept = tuple(self._shown(message, adapter) for message in messages)
        if all(mine is theirs for mine, theirs in zip(kept, messages, strict=True)):
            return options
        return attrs.evolve(options, messages=kept)

    def _shown(self, message: Message, adapter: Any) -> Message:
        provenance: Any = message.provenance
        if provenance is MISSING or provenance.replay_state is MISSING:
            return message
        route = self._routes.get(provenance.provider)
        if route is not None and route.adapter is adapter:
            return message
        return attrs.evolve(message, provenance=attrs.evolve(provenance, replay_state=MISSING))

    def _welcome(self, plugin: str) -> Callable[[], None]:
        own = Belongings(self, ("register_adapter",))
        return contribute(self._hooks, "register_llm_adapters", plugin, own)
