"""Matching relative paths against a pattern, name by name, in time bounded by pattern length times path length."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

__all__ = ["Pattern"]


class Pattern:
    """A glob over ``/``-separated paths.

    ``*``, ``?`` and ``[…]`` stay within one name and match a leading dot; ``**`` stands for any number of folders. A
    pattern without ``/`` matches the name alone, in whatever folder it is.

    Args:
        text: The pattern.
    """

    def __init__(self, text: str) -> None:
        self.parts = [part for part in text.split("/") if part not in ("", ".")] or ["*"]
        self.has_folders = len(self.parts) > 1 or self.parts == ["**"]

    def matches(self, path: Sequence[str]) -> bool:
        """Tell whether the pattern matches the names of ``path``, outermost first."""
        if not self.has_folders:
            return fnmatchcase(path[-1], self.parts[0])
        # The set of pattern positions reachable after each name; never backtracks.
        reachable = self._past_stars({0})
        for name in path:
            reachable = self._past_stars(self._advance(reachable, name))
        return len(self.parts) in reachable

    def _advance(self, positions: set[int], name: str) -> set[int]:
        after: set[int] = set()
        for position in positions:
            if position == len(self.parts):
                continue
            part = self.parts[position]
            if part == "**":
                after.add(position)
            elif fnmatchcase(name, part):
                after.add(position + 1)
        return after

    def _past_stars(self, positions: set[int]) -> set[int]:
        """Add the positions behind every ``**``, which may stand for no folder at all."""
        found = set(positions)
        for position in range(len(self.parts)):
            if position in found and self.parts[position] == "**":
                found.add(position + 1)
        return found
