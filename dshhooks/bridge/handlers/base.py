"""What a handler is given and what it brings back; the table of kinds, to which plugins add theirs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Protocol, runtime_checkable
from weakref import WeakKeyDictionary, ref

from attrs import frozen

from dshhooks.bridge.dialects import KINDS
from dshhooks.bridge.errors import BridgeError
from dshhooks.bridge.model import Hook
from dshhooks.bridge.options import BridgeOptions
from dshhooks.bridge.outcomes import RawResult
from dshhooks.engine.admission import instantiate
from dshhooks.engine.contribution import Belongings, contribute
from dshhooks.engine.hooks import Hooks, Registration

__all__ = ["Handler", "Handlers", "Job"]


@frozen(kw_only=True)
class Job:
    """One run to be done.

    Args:
        hook: The hook.
        event: The canonical event.
        stdin: The payload as a process gets it.
        body: The payload as JSON, without a newline.
        cwd: The dispatch's working directory, absolute.
        project_dir: What ``CLAUDE_PROJECT_DIR`` says.
        environ: The environment, without the secrets the runtime holds.
        timeout: Seconds it may take.
        options: The runtime's.
    """

    hook: Hook
    event: str
    stdin: bytes
    body: bytes
    cwd: str
    project_dir: str
    environ: Mapping[str, str]
    timeout: float
    options: BridgeOptions


@runtime_checkable
class Handler(Protocol):
    """Runs hooks of one kind. ``run`` is cancelled when the time is over, and when the host cancels."""

    async def run(self, job: Job) -> RawResult:
        """Run one hook; what goes wrong is a ``failure`` of the result, an exception is one too."""
        ...


_BUILT_IN: Final = {"shell": ("shell", "ShellHandler"), "webhook": ("webhook", "WebhookHandler"),
                    "oracle": ("oracle", "OracleHandler"), "proxy": ("proxy", "ProxyHandler")}  # fmt: skip


class Handlers:
    """The kinds of handlers: the four of the contract, and what plugins register.

    Args:
        hooks: The host's hooks: its plugins are asked for kinds (``register_bridge_handlers``), those of now and those
            that come later. Better :meth:`of`, which asks each plugin once however many runtimes there are.
    """

    def __init__(self, hooks: Hooks | None = None) -> None:
        self._added: dict[str, Handler] = {}
        self._loaded: dict[str, Handler] = {}
        if hooks is not None:
            hooks.on_arrival(partial(_welcome, self, ref(hooks)))

    @classmethod
    def of(cls, hooks: Hooks) -> Handlers:
        """Return the one table of a host, made when somebody asks for it first."""
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
        if kind in KINDS or kind in ("command", "http", "prompt", "agent", "subagent"):
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
