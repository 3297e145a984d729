"""dshhooks.tools.docstrings: what a model is told about a function and its parameters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.tools.docstrings import read_docstring


def test_the_first_paragraph_is_the_summary() -> None:
    """Its lines are joined; later paragraphs are for people."""
    docs = read_docstring("""Add two
    integers.

    More prose.
    """)
    assert docs.summary == "Add two integers."
    assert docs.entries == {}


@pytest.mark.parametrize("text", [None, "", "   \n  "])
def test_nothing_is_empty(text: str | None) -> None:
    """A function without a docstring has no description."""
    assert read_docstring(text).summary == ""


@pytest.mark.parametrize("heading", ["Args:", "Arguments:", "Parameters:", "Attributes:", "Keyword Args:"])
def test_google_style(heading: str) -> None:
    """Types in parentheses are dropped, indented lines continue an entry, the section ends where indentation does."""
    docs = read_docstring(f"""Do it.

    {heading}
        a: First: the
            start.

        b (dict[str, int], optional): Second.
        **more: Third.

    Returns:
        c: not a parameter.
    """)
    assert docs.summary == "Do it."
    assert docs.entries == {"a": "First: the start.", "b": "Second.", "more": "Third."}


def test_sphinx_style() -> None:
    """Fields with and without a type, continued on indented lines."""
    docs = read_docstring("""Do it.

    :param a: First
        half.
    :param int b: Second.
    :type a: str
    :returns: c
    """)
    assert docs.entries == {"a": "First half.", "b": "Second."}


def test_a_section_directly_under_the_summary() -> None:
    """No blank line is needed to end the summary."""
    docs = read_docstring("Do it.\nArgs:\n    a: First.")
    assert (docs.summary, docs.entries) == ("Do it.", {"a": "First."})


def test_a_section_may_be_all_there_is() -> None:
    """Then there is no summary."""
    assert read_docstring("Args:\n    a: First.").summary == ""


def test_entries_without_text_are_not_descriptions() -> None:
    """A bare name describes nothing."""
    assert read_docstring("Do.\n\nArgs:\n    a:\n    b: B.").entries == {"b": "B."}


@given(st.text(alphabet="aA :*()\n\t\ud800-param") | st.text())
def test_any_text_can_be_read(text: str) -> None:
    """A docstring is prose: nothing in it is an error."""
    read_docstring(text)
