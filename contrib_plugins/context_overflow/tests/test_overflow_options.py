"""The table ``[plugin.context-overflow]``: defaults and refusals."""

from __future__ import annotations

import pytest
from dshhooks_context_overflow import ContextOverflow, ContextOverflowOptions


def test_defaults():
    """One recovery, and nothing before the overflow."""
    options = ContextOverflowOptions()
    assert (options.max_recoveries, options.threshold_tokens, options.excerpt_chars) == (1, None, 2000)
    assert isinstance(ContextOverflow(), ContextOverflow)


@pytest.mark.parametrize(("name", "least"), [("max_recoveries", 0), ("threshold_tokens", 1), ("excerpt_chars", 100)])
@pytest.mark.parametrize("off", [-1, 0.5, True, "7"])
def test_impossible_numbers(name, least, off):
    """Whole numbers, and not too small."""
    value = least - 1 if off == -1 else off
    with pytest.raises(ValueError, match=rf"^{name} must be a whole number of at least {least}, not"):
        ContextOverflowOptions(**{name: value})
    assert getattr(ContextOverflowOptions(**{name: least}), name) == least
