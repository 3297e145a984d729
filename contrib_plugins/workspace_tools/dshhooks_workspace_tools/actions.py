"""What the four tools do, as coroutines from plain arguments to plain JSON values; no harness in sight."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import anyio
import attrs

from .errors import WorkspaceError
from .listing import list_entries
from .options import WorkspaceOptions
from .paths import Workspace
from .process import Command, Completed, run_command
from .reading import read_range
from .writing import write_text

__all__ = ["Actions"]

# The kernel's limit for one argument, less the terminating NUL.
MAX_COMMAND_BYTES = 128 * 1024 - 1

T = TypeVar("T")


class Actions:
    """The tools' bodies over one workspace.

    Args:
        options: Where the workspace is and what the limits are.

    Raises:
        WorkspaceError: The root is not a folder, or the platform cannot confine paths.
    """

    def __init__(self, options: WorkspaceOptions) -> None:
        self.options = options
        self.workspace = Workspace(options.root)

    async def bash(self, command: str, cwd: str = ".", timeout: float | None = None) -> dict[str, Any]:  # noqa: ASYNC109
        """Run a shell command in a folder of the workspace.

        A command that fails, or is ended by a signal or its time limit, is a value like any other: the model reads it.

        Args:
            command: Shell source.
            cwd: The folder to start in.
            timeout: Seconds it may run; the options give the default and the maximum.

        Returns:
            ``exit_code`` or ``signal``, ``stdout``, ``stderr``, ``truncated``, ``timed_out``.

        Raises:
            WorkspaceError: The command was never started.
        """
        _check_command(command)
        limits = self.options
        with self._folder(cwd) as folder:
            prepared = Command(
                argv=(self._shell(), "-c", "--", command),
                cwd=folder,
                env=self._environment(),
                timeout=self._seconds(timeout),
                max_output_bytes=limits.max_output_bytes,
                kill_grace=limits.kill_grace,
                drain_grace=limits.drain_grace,
                keep_background=limits.keep_background,
            )
            return attrs.asdict(await _started(prepared))

    async def read_file(self, path: str, offset: int = 0, limit: int | None = None) -> dict[str, Any]:
        """Read lines of a file; see ``reading.read_range``."""
        read = partial(read_range, self.workspace, path, offset, limit, max_bytes=self.options.max_read_bytes)
        found = await _in_thread(partial(read, checkpoint=anyio.from_thread.check_cancelled))
        return {**attrs.asdict(found), "next_offset": found.next_offset}

    async def write_file(self, path: str, content: str) -> dict[str, Any]:
        """Replace a file; see ``writing.write_text``."""
        write = partial(write_text, self.workspace, path, content, max_bytes=self.options.max_write_bytes)
        written = await _in_thread(write)
        return {"path": written.path, "bytes": written.size}

    async def list_files(self, path: str = ".", pattern: str = "*", recursive: bool = False) -> dict[str, Any]:
        """List a folder; see ``listing.list_entries``."""
        limits = self.options
        listing = partial(
            list_entries,
            self.workspace,
            path,
            pattern,
            recursive,
            max_entries=limits.max_entries,
            skip=tuple(limits.skip_dirs),
            checkpoint=anyio.from_thread.check_cancelled,
        )
        found = await _in_thread(listing)
        return {"path": found.path, "entries": [attrs.asdict(e) for e in found.entries], "truncated": found.truncated}

    def _seconds(self, wanted: float | None) -> float:
        limits = self.options
        if wanted is None:
            return min(limits.bash_timeout, limits.max_bash_timeout)
        if not wanted > 0:
            raise WorkspaceError(f"timeout must be more than zero seconds, not {wanted}", "INVALID_ARGUMENT")
        return min(wanted, limits.max_bash_timeout)

    def _environment(self) -> dict[str, str]:
        hidden = frozenset(self.options.hidden_env)
        return {**{k: v for k, v in os.environ.items() if k not in hidden}, **self.options.env}

    def _shell(self) -> str:
        found = shutil.which(self.options.shell)
        if found is None:
            message = f"shell {self.options.shell!r} is not installed; set plugin.workspace-tools.shell to one that is"
            raise WorkspaceError(message, "SHELL_NOT_FOUND")
        return os.path.abspath(found)

    @contextmanager
    def _folder(self, path: str) -> Iterator[str]:
        """Hold a folder open and yield a name for it that no renaming changes, as far as the system has one."""
        with self.workspace.at(path) as place:
            fd, way = place.open_directory(), place.path
        try:
            # The child resolves this against the descriptors it inherits before it closes them.
            yield f"/proc/self/fd/{fd}" if sys.platform == "linux" else os.path.join(self.workspace.root, way)
        finally:
            os.close(fd)


async def _in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)


async def _started(command: Command) -> Completed:
    try:
        return await run_command(command)
    except OSError as exc:
        if exc.errno == errno.E2BIG:
            raise WorkspaceError("command and environment are too long; use a script file", "TOO_LARGE") from exc
        raise WorkspaceError(f"shell {command.argv[0]!r} did not start: {exc.strerror}", "IO_ERROR") from exc


def _check_command(command: str) -> None:
    if "\0" in command:
        raise WorkspaceError("the command contains a NUL character, which no shell can be given", "INVALID_ARGUMENT")
    try:
        size = len(command.encode())
    except UnicodeEncodeError as exc:
        message = f"the command has a character that is not Unicode text at index {exc.start}"
        raise WorkspaceError(message, "INVALID_ARGUMENT") from None
    if size > MAX_COMMAND_BYTES:
        message = f"the command has {size} bytes, more than {MAX_COMMAND_BYTES}; write it to a file and run that"
        raise WorkspaceError(message, "TOO_LARGE")
