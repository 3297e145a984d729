"""A read-only mode nobody can undo: a guard, and a check that no writing tool slips in later."""

import anyio

from dshhooks import ToolRegistry, hookimpl, tool

WRITES = ("write", "delete", "bash")


class ReadOnly:
    def __init__(self, registry):
        self.registry = registry

    @hookimpl
    def tools_guard(self, execution):
        return "read-only mode" if execution.name.startswith(WRITES) else None

    @hookimpl
    def tools_change(self):
        names = [schema["name"] for schema in self.registry.schemas()]
        if any(name.startswith("delete") for name in names):
            raise PermissionError("no deleting tools in read-only mode")


@tool
async def read_note() -> str:
    """Read the note."""
    return "buy milk"


@tool
async def write_note(text: str) -> str:
    """Write the note."""
    raise AssertionError("the guard lets nobody get here")


@tool
async def delete_note() -> None:
    """Delete the note."""


async def main():
    registry = ToolRegistry()
    registry.hooks.register(ReadOnly(registry))
    registry.register(read_note)
    registry.register(write_note)
    print((await registry.call("read_note")).value)
    print((await registry.call("write_note", {"text": "x"})).error.message)
    try:
        registry.register(delete_note)
    except PermissionError as error:
        print(error)


anyio.run(main)
