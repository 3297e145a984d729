"""The text of durable records: everything that can be frozen comes back."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.session.text import _Slow, dumps, loads
from hookspecs.json import freeze


def _no_pairs(text: str) -> bool:
    # Two surrogates side by side are one character's escape; JSON text cannot tell.
    return re.search("[\ud800-\udbff][\udc00-\udfff]", text) is None


TEXTS = st.text(alphabet=st.characters(codec=None), max_size=12).filter(_no_pairs)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda value: value != 0.0)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_values_come_back(value: Any) -> None:
    """Writing and reading loses nothing, and the text is ASCII on one line."""
    text = dumps(freeze(value))
    assert loads(text) == value
    assert text.isascii()
    assert "\n" not in text


@given(VALUES)
def test_the_slow_parser_agrees(value: Any) -> None:
    """The parser with its own stack reads what the fast one reads, also with spaces."""
    assert _Slow(json.dumps(value, indent=1)).value() == value


@pytest.mark.parametrize(
    "value",
    [10**5000, 7 - 10**5000, 10**641, 12345678901 * 10**9999 + 1],
    ids=lambda value: f"{value.bit_length()} bits",
)
def test_integers_of_any_length_come_back(value: int) -> None:
    """Python's limit on digits is not the log's."""
    assert loads(dumps({"n": [value]})) == {"n": [value]}


@pytest.mark.parametrize("depth", [900, 5_000, 50_000])
def test_any_depth_comes_back(depth: int) -> None:
    """Nesting beyond what the C code follows is written and read."""
    text = "[" * depth + '{"a":1}' + "]" * depth
    value = loads(text)
    assert dumps(value) == text


@pytest.mark.parametrize(
    "text", ["", " ", "NaN", "[Infinity]", "1e400", "-0.0", "-1e-400", "{", "[1,]", '{"a"}', '{"a":}', "[1 2]", "1 2",
             "tru", '"\\x"', "01", "{1:2}", '{"a":1,}', "]", "\x00", "[" * 3000, "[" * 3000 + "]" * 2999,
             "[" * 3000 + "x" + "]" * 3000],
    ids=lambda text: repr(text[:20]),
)  # fmt: skip
def test_what_is_not_json_is_refused(text: str) -> None:
    """Neither parser lets anything through that is not lossless JSON."""
    with pytest.raises(ValueError):  # noqa: PT011 - the message depends on which parser stumbled
        loads(text)
    with pytest.raises(ValueError):  # noqa: PT011
        _Slow(text).value()
