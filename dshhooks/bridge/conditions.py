"""The ``if`` of a hook: one permission rule, ``Tool`` or ``Tool(pattern)``, tested on a tool call (A.4.2).

When a rule could be read in two ways it is read so that the hook runs: the hooks people restrict like this are guards.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from attrs import frozen

__all__ = ["Condition", "parse_condition"]

_RULE: Final = re.compile(r"([^\s()]+)(?:\s*\((.*)\))?", re.DOTALL)
_COMMANDS: Final = re.compile(r"&&|\|\||[;|&\n(){}`]|\$\(")
_ASSIGNMENTS: Final = re.compile(r"(?:[A-Za-z_]\w*=(?:(?:[^\s\"']|\"[^\"]*\"|'[^']*')*|\S*)\s+)+")
_MANY_LEAVES: Final = 1_000


@frozen
class Condition:
    """A rule ready to be tested: a tool's name (with ``*``), and what some text of its input must look like."""

    tool: str
    pattern: str | None = None

    def holds(self, subject: str, payload: Mapping[str, Any]) -> bool:
        """Say whether a call of tool ``subject`` with the payload's ``tool_input`` fits."""
        if not _glob(self.tool).fits(subject):
            return False
        if self.pattern is None or self.pattern.strip() in ("", "*"):
            return True
        cwd = payload.get("cwd")
        folder = cwd if isinstance(cwd, str) else ""
        texts = _texts(payload.get("tool_input"))
        return any(text is None or _fits(self.pattern, text, folder) for text in texts)


@functools.lru_cache(maxsize=1024)
def parse_condition(rule: str) -> Condition:
    """Read a rule.

    Raises:
        ValueError: It is neither ``Tool`` nor ``Tool(pattern)``.
    """
    found = _RULE.fullmatch(rule.strip())
    if found is None:
        raise ValueError(f"{rule!r} is no permission rule: write Tool or Tool(pattern)")
    return Condition(found[1], found[2])


def _texts(value: Any) -> Iterator[str | None]:
    """Every text in the input, at any depth, without recursion; ``None`` for the rest when it is too much to look at.

    The one that counts may be in that rest: the model writes the input, and knows no better place to hide it.
    """
    pending, seen = [value], 0
    while pending and seen < _MANY_LEAVES:
        item = pending.pop()
        seen += 1
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            pending.extend(item.values())
        elif isinstance(item, (list, tuple)):
            pending.extend(item)
    if pending:
        yield None


def _fits(pattern: str, text: str, folder: str) -> bool:
    if pattern.startswith("domain:"):
        return _of_domain(pattern.removeprefix("domain:").strip(), text)
    shape = _glob(pattern)
    return any(shape.fits(part) for part in _parts(text, folder))


def _of_domain(domain: str, text: str) -> bool:
    try:
        host = (urlsplit(text).hostname or "").rstrip(".")  # with a dot at its end it is the same host
    except ValueError:
        return False
    domain = domain.lower().rstrip(".")
    return host == domain or host.endswith(f".{domain}")


def _parts(text: str, folder: str) -> Iterator[str]:
    """The text itself; each command in it, without assignments; a path seen from the working directory."""
    yield text
    if folder and text.startswith(f"{folder}/"):
        yield text[len(folder) + 1 :]
        yield f"./{text[len(folder) + 1 :]}"
    for command in _COMMANDS.split(text):
        command = command.strip()
        yield command
        assignments = _ASSIGNMENTS.match(command)
        if assignments is not None:
            yield command[assignments.end() :]


@functools.lru_cache(maxsize=1024)
def _glob(pattern: str) -> Glob:
    pattern = pattern.strip()
    if pattern.startswith("//"):
        pattern = pattern[1:]  # an absolute path in the language of permission rules
    for ending in (":*", " *"):  # `git add:*` and `git add *`: the command alone or with anything after it
        if pattern.endswith(ending):
            return Glob(tuple(re.split(r"\*+", pattern.removesuffix(ending))), command=True)
    return Glob(tuple(re.split(r"\*+", pattern)))


@frozen
class Glob:
    """A text with ``*`` for anything, as the pieces between the stars; a command may be followed by arguments."""

    pieces: tuple[str, ...]
    command: bool = False

    def fits(self, text: str) -> bool:
        """Say whether the whole text fits; in linear time, unlike a regular expression with many stars."""
        if _in_order(self.pieces, text):
            return True
        *before, last = self.pieces
        return self.command and any(_in_order((*before, last + space, ""), text) for space in " \t\n")


def _in_order(pieces: tuple[str, ...], text: str) -> bool:
    first, *middle = pieces
    if not middle:
        return text == first
    last = middle.pop()
    if not text.startswith(first) or len(text) < len(first) + len(last) or not text.endswith(last):
        return False
    position, end = len(first), len(text) - len(last)
    for piece in middle:
        found = text.find(piece, position, end)
        if found < 0:
            return False
        position = found + len(piece)
    return True
