"""What is said over the socket: exactly what was meant, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.clients import wire

word = st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]), max_size=20)
name = st.text(st.characters(min_codepoint=65, max_codepoint=90), min_size=1, max_size=8)


@given(word, st.lists(word), st.dictionaries(name, word))
def test_a_head_says_what_was_meant(cwd: str, words: list[str], env: dict[str, str]) -> None:
    """Arguments, folder and variables come out as they went in, whatever is in them."""
    encoded = {key.encode(): value.encode() for key, value in env.items()}
    head = wire.request(b"handle", "1.500", cwd.encode(), words, encoded)
    assert wire.fields(head) == ("handle", 1.5, cwd, words, env)


def test_a_word_that_is_not_text_survives() -> None:
    """A path is bytes; what Python made of it is sent as those bytes."""
    odd = b"/tmp/\xff\xfe".decode("utf-8", "surrogateescape")
    assert wire.fields(wire.request(b"handle", "1", b"/\xff", [odd], {}))[2:4] == ("/\udcff", [odd])


@given(st.binary(), st.binary(), st.integers(0, 255))
def test_an_answer_says_what_was_meant(stdout: bytes, stderr: bytes, code: int) -> None:
    """The bytes and the code come out as they went in."""
    assert wire.parse(wire.answer((stdout, stderr, code))) == (stdout, stderr, code)


@given(st.binary(min_size=1), st.data())
def test_a_part_of_an_answer_is_none(stdout: bytes, data: st.DataObject) -> None:
    """Whoever dies in the middle of a sentence has said nothing."""
    whole = wire.answer((stdout, b"reason", 2))
    assert wire.parse(whole[: data.draw(st.integers(0, len(whole) - 1))]) is None


@given(st.binary(min_size=1))
def test_more_than_an_answer_is_none(more: bytes) -> None:
    """Neither is one with something behind it."""
    assert wire.parse(wire.answer((b"x", b"", 0)) + more) is None


@pytest.mark.parametrize("data", [b"", b"R", b"E why", b"A", b"A 0 0\n", b"A 0 0 0", b"A 256 0 0\n", b"A +1 0 0\n",
                                  b"A 1_0 0 0\n", b"a 0 0 0\n", b"A  0 0 0\n", b"A \xd9\xa1 0 0\n"])  # fmt: skip
def test_anything_else_is_none(data: bytes) -> None:
    """Close is not enough."""
    assert wire.parse(data) is None


@pytest.mark.parametrize("line", [b"\n", b"dshhooks 1 2\n", b"dshhooks 0 1 1\n", b"dshhooks 2 1 1\n", b"hello 1 1 1\n",
                                  b"dshhooks 1 -1 1\n", b"dshhooks 1 x 1\n"])  # fmt: skip
def test_a_greeting_of_others_is_refused(line: bytes) -> None:
    """Another protocol included: both sides are of one version, or do not talk."""
    with pytest.raises(ValueError, match=r"request|unpack|int"):
        wire.lengths(line)


def test_a_refusal_says_why() -> None:
    """The worker's reason becomes the denial's."""
    assert wire.refusal(b"E ImportError: half") == "ImportError: half"
    assert wire.refusal(b"A 0 0 0\n") == ""
