"""Matchers: one pattern, one test of a subject (spec/external-hooks.md A.3).

A pattern is a list of names or a regular expression; which characters decide that is in the dialect's rules. Regular
expressions are JavaScript's or Rust's: the syntax Python spells differently is translated, what Python does not have is
refused, and nothing is guessed.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterable
from typing import Final, Literal

from attrs import frozen

from dshhooks.bridge.dialects import Rules

__all__ = ["MATCH_ALL", "SUBJECT_LIMIT", "Matcher", "MatcherError", "compile_matcher"]

# Names of tools are short; no pattern needs more. Patterns that could still take for ever are warned of (advice.py).
SUBJECT_LIMIT: Final = 1_000

_EVERYTHING: Final = frozenset({"", "*"})

# Made of these pieces a pattern is valid in every engine, and compiling it can wait until an event needs it.
_PIECE: Final = r"(?:[:^$|/ -]|(?:[\w.]|\\[.\-/wds])[*+?]?)"
_PLAIN: Final = re.compile(rf"(?:{_PIECE}|\((?:\?:)?{_PIECE}*\)\??)*")

_UNSUPPORTED: Final = re.compile(
    r"\\[pP]\{?"  # Unicode classes
    r"|\[\[?:\^?\w+:\]"  # POSIX classes
    r"|\\[zGhHKRQE]|\\[ux]\{"
    r"|(?!^)\(\?[a-zA-Z]+\)"  # flags in the middle
    r"|\(\?(?:R|\d|\||&)"  # recursion, branch reset
)
_NAMED: Final = re.compile(r"\(\?<(?![=!])")
_BACK: Final = re.compile(r"\\k<(\w+)>")
# Each alternative begins at the beginning of a run of bars, or behind an escaped one: begun anywhere in it, a long run
# would be read again and again.
_EMPTY_ALTERNATIVE: Final = re.compile(r"^\|+|(?:(?<![\\|])|(?<=\\\|))\|+$|(?:(?<=[^\\|]\|)|(?<=\\\|\|))\|+")
# `(a+)+` is `(a+)` to a test of membership, and takes exponentially longer to fail.
_NESTED: Final = re.compile(r"(?<!\\)\(((?:\?:)?(?:\\?\w|\.|\\[.\-]|\[[^\[\]\\]+\]))([+*])\)([+*])")


class MatcherError(ValueError):
    """A pattern cannot be used; ``code`` says whether it is wrong or only foreign."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@frozen
class Matcher:
    """A pattern ready to be tested.

    Args:
        kind: ``all``, ``names`` or ``regex``.
        names: The names of a list.
        pattern: The regular expression, in Python's syntax.
    """

    kind: Literal["all", "names", "regex"]
    names: frozenset[str] = frozenset()
    pattern: str = ""

    def matches(self, subject: str, aliases: Iterable[str] = ()) -> bool:
        """Say whether the subject, or another name of it, fits. An empty subject fits only what matches everything."""
        if self.kind == "all":
            return True
        return self._fits(subject) or any(self._fits(alias) for alias in aliases)

    def _fits(self, subject: str) -> bool:
        if self.kind == "names":
            return subject in self.names
        if not subject:
            return False
        try:
            return _compiled(self.pattern).search(subject[:SUBJECT_LIMIT]) is not None
        except (re.error, RecursionError, OverflowError):
            return False  # it was checked when the file was read; whatever this is, it is no match and no exception


MATCH_ALL: Final = Matcher("all")


@functools.lru_cache(maxsize=1024)
def compile_matcher(pattern: str | None, rules: Rules) -> Matcher:
    """Return the test a pattern stands for in a dialect and profile.

    Raises:
        MatcherError: It is a regular expression that is wrong, or that Python cannot say.
    """
    if pattern is None or pattern in _EVERYTHING:
        return MATCH_ALL
    if pattern.isspace():
        return Matcher("names")  # no name, in no dialect: also none that has a blank in it
    if _is_list(rules.exact_characters, pattern):
        items = pattern
        for separator in rules.separators[1:]:
            items = items.replace(separator, rules.separators[0])
        return Matcher("names", frozenset(map(str.strip, items.split(rules.separators[0]))) - {""})
    return _expression(pattern)


def _is_list(characters: str | None, pattern: str) -> bool:
    return characters is None or (characters != "" and _only(characters).fullmatch(pattern) is not None)


@functools.cache
def _only(characters: str) -> re.Pattern[str]:
    return re.compile(f"[{characters}]+")


def _expression(pattern: str) -> Matcher:
    if "|" in pattern:
        pattern = _EMPTY_ALTERNATIVE.sub("", pattern)
        if not pattern:
            return Matcher("names")  # nothing but empty alternatives, which match no name
    if _PLAIN.fullmatch(pattern):
        return Matcher("regex", pattern=pattern)
    if _UNSUPPORTED.search(pattern):
        raise MatcherError("matcher-unsupported", "this regular expression uses syntax that is not supported here")
    return Matcher("regex", pattern=_checked(_translated(pattern)))


def _translated(pattern: str) -> str:
    pattern = _BACK.sub(r"(?P=\1)", _NAMED.sub("(?P<", pattern))
    return _NESTED.sub(lambda found: f"({found[1]}{'*' if '*' in found[2] + found[3] else '+'})", pattern)


@functools.lru_cache(maxsize=1024)
def _checked(pattern: str) -> str:
    try:
        with warnings.catch_warnings():
            # Python warns of sets that other engines read as nested ones.
            warnings.simplefilter("error", FutureWarning)
            re.compile(pattern)
    except FutureWarning as exc:
        raise MatcherError(
            "matcher-unsupported", f"this set means different things to different engines: {exc}"
        ) from exc
    except (re.error, RecursionError, OverflowError) as exc:
        raise MatcherError("matcher-invalid", f"not a regular expression: {exc}") from exc
    return pattern


@functools.lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
