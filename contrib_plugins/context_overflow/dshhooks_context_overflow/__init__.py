"""Compacts a conversation that does not fit the model any more, and goes on."""

from __future__ import annotations

from dshhooks_context_overflow.options import ContextOverflowOptions
from dshhooks_context_overflow.plugin import ContextOverflow

__all__ = ["ContextOverflow", "ContextOverflowOptions"]
