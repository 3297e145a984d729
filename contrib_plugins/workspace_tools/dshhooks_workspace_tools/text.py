"""UTF-8 at the borders: cutting without leaving half a character, names that are no text."""

from __future__ import annotations

import os

__all__ = ["cut_end", "cut_start", "printable"]


def printable(path: str) -> str:
    """Return a file name as text that every JSON writer accepts: bytes that are not UTF-8 read as U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def cut_end(data: bytes) -> bytes:
    """Drop the unfinished character at the end of ``data``, if there is one. Other malformed bytes stay."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte & 0xC0 != 0x80:
            return data[:-back] if back < _length(byte) else data
    return data


def cut_start(data: bytes) -> bytes:
    """Drop the rest of a character at the start of ``data``: at most three continuation bytes."""
    for index, byte in enumerate(data[:4]):
        if byte & 0xC0 != 0x80:
            return data[index:]
    # Four in a row belong to no character, so this is not the rest of one.
    return data if len(data) >= 4 else b""


def _length(lead: int) -> int:
    """Return how many bytes a character with this first byte has; 1 for a byte that starts none."""
    if 0xC0 <= lead < 0xE0:
        return 2
    if 0xE0 <= lead < 0xF0:
        return 3
    return 4 if 0xF0 <= lead < 0xF8 else 1
