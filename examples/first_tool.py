"""The smallest tool: a function, a registry, two calls.

Run it: ``python examples/first_tool.py``
"""

from __future__ import annotations

import anyio

from dshhooks import ToolRegistry, tool


@tool(timeout=5.0, idempotent=True, concurrency_safe=True)
async def area(width: float, height: float = 1.0) -> float:
    """Compute the area of a rectangle.

    Args:
        width: In metres.
        height: In metres.
    """
    return width * height


async def main() -> None:
    """Show what a model is told, a call that works and one that does not."""
    tools = ToolRegistry()
    tools.register(area)
    print(tools.schemas()[0])
    print((await tools.call("area", {"width": 2, "height": 3.5})).value)
    print((await tools.call("area", {"widht": "two"})).content[0])


if __name__ == "__main__":
    anyio.run(main)
