"""What hooks print, made fit for people and models: text, without what terminals would obey (A.6.5)."""

from __future__ import annotations

import codecs
import re
from typing import Final

__all__ = ["clean", "decode_output", "preview"]

_BOMS: Final = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))

# CSI, OSC and two-character escape sequences.
_ANSI: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")


def decode_output(data: bytes | str) -> str:
    """Return output as text; no bytes make it fail.

    One byte-order mark is taken off and obeyed (PowerShell writes UTF-16); bytes that are no UTF-8 are replaced.
    """
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace")
    return data.decode("utf-8", errors="replace")


def clean(text: str, limit: int) -> str:
    """Return text for a model: no escape sequences, no NUL, ``\\n`` line ends, at most ``limit`` characters.

    What is cut off is counted at the end, so that nobody takes the rest for the whole.
    """
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\0" in text:
        text = text.replace("\0", "")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")  # a lone one overwrites a line on a terminal
    if len(text) > limit:
        return f"{text[:limit]}\n[{len(text) - limit} characters dropped]"
    return text


def preview(text: str, cap: int) -> str:
    """Return the trimmed beginning of a text for a log line."""
    text = clean(text, len(text)).strip()
    return text if len(text) <= cap else f"{text[:cap]}…"
