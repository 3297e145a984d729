"""Text of others, made fit to be shown on one line: bounded, valid, without control characters (spec/operations.md 3).

What the model reads stays as the tool made it; this is for people who watch.
"""

from __future__ import annotations

import re
from typing import Any, Final

from hookspecs.values import content_text

__all__ = ["PREVIEW_BYTES", "bounded", "preview"]

PREVIEW_BYTES: Final = 1024
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MORE: Final = "…"


def bounded(text: str) -> str:
    """Return a text of at most 1024 bytes of UTF-8 without control characters; one that is so already, unchanged.

    Control characters become spaces, what has no UTF-8 form becomes ``?``, and ``…`` says that something was left out.
    """
    if len(text) <= PREVIEW_BYTES and text.isascii() and text.isprintable():
        return text
    # As many characters as bytes at most: a text of megabytes is not worked on as a whole.
    shown = _CONTROL.sub(" ", text[: PREVIEW_BYTES + 1]).encode("utf-8", "replace")
    if len(shown) <= PREVIEW_BYTES:
        return shown.decode()
    return shown[: PREVIEW_BYTES - len(_MORE.encode())].decode("utf-8", "ignore") + _MORE


def preview(content: Any) -> str:
    """Return what content blocks say, bounded; empty when they cannot even be read."""
    try:
        return bounded(content_text(content))
    except (Exception, SystemExit):  # noqa: BLE001 - a wrapper's blocks are not checked yet, and a preview is a courtesy
        return ""
