"""Patterns that are compiled when they are first used: there are hundreds, and one command needs a few."""

from __future__ import annotations

import re
from typing import Any, cast

_METHODS = ("findall", "finditer", "flags", "fullmatch", "groupindex", "match", "pattern", "search", "split", "sub")


class _Later:
    """Stands for a compiled pattern; becomes one, by taking over its methods, at the first question."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name not in _METHODS:
            raise AttributeError(name)
        made = re.compile(self._source, self._flags)
        # Into the instance, so that the next question does not come through here: scanners ask for every character.
        for method in _METHODS:
            self.__dict__[method] = getattr(made, method)
        return self.__dict__[name]


def later(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return what behaves like ``re.compile(source, flags)`` and costs nothing until it is asked something.

    A source that is no pattern raises ``re.error`` then, which ``classify`` answers with ``Ask``.
    """
    return cast("re.Pattern[str]", _Later(source, flags))
