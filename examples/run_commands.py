"""A tool that runs commands, and leaves nothing of them behind."""

import os
import subprocess

import anyio

from dshhooks import HarnessError, ProcessTree, ToolRegistry, lifeline, tool


@tool
async def shell(command: str, seconds: float = 10.0) -> str:
    """Run a shell command and return what it prints."""
    with ProcessTree(os.environ) as tree:
        process = None
        try:
            with anyio.fail_after(seconds):
                process = await anyio.open_process(
                    ["sh", "-c", command],
                    stdin=subprocess.DEVNULL,
                    stderr=subprocess.STDOUT,
                    env=tree.environment,  # with the mark everything it starts is known by
                    start_new_session=True,
                )
                tree.leader = process.pid
                return b"".join([piece async for piece in process.stdout]).decode("utf-8", "replace")
        except TimeoutError:
            raise HarnessError(f"it was ended after {seconds:g} seconds", "COMMAND_TIMEOUT") from None
        finally:
            await tree.end(grace=0.5)  # done, out of time or cancelled: SIGTERM to all of it, SIGKILL to who is left
            if process is not None:
                await process.aclose()


async def main():
    registry = ToolRegistry()
    registry.register(shell)
    print((await registry.call("shell", {"command": "echo hello"})).value.strip())
    result = await registry.call("shell", {"command": "sleep 60 & setsid sleep 60 & wait", "seconds": 0.5})
    print(result.error.message)


with lifeline():  # were this program killed, what it runs would end as well
    anyio.run(main)
