"""What a docstring says about a function or class and its parts: Google style ``Args:`` and Sphinx ``:param x:``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from attrs import frozen

__all__ = ["Docs", "read_docstring"]

_SECTION = re.compile(r"(?:args|arguments|parameters|params|attributes|keyword args|keyword arguments)\s*:\s*$", re.I)
_HEADING = re.compile(r"[A-Z][\w ]*:\s*$")
_ENTRY = re.compile(r"\*{0,2}(?P<name>\w+)\s*(?:\(.*?\))?\s*:(?:\s+(?P<text>.*))?$")
_FIELD = re.compile(r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?\*{0,2}(?P<name>\w+)\s*:(?P<text>.*)")


@frozen
class Docs:
    """A docstring, read.

    Args:
        summary: The first paragraph on one line; empty when there is none.
        entries: Description of each parameter or field, on one line.
    """

    summary: str
    entries: dict[str, str]


def read_docstring(text: str | None) -> Docs:
    """Read a docstring; whatever it does not say is empty. Never raises."""
    lines = inspect.cleandoc(text).splitlines() if text else []
    entries: dict[str, str] = {}
    for name, description in (*_google(lines), *_sphinx(lines)):
        if description:
            entries.setdefault(name, description)
    return Docs(_summary(lines), entries)


def _summary(lines: list[str]) -> str:
    paragraph: list[str] = []
    for line in lines:
        if not line.strip() or _HEADING.match(line) or line.startswith(":"):
            break
        paragraph.append(line)
    return _joined(paragraph)


def _google(lines: list[str]) -> Iterator[tuple[str, str]]:
    for index, line in enumerate(lines):
        if _SECTION.match(line):
            yield from _entries(_block(lines[index + 1 :]))


def _block(lines: list[str]) -> list[str]:
    """Return the indented lines a section begins with, without the blank ones."""
    block = []
    for line in lines:
        if line.strip():
            if not line[0].isspace():
                break
            block.append(line)
    return block


def _entries(block: list[str]) -> Iterator[tuple[str, str]]:
    margin = min((_indent(line) for line in block), default=0)
    name = ""
    words: list[str] = []
    for line in block:
        entry = _ENTRY.match(line.strip()) if _indent(line) == margin else None
        if entry:
            yield name, _joined(words)
            name, words = entry["name"], [entry["text"] or ""]
        elif _indent(line) > margin:
            words.append(line)
        else:  # prose between the entries belongs to none of them
            yield name, _joined(words)
            name, words = "", []
    yield name, _joined(words)


def _sphinx(lines: list[str]) -> Iterator[tuple[str, str]]:
    for index, line in enumerate(lines):
        field = _FIELD.match(line)
        if field:
            words = [field["text"]]
            for more in lines[index + 1 :]:
                if not more.strip() or not more[0].isspace():
                    break
                words.append(more)
            yield field["name"], _joined(words)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(lines: list[str]) -> str:
    return " ".join(line.strip() for line in lines if line.strip())
