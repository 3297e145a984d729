"""A second grammar reads the command too: tree-sitter's bash.

The policy's own parser decides what runs. Where tree-sitter parses the text without an error and yet finds a command
whose name the own parser never saw as one, the two disagree about what is data and what is code, and that asks.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .grammar.nodes import (
    AndOr,
    Arith,
    ArithCommand,
    ArrayLit,
    CommandSub,
    Compound,
    For,
    Function,
    Param,
    Pipeline,
    ProcessSub,
    Script,
    ShellSyntaxError,
    Simple,
    Test,
    Word,
)
from .grammar.parser import parse
from .patterns import later

MAX_NODES = 200_000
#: Words without a character that means anything to a shell, and between them blanks.
_BARE = later(r"[A-Za-z0-9_./,:@%+-]+(?: +[A-Za-z0-9_./,:@%+-]+)*")
_RESERVED = frozenset(
    {"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "select",
     "function", "time", "coproc"}
)  # fmt: skip
_PLAIN = later(r"[\w./+-]+")


def disagreement(text: str, *, max_depth: int = 40) -> str | None:
    """Return a reason to ask when the two grammars disagree about which commands run, else None.

    Args:
        text: the command.
        max_depth: passed to the own parser.
    """
    if _BARE.fullmatch(text) and _RESERVED.isdisjoint(text.split(" ")):
        return None  # one command of literal words in any grammar; loading the second one takes longer than judging it
    if "\\\n" in text:  # tree-sitter takes a continuation inside a word for a separator
        return None
    names = _tree_sitter_names(text)
    if not names:
        return None
    try:
        own = _own_names(parse(text, max_depth=max_depth))
    except ShellSyntaxError:
        return None
    missing = sorted(name for name in names if name not in own)
    return f"two grammars disagree about whether {missing[0]!r} is a command" if missing else None


@lru_cache(maxsize=1)
def _parser() -> Any:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _tree_sitter_names(text: str) -> set[str]:
    """Return the plain command names tree-sitter finds; empty when it could not parse the text."""
    root = _parser().parse(text.encode("utf-8", "surrogatepass")).root_node
    if root.has_error:
        return set()
    names: set[str] = set()
    stack = [root]
    for _ in range(MAX_NODES):
        if not stack:
            break
        node = stack.pop()
        if node.type == "command_name":
            name = node.text.decode("utf-8", "replace")
            if _PLAIN.fullmatch(name):
                names.add(name)
        stack.extend(node.children)
    return names


def _own_names(script: Script) -> set[str]:
    names: set[str] = set()
    stack: list[Any] = [script]
    while stack:
        node = stack.pop()
        if isinstance(node, Simple):
            stack.extend([*node.words, *(a.value for a in node.assignments), *(a.subscript for a in node.assignments)])
            names.update(text for word in node.words[:1] if (text := word.literal()))
            stack.extend(item for r in node.redirects for item in (r.target, r.body))
        elif isinstance(node, (Script, AndOr)):
            stack.extend(node.items)
        elif isinstance(node, Pipeline):
            names |= {"time", "coproc"}
            stack.extend(node.commands)
        elif isinstance(node, Compound):
            stack.extend([*node.sequence, *node.branches, *node.words, *node.patterns])
            stack.extend(item for r in node.redirects for item in (r.target, r.body))
        elif isinstance(node, For):
            stack.extend([*(node.words or ()), node.body])
        elif isinstance(node, Function):
            stack.append(node.body)
        elif isinstance(node, (Test, Word)):
            stack.extend(node.words if isinstance(node, Test) else node.parts)
        elif isinstance(node, (Arith, ArithCommand)):
            stack.append(node.word)
        elif isinstance(node, (CommandSub, ProcessSub)):
            stack.append(node.script)
        elif isinstance(node, Param):
            stack.extend([node.word, node.subscript])
        elif isinstance(node, ArrayLit):
            stack.extend(node.items)
    return names | {"time", "coproc", "[", "test"}
