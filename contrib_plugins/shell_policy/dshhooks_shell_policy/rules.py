"""The user's own rules: patterns over the resolved words of one command."""

from __future__ import annotations

import fnmatch
import posixpath
from collections.abc import Iterable, Sequence

from .values import Arg


class Rules:
    """Three lists of patterns; the strictest matching list answers.

    A pattern is words separated by blanks. Each word is matched, with ``*``, ``?`` and ``[...]``, against one
    resolved word of the command; a last word ``*`` matches any number of further words, none included. The first word
    also matches the program's name without its directory.
    """

    def __init__(self, allow: Iterable[str] = (), ask: Iterable[str] = (), deny: Iterable[str] = ()) -> None:
        self._lists = (("deny", _split(deny)), ("ask", _split(ask)), ("allow", _split(allow)))

    def match(self, argv: Sequence[Arg]) -> str | None:
        """Return ``deny``, ``ask`` or ``allow`` when a pattern of that list fits, else None.

        A command with an unresolved word never matches an ``allow`` pattern.
        """
        texts = [arg.text for arg in argv]
        certain = all(arg.known and not arg.split for arg in argv)
        for verdict, patterns in self._lists:
            if verdict == "allow" and not certain:
                continue
            if any(_fits(pattern, texts) for pattern in patterns):
                return verdict
        return None


def _split(patterns: Iterable[str]) -> list[list[str]]:
    return [words for pattern in patterns if (words := pattern.split())]


def _fits(pattern: list[str], texts: list[str]) -> bool:
    head, *tail = pattern
    if not (fnmatch.fnmatchcase(texts[0], head) or fnmatch.fnmatchcase(posixpath.basename(texts[0]), head)):
        return False
    rest = texts[1:]
    if tail and tail[-1] == "*":
        tail = tail[:-1]
        rest = rest[: len(tail)]
    return len(rest) == len(tail) and all(
        fnmatch.fnmatchcase(text, word) for text, word in zip(rest, tail, strict=True)
    )
