"""What a matcher probably does not mean: warnings for patterns that are valid and match nothing (A.3, edge cases)."""

from __future__ import annotations

import re
from typing import Final

from dshhooks.bridge.dialects import WELL_KNOWN_TOOLS, Rules
from dshhooks.bridge.jsonfile import Report
from dshhooks.bridge.matchers import Matcher

__all__ = ["advise", "rule_hint"]

_RULE: Final = re.compile(r"[A-Za-z_]\w*\(.*\)")
_ALTERNATIVES: Final = re.compile(r"\w+\((?:\?:)?[\w|.]*\)")
_LANGUAGE: Final = re.compile(r"==|!=|&&|=~|[\"'<>]| (?:and|or|in|matches) ")
_GLOB: Final = re.compile(r"(?:^|[\w-])\*")
_SYNTAX: Final = re.compile(r"[\\^$.*+?()\[\]{}]")
_KNOWN_TOOLS: Final = frozenset(WELL_KNOWN_TOOLS)
_TOOLS: Final = {name.lower(): name for name in WELL_KNOWN_TOOLS}
_NAMES_OF_ONE_CASE: Final = ("claude", "codex")
# What is escaped or in a set, then brackets with their repetition, then repetitions.
_TOKEN: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(|\)(?:[*+]|\{\d*,\})?|[*+]|\{\d*,\}", re.S)
_SEPARATORS: Final = re.compile(r"[|,\s]+")
_SIMPLE: Final = re.compile(r"[\w|]*")


def advise(pattern: str, matcher: Matcher, dialect: str, rules: Rules, path: str, report: Report,
           *, on_tools: bool) -> None:  # fmt: skip
    """Report what will surprise the author of a pattern; the group stays as it is."""
    if matcher.names <= _KNOWN_TOOLS and matcher.names:
        return
    if on_tools and dialect in _NAMES_OF_ONE_CASE:
        _case(pattern, path, report)
    if _SIMPLE.fullmatch(pattern):
        return
    if not pattern.strip():
        report.add("warning", "matcher-never-matches", path, "a matcher of white space only matches nothing",
                   'leave it out, or write "*", to match everything')  # fmt: skip
    elif on_tools and _is_rule(pattern, matcher):
        text = "this looks like a permission rule; as a matcher it can never match a tool's name"
        report.add("warning", "matcher-never-matches", path, text, rule_hint(pattern))
    elif _LANGUAGE.search(pattern):
        report.add("warning", "matcher-never-matches", path,
                   "this can never match a name: it contains quotes or operators",
                   'a matcher is a list of names such as "Bash|Edit", or a regular expression')  # fmt: skip
    elif matcher.kind == "names" and rules.exact_characters is None and _SYNTAX.search(pattern):
        report.add("warning", "matcher-never-matches", path,
                   "names are compared literally here: a pattern can never match",
                   "list the names, or read the file in the profile current")  # fmt: skip
    elif "*" in pattern and matcher.kind == "regex" and _GLOB.search(pattern):
        report.add("warning", "matcher-glob", path, "a star after a letter repeats that letter: this is no glob",
                   f"did you mean {_GLOB.sub(lambda found: found[0][:-1] + '.*', pattern)!r}?")  # fmt: skip

    if matcher.kind == "regex" and _repeats_repetition(matcher.pattern):
        text = "a repetition within a repetition: a name that does not fit may take for ever to be refused"
        report.add("warning", "matcher-slow", path, text, "write it without the outer or the inner repetition")


def _repeats_repetition(pattern: str) -> bool:
    """Say whether a group that repeats without bound holds something that does, as in ``(\\w+_)*``."""
    repeating = [False]
    for token in _TOKEN.finditer(pattern):
        if token[0] == "(":
            repeating.append(False)
        elif token[0].startswith(")"):
            inner = repeating.pop() if len(repeating) > 1 else False
            outer = len(token[0]) > 1
            if inner and outer:
                return True
            repeating[-1] = repeating[-1] or inner or outer
        elif token[0][0] in "*+{":
            repeating[-1] = True
    return False


def _case(pattern: str, path: str, report: Report) -> None:
    for name in _SEPARATORS.split(pattern):
        known = _TOOLS.get(name.lower())
        if known is not None and known != name and name not in WELL_KNOWN_TOOLS:
            report.add("info", "matcher-case", path, f"{name!r} differs from the tool {known!r} only in case",
                       "names are compared with case")  # fmt: skip


def _is_rule(pattern: str, matcher: Matcher) -> bool:
    """Tell permission rules from regular expressions with brackets, such as ``Ba(sh|t)`` or ``Bash(Output)?``."""
    if not pattern.endswith(")") or not _RULE.fullmatch(pattern) or _ALTERNATIVES.fullmatch(pattern):
        return False
    return not matcher.matches(pattern.partition("(")[0])


def rule_hint(pattern: object) -> str | None:
    """Return where a permission rule belongs, for a pattern that looks like one."""
    if not isinstance(pattern, str) or not _RULE.fullmatch(pattern):
        return None
    return f'write "matcher": "{pattern.partition("(")[0]}", and "if": "{pattern}" on the hook'
