"""sed scripts: the ``e`` command and flag run programs, ``w`` writes files, ``r`` reads them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..patterns import later
from ..values import ANYTHING, UNKNOWN, Arg

if TYPE_CHECKING:
    from ..invocation import Invocation

_NUMBER = later(r"\d+(?:~\d+)?|\$|[+~]\d+")


class _Unclear(Exception):
    """The script is not one this reader is sure about."""


def judge_sed(inv: Invocation, code: Arg) -> None:
    """Judge a sed script.

    Args:
        inv: the invocation of sed.
        code: the script; unresolved pieces in it are taken for text.
    """
    if code.text.strip() == UNKNOWN:
        inv.dynamic("runs a script that is not known before it runs")
        return
    try:
        for verb, argument in _commands(code.text):
            _judge(inv, verb, argument)
    except _Unclear:
        if (
            re.search(r"(?:^|[;{}\s\d$/])[ewW](?:\s|$)|[/|#,!@]\w*[ew]\w*(?:\s|;|$|\})", code.text)
            or len(code.text) > 20000
        ):
            inv.ask("runs a script that could not be read and may run or write something")


def _judge(inv: Invocation, verb: str, argument: str) -> None:
    if verb == "e":
        inv.ask("runs commands from its script")
        if argument:
            inv.script(argument)
    elif verb == "s-e":
        inv.ask("runs what a substitution produces")
    elif verb in ("w", "W", "s-w"):
        if argument not in ("/dev/stdout", "/dev/stderr"):
            inv.write(Arg(argument), ANYTHING)
    elif verb in ("r", "R"):
        inv.read(Arg(argument))


def _commands(text: str) -> list[tuple[str, str]]:
    """Read the script into (command, argument) pairs; ``s-e`` and ``s-w`` stand for flags of ``s``."""
    found: list[tuple[str, str]] = []
    i = 0
    while i < len(text):
        c = text[i]
        if c in " \t\n;{}":
            i += 1
        elif c == "#":
            i = _line_end(text, i)
        elif c in "/\\0123456789$+~,!" or (c == "," and i):
            i = _address(text, i)
        elif c in "sy":
            i = _substitution(text, i, found)
        elif c in "aic":
            i = _text(text, i)
        elif c in "rRwWebtTv:":
            end = _line_end(text, i) if c in "rRwWe:" else _label_end(text, i)
            if c not in "btTv:":
                found.append((c, text[i + 1 : end].strip()))
            i = end
        elif c in "dDpPgGhHxnNqQlLzF=":
            i += 1
            while i < len(text) and text[i] in " \t0123456789":
                i += 1
        else:
            raise _Unclear(c)
    return found


def _line_end(text: str, i: int) -> int:
    end = text.find("\n", i)
    return len(text) if end < 0 else end


def _label_end(text: str, i: int) -> int:
    found = re.compile(r"[^\n;}]*").match(text, i)
    assert found is not None
    return found.end()


def _address(text: str, i: int) -> int:
    c = text[i]
    if c in ",!":
        return i + 1
    if c == "/" or c == "\\":
        delimiter = c if c == "/" else text[i + 1 : i + 2]
        end = _delimited(text, i + (1 if c == "/" else 2), delimiter)
        while end < len(text) and text[end] in "IM":
            end += 1
        return end
    found = _NUMBER.match(text, i)
    if not found:
        raise _Unclear(c)
    return found.end()


def _delimited(text: str, i: int, delimiter: str) -> int:
    """Return the position behind the next unescaped ``delimiter`` (brackets protect it)."""
    if not delimiter or delimiter == "\n":
        raise _Unclear(delimiter)
    bracket = False
    while i < len(text):
        c = text[i]
        if c == "\\":
            i += 2
            continue
        if bracket:
            if c == "]":
                bracket = False
        elif c == "[" and delimiter not in "[]" and _closes(text, i, delimiter):
            bracket = True
            if text[i + 1 : i + 2] == "^":
                i += 1
            if text[i + 1 : i + 2] == "]":
                i += 1
        elif c == delimiter:
            return i + 1
        i += 1
    raise _Unclear("unclosed")


def _closes(text: str, i: int, delimiter: str) -> bool:
    end = text.find("]", i + 2)
    return end > 0 and "\n" not in text[i:end]


def _substitution(text: str, i: int, found: list[tuple[str, str]]) -> int:
    verb, delimiter = text[i], text[i + 1 : i + 2]
    i = _delimited(text, i + 2, delimiter)
    while True:  # the replacement: no brackets
        if i >= len(text):
            raise _Unclear("unclosed")
        if text[i] == "\\":
            i += 2
            continue
        if text[i] == delimiter:
            i += 1
            break
        i += 1
    if verb == "y":
        return i
    while i < len(text) and text[i] in "gpiImMe0123456789w":
        if text[i] == "e":
            found.append(("s-e", ""))
        if text[i] == "w":
            end = _line_end(text, i)
            found.append(("s-w", text[i + 1 : end].strip()))
            return end
        i += 1
    return i


def _text(text: str, i: int) -> int:
    """``a``, ``i`` and ``c`` take the rest of the line, continued by backslashes."""
    while True:
        end = _line_end(text, i)
        if end >= len(text) or not text[i:end].endswith("\\"):
            return end
        i = end + 1
