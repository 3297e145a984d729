"""The pytest plugin: fixtures for tests of dshhooks plugins. Imports dshhooks only when a fixture is used."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

__all__ = ["finished_operations", "tool_registry"]


@pytest.fixture
def finished_operations() -> Iterator[None]:
    """Fail a test that starts an operation and does not finish it, held or dropped (spec/operations.md F6)."""
    from dshhooks.operations import track_scopes

    with track_scopes() as scopes:
        yield
        left = [*(repr(scope) for scope in scopes if not scope.finished), *scopes.dropped]
    if left:
        pytest.fail(f"finish what was started, on every path: {'; '.join(left)}", pytrace=False)


@pytest.fixture
def tool_registry() -> Any:
    """A fresh ``ToolRegistry`` with the echo tool; ``tool_registry.hooks.register(plugin)`` adds a plugin."""
    from dshhooks.testing import echo_tool
    from dshhooks.tools.registry import ToolRegistry

    registry = ToolRegistry()
    registry.register(echo_tool())
    return registry
