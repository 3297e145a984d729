"""Changing one member or item of a JSON text and nothing else in it: not its indentation, comments or line ends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from attrs import frozen

from dshhooks.clients.settings_text import Child, Node, Style, scan, style_of

__all__ = ["Edit", "at_path", "inserted", "removed", "replaced"]

Path = tuple[str | int, ...]

_BLANK: Final = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.S)
_REST_OF_LINE: Final = re.compile(r"(?:[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/))*")
_BEFORE: Final = re.compile(r"(?:\r?\n)?[ \t]*\Z")


@frozen
class Edit:
    """Text that takes the place of ``text[start:end]``."""

    start: int
    end: int
    new: str = ""


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with the edits made; they must not overlap."""
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text


def at_path(root: Node, path: Path) -> Child | None:
    """Return what a path of names and positions leads to."""
    found: Child | None = None
    node = root
    for step in path:
        found = node.child(step) if isinstance(step, str) else dict(enumerate(node.children)).get(step)
        if found is None:
            return None
        node = found.node
    return found


def replaced(text: str, path: Path, value: Any) -> str:
    """Return the text with another value at a path, written in one line."""
    root, _ = scan(text)
    child = at_path(root, path)
    assert child is not None, f"nothing is at {path}"
    return apply(text, [Edit(child.node.start, child.end, _inline(value, style_of(text, root)))])


def inserted(text: str, path: Path, key: str | None, value: Any) -> str:
    """Return the text with a member or item added as the last one of the object or list at a path.

    Args:
        text: The document.
        path: Leads to the object or list.
        key: The new member's name; ``None`` for an item of a list.
        value: What is added.
    """
    root, _ = scan(text)
    style = style_of(text, root)
    child = at_path(root, path)
    holder = child.node if child else root
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + style.separators[1]
    if not holder.children:
        return apply(text, [_into_empty(text, root, holder, name, value, style)])
    return apply(text, _behind_last(text, holder, name, value, style))


def _into_empty(text: str, root: Node, holder: Node, name: str, value: Any, style: Style) -> Edit:
    interior = text[holder.start + 1 : holder.end - 1]
    at = holder.start + 1 + len(interior.rstrip())
    end = at if interior.strip() or "\n" in interior else holder.end - 1
    one_line = "\n" not in text[root.start : root.end] and holder is not root
    if one_line:
        return Edit(at, end, name + _inline(value, style))
    outer = _indent_of_line(text, holder.start)
    closing = "" if "\n" in text[at : holder.end] else style.newline + outer
    return Edit(at, end, _on_its_line(name, value, outer + style.unit, style) + closing)


def _behind_last(text: str, holder: Node, name: str, value: Any, style: Style) -> list[Edit]:
    last = holder.children[-1]
    comma = _comma_behind(text, last.end)
    behind = last.end if comma is None else comma + 1
    if "\n" not in text[holder.start : holder.children[0].start]:
        item = " " * (style.separators[0] != ",") + name + _inline(value, style)
        return [Edit(last.end, last.end, "," + item)] if comma is None else [Edit(behind, behind, item + ",")]
    found = _REST_OF_LINE.match(text, behind)  # a comment behind the last one stays with it
    assert found is not None  # it matches nothing, too
    item = _on_its_line(name, value, _indent_of_line(text, last.start), style)
    if comma is None and found.end() > behind:
        return [Edit(last.end, last.end, ","), Edit(found.end(), found.end(), item)]
    return [Edit(found.end(), found.end(), "," + item if comma is None else item + ",")]


def removed(text: str, path: Path) -> str:
    """Return the text without what a path leads to.

    Exactly undoes :func:`inserted`, but for blanks in an object or list that was empty: it is ``{}`` or ``[]`` then.
    """
    root, _ = scan(text)
    above = at_path(root, path[:-1])
    holder, child = above.node if above else root, at_path(root, path)
    assert child is not None, f"nothing is at {path}"
    index = holder.children.index(child)
    before = _BEFORE.search(text, holder.start + 1, child.start)
    start = before.start() if before else child.start
    comma = _comma_behind(text, child.end)
    if len(holder.children) == 1 and not _without(text, holder, start, child.end if comma is None else comma + 1):
        return apply(text, [Edit(holder.start + 1, holder.end - 1)])
    if comma is None:
        edits = [Edit(start, child.end)]
        if index:
            own = _comma_behind(text, holder.children[index - 1].end)
            assert own is not None  # there is one between two
            # In one line the blank before the item and the comma before it are neighbours.
            edits = [Edit(own, own + 1), Edit(max(start, own + 1), child.end)]
        return apply(text, edits)
    end = comma + 1
    if not index and "\n" not in text[holder.start : child.start]:
        end += len(text[end:]) - len(text[end:].lstrip(" \t"))
    return apply(text, [Edit(start, end)])


def _without(text: str, holder: Node, start: int, end: int) -> str:
    """Return what an object or list holds beside ``text[start:end]``: comments, if anything."""
    return (text[holder.start + 1 : start] + text[end : holder.end - 1]).strip()


def _comma_behind(text: str, end: int) -> int | None:
    found = _BLANK.match(text, end)
    assert found is not None  # it matches nothing, too
    return found.end() if text[found.end() : found.end() + 1] == "," else None


def _indent_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _on_its_line(name: str, value: Any, indent: str, style: Style) -> str:
    written = json.dumps(value, ensure_ascii=False, indent=style.unit)
    return style.newline + indent + name + written.replace("\n", style.newline + indent)


def _inline(value: Any, style: Style) -> str:
    return json.dumps(value, ensure_ascii=False, separators=style.separators)
