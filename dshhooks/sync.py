"""The same host for callers without an event loop (decisions.md 3.15).

A blocking portal around the one implementation; there is no second one.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from dshhooks.config import HarnessConfig

__all__ = ["Blocking", "open"]


class Blocking:
    """A view of a host, or a part of it, whose coroutine methods block until they are done."""

    def __init__(self, target: Any, portal: BlockingPortal) -> None:
        self._target, self._portal = target, portal

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if inspect.iscoroutinefunction(value):
            return _blocking(value, self._portal)
        # A part of the host (hooks, tools, …) is viewed the same way; everything else is what it is.
        return Blocking(value, self._portal) if _is_part(value) else value

    def __repr__(self) -> str:
        return f"<blocking {self._target!r}>"


def _is_part(value: Any) -> bool:
    ours = type(value).__module__.startswith("dshhooks.")
    return ours and not callable(value) and not hasattr(value, "__attrs_attrs__")


def _blocking(function: Any, portal: BlockingPortal) -> Any:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return portal.call(functools.partial(function, *args, **kwargs))

    return call


@contextmanager
def open(
    config: str | os.PathLike[str] | HarnessConfig | None = None,
    plugins: Sequence[Any] = (),
    *,
    backend: str = "asyncio",
) -> Iterator[Any]:
    """Start a host in a background event loop; like :meth:`Harness.open` with blocking methods.

    Args:
        config: As for ``Harness.open``.
        plugins: As for ``Harness.open``.
        backend: The anyio backend of the background loop.
    """
    from anyio.from_thread import start_blocking_portal

    from dshhooks.harness import Harness

    with (
        start_blocking_portal(backend) as portal,
        portal.wrap_async_context_manager(Harness.open(config, plugins=plugins)) as harness,
    ):
        yield Blocking(harness, portal)
