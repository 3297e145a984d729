"""JSON text with the place of every value, so that a settings file can be changed without being rewritten."""

from __future__ import annotations

import json
import re
from typing import Any, Final, Never

from attrs import define, field, frozen

from hookspecs.errors import HarnessError

__all__ = ["Child", "Node", "SettingsError", "Style", "scan", "style_of"]

_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.S)
_COMMENT: Final = re.compile(r"//|/\*")
_WHAT_FOLLOWS: Final = "expected ',' or the end of the list or object"


class SettingsError(HarnessError):
    """A settings file cannot be read or changed as it is; the file was left alone."""

    def __init__(self, message: str, code: str = "SETTINGS_ERROR") -> None:
        super().__init__(message, code)


@frozen
class Node:
    """A value and where it stands: ``text[start:end]``.

    Args:
        start: Offset of its first character.
        end: Offset behind its last one.
        value: The value as :mod:`json` reads it.
        children: What a list or object holds, in the order of the text; empty for everything else.
    """

    start: int
    end: int
    value: Any
    children: tuple[Child, ...] = ()

    def child(self, key: str) -> Child | None:
        """Return a member of an object. Of two with the same name the last: that is the one readers take."""
        return next((child for child in reversed(self.children) if child.key == key), None)


@frozen
class Child:
    """A member with its ``key``, or an item (``None``); ``start`` is where the key starts, or else the value."""

    key: str | None
    start: int
    node: Node

    @property
    def end(self) -> int:
        """Offset behind its last character."""
        return self.node.end


@frozen
class Style:
    """How a file is written: what a line ends with, one step of indentation, and the separators within a line."""

    newline: str
    unit: str
    separators: tuple[str, str]


def scan(text: str) -> tuple[Node, frozenset[str]]:
    """Read JSON, comments and trailing commas included.

    Returns:
        The root, and what it has that strict JSON has not: ``"comments"``, ``"trailing commas"``.

    Raises:
        SettingsError: It is not JSON; the message has line and column, and no file name.
    """
    scanner = _Scanner(text)
    try:
        root = scanner.value(scanner.blank(0))
    except RecursionError:
        raise SettingsError("is nested too deep") from None
    end = scanner.blank(root.end)
    if end != len(text):
        scanner.fail(end, "there is something behind the end of the document")
    return root, frozenset(scanner.extras)


def _refused(word: str) -> Never:
    raise ValueError(f"{word} is no JSON")


@define
class _Scanner:
    text: str
    extras: set[str] = field(factory=set)
    _scalars: json.JSONDecoder = field(factory=lambda: json.JSONDecoder(parse_constant=_refused))

    def fail(self, at: int, message: str) -> Never:
        error = json.JSONDecodeError(message, self.text, min(at, len(self.text)))
        raise SettingsError(f"is not JSON: {message} at line {error.lineno}, column {error.colno}")

    def blank(self, at: int) -> int:
        """Return where the next token starts."""
        found = _BLANK.match(self.text, at)
        assert found is not None  # it matches nothing, too
        if _COMMENT.search(self.text, at, found.end()):
            self.extras.add("comments")
        return found.end()

    def value(self, at: int) -> Node:
        opening = self.text[at : at + 1]
        if opening == "{":
            return self._container(at, "}")
        if opening == "[":
            return self._container(at, "]")
        return self._scalar(at)

    def _scalar(self, at: int) -> Node:
        try:
            value, end = self._scalars.raw_decode(self.text, at)
        except json.JSONDecodeError as exc:
            self.fail(exc.pos, exc.msg)
        except ValueError as exc:
            self.fail(at, str(exc))
        return Node(at, end, value)

    def _container(self, start: int, closing: str) -> Node:
        children: list[Child] = []
        at = self.blank(start + 1)
        while self.text[at : at + 1] != closing:
            if children:
                if self.text[at : at + 1] != ",":
                    self.fail(at, _WHAT_FOLLOWS)
                at = self.blank(at + 1)
                if self.text[at : at + 1] == closing:
                    self.extras.add("trailing commas")
                    break
            child = self._member(at) if closing == "}" else Child(None, at, self.value(at))
            children.append(child)
            at = self.blank(child.end)
        value = {child.key: child.node.value for child in children} if closing == "}" else None
        return Node(
            start, at + 1, value if closing == "}" else [child.node.value for child in children], tuple(children)
        )

    def _member(self, at: int) -> Child:
        if self.text[at : at + 1] != '"':
            self.fail(at, "expected a name in double quotes")
        key = self._scalar(at)
        colon = self.blank(key.end)
        if self.text[colon : colon + 1] != ":":
            self.fail(colon, "expected ':'")
        return Child(key.value, at, self.value(self.blank(colon + 1)))


def style_of(text: str, root: Node) -> Style:
    """Return how a file is written, from its root's first member; two spaces where nothing is to be seen."""
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = "  "
    if root.children:
        before = text[: root.children[0].start]
        indent = before.rpartition("\n")[2]
        if "\n" in before[root.start :] and not indent.strip():
            unit = indent
    spaced = re.search(r'":[ \t]', text) or not root.children
    return Style(newline, unit, (", ", ": ") if spaced else (",", ":"))
