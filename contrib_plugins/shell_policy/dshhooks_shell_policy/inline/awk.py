"""awk programs: ``system``, pipes, output files, ``getline``, loadable extensions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..patterns import later
from ..values import ANYTHING, UNKNOWN, Arg

if TYPE_CHECKING:
    from ..invocation import Invocation

_TOKEN = later(r'"(?:\\.|[^"\\\n])*"|\|\||\|&|\||>>|>=|>|[A-Za-z_]\w*|@\w+|[0-9.]+|\s+|.', re.DOTALL)
_REGEX = later(r"/(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\\n\[])*/")
_COMMENT = later(r"#[^\n]*")


def tokens(program: str) -> list[str]:
    """Split an awk program; regular expressions become ``/re/``, comments vanish."""
    result: list[str] = []
    i = 0
    while i < len(program):
        last = next((t for t in reversed(result) if not t.isspace()), "")
        if (program[i] == "/" and not (last[:1].isalnum() or last in (")", "]", "$") or last.startswith("_"))) or (
            program[i] == "/" and last in ("return", "print", "case")
        ):
            found = _REGEX.match(program, i)
            if found:
                result.append("/re/")
                i = found.end()
                continue
        if program[i] == "#":
            found = _COMMENT.match(program, i)
            i = found.end() if found else i + 1
            continue
        found = _TOKEN.match(program, i)
        assert found is not None
        result.append(found.group())
        i = found.end()
    return [t for t in result if not t.isspace() or "\n" in t]


def judge_awk(inv: Invocation, code: Arg) -> None:
    """Judge an awk program."""
    if not code.known and code.text.strip() == UNKNOWN:
        inv.dynamic("runs a program that is not known before it runs")
        return
    toks = tokens(code.text.replace(UNKNOWN, "0") if code.tags <= {"num"} else code.text)
    depth = 0
    printing = False
    for i, token in enumerate(toks):
        depth += token in ("(", "[")
        depth -= token in (")", "]")
        if token in ("print", "printf"):
            printing = True
        elif token in (";", "}") or "\n" in token:
            printing = False
        if token == "system" and toks[i + 1 : i + 2] == ["("]:
            _command(inv, toks[i + 2 :], "system()")
        elif token in ("|", "|&"):
            if toks[i + 1 : i + 2] == ["getline"]:
                _getline_command(inv, toks[:i])
            else:
                _command(inv, toks[i + 1 :], "a pipe")
        elif token in (">", ">>") and printing and depth == 0:
            _output(inv, toks[i + 1 :])
        elif token == "getline" and "<" in toks[i + 1 : i + 3]:
            start = toks.index("<", i) + 1
            if toks[start : start + 1] and toks[start].startswith('"'):
                inv.read(Arg(_unquote(toks[start])))
        elif token.startswith("@") and token in ("@load", "@include"):
            inv.ask("loads an awk extension or another file")
        elif token.startswith("@") and toks[i + 1 : i + 2] and toks[i + 1 : i + 2] != ["("]:
            inv.ask("calls a function by a name that is computed")
    if "ENVIRON" in toks and toks[toks.index("ENVIRON") + 1 : toks.index("ENVIRON") + 2] != ["["]:
        inv.ask("prints the environment")


def _unquote(token: str) -> str:
    return re.sub(r"\\(.)", r"\1", token[1:-1])


def _expression(toks: list[str]) -> list[str]:
    """The tokens of one expression: up to a semicolon, brace, line end or unbalanced parenthesis."""
    depth = 0
    result: list[str] = []
    for token in toks:
        depth += (token == "(") - (token == ")")
        if depth < 0 or (token in (";", "}") or "\n" in token):
            break
        result.append(token)
    return result


def _command(inv: Invocation, toks: list[str], how: str) -> None:
    expression = _expression(toks)
    strings = [t for t in expression if t.startswith('"')]
    if len(expression) == 1 and strings:
        inv.script(_unquote(strings[0]))
    else:
        inv.ask(f"runs a command through {how} that is not known before it runs")
        for string in strings:
            inv.script(_unquote(string)) if " " in string.strip('" ') else None


def _getline_command(inv: Invocation, before: list[str]) -> None:
    last = before[-1] if before else ""
    second = before[-2] if len(before) > 1 else ""
    if last.startswith('"') and (second in ("", "(", "{", ";", "while", "!", "&&", "||") or "\n" in second):
        inv.script(_unquote(last))
    else:
        inv.ask("reads from a command that is not known before it runs")


def _output(inv: Invocation, toks: list[str]) -> None:
    expression = _expression(toks)
    strings = [_unquote(t) for t in expression if t.startswith('"')]
    for string in strings:
        inv.write(Arg(string if len(expression) == 1 else UNKNOWN + string), ANYTHING)
        if len(expression) > 1 and string.startswith(("/", "~")):
            inv.write(Arg(string), None)
    if not strings or "ENVIRON" in expression:
        inv.ask("writes to a file whose name is not known")
