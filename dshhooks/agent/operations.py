"""Whether anybody takes part in the loop's operations, and where work runs if nobody does (spec/operations.md 1.13).

Nothing of :mod:`dshhooks.operations` is imported here; with somebody, see :mod:`dshhooks.agent.within`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent
    from dshhooks.operations.runner import Runner

__all__ = ["DIRECT", "Stretch", "runner_of"]

T = TypeVar("T")


class Stretch(Protocol):
    """Where a piece of the loop's work runs."""

    async def run(self, body: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Run work that ends when its operation is cancelled."""

    def call(self, fn: Callable[..., T], *args: Any) -> T:
        """Call plain code that nothing cancels."""

    async def outlast(self, body: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Run work that must be done even when its operation was cancelled: the records of its end (B6)."""


class _Direct:
    """As if there were no operations."""

    async def run(self, body: Callable[..., Awaitable[T]], *args: Any) -> T:
        return await body(*args)

    def call(self, fn: Callable[..., T], *args: Any) -> T:
        return fn(*args)

    async def outlast(self, body: Callable[..., Awaitable[T]], *args: Any) -> T:
        return await body(*args)


DIRECT: Final[Stretch] = _Direct()


def runner_of(agent: Agent) -> Runner | None:
    """Return who is told of, and asked about, this agent's operations; ``None`` when nobody is."""
    operations = agent.operations
    return operations.runner(agent) if operations.attended else None
