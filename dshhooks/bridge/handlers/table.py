"""The table of kinds of handlers: the four of the contract, to which plugins add theirs (spec/external-hooks.md A.4.1).

Light: every host has one, also those that never run a hook.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary, ref

from dshhooks.bridge.errors import BridgeError
from dshhooks.engine.admission import instantiate
from dshhooks.engine.contribution import Belongings, contribute
from dshhooks.engine.hooks import Hooks, Registration

if TYPE_CHECKING:
    from dshhooks.bridge.handlers.base import Handler

__all__ = ["Handlers"]

_BUILT_IN: Final = {"shell": ("shell", "ShellHandler"), "webhook": ("webhook", "WebhookHandler"),
                    "oracle": ("oracle", "OracleHandler"), "proxy": ("proxy", "ProxyHandler")}  # fmt: skip
# What hook files may write for them (`dialects.TYPE_WORDS`, which is not imported for this).
_OURS: Final = frozenset({*_BUILT_IN, "command", "http", "prompt", "agent", "subagent"})


class Handlers:
    """The kinds of handlers: the four of the contract, and what plugins register.

    Args:
        hooks: The host's hooks: its plugins are asked for kinds (``register_bridge_handlers``), those of now and those
            that come later. Better :meth:`of`: a host has one table, and asks each plugin once.
    """

    def __init__(self, hooks: Hooks | None = None) -> None:
        self._added: dict[str, Handler] = {}
        self._loaded: dict[str, Handler] = {}
        if hooks is not None:
            hooks.on_arrival(partial(_welcome, self, ref(hooks)))

    @classmethod
    def of(cls, hooks: Hooks) -> Handlers:
        """Return the one table of a host: made when a harness is composed, else when somebody asks for it first."""
        made = _tables.get(hooks)
        if made is None:
            made = _tables[hooks] = cls(hooks)
        return made

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds that were registered, beside those of the contract."""
        return frozenset(self._added)

    def register(self, kind: str, handler: Handler | type[Handler]) -> Registration:
        """Add a kind: what hook files write as ``type``. A class is called without arguments.

        Raises:
            BridgeError: The kind exists, its name is no text, or the handler has no ``run``.
        """
        if not isinstance(kind, str) or not kind:
            raise BridgeError(f"a kind of handlers is a text that is not empty, not {kind!r}")
        if kind in _OURS:
            raise BridgeError(f"handlers of kind {kind!r} are built in: choose another name")
        if kind in self._added:
            raise BridgeError(f"handlers of kind {kind!r} are registered already")
        made: Any = instantiate(handler) if isinstance(handler, type) else handler
        if not callable(getattr(made, "run", None)):
            raise BridgeError(f"the handler of kind {kind!r} needs `async def run(self, job)`")
        self._added[kind] = made
        return Registration(lambda: self._drop(kind, made))

    def _drop(self, kind: str, handler: Handler) -> None:
        if self._added.get(kind) is handler:
            del self._added[kind]

    def find(self, kind: str) -> Handler | None:
        """Return the handler of a kind; ``None``: its plugin is gone."""
        if kind in self._added:
            return self._added[kind]
        if kind not in self._loaded and kind in _BUILT_IN:
            module, name = _BUILT_IN[kind]
            self._loaded[kind] = getattr(importlib.import_module(f"dshhooks.bridge.handlers.{module}"), name)()
        return self._loaded.get(kind)


# A table knows its host weakly: else neither would ever go.
_tables: WeakKeyDictionary[Hooks, Handlers] = WeakKeyDictionary()


def _welcome(table: Handlers, host: ref[Hooks], plugin: str) -> Callable[[], None]:
    hooks = host()
    assert hooks is not None  # it is the one that calls
    return contribute(hooks, "register_bridge_handlers", plugin, Belongings(table, ("register",)))
