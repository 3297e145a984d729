"""The options of the plugin: the table ``[plugin.repeat-reminder]``, and its name patterns."""

from __future__ import annotations

from typing import Any

from attrs import Attribute, field, frozen

__all__ = ["RepeatReminderOptions", "matches"]


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _thresholds(_options: object, attribute: Attribute[Any], value: tuple[int, ...]) -> None:
    if not isinstance(value, (tuple, list)) or not value or not all(_whole(count, 2) for count in value):
        raise ValueError(f"{attribute.name} must be a non-empty list of whole numbers of at least 2, not {value!r}")
    if len(set(value)) != len(value):
        raise ValueError(f"{attribute.name} must not hold a number twice: {list(value)!r}")


def _patterns(_options: object, attribute: Attribute[Any], value: tuple[str, ...]) -> None:
    # A str is a sequence too, and would be read as a list of letters.
    if not isinstance(value, (tuple, list)) or not all(isinstance(pattern, str) and pattern for pattern in value):
        raise ValueError(f"{attribute.name} must be a list of non-empty patterns, not {value!r}")


def _characters(_options: object, attribute: Attribute[Any], value: int) -> None:
    if not _whole(value, 1):
        raise ValueError(f"{attribute.name} must be a whole number of at least 1, not {value!r}")


@frozen(kw_only=True)
class RepeatReminderOptions:
    """When to say something, and about which tools.

    A pattern is a tool's name in which ``*`` stands for any characters, none included; everything else is literal.

    Args:
        thresholds: How many same calls in a row are worth a reminder, in any order. The lowest brings a short one.
        include: Patterns of the tools that are tracked; empty: all.
        exclude: Patterns of the tools that are not, whatever ``include`` says.
        arguments_preview_chars: Characters of the arguments a detailed reminder quotes at most.
    """

    thresholds: tuple[int, ...] = field(default=(3, 5, 8), validator=_thresholds)
    include: tuple[str, ...] = field(default=(), validator=_patterns)
    exclude: tuple[str, ...] = field(default=(), validator=_patterns)
    arguments_preview_chars: int = field(default=500, validator=_characters)


def matches(pattern: str, name: str) -> bool:
    """Say whether the whole of ``name`` fits a pattern.

    Linear in the name, unlike the regular expression a pattern could be turned into: a model chooses the names.
    """
    first, *rest = pattern.split("*")
    if not rest:
        return name == pattern
    last = rest.pop()
    if len(name) < len(first) + len(last) or not (name.startswith(first) and name.endswith(last)):
        return False
    # Each middle part goes where it first fits: if there is any way to place them all, this is one.
    position, end = len(first), len(name) - len(last)
    for part in rest:
        found = name.find(part, position, end)
        if found < 0:
            return False
        position = found + len(part)
    return True
