"""A user of the lean client: a home, a project with a policy of its own, and the daemons that are started there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attrs import frozen

import dshhooks
from dshhooks.clients import place
from dshhooks.clients.daemons import Running, running
from tests.plugins.kit import Site

__all__ = ["LEAN", "POLICY", "Done", "User", "ended", "payload", "until", "user"]

LEAN = Path(dshhooks.__file__).parent / "clients" / "lean.py"

# Denies what it is told to, says in which process, and misbehaves on demand. Never runs a command.
POLICY = """
import json
import os
import re
import sys
import time

import anyio
from dshhooks import Deny, hookimpl

WORD = "no"
FILES = os.environ.get("PROBE_FILES", "")

class Plugin:
    @hookimpl
    async def tools_pre_execute(self, execution):
        command = execution.arguments.get("command", "")
        what, _, detail = command.partition(" ")
        if what == "forbidden":
            return Deny(f"{WORD}: {detail}")
        if what == "who":
            return Deny(f"pid {os.getpid()} cwd {os.getcwd()} seen {os.environ.get(detail)}")
        if what == "print":
            print("PLUGIN PRINTED", flush=True)
            os.write(1, b"PLUGIN WROTE")
            os.system("echo PLUGIN SHELL")
        if what == "leave":
            os.chdir("/")
        if what == "forget":
            os.environ.clear()
        if what == "corrupt":
            json.JSONDecoder.decode = None
        if what == "interrupt":
            raise KeyboardInterrupt
        if what == "exit":
            os._exit(int(detail))
        if what == "spin":
            while True:
                pass
        if what == "seize":
            re.match("(a*)*b", "a" * 4000)  # one call into C that does not give the interpreter back
        if what == "wait":
            os.close(os.open(os.path.join(FILES, f"begun-{detail}"), os.O_CREAT | os.O_WRONLY))
            while not os.path.exists(os.path.join(FILES, f"go-{detail}")):
                await anyio.sleep(0.02)
            return Deny(f"waited: {detail}")
        return None
"""


@frozen
class Done:
    """How a hook command ended."""

    stdout: bytes
    stderr: bytes
    code: int

    @property
    def reason(self) -> str:
        """Why Claude is denied the tool; empty when it is not: whatever else there is on stdout fails."""
        if not self.stdout:
            assert self.code == 0, self
            return ""
        lines = self.stdout.decode().splitlines()
        assert len(lines) == 1, self
        answer = json.loads(lines[0])["hookSpecificOutput"]
        assert (answer["permissionDecision"], answer["hookEventName"]) == ("deny", "PreToolUse"), self
        return str(answer["permissionDecisionReason"])


def ended(process: subprocess.Popen[bytes], stdin: bytes | None = None) -> Done:
    """Wait for a hook command to end."""
    out, err = process.communicate(stdin, timeout=60)
    return Done(out, err, process.returncode)


def payload(command: str, **more: Any) -> bytes:
    """Return what Claude writes before a shell call."""
    event = {"session_id": "s1", "transcript_path": "/t", "cwd": "/w", "permission_mode": "default",
             "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command},
             "tool_use_id": "toolu_1"}  # fmt: skip
    return json.dumps({**event, **more}).encode()


class User:
    """Somebody with a project whose policy is :data:`POLICY`.

    Args:
        folder: For everything but the sockets, whose paths must be short.
    """

    def __init__(self, folder: Path) -> None:
        self.home, self.project, self.files = folder / "home", folder / "project", folder / "files"
        for each in (self.home, self.project, self.files):
            each.mkdir(mode=0o700)
        self.lean = LEAN
        self.runtime = Path(tempfile.mkdtemp(prefix="dsh-", dir="/tmp"))  # a socket's path must be short
        self.site = Site(folder / "site")
        # Made by the first import otherwise, which changes the folder under the daemon that looked at it before.
        (self.site.folder / "__pycache__").mkdir()
        self.policy = self.site.folder / f"{self.site.install('probe', POLICY)}.py"
        self.configure('[plugins]\nenable = ["probe"]\n')
        self._begun: list[subprocess.Popen[bytes]] = []
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.runtime),
                    "PYTHONPATH": str(self.site.folder), "PROBE_FILES": str(self.files),
                    # Without a language Python adds a variable of its own, which would count.
                    "LANG": "C.UTF-8"}  # fmt: skip

    def socket_path(self, *switches: str) -> str:
        """Return where the daemon of a call with these switches is looked for."""
        lasting, _ = place.split_environment({os.fsencode(k): os.fsencode(v) for k, v in self.env.items()})
        words = [os.fsencode(word) for word in switches]
        name = place.identity(words, os.fsencode(self.project), lasting, os.fsencode(self.lean.parent))
        return os.fsdecode(place.socket_path(self.sockets, name))

    @property
    def sockets(self) -> bytes:
        """The directory of this user's daemons."""
        return os.fsencode(self.runtime / "dshhooks")

    def reinstall(self, folder: Path, start: str | None = None) -> Path:
        """Install a copy of dshhooks for the hook command, and return its package.

        Args:
            folder: Where to.
            start: What its first file is instead.
        """
        for name in ("dshhooks", "hookspecs"):
            source = Path(dshhooks.__file__).parent.parent / name
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        package = folder / "dshhooks"
        if start is not None:
            (package / "__init__.py").write_text(start, encoding="utf-8")
        self.lean = package / "clients" / "lean.py"
        return package

    def configure(self, text: str) -> None:
        """Write the project's configuration."""
        (self.project / "dshhooks.toml").write_text(text, encoding="utf-8")

    def command(self, *arguments: str) -> list[str]:
        """Return the hook command of Claude."""
        return [sys.executable, "-I", "-S", str(self.lean), "--client", "claude", *arguments]

    def begin(self, *arguments: str, **env: str) -> subprocess.Popen[bytes]:
        """Start the hook command of Claude; its stdin is still to be written."""
        return self._popen(self.command(*arguments), {**self.env, **env}, subprocess.PIPE)

    def after(self, preparation: str, stdin: bytes, *arguments: str, **streams: Any) -> Done:
        """Let Claude ask after some Python has prepared the process that then becomes the hook command."""
        code = f"import os, signal, sys\n{preparation}\nos.execv(sys.argv[1], sys.argv[1:])"
        pipe = subprocess.PIPE
        done = subprocess.run(
            [sys.executable, "-c", code, *self.command(*arguments)], input=stdin, cwd=self.project, env=self.env,
            check=False, **{"stdout": pipe, "stderr": pipe, **streams},
        )  # fmt: skip
        return Done(done.stdout or b"", done.stderr, done.returncode)

    def asking(self, command: str, *arguments: str) -> subprocess.Popen[bytes]:
        """Start the hook command and let Claude ask about a shell command; the answer is still to come."""
        process = self.begin(*arguments)
        assert process.stdin is not None
        process.stdin.write(payload(command))
        process.stdin.close()
        process.stdin = None
        return process

    def _popen(self, command: list[str], env: dict[str, str], stderr: int | None) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=stderr, cwd=self.project, env=env)
        self._begun.append(process)
        return process

    def call(self, command: str, *arguments: str, **env: str) -> Done:
        """Let Claude ask about a shell command."""
        return self.ask(payload(command), *arguments, **env)

    def ask(self, stdin: bytes, *arguments: str, **env: str) -> Done:
        """Let Claude ask anything."""
        return ended(self.begin(*arguments, **env), stdin)

    def serve(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start ``dshhooks serve`` and wait until it listens."""
        command = [sys.executable, "-P", "-m", "dshhooks.cli", "serve", *arguments]
        process = self._popen(command, self.env, None)
        assert process.stdout is not None
        assert process.stdout.readline().endswith(b".sock\n")
        return process

    def daemons(self) -> list[Running]:
        """Return what runs."""
        return running(self.sockets)

    def begun(self, *names: str) -> None:
        """Wait until the policy has begun to look at ``wait NAME``, for each name."""
        until(lambda: all((self.files / f"begun-{name}").exists() for name in names))

    def go(self, *names: str) -> None:
        """Let the policy answer ``wait NAME``."""
        for name in names:
            (self.files / f"go-{name}").touch()

    def log(self) -> str:
        """Return the log."""
        file = self.home / ".local/state/dshhooks/handle.log"
        return file.read_text(encoding="utf-8") if file.exists() else ""

    def end(self) -> None:
        """Kill every daemon of this user, those that hang and those whose socket is gone included."""
        for pid in self._processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for process in self._begun:
            process.communicate()
        shutil.rmtree(self.runtime, ignore_errors=True)

    def _processes(self) -> Iterator[int]:
        """The processes whose environment names this user's runtime directory, which nobody else's does."""
        mark = b"XDG_RUNTIME_DIR=" + os.fsencode(self.runtime) + b"\0"
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    found = mark in (entry / "environ").read_bytes()
                except OSError:
                    continue
                if found:
                    yield int(entry.name)


def until(condition: Callable[[], object]) -> None:
    """Wait for something another process does; the test's own time limit ends it if that never happens."""
    while not condition():
        time.sleep(0.02)


def user(folder: Path) -> Iterator[User]:
    """Make a user, and leave nothing of his running."""
    made = User(folder)
    try:
        yield made
    finally:
        made.end()
