"""``read_file``: a range of lines of one regular file, in bounded memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import BinaryIO

import attrs

from .errors import WorkspaceError
from .paths import Place, Workspace
from .text import cut_end

__all__ = ["FileRange", "read_range"]

_PIECE = 64 * 1024
_READ = os.O_RDONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK | os.O_NOCTTY


@attrs.frozen
class FileRange:
    """Lines of a file.

    Args:
        path: The file's path from the root, links resolved.
        content: The text, line ends as they are; bytes that are not UTF-8 read as U+FFFD.
        offset: Number of lines before it.
        lines: Lines it touches, an unfinished one included.
        size: The file's size in bytes.
        truncated: Whether the file goes on after it.
        lossy: Whether bytes that are not UTF-8 were replaced, so that the text cannot be written back.
    """

    path: str
    content: str
    offset: int
    lines: int
    size: int
    truncated: bool
    lossy: bool

    @property
    def next_offset(self) -> int | None:
        """The offset to go on with; None at the end of the file."""
        return self.offset + self.lines if self.truncated else None


def read_range(
    workspace: Workspace,
    path: str,
    offset: int = 0,
    limit: int | None = None,
    *,
    max_bytes: int,
    checkpoint: Callable[[], None] = lambda: None,
) -> FileRange:
    """Read ``limit`` lines after the first ``offset`` ones, whole lines as long as ``max_bytes`` allow.

    A first line longer than ``max_bytes`` is cut; the next offset then leads past it.

    Args:
        workspace: Where ``path`` is looked up.
        path: The file.
        offset: Lines to skip; past the end the content is empty.
        limit: Lines to read; None for as many as fit.
        max_bytes: Bytes of content at most.
        checkpoint: Called between pieces of a long skip; may raise to stop.

    Raises:
        WorkspaceError: ``INVALID_ARGUMENT`` for a negative number, ``NOT_A_FILE`` for anything but a regular file, and
            the errors of ``Workspace.at``.
    """
    _check_range(offset, limit)
    with workspace.at(path) as place, _open(place) as file:
        size = os.fstat(file.fileno()).st_size
        _skip(file, offset, checkpoint)
        data, lines, more = _take(file, limit, max_bytes)
        text = data.decode("utf-8", "replace")
        return FileRange(place.path, text, offset, lines, size, more, text.encode() != data)


def _check_range(offset: int, limit: int | None) -> None:
    if offset < 0:
        raise WorkspaceError(f"offset must be zero or more, not {offset}", "INVALID_ARGUMENT")
    if limit is not None and limit < 1:
        raise WorkspaceError(f"limit must be at least one line, not {limit}", "INVALID_ARGUMENT")


def _open(place: Place) -> BinaryIO:
    # Opening a FIFO or a device can already have effects, so it is asked about before and checked again after.
    found = place.status()
    if found is not None:
        _require_regular(found, place)
    fd = os.open(place.name or ".", _READ, dir_fd=place.fd)
    try:
        _require_regular(os.fstat(fd), place)
        return os.fdopen(fd, "rb", _PIECE)
    except BaseException:
        os.close(fd)
        raise


def _require_regular(found: os.stat_result, place: Place) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    what = "a folder; list_files shows what is in it" if stat.S_ISDIR(found.st_mode) else "not a regular file"
    raise WorkspaceError(f"path {place.shown!r} is {what}", "NOT_A_FILE")


def _skip(file: BinaryIO, lines: int, checkpoint: Callable[[], None]) -> None:
    while lines > 0:
        checkpoint()
        piece = file.read(_PIECE)
        if not piece:
            return
        found = piece.count(b"\n")
        if found >= lines:
            file.seek(_after_newline(piece, lines) - len(piece), os.SEEK_CUR)
        lines -= min(found, lines)


def _after_newline(piece: bytes, count: int) -> int:
    position = 0
    for _ in range(count):
        position = piece.index(b"\n", position) + 1
    return position


def _take(file: BinaryIO, limit: int | None, max_bytes: int) -> tuple[bytes, int, bool]:
    """Return the bytes, the number of lines they touch, and whether more follows."""
    taken: list[bytes] = []
    used = 0
    while limit is None or len(taken) < limit:
        line = file.readline(max_bytes - used + 1)
        if not line:
            return b"".join(taken), len(taken), False
        if used + len(line) > max_bytes:
            return _cut(taken, line, max_bytes)
        taken.append(line)
        used += len(line)
    return b"".join(taken), len(taken), bool(file.read(1))


def _cut(taken: list[bytes], line: bytes, max_bytes: int) -> tuple[bytes, int, bool]:
    if taken:
        return b"".join(taken), len(taken), True
    return cut_end(line[:max_bytes]), 1, True
