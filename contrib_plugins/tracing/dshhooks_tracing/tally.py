"""What the model requests of one turn add up to, for the span of the turn."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Final

from dshhooks_tracing.inference import finish_reason, usage

__all__ = ["Tally", "current_tally", "enter_tally"]

_MODEL: Final = ("gen_ai.provider.name", "gen_ai.request.model")


class Tally:
    """Sums one turn: tokens, and who answered last with what."""

    def __init__(self) -> None:
        self._sums: dict[str, int] = {}
        self._model: dict[str, Any] = {}
        self.answer: Any = None
        """The last message of the turn's model, if one came."""
        self.reason: str | None = None
        """Why the model stopped there."""

    def ask(self, facts: Mapping[str, Any]) -> None:
        """Remember whom the turn asked last, by what the request's own span says of it."""
        self._model = {name: facts[name] for name in _MODEL if name in facts}

    def add(self, payload: Any) -> None:
        """Add what a request came to."""
        for name, count in usage(payload).items():
            if count is not None:
                self._sums[name] = self._sums.get(name, 0) + count
        if payload.ai_message is not None:
            self.answer, self.reason = payload.ai_message, finish_reason(payload)

    def facts(self) -> dict[str, Any]:
        """Return the sums and the model; empty when nobody was asked."""
        return {**self._model, **self._sums}


# By owner: two tracers in one host, an installed one and one of the host's own, each count for themselves.
_current: ContextVar[Mapping[object, Tally]] = ContextVar("dshhooks_tracing_tally", default=MappingProxyType({}))


def current_tally(owner: object) -> Tally | None:
    """Return the tally of the turn this code runs in, or ``None``."""
    return _current.get().get(owner)


def enter_tally(owner: object) -> None:
    """Begin a tally for what runs inside the current operation: a subagent's turn has its own."""
    _current.set({**_current.get(), owner: Tally()})
