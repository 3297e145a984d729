"""Frozen values that cost next to nothing to define, for what one hook command imports and never hands to a plugin.

``dshhooks handle`` starts for every tool call, and code that is generated for a class is generated each time: a
``NamedTuple`` costs ten times, an attrs class fifteen times what a plain class does, and there are dozens. What plugins
see stays attrs (record.py).
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self, dataclass_transform

__all__ = ["Plain"]


@dataclass_transform(frozen_default=True)
class Plain:
    """Made, compared, hashed and shown by its annotations, in their order; a default is the class's attribute.

    Raises:
        TypeError: A field is missing, unknown, or one too many.
    """

    _names: ClassVar[tuple[str, ...]] = ()
    _needed: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        cls._names = tuple(cls.__annotations__)
        cls._needed = frozenset(name for name in cls._names if name not in cls.__dict__)

    def __init__(self, *values: Any, **named: Any) -> None:
        state = self.__dict__
        state.update(zip(self._names, values, strict=False))
        state.update(named)
        if len(state) != len(values) + len(named) or not self._needed <= state.keys() <= set(self._names):
            raise TypeError(f"{type(self).__name__}() takes {', '.join(self._names)}, not {values!r}, {named!r}")

    def replaced(self, **changes: Any) -> Self:
        """Return a copy with other values in some fields."""
        return type(self)(**{**self.__dict__, **changes})

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Plain) or type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self._names)
        return f"{type(self).__name__}({', '.join(shown)})"

    def __setattr__(self, name: str, _value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} is frozen: take a copy with replaced()")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__}.{name} is frozen")
