"""Tables of ``[[hooks]]`` at the end of a TOML text, added and taken out without touching the rest of it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from dshhooks.clients.settings_text import SettingsError

__all__ = ["parse", "with_table", "with_value", "without_table"]

_HEADER: Final = re.compile(r"^[ \t]*\[", re.M)
_HOOKS: Final = re.compile(r"^[ \t]*\[\[[ \t]*hooks[ \t]*\]\]", re.M)


def parse(text: str) -> dict[str, Any]:
    """Read TOML.

    Raises:
        SettingsError: It is not TOML, or its ``hooks`` are no tables; no file name is in the message.
    """
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise SettingsError(f"is not TOML: {exc}") from None
    hooks = document.get("hooks", [])
    if not isinstance(hooks, list) or not all(isinstance(hook, dict) for hook in hooks):
        raise SettingsError("has `hooks` that are no tables: write each as [[hooks]]")
    return document


def with_table(text: str, table: Mapping[str, Any]) -> str:
    """Return the text with one more ``[[hooks]]`` table at its end.

    Raises:
        SettingsError: The file writes its hooks as one list, which cannot get tables.
    """
    newline = _newline(text)
    ending = "" if not text or text.endswith("\n") else newline
    gap = newline if text.strip() else ""
    lines = ["[[hooks]]", *(f"{name} = {_literal(value)}" for name, value in table.items())]
    result = text + ending + gap + newline.join(lines) + newline
    return _checked(text, result, lambda hooks: [*hooks, dict(table)])


def with_value(text: str, index: int, name: str, value: str) -> str:
    """Return the text with another value for a name of the ``index``-th table of hooks.

    Raises:
        SettingsError: It is not written as ``name = value`` in one line.
    """
    start, end = _tables(text)[index]
    line = re.compile(rf"^([ \t]*{name}[ \t]*=[ \t]*)[^\r\n]*", re.M)
    result = text[:start] + line.sub(lambda found: found[1] + _literal(value), text[start:end], count=1) + text[end:]
    return _checked(text, result, lambda hooks: _put(hooks, index, {**hooks[index], name: value}))


def without_table(text: str, index: int) -> str:
    """Return the text without the ``index``-th table of hooks and the blank line before it.

    Raises:
        SettingsError: The table cannot be told from what is around it.
    """
    start, end = _tables(text)[index]
    before = text[:start]
    if before.endswith(("\n\n", "\n\r\n")):
        before = before[: before.rindex("\n")].removesuffix("\r")
    return _checked(text, before + text[end:], lambda hooks: hooks[:index] + hooks[index + 1 :])


def _tables(text: str) -> list[tuple[int, int]]:
    """Return where each table of hooks starts and ends: behind its last line that is no blank one."""
    places = []
    for found in _HOOKS.finditer(text):
        following = _HEADER.search(text, found.end())
        body = text[found.start() : following.start() if following else len(text)]
        places.append((found.start(), found.start() + len(_body(body))))
    if len(places) != len(parse(text).get("hooks", [])):
        raise SettingsError("writes its hooks in a way that cannot be changed here: change it by hand")
    return places


def _body(text: str) -> str:
    """Leave the blank lines and comments behind a table to what comes after it."""
    lines = text.splitlines(keepends=True)
    while lines and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return "".join(lines)


def _put(hooks: list[Any], index: int, table: dict[str, Any]) -> list[Any]:
    return [*hooks[:index], table, *hooks[index + 1 :]]


def _checked(before: str, after: str, wanted: Any) -> str:
    """Return ``after`` if it says what is wanted and, apart from the hooks, what it said before."""
    old = parse(before)
    new = wanted(old.get("hooks", []))
    try:
        same = tomllib.loads(after) == ({**old, "hooks": new} if new else _dropped(old))
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        raise SettingsError("writes its hooks in a way that cannot be changed here: write each as [[hooks]]")
    return after


def _dropped(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "hooks"}


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _literal(value: Any) -> str:
    if not isinstance(value, str):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if "'" not in value and value.isprintable():
        return f"'{value}'"
    # A basic string has the escapes of JSON, and one character more that must not stand in it as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
