"""Confinement: from a path a model wrote to an open folder inside the root plus a name in it.

The kernel is never handed more than one name at a time. Each component is opened relative to the folder opened before
it and without following links; links are read and walked here. So there is no moment between "checked" and "opened" in
which a swapped link could lead outside: what was opened is what was checked.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import attrs

from .errors import WorkspaceError, os_errors
from .text import printable

__all__ = ["Place", "Workspace"]

MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 4095
MAX_DEPTH = 128
MAX_LINKS = 40

_DIRECTORY = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


@attrs.frozen
class Place:
    """A name in an open folder of the workspace; valid inside the ``with`` block that made it.

    Args:
        fd: Descriptor of the folder.
        name: The entry in it, which was not a symbolic link; None when the path means the folder itself.
        path: The way from the root with links resolved, ``/`` between names, ``"."`` for the root.
        shown: The path as the caller wrote it, for messages.
    """

    fd: int
    name: str | None
    path: str
    shown: str

    def status(self) -> os.stat_result | None:
        """Return the entry's status without following a link; None when nothing is there."""
        if self.name is None:
            return os.stat(self.fd)
        try:
            return os.stat(self.name, dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def open_directory(self) -> int:
        """Open the place as a folder; the caller closes the descriptor.

        Raises:
            OSError: It is missing, not a folder, or has become a link.
        """
        return os.dup(self.fd) if self.name is None else os.open(self.name, _DIRECTORY, dir_fd=self.fd)


class Workspace:
    """A root folder that no path leaves.

    Args:
        root: The folder; made absolute and resolved once, here.

    Raises:
        WorkspaceError: ``NOT_FOUND`` or ``NOT_A_DIRECTORY`` for a root that is no folder.
    """

    def __init__(self, root: str) -> None:
        if os.open not in os.supports_dir_fd or not hasattr(os, "O_NOFOLLOW"):
            raise WorkspaceError("workspace tools need a POSIX system to confine paths", "UNSUPPORTED_PLATFORM")
        given = os.path.abspath(root)
        self.root = os.path.realpath(given)
        self._prefixes = tuple(dict.fromkeys((self.root, given)))
        with os_errors(root):
            found = os.stat(self.root)
            if not stat.S_ISDIR(found.st_mode):
                raise WorkspaceError(f"workspace root {root!r} is not a folder", "NOT_A_DIRECTORY")
        self._identity = (found.st_dev, found.st_ino)

    def open_root(self) -> int:
        """Open the root folder; the caller closes the descriptor.

        Raises:
            WorkspaceError: ``WORKSPACE_MOVED`` when another folder has taken its place.
        """
        with os_errors(self.root):
            fd = os.open(self.root, _DIRECTORY)
        found = os.fstat(fd)
        if (found.st_dev, found.st_ino) != self._identity:
            os.close(fd)
            raise WorkspaceError(f"the workspace {self.root!r} was replaced by another folder", "WORKSPACE_MOVED")
        return fd

    @contextmanager
    def at(self, path: str, *, create_parents: bool = False) -> Iterator[Place]:
        """Walk to ``path`` and yield the place it means.

        A relative path starts at the root; an absolute one must lie in it. Links inside that stay inside are followed,
        including a final link to nothing; the entry itself need not exist.

        Args:
            path: What the model wrote.
            create_parents: Make missing folders on the way, but never before the whole way is known to stay inside.

        Raises:
            WorkspaceError: See ``errors``; also for ``OSError`` inside the block.
        """
        parts = self._parts(path)
        with os_errors(path):
            walk = _Walk(self, path, parts, create_parents)
            try:
                walk.run()
                yield walk.place()
            finally:
                walk.close()

    def inside(self, absolute: str) -> str | None:
        """Return the part of an absolute path below the root; None when its text does not start with the root."""
        for prefix in self._prefixes:
            below = prefix.rstrip("/") + "/"
            if absolute == prefix or absolute.startswith(below):
                return absolute[len(below) :]
        return None

    def outside(self, path: str, why: str) -> WorkspaceError:
        """Build the refusal of ``path``."""
        message = f"path {path!r} is outside the workspace {self.root!r}: {why}; use a path inside it"
        return WorkspaceError(message, "OUTSIDE_WORKSPACE")

    def _parts(self, path: str) -> list[str]:
        _check_text(path)
        below = self.inside(path) if path.startswith("/") else path
        if below is None:
            raise self.outside(path, "it is an absolute path elsewhere")
        parts = _split(below)
        if any(len(os.fsencode(part)) > MAX_NAME_BYTES for part in parts):
            raise WorkspaceError(f"a name in path {path[:80]!r}… exceeds {MAX_NAME_BYTES} bytes", "PATH_TOO_LONG")
        return parts


class _Walk:
    """One way through the workspace. Holds every folder on it open, so that ``..`` returns to where it came from."""

    def __init__(self, workspace: Workspace, shown: str, parts: Sequence[str], create: bool) -> None:
        self.workspace = workspace
        self.shown = shown
        self.pending = deque(parts)
        self.create = create
        self.links = 0
        self.leaf: str | None = None
        self.names: list[str] = []
        self.fds = [workspace.open_root()]

    def run(self) -> None:
        while self.pending:
            self._step(self.pending.popleft())

    def place(self) -> Place:
        names = self.names if self.leaf is None else [*self.names, self.leaf]
        return Place(self.fds[-1], self.leaf, printable("/".join(names)) or ".", self.shown)

    def close(self) -> None:
        while self.fds:
            os.close(self.fds.pop())

    def _step(self, part: str) -> None:
        if part == ".":
            return
        if part == "..":
            self._up()
            return
        target = self._link_target(part)
        if target is not None:
            self._follow(part, target)
        elif self.pending:
            self._down(part)
        else:
            self.leaf = part

    def _up(self) -> None:
        if not self.names:
            raise self.workspace.outside(self.shown, "'..' leads above the root")
        self.names.pop()
        os.close(self.fds.pop())

    def _down(self, part: str) -> None:
        if len(self.fds) > MAX_DEPTH:
            raise WorkspaceError(f"path {self.shown!r} is nested deeper than {MAX_DEPTH} folders", "PATH_TOO_LONG")
        self.fds.append(self._open(part))
        self.names.append(part)

    def _open(self, part: str) -> int:
        try:
            return os.open(part, _DIRECTORY, dir_fd=self.fds[-1])
        except FileNotFoundError:
            # With ".." or a trailing "." ahead the way may still be refused; a refused way must leave nothing behind.
            if not self.create or not {".", ".."}.isdisjoint(self.pending):
                raise
        with suppress(FileExistsError):
            os.mkdir(part, dir_fd=self.fds[-1])
        return os.open(part, _DIRECTORY, dir_fd=self.fds[-1])

    def _link_target(self, part: str) -> str | None:
        try:
            return os.readlink(part, dir_fd=self.fds[-1])
        except OSError as exc:
            if exc.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise

    def _follow(self, part: str, target: str) -> None:
        self.links += 1
        if self.links > MAX_LINKS:
            raise WorkspaceError(f"path {self.shown!r} meets more than {MAX_LINKS} symbolic links", "SYMLINK_LOOP")
        if target.startswith("/"):
            below = self.workspace.inside(target)
            if below is None:
                raise self.workspace.outside(self.shown, f"the symbolic link {part!r} points to {target!r}")
            self._restart()
            target = below
        self.pending.extendleft(reversed(_split(target)))

    def _restart(self) -> None:
        while self.names:
            self.names.pop()
            os.close(self.fds.pop())


def _check_text(path: str) -> None:
    if not isinstance(path, str) or not path:
        raise WorkspaceError("the path is empty; use '.' for the workspace itself", "INVALID_PATH")
    if "\0" in path:
        raise WorkspaceError(f"path {path!r} contains a NUL character", "INVALID_PATH")
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        raise WorkspaceError(f"path {path!r} is not valid Unicode text", "INVALID_PATH") from None
    if size > MAX_PATH_BYTES:
        raise WorkspaceError(f"path {path[:80]!r}… exceeds {MAX_PATH_BYTES} bytes", "PATH_TOO_LONG")


def _split(path: str) -> list[str]:
    """Split at ``/``; a trailing slash or dot stays as ``"."``, because it says that the way ends in a folder."""
    raw = path.split("/")
    parts = [part for part in raw if part not in ("", ".")]
    if parts and raw[-1] in ("", "."):
        parts.append(".")
    return parts
