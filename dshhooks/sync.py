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
    from dshhooks.operations.declare import OperationSet

__all__ = ["Blocking", "open"]


class Blocking:
    """A view of a host, or a part of it, whose methods run in the background loop and block until they are done.

    Also where the method itself is synchronous: the parts of a host are no more thread-safe than the loop they live in.
    """

    def __init__(self, target: Any, portal: BlockingPortal) -> None:
        self._target, self._portal = target, portal

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if inspect.ismethod(value):
            return functools.wraps(value)(functools.partial(self._call, value))
        return self._seen(value)

    def _call(self, method: Any, *args: Any, **kwargs: Any) -> Any:
        given = [_target(value) for value in args]
        named = {name: _target(value) for name, value in kwargs.items()}
        return self._seen(self._portal.call(functools.partial(method, *given, **named)))

    def _seen(self, value: Any) -> Any:
        # A part of the host (hooks, tools, an agent, …) is viewed the same way; everything else is what it is.
        return Blocking(value, self._portal) if _is_part(value) else value

    def __enter__(self) -> Any:
        return self._call(self._target.__enter__)

    def __exit__(self, *exc: object) -> Any:
        return self._call(self._target.__exit__, *exc)

    def __eq__(self, other: object) -> bool:
        return bool(self._target == _target(other))

    def __hash__(self) -> int:
        return hash(self._target)

    def __repr__(self) -> str:
        return f"<blocking {self._target!r}>"


def _target(value: Any) -> Any:
    return value._target if isinstance(value, Blocking) else value


def _is_part(value: Any) -> bool:
    from dshhooks.session.event import Event

    if callable(value) or hasattr(value, "__attrs_attrs__"):
        return False
    # Immutable, though not attrs: a session's events and messages.
    return type(value).__module__.startswith("dshhooks.") and not isinstance(value, (Sequence, Event))


@contextmanager
def open(
    config: str | os.PathLike[str] | HarnessConfig | None = None,
    plugins: Sequence[Any] = (),
    *,
    store: Any = None,
    operations: OperationSet | None = None,
    backend: str = "asyncio",
) -> Iterator[Any]:
    """Start a host in a background event loop; like :meth:`Harness.open` with blocking methods.

    Args:
        config: As for ``Harness.open``.
        plugins: As for ``Harness.open``.
        store: As for ``Harness.open``.
        operations: As for ``Harness.open``.
        backend: The anyio backend of the background loop.
    """
    from anyio.from_thread import start_blocking_portal

    from dshhooks.harness import Harness

    with (
        start_blocking_portal(backend) as portal,
        portal.wrap_async_context_manager(
            Harness.open(config, plugins=plugins, store=store, operations=operations)
        ) as harness,
    ):
        yield Blocking(harness, portal)
