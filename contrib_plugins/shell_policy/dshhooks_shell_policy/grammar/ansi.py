"""Escapes of ``$'...'``, ``echo -e`` and ``printf``."""

from __future__ import annotations

import re

from ..patterns import later

_ESCAPE = later(
    r"\\(?:([abeEfnrtv\\'\"?])|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.))",
    re.DOTALL,
)
_SIMPLE = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
}


def decode_ansi_c(raw: str) -> str:
    """Return ``raw`` with the escapes of ``$'...'`` decoded; unknown escapes stay as they are.

    Args:
        raw: the characters between the quotes.
    """
    return _ESCAPE.sub(_decode_one, raw).split("\0", 1)[0]


def decode_echo(raw: str) -> str:
    """Return ``raw`` decoded as ``echo -e`` and ``printf`` do (octal may have a leading zero)."""
    return decode_ansi_c(re.sub(r"\\0([0-7]{1,3})", r"\\\1", raw))


def _decode_one(match: re.Match[str]) -> str:
    simple, hexa, short, long, octal, control = match.groups()
    if simple:
        return _SIMPLE[simple]
    if control:
        return chr(ord(control.upper()) & 0x1F)
    code = int(octal, 8) & 0xFF if octal else int(hexa or short or long, 16)
    return chr(code) if code <= 0x10FFFF else ""
