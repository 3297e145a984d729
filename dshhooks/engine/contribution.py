"""What a plugin adds is the plugin's: added through a view that remembers it, and gone when the plugin goes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from inspect import isawaitable
from typing import Any

from dshhooks.engine.faults import discard, is_fault, plugin_failed
from dshhooks.engine.hooks import Hooks, Registration
from hookspecs.errors import HarnessError

__all__ = ["Belongings", "contribute"]


class Belongings:
    """A registry as a plugin's ``register_*`` hook sees it.

    Args:
        target: The registry itself.
        keeps: Its methods that return a registration; what they return is remembered.
    """

    def __init__(self, target: Any, keeps: Collection[str]) -> None:
        self._target, self._keeps = target, keeps
        self._registrations: dict[object, Registration] = {}
        self._gone = False

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if name not in self._keeps:
            return value

        def keeping(*args: Any, **kwargs: Any) -> Registration:
            if self._gone:
                what = f"{type(self._target).__name__}.{name}"
                raise HarnessError(f"{what}: the plugin this was given to has gone", "INACTIVE_EFFECT")
            return self._kept(value(*args, **kwargs))

        return keeping

    def _kept(self, registration: Registration) -> Registration:
        key = object()

        def dispose() -> None:
            # Forgotten as well: a plugin may register and dispose for as long as the host runs.
            self._registrations.pop(key, None)
            registration.dispose()

        kept = self._registrations[key] = Registration(dispose)
        return kept

    def dispose(self) -> None:
        """Take back everything the plugin registered, last first; from now on it registers nothing."""
        self._gone = True
        while self._registrations:
            self._registrations.popitem()[1].dispose()


def contribute(hooks: Hooks, hook: str, plugin: str, own: Belongings) -> Callable[[], None]:
    """Call one plugin's ``register_*`` hook with its view; return what takes back what it registered.

    Raises:
        PluginFailedError: It raised; what it had registered by then is taken back.
    """
    for impl in hooks.plan(hook, hooks.agent_of(plugin)).implementations:
        if impl.plugin == plugin:
            try:
                answer = impl.fn(own)
                if isawaitable(answer):
                    discard(answer)
                    raise TypeError("it answered with an awaitable; what is registered is registered at once")
            except BaseException as exc:
                own.dispose()
                if not is_fault(exc):
                    raise
                raise plugin_failed(exc, impl.hook, plugin) from exc
    return own.dispose
