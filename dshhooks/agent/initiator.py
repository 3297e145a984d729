"""Which agent the running code works for: attribution, neither liveness nor authority (spec/core.md 4.13)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from hookspecs.errors import HarnessError

__all__ = ["current_initiator", "require_initiator", "with_initiator", "without_initiator"]

_current: ContextVar[Any] = ContextVar("dshhooks_initiator", default=None)


def current_initiator() -> Any:
    """Return the agent on whose behalf this code runs, or ``None``."""
    return _current.get()


def require_initiator() -> Any:
    """Return the agent on whose behalf this code runs.

    Raises:
        HarnessError: ``NO_INITIATOR``.
    """
    agent = _current.get()
    if agent is None:
        raise HarnessError("no agent is running this code; use with_initiator(agent)", "NO_INITIATOR")
    return agent


@contextmanager
def with_initiator(agent: Any) -> Iterator[None]:
    """Run the block on behalf of ``agent``; the one before is back afterwards."""
    token = _current.set(agent)
    try:
        yield
    finally:
        _current.reset(token)


def without_initiator() -> Any:
    """Run the block on nobody's behalf."""
    return with_initiator(None)
