import anyio

from dshhooks import Harness, tool


@tool(idempotent=True)
async def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


async def main():
    async with Harness.open() as harness:  # configuration, installed plugins, tools
        harness.tools.register(add)
        result = await harness.tools.call("add", {"a": 1, "b": 2})
        print(result.value, result.content)  # a failure has .error instead; execute never raises for a tool's fault


anyio.run(main)
