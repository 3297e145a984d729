"""Modules that are imported when something of them is first used, in a process that lives for one answer."""

from __future__ import annotations

import sys
from _thread import RLock
from collections.abc import Sequence
from types import ModuleType
from typing import Any

__all__ = ["put_off"]

# Everybody's imports run these and hardly anybody uses them: `import attrs` its validators, a tenth of what it costs,
# and `import inspect` the tokenizer, for reading source files.
_SELDOM = frozenset({"attr.validators", "attrs.validators", "tokenize"})

_LOCK = RLock()  # threads may look at one at the same time, and what its code does may come back to it


class _Later(ModuleType):
    """A module whose code runs at the first look at something in it.

    importlib's own lazy modules run at the second ``import`` already, and before Python 3.12 in two threads at once.
    """

    _waiting: Any

    def __getattr__(self, name: str) -> Any:
        with _LOCK:
            loader = self.__dict__.pop("_waiting", None)
            if loader is not None:
                loader.exec_module(self)
        return object.__getattribute__(self, name)


class _Finder:
    """Finds a module as usual, and has its code wait."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, _target: object = None) -> Any:
        if name not in _SELDOM:
            return None
        from importlib.machinery import PathFinder

        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Waiting(spec.loader)  # type: ignore[assignment]  # all of a loader that importing asks for
        return spec


class _Waiting:
    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: Any) -> ModuleType:
        return _Later(spec.name)

    def exec_module(self, module: Any) -> None:
        module.__loader__ = module.__spec__.loader = self._loader
        module._waiting = self._loader


def put_off() -> None:
    """Let what is seldom used be imported by whoever uses it; to be called before attrs is imported."""
    sys.meta_path.insert(0, _Finder)
