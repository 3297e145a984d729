"""Small helpers: a runtime over one hook file, hooks that are real programs, and a server that answers by script."""

from __future__ import annotations

import json
import os
import shlex
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio

from dshhooks.bridge.options import BridgeOptions
from dshhooks.bridge.runtime import HookRuntime
from tests.bridge.kit import write

__all__ = ["Server", "alive", "hooks_on", "python", "runtime", "serving", "shell", "until"]


def shell(command: str, **members: Any) -> dict[str, Any]:
    """A shell hook."""
    return {"type": "command", "command": command, **members}


def python(folder: Path, source: str, name: str = "hook.py", **members: Any) -> dict[str, Any]:
    """A shell hook that runs a Python program."""
    file = folder / name
    file.write_text(source, encoding="utf-8")
    return shell(shlex.join([sys.executable, str(file)]), **members)


def hooks_on(event: str, *hooks: dict[str, Any], **members: Any) -> dict[str, Any]:
    """A Claude document with one group."""
    return {"hooks": {event: [{"hooks": list(hooks), **members}]}}


def runtime(
    folder: Path,
    *hooks: dict[str, Any],
    event: str = "PreToolUse",
    document: Any = None,
    environ: Mapping[str, str] | None = None,
    handlers: Any = None,
    dialect: str = "claude",
    **options: Any,
) -> HookRuntime:
    """A runtime over one pinned file with these hooks in one group, run in ``folder``."""
    name = "dsh-hooks.json" if dialect == "native" else "settings.json"
    file = write(folder / "config" / name, document if document is not None else hooks_on(event, *hooks))
    given = {"config_path": file, "dialect": dialect, "cwd": folder, "home": folder / "home", **options}
    return HookRuntime(BridgeOptions(**given), environ=environ, handlers=handlers)


def alive(pid: int) -> bool:
    """Say whether a process still runs; one that has ended and was not collected does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read()
    except OSError:
        return False
    return line[line.rindex(b")") + 2 :].split()[0] not in (b"Z", b"X")


async def until(true: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait for something another process does; there is nothing to be told by."""
    with anyio.fail_after(seconds):
        while not true():  # noqa: ASYNC110 - another process cannot set an event
            await anyio.sleep(0.005)


class Server:
    """What a test server heard, and how it answers: ``answer(handler)`` does everything."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.requests: list[tuple[dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def base_url(self) -> str:
        """Its address, for oracles."""
        return f"http://127.0.0.1:{self.port}/v1"


@contextmanager
def serving(
    body: bytes | str | Any = b"", status: int = 200, answer: Callable[[BaseHTTPRequestHandler], None] | None = None,
    **headers: str,
) -> Iterator[Server]:  # fmt: skip
    """Serve one answer on a free port: bytes and texts as they are, anything else as JSON."""
    data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            heard = {name.lower(): value for name, value in self.headers.items()}
            server.requests.append((heard, self.rfile.read(length)))
            try:
                if answer is not None:
                    answer(self)
                else:
                    self._reply()
            except OSError:
                pass  # whoever asked is gone

        def _reply(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        server = Server(listening.server_address[1])
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join()


def pid_in(file: Path) -> int:
    """Read the number of a process from a file, 0 while it is not there."""
    try:
        return int(file.read_text() or 0)
    except (OSError, ValueError):
        return 0


def no_proxies() -> dict[str, str]:
    """The environment without what would send requests elsewhere."""
    return {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
