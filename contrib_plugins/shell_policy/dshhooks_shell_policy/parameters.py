"""The operators of parameter expansions, applied where the result is certain: substrings, patterns, case, elements."""

from __future__ import annotations

import re

from .grammar.nodes import Word
from .state import State
from .values import UNKNOWN, Arg, Value


def element(value: tuple[Arg, ...], subscript: Word | None) -> Value:
    index = subscript.literal() if subscript is not None else "0"
    if index in ("@", "*"):
        return value
    if index is not None and index.lstrip("-").isdigit():
        try:
            return value[int(index)]
        except IndexError:
            return Arg("")
    return Arg(UNKNOWN, frozenset().union(*(item.tags for item in value)))


def edited(op: str, value: Arg, argument: Arg, state: State) -> Arg:
    """Apply substring, case and pattern operators where the result is certain."""
    if not value.known or not argument.known:
        return Arg(UNKNOWN, value.tags | argument.tags)
    if not state.vars and not value.text:
        return Arg("")
    text, pattern = value.text, argument.text
    if op in ("^^", ",,") and not pattern:
        return value.with_text(text.upper() if op == "^^" else text.lower())
    if op in ("^", ",") and not pattern:
        return value.with_text((text[:1].upper() if op == "^" else text[:1].lower()) + text[1:])
    if op == ":":
        return substring(value, pattern)
    if re.search(r"[*?\[\\(]", pattern):
        return Arg(UNKNOWN, value.tags)
    if op in ("#", "##"):
        return value.with_text(text.removeprefix(pattern))
    if op in ("%", "%%"):
        return value.with_text(text.removesuffix(pattern))
    if op in ("/", "//"):
        old, _, new = pattern.partition("/")
        return value.with_text(text.replace(old, new, -1 if op == "//" else 1) if old else text)
    return Arg(UNKNOWN, value.tags)


def slice_(value: tuple[Arg, ...], spec: str) -> Value:
    found = re.fullmatch(r"\s*(-?\d+)\s*(?::\s*(\d+)\s*)?", spec)
    if not found:
        return Arg(UNKNOWN, frozenset({"array"}), split=True)
    tail = value[int(found.group(1)) :]
    return tail if found.group(2) is None else tail[: int(found.group(2))]


def substring(value: Arg, spec: str) -> Arg:
    found = re.fullmatch(r"\s*(-?\d+)\s*(?::\s*(-?\d+)\s*)?", spec)
    if not found:
        return Arg(UNKNOWN, value.tags)
    start = int(found.group(1))
    length = found.group(2)
    tail = value.text[start:] if start >= 0 or -start <= len(value.text) else ""
    if length is None:
        return value.with_text(tail)
    return value.with_text(tail[: int(length)])


def sum_of_products(text: str) -> int:
    tokens = re.findall(r"\d+|[+*-]", text)
    total, sign, product, expect = 0, 1, None, True
    for token in tokens:
        if token.isdigit():
            if not expect:
                raise ValueError(text)
            product = int(token) if product is None else product * int(token)
            expect = False
        elif token == "*":
            expect = True
        else:
            if product is not None:
                total += sign * product
            sign, product, expect = (1 if token == "+" else -1), None, True
    if product is None or expect:
        raise ValueError(text)
    return total + sign * product
