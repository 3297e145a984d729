"""Capped output and cutting UTF-8."""

from __future__ import annotations

import tracemalloc

import pytest
from dshhooks_workspace_tools.output import CappedOutput
from dshhooks_workspace_tools.text import cut_end, cut_start
from hypothesis import given
from hypothesis import strategies as st


def fed(limit, *pieces):
    output = CappedOutput(limit)
    for piece in pieces:
        output.feed(piece)
    return output


class TestCapped:
    def test_short_output_is_whole(self):
        """What fits is returned unchanged."""
        output = fed(10, b"hello", b"", b"world")
        assert (output.text(), output.truncated, output.total) == ("helloworld", False, 10)

    def test_head_and_tail(self):
        """What does not fit keeps its head and tail around the number of bytes left out."""
        output = fed(8, b"abcdefghijklmnopqrstuvwxyz")
        assert output.text() == "abcd\n… 18 bytes omitted …\nwxyz"
        assert output.truncated

    def test_one_byte(self):
        """The smallest limit works."""
        assert fed(1, b"ab", b"c").text() == "a\n… 2 bytes omitted …\n"

    def test_characters_are_not_split(self):
        """A character at the cut is left out whole and counted."""
        assert fed(8, "€€€€€".encode()).text() == "€\n… 9 bytes omitted …\n€"

    def test_no_lone_surrogates(self):
        """Bytes that would be surrogates read as U+FFFD."""
        fed(100, b"\xed\xa0\x80\xff").text().encode()

    @given(st.lists(st.binary(max_size=30), max_size=12), st.integers(1, 60))
    def test_same_however_it_is_cut_up(self, pieces, limit):
        """The text depends on the bytes, not on how they arrived."""
        whole = b"".join(pieces)
        assert fed(limit, *pieces).text() == fed(limit, whole).text()

    @given(st.text(max_size=80), st.integers(1, 60))
    def test_omitted_and_kept_add_up(self, text, limit):
        """Valid text stays valid, and the marker's number is exactly what is missing."""
        data = text.encode()
        output = fed(limit, data)
        if not output.truncated:
            assert output.text() == text
            return
        head, _, rest = output.text().rpartition("\n… ")
        number, _, tail = rest.partition(" bytes omitted …\n")
        assert "\ufffd" not in output.text().replace("\ufffd", "", text.count("\ufffd"))
        assert len(head.encode()) + int(number) + len(tail.encode()) == len(data)

    def test_memory(self):
        """A flood costs no more memory than the limit."""
        tracemalloc.start()
        try:
            output = CappedOutput(10_000)
            piece = b"x" * 65536
            for _ in range(3000):
                output.feed(piece)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert output.total == 3000 * 65536
        assert peak < 300_000


class TestCut:
    @given(st.text(max_size=20), st.integers(0, 80))
    def test_any_cut_of_text_is_text(self, text, at):
        """Both sides of a cut decode without errors and lose only the character at the cut."""
        data = text.encode()
        head, tail = cut_end(data[:at]).decode(), cut_start(data[at:]).decode()
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(text) - len(head) - len(tail) <= 1

    @pytest.mark.parametrize("data", [b"\x80" * 9, b"ok\xff", b""])
    def test_malformed_bytes_stay(self, data):
        """Bytes that are no unfinished character are not dropped."""
        assert cut_end(data) == data
        assert cut_start(data) == data
