"""The real command line, as a process of its own in a temporary folder with plugins of its own."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

from attrs import frozen

from tests.plugins.kit import Site

__all__ = ["ASK", "PATIENCE", "Done", "Project", "Terminal"]

# Seconds nothing here may take; only a test that hangs meets it.
PATIENCE = 60

# A plugin class `Plugin` that asks about every call.
ASK = """
from dshhooks import Ask, hookimpl

class Plugin:
    @hookimpl
    def tools_pre_execute(self, execution):
        return Ask("is this fine?")
"""


@frozen
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Stdout, which must be one JSON document and nothing else."""
        return json.loads(self.out)


class Project:
    """A folder with a configuration, and installed plugins the environment of the tests does not have."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "project"
        self.folder.mkdir()
        self.site = Site(folder / "site")
        self._started: list[subprocess.Popen[bytes]] = []

    def install(self, name: str, source: str, **more: Any) -> str:
        """Install a plugin for the commands of this project."""
        return self.site.install(name, source, **more)

    def configure(self, text: str) -> Path:
        """Write the configuration."""
        file = self.folder / "dshhooks.toml"
        file.write_text(text, encoding="utf-8")
        return file

    def enable(self, *names: str, more: str = "") -> None:
        """Configure exactly these plugins, outermost first."""
        self.configure(f"[plugins]\nenable = {json.dumps(list(names))}\n{more}")

    def environment(self, **variables: str) -> dict[str, str]:
        """This process's environment without switches, with the project's plugins."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DSHHOOKS_")}
        path = os.pathsep.join(filter(None, [str(self.site.folder), os.environ.get("PYTHONPATH")]))
        return {**kept, "PYTHONPATH": path, "HOME": str(self.folder), **variables}

    def start(self, *arguments: str, env: dict[str, str] | None = None, **streams: Any) -> subprocess.Popen[bytes]:
        """Start a command and do not wait for it."""
        command = [sys.executable, "-P", "-m", "dshhooks.cli", *arguments]
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment(**(env or {})), **streams)
        self._started.append(process)
        return process

    def end(self) -> None:
        """End what a failing test left running."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def run(self, *arguments: str, stdin: bytes | str = b"", env: dict[str, str] | None = None) -> Done:
        """Run a command to its end, through pipes."""
        pipe = subprocess.PIPE
        process = self.start(*arguments, env=env, stdin=pipe, stdout=pipe, stderr=pipe)
        out, err = process.communicate(stdin.encode() if isinstance(stdin, str) else stdin, timeout=PATIENCE)
        return Done(process.returncode, out.decode("utf-8"), err.decode("utf-8"))


class Terminal:
    """A pseudo-terminal: ``slave`` is a stream for a process, the rest is what the person in front of it does."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        self.seen = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_exc: object) -> None:
        os.close(self.master)
        self.detach()

    def detach(self) -> None:
        """Leave the stream to the process alone, so that its end can be seen."""
        if self.slave >= 0:
            os.close(self.slave)
            self.slave = -1

    def read(self) -> str:
        """Read what is on the screen now; empty when the process is gone."""
        try:
            text = os.read(self.master, 65536).decode("utf-8", "replace")
        except OSError:  # Linux's way of saying that the other side is closed
            text = ""
        self.seen += text
        return text

    def wait_for(self, text: str) -> None:
        """Read until a text is on the screen."""
        while text not in self.seen:
            assert self.read(), f"{text!r} never came, but: {self.seen!r}"

    def rest(self) -> str:
        """Read everything until the process is gone."""
        while self.read():
            pass
        return self.seen

    def type(self, text: str) -> None:
        """Type something."""
        os.write(self.master, text.encode())
