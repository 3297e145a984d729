"""Text of others on one line: bounded, valid, without control characters (spec/operations.md case 95)."""

from __future__ import annotations

import pytest

from dshhooks.tools.preview import bounded, preview
from hookspecs.values import TextBlock


@pytest.mark.parametrize("text", ["", "plain", "naïve ✓", "x" * 1024, "é" * 512, "\u00a0 \u2028"])
def test_a_short_text_is_unchanged(text: str) -> None:
    """Case 95: short ones are shown as they are."""
    assert bounded(text) == text


@pytest.mark.parametrize("text", ["x" * 1025, "é" * 513, "\U0001f600" * 257, "x" * 1023 + "é", "x" * 10_000_000])
def test_a_long_text_is_cut_at_a_character(text: str) -> None:
    """Case 95: at most 1024 bytes, no half characters, and one sees that something is missing."""
    shown = bounded(text)
    assert len(shown.encode()) <= 1024
    assert shown[-1] == "…"
    assert text.startswith(shown[:-1])


def test_control_characters_are_blanks() -> None:
    """Case 95: what could move a cursor or end a line cannot."""
    assert bounded("a\r\nb\x00c\x1b[2Jd\x7fe\x85f") == "a  b c [2Jd e f"


def test_what_has_no_utf8_form_is_replaced() -> None:
    """Case 95: a lone surrogate does not leave."""
    assert bounded("a\ud800b") == "a?b"


def test_content_is_previewed_as_its_text() -> None:
    """1.5: the preview is the bounded display form."""
    assert preview((TextBlock("one"), TextBlock("two"))) == "one two"


@pytest.mark.parametrize("content", [None, 7, [object()], ["text"]])
def test_content_that_cannot_be_read_has_no_preview(content: object) -> None:
    """A wrapper may put anything there; it is refused later, and not by this."""
    assert preview(content) == ""
