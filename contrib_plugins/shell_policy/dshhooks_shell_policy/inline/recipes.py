"""Files of task runners this command wrote: ``justfile``, ``Taskfile.yml``, ``Procfile``, ``tox.ini``, ``pre-commit`` settings ...

Their formats differ, their commands do not: a line, or what stands behind its key, or a quoted text in it, is given to a shell.
Every such piece that parses as shell is judged; pieces that are not commands name programs no rule knows, which pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..grammar.nodes import ShellSyntaxError
from ..grammar.parser import parse
from ..patterns import later
from ..values import Arg

if TYPE_CHECKING:
    from ..invocation import Invocation

MAX_PIECES = 300
_KEY = later(r"""^(?:[-@+*]\s+|@)*["']?[\w./$ -]{1,40}["']?\s*(?::=|=>|[:=])\s*(?=\S)""")
_BULLET = later(r"^(?:[-*]\s+|@|-(?=\w))+")
_QUOTED = later(r'"((?:\\.|[^"\\\n])*)"|\'([^\'\n]*)\'')
_ELEMENT = later(r">([^<>]+)<")
_TEMPLATE = later(r"\{\{.*?\}\}|\$\{\{.*?\}\}|\{%.*?%\}")


def judge_recipes(inv: Invocation, code: Arg) -> None:
    """Judge every command a task file may hold.

    Args:
        inv: the invocation of the runner.
        code: the file's content.
    """
    engine = inv.engine
    before, engine.lenient = engine.lenient, True  # variables of the format are no unresolved names
    try:
        for piece in dict.fromkeys(_pieces(code.text)):
            inv.script(piece)
    finally:
        engine.lenient = before


def _pieces(text: str) -> list[str]:
    found: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        for candidate in _candidates(_TEMPLATE.sub("x", line).strip()):
            if _is_command(candidate):
                found.append(candidate)
        if len(found) > MAX_PIECES:
            break
    return found[:MAX_PIECES]


def _candidates(line: str) -> Iterator[str]:
    if not line or line.startswith(("#", "//", "[[", "<!--")):
        return
    yield _BULLET.sub("", line)
    yield _KEY.sub("", line)
    for double, single in _QUOTED.findall(line):
        yield double.replace('\\"', '"') or single
    yield from _ELEMENT.findall(line)
    words = [double or single for double, single in _QUOTED.findall(line)]
    if len(words) > 1:  # ["rm", "-rf", "x"]
        yield " ".join(words)


def _is_command(text: str) -> bool:
    if not text or len(text) > 2000 or not re.match(r"[\w./~$('\"!-]", text):
        return False
    try:
        parse(text)
    except ShellSyntaxError:
        return False
    return True
