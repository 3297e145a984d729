"""Brace expansion: ``{a,b}`` and ``{1..3}`` over the unquoted characters of a word."""

from __future__ import annotations

from .grammar.nodes import Lit, Part, Word
from .patterns import later
from .values import UNKNOWN

MAX_WORDS = 64
MAX_BRACES = 100
_SEQUENCE = later(r"(?:(-?\d{1,6})\.\.(-?\d{1,6})|([A-Za-z])\.\.([A-Za-z]))(?:\.\.(-?\d{1,3}))?")
_Token = str | Part


def expand_braces(word: Word) -> list[Word]:
    """Return the words ``word`` stands for.

    A word with more than ``MAX_WORDS`` variants becomes one unresolved word.
    """
    if not any(isinstance(part, Lit) and not part.quoted and "{" in part.text for part in word.parts):
        return [word]
    tokens: list[_Token] = []
    for part in word.parts:
        if isinstance(part, Lit) and not part.quoted:
            tokens.extend(part.text)
        else:
            tokens.append(part)
    variants = _expand(tokens) if tokens.count("{") <= MAX_BRACES else None
    if variants is None:
        return [Word((Lit(UNKNOWN),))]
    return [_to_word(variant) for variant in variants]


def _expand(tokens: list[_Token]) -> list[list[_Token]] | None:
    for start, token in enumerate(tokens):
        if token != "{":
            continue
        found = _alternatives(tokens, start)
        if found is None:
            continue
        end, options = found
        tails = _expand(tokens[end:])
        if tails is None:
            return None
        result: list[list[_Token]] = []
        for option in options:
            heads = _expand(option)
            if heads is None or len(result) + len(heads) * len(tails) > MAX_WORDS:
                return None
            result.extend(tokens[:start] + head + tail for head in heads for tail in tails)
        return result
    return [tokens]


def _alternatives(tokens: list[_Token], start: int) -> tuple[int, list[list[_Token]]] | None:
    """Return the end and the options of the brace that opens at ``start``; None when it is not one."""
    depth = 0
    options: list[list[_Token]] = [[]]
    for index in range(start, len(tokens)):
        token = tokens[index]
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            if depth == 0:
                if len(options) > 1:
                    return index + 1, options
                sequence = _sequence(options[0])
                return None if sequence is None else (index + 1, sequence)
        if depth == 1 and token == ",":
            options.append([])
        elif index != start:
            options[-1].append(token)
    return None


def _sequence(tokens: list[_Token]) -> list[list[_Token]] | None:
    if not all(isinstance(token, str) for token in tokens):
        return None
    found = _SEQUENCE.fullmatch("".join(str(token) for token in tokens))
    if found is None:
        return None
    low, high, first, last, step = found.groups()
    a, b = (int(low), int(high)) if low is not None else (ord(first), ord(last))
    stride = abs(int(step)) if step and int(step) else 1
    values = range(a, b + 1, stride) if a <= b else range(a, b - 1, -stride)
    if len(values) > MAX_WORDS:
        return [[Lit(UNKNOWN)]]
    return [list(str(v) if low is not None else chr(v)) for v in values]


def _to_word(tokens: list[_Token]) -> Word:
    parts: list[Part] = []
    text = ""
    for token in tokens:
        if isinstance(token, str):
            text += token
            continue
        if text:
            parts.append(Lit(text))
            text = ""
        parts.append(token)
    if text:
        parts.append(Lit(text))
    return Word(tuple(parts))
