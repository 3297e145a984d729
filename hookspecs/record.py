"""What the frozen values of the contract share: equality, hash and text, written once.

attrs would write and compile them anew for each class, which is more than half of what such a class costs to import,
and there are dozens. They behave like those attrs writes: use as the base of a ``frozen(eq=False, repr=False)`` class.
"""

from __future__ import annotations

from reprlib import recursive_repr
from typing import Any, ClassVar

__all__ = ["Record"]


class Record:
    """Compares, hashes and shows itself by its attrs fields; equal to objects of exactly the same class only."""

    __slots__ = ()
    __attrs_attrs__: ClassVar[tuple[Any, ...]] = ()

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return all(getattr(self, each.name) == getattr(other, each.name) for each in self.__attrs_attrs__)

    def __hash__(self) -> int:
        return hash((self.__class__, *(getattr(self, each.name) for each in self.__attrs_attrs__)))

    @recursive_repr("...")
    def __repr__(self) -> str:
        shown = (f"{each.name}={getattr(self, each.name)!r}" for each in self.__attrs_attrs__ if each.repr)
        return f"{self.__class__.__qualname__.rpartition('>.')[2]}({', '.join(shown)})"
