"""Filling a frozen value fast, for the few classes of which every operation makes one (spec/operations.md 1.5).

The constructor of a frozen attrs class has to go around its own lock for every field, which costs more than all the
rest of it. A draft has the same slots and no lock; once it is filled it becomes an instance of the class, for good.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Drafted", "draft_of"]


class Drafted:
    """The base of such a class. It has the slot for weak references: behind fields of its own, layouts would differ."""

    __slots__ = ("__weakref__",)


def draft_of(kind: type[Drafted]) -> Any:
    """Return a class with the slots of a frozen one, to be filled by plain assignment.

    Args:
        kind: A frozen attrs class with slots.

    Returns:
        The class of the drafts. ``draft.__class__ = kind`` seals one; a field that was not assigned is missing then.
    """
    slots: Any = vars(kind)["__slots__"]
    return type(f"{kind.__name__}Draft", (Drafted,), {"__slots__": slots})
