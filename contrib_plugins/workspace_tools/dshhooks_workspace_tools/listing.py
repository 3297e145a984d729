"""``list_files``: the entries of a folder, or of everything below it, without following links."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, suppress

import attrs

from .errors import WorkspaceError
from .globs import Pattern
from .paths import MAX_DEPTH, Workspace
from .text import printable

__all__ = ["Entry", "Listing", "list_entries"]

MAX_VISITED = 200_000
MAX_PATTERN = 1000

_DIRECTORY = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


@attrs.frozen
class Entry:
    """One entry.

    Args:
        path: Its path from the root; bytes that are not UTF-8 read as U+FFFD.
        type: ``file``, ``directory``, ``symlink`` or ``other``.
        size: Bytes of a file; None for the rest.
    """

    path: str
    type: str
    size: int | None


@attrs.frozen
class Listing:
    """Entries in order of their names, each folder before what it holds.

    Args:
        path: The listed folder's path from the root.
        entries: What matched.
        truncated: Whether there may be more: a limit was reached, or a folder could not be read.
    """

    path: str
    entries: tuple[Entry, ...]
    truncated: bool


def list_entries(
    workspace: Workspace,
    path: str = ".",
    pattern: str = "*",
    recursive: bool = False,
    *,
    max_entries: int,
    skip: tuple[str, ...] = (),
    checkpoint: Callable[[], None] = lambda: None,
) -> Listing:
    """List what matches ``pattern`` in the folder ``path``.

    Args:
        workspace: Where ``path`` is looked up.
        path: The folder; a link to a folder inside is followed, links found in it are not.
        pattern: See ``Pattern``; one with folders (``src/*.py``, ``**/*.md``) makes the listing recursive.
        recursive: Whether to enter folders.
        max_entries: Entries returned at most.
        skip: Names of folders that are listed but not entered.
        checkpoint: Called for every folder; may raise to stop.

    Raises:
        WorkspaceError: ``NOT_A_DIRECTORY``, ``INVALID_ARGUMENT`` for an endless pattern, and the errors of
            ``Workspace.at``.
    """
    if len(pattern) > MAX_PATTERN:
        raise WorkspaceError(f"pattern has {len(pattern)} characters, more than {MAX_PATTERN}", "INVALID_ARGUMENT")
    glob = Pattern(pattern)
    with workspace.at(path) as place:
        _require_directory(place.status(), place.shown)
        scan = _Scan(recursive or glob.has_folders, frozenset(skip), checkpoint)
        entries: list[Entry] = []
        # Closed by hand: a generator left half-way keeps its folders open until it is collected.
        with closing(scan.walk(place.open_directory())) as found:
            for names, status in found:
                if not glob.matches(names):
                    continue
                if len(entries) == max_entries:
                    scan.incomplete = True
                    break
                entries.append(_entry(place.path, names, status))
        return Listing(place.path, tuple(entries), scan.incomplete)


class _Scan:
    """A depth-first walk. ``incomplete`` says that something was left out."""

    def __init__(self, recursive: bool, skip: frozenset[str], checkpoint: Callable[[], None]) -> None:
        self.recursive = recursive
        self.skip = skip
        self.checkpoint = checkpoint
        self.visited = 0
        self.incomplete = False
        self.levels: list[tuple[int, Iterator[str], tuple[str, ...]]] = []

    def walk(self, fd: int) -> Generator[tuple[tuple[str, ...], os.stat_result]]:
        """Yield the entries below the open folder, and close it."""
        try:
            self._push(fd, ())
            while self.levels:
                fd, rest, above = self.levels[-1]
                name = next(rest, None)
                if name is None or self._exhausted():
                    os.close(self.levels.pop()[0])
                    continue
                with suppress(FileNotFoundError):
                    found = os.stat(name, dir_fd=fd, follow_symlinks=False)
                    yield (*above, name), found
                    if self.recursive and stat.S_ISDIR(found.st_mode) and name not in self.skip:
                        self._enter(fd, (*above, name))
        finally:
            while self.levels:
                os.close(self.levels.pop()[0])

    def _exhausted(self) -> bool:
        self.visited += 1
        self.incomplete = self.incomplete or self.visited > MAX_VISITED
        return self.visited > MAX_VISITED

    def _enter(self, fd: int, names: tuple[str, ...]) -> None:
        if len(names) >= MAX_DEPTH:
            self.incomplete = True
            return
        try:
            inner = os.open(names[-1], _DIRECTORY, dir_fd=fd)
        except OSError:
            self.incomplete = True
            return
        self._push(inner, names)

    def _push(self, fd: int, names: tuple[str, ...]) -> None:
        # Registered before anything can raise, so that the walk's end closes it.
        self.levels.append((fd, iter(()), names))
        self.checkpoint()
        self.levels[-1] = (fd, iter(sorted(os.listdir(fd))), names)


def _require_directory(found: os.stat_result | None, shown: str) -> None:
    if found is not None and not stat.S_ISDIR(found.st_mode):
        raise WorkspaceError(f"path {shown!r} is not a folder; read_file reads a file", "NOT_A_DIRECTORY")


def _entry(base: str, names: tuple[str, ...], found: os.stat_result) -> Entry:
    path = printable("/".join(names))
    size = found.st_size if stat.S_ISREG(found.st_mode) else None
    return Entry(path if base == "." else f"{base}/{path}", _type(found.st_mode), size)


def _type(mode: int) -> str:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    return "symlink" if stat.S_ISLNK(mode) else "other"
