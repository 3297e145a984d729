"""The table ``[plugin.tracing]``: defaults and refusals."""

from __future__ import annotations

import pytest
from dshhooks_tracing import OPERATIONS, TracingOptions

from dshhooks.operations import Operation


def test_defaults():
    """Without options everything but the journal is a span, and no content is on it."""
    options = TracingOptions()
    assert set(OPERATIONS) - set(options.operations) == {"journal_append"}
    assert (options.capture_content, options.max_content, options.agent_name, options.providers) == (
        False, 8192, "", {},
    )  # fmt: skip


def test_every_operation_can_be_chosen():
    """The names are those of the operations there are."""
    assert tuple(Operation) == OPERATIONS


def test_unknown_operation():
    """A misspelled operation is refused, and the right ones are named."""
    with pytest.raises(ValueError, match=r"^operations may name turn, step, .*, not 'tools'"):
        TracingOptions(operations=["turn", "tools"])


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_impossible_flag(value):
    """Whether content is captured is true or false."""
    with pytest.raises(ValueError, match=r"^capture_content must be true or false"):
        TracingOptions(capture_content=value)


@pytest.mark.parametrize("count", [0, -1, True, 1.5])
def test_impossible_bound(count):
    """At least one character is kept."""
    with pytest.raises(ValueError, match=r"^max_content must be a whole number of at least 1"):
        TracingOptions(max_content=count)


@pytest.mark.parametrize("name", ["", 1, None])
def test_impossible_provider(name):
    """A provider's name is a name."""
    with pytest.raises(ValueError, match=r"^providers\.azure must be a provider's name"):
        TracingOptions(providers={"azure": name})
