"""What plugins add to the open unions, and what takes it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dshhooks.engine.faults import is_fault
from dshhooks.engine.hooks import Hooks, Registration
from dshhooks.session.variants import Variants
from hookspecs.errors import PluginError, error_message

__all__ = ["contribute"]


def contribute(hooks: Hooks, variants: Variants, plugin: str) -> Callable[[], None]:
    """Call a plugin's ``register_variants``; return what takes its variants back.

    Raises:
        PluginError: It raised; what it had registered by then is taken back.
    """
    own = _PluginVariants(variants)
    for impl in hooks.plan("register_variants", hooks.agent_of(plugin)).implementations:
        if impl.plugin == plugin:
            try:
                impl.fn(own)
            except BaseException as exc:
                own.dispose()
                if not is_fault(exc):
                    raise
                what = f"{type(exc).__name__}: {error_message(exc)}"
                raise PluginError(f"plugin {plugin!r} failed in hook 'register_variants': {what}") from exc
    return own.dispose


class _PluginVariants:
    """The table as a plugin's ``register_variants`` sees it: its variants go when it goes."""

    def __init__(self, variants: Variants) -> None:
        self._variants = variants
        self._registrations: list[Registration] = []

    def register(self, union: str, variant: Any) -> Registration:
        registration = self._variants.register(union, variant)
        self._registrations.append(registration)
        return registration

    def __getattr__(self, name: str) -> Any:
        return getattr(self._variants, name)

    def dispose(self) -> None:
        while self._registrations:
            self._registrations.pop().dispose()
