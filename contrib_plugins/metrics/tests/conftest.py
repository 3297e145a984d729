"""Fixtures: both backends."""

from __future__ import annotations

import pytest


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param


@pytest.fixture
def work():
    """Return a function that makes a tool whose value is a string."""
    from dshhooks import ToolDefinition, ToolOutput

    async def done(_args, _exec):
        return "done"

    def make(execute=done, name="work", **parts):
        output = ToolOutput({"type": "string"}, lambda _args, value: value)
        return ToolDefinition(name, "works", {"type": "object"}, output, execute, **parts)

    return make


@pytest.fixture
def registry_of():
    """Return a function that makes a registry of one tool; the first plugin is outermost."""
    from dshhooks import ToolRegistry

    def make(definition, *plugins):
        registry = ToolRegistry()
        registry.register(definition)
        for plugin in reversed(plugins):
            registry.hooks.register(plugin)
        return registry

    return make


@pytest.fixture
def wrap():
    """Return a function that makes a wrapper of ``fn(execution, call_next)``."""
    from dshhooks import hookimpl

    class Wrap:
        def __init__(self, fn):
            self._fn = fn

        @hookimpl(wrapper=True)
        async def tools_execute(self, execution, *, call_next):
            return await self._fn(execution, call_next)

    return Wrap
