"""The pytest plugin: fixtures for tests of dshhooks plugins. Imports dshhooks only when a fixture is used."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["tool_registry"]


@pytest.fixture
def tool_registry() -> Any:
    """A fresh ``ToolRegistry`` with the echo tool; ``tool_registry.hooks.register(plugin)`` adds a plugin."""
    from dshhooks.testing import echo_tool
    from dshhooks.tools.registry import ToolRegistry

    registry = ToolRegistry()
    registry.register(echo_tool())
    return registry
