"""What a script has changed so far: variables, functions, files it wrote, its directory.

Where control flow can go two ways the state keeps both: every name maps to a tuple of alternatives, and
``merge`` unites them. That way ``if x; then c=ls; else c=rm; fi; $c`` is judged with both commands.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from .grammar.nodes import Function
from .values import Arg, Out, Value, unknown

MAX_ALTERNATIVES = 8
T = TypeVar("T")


class State:
    """The mutable side of one walk; ``fork`` before a subshell or a branch."""

    def __init__(self) -> None:
        self.vars: dict[str, tuple[Value, ...]] = {}
        self.functions: dict[str, tuple[Function, ...]] = {}
        self.files: dict[str, tuple[Out, ...]] = {}
        self.cwds: tuple[str, ...] = (".",)
        self.positional: tuple[Arg, ...] | None = None
        self.remotes: frozenset[str] = frozenset()
        self.unpacked: frozenset[tuple[str, str]] = frozenset()  # (origin, directory)
        self.aliases: dict[str, str] = {}
        self.calls: tuple[str, ...] = ()
        self.in_background = False
        self.endless = False

    def fork(self) -> State:
        """Return an independent copy."""
        copy = State()
        copy.__dict__.update(self.__dict__)
        copy.vars, copy.functions, copy.files = dict(self.vars), dict(self.functions), dict(self.files)
        return copy

    def become(self, ends: Iterable[State]) -> None:
        """Take over the union of the states the control flow may end in."""
        first, *rest = ends
        merged = first.fork()
        for other in rest:
            merged.merge(other)
        calls, background = self.calls, self.in_background
        self.__dict__.update(merged.__dict__)
        self.calls, self.in_background = calls, background

    def merge(self, other: State) -> None:
        """Unite with what another path left."""
        for name in {*self.vars, *other.vars}:
            absent: tuple[Value, ...] = (unknown("env:" + name),)
            self.vars[name] = _union(self.vars.get(name, absent), other.vars.get(name, absent)) or absent
        for name, bodies in other.functions.items():
            self.functions[name] = _union(self.functions.get(name, ()), bodies) or bodies
        for path, outs in other.files.items():
            self.files[path] = _union(self.files.get(path, ()), outs) or (Out(),)
        self.cwds = _union(self.cwds, other.cwds) or self.cwds
        self.remotes |= other.remotes
        self.unpacked |= other.unpacked
        self.aliases = {**self.aliases, **other.aliases}
        if self.positional != other.positional:
            self.positional = None

    def assign(self, name: str, value: Value) -> None:
        """Set a variable."""
        self.vars[name] = (value,)

    def known_var(self, name: str) -> bool:
        """Say whether the script itself set the variable."""
        return name in self.vars


def _union(a: tuple[T, ...], b: tuple[T, ...]) -> tuple[T, ...]:
    """Return both without duplicates; empty when there are too many to follow."""
    united = a if a == b else tuple(dict.fromkeys((*a, *b)))
    return united if len(united) <= MAX_ALTERNATIVES else ()
