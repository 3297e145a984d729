"""Modules that are imported when something of them is first used, in a process that lives for one answer."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

__all__ = ["put_off_validators"]

# Every `import attrs` runs these, a tenth of what attrs costs, and few plugins use one.
_VALIDATORS = frozenset({"attr.validators", "attrs.validators"})


class _Later:
    """Finds a module as usual, and has its code run at the first look at one of its attributes."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, _target: object = None) -> Any:
        if name not in _VALIDATORS:
            return None
        from importlib.machinery import PathFinder
        from importlib.util import LazyLoader

        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = LazyLoader(spec.loader)
        return spec


def put_off_validators() -> None:
    """Let attrs' validators be imported by whoever uses one; to be called before attrs is imported."""
    sys.meta_path.insert(0, _Later)
