"""Bytes of hook files, never more than anybody writes, and never from something that does not end (A.9.1)."""

from __future__ import annotations

import os
import stat
from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

__all__ = ["read_named", "read_regular"]

_LARGEST: Final = 16 << 20
# For what is put in place of a file between looking and opening: opening a pipe waits for somebody to write.
_AT_ONCE: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
_KINDS: Final = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket",
                 stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}  # fmt: skip


def read_regular(path: str | os.PathLike[str]) -> bytes:
    """Read a file that may come from anybody's checkout, where there can be a pipe or a link to a device.

    Raises:
        OSError: It cannot be read, or is not there.
        ValueError: It is no regular file, or larger than 16 MiB.
    """
    _refuse_other_kinds(os.stat(path).st_mode, stat.S_IFREG)  # first: opening a device may already do something
    with open(path, "rb", opener=_opened) as file:
        _refuse_other_kinds(os.fstat(file.fileno()).st_mode, stat.S_IFREG)
        return _whole(file.read(_LARGEST + 1))


def _opened(path: str, _flags: int) -> int:
    return os.open(path, _AT_ONCE)


def read_named(path: Path, pipes: MutableMapping[str, bytes]) -> bytes:
    """Read a file that somebody named: also a pipe, such as a shell's ``<(...)``, until its writer closes it.

    Args:
        path: The file.
        pipes: What pipes have said, by path: none says it twice, and the next reading wants to know it, too.

    Raises:
        OSError: It cannot be read, or is not there.
        ValueError: It is neither a file nor a pipe, or larger than 16 MiB.
    """
    if str(path) in pipes:
        return pipes[str(path)]
    mode = os.stat(path).st_mode
    if not stat.S_ISFIFO(mode):
        return read_regular(path)
    with path.open("rb") as file:
        data = pipes[str(path)] = _whole(file.read(_LARGEST + 1))
    return data


def _refuse_other_kinds(mode: int, wanted: int) -> None:
    kind = stat.S_IFMT(mode)
    if kind != wanted:
        raise ValueError(f"it is {_KINDS.get(kind, 'something else')}, not a regular file")


def _whole(data: bytes) -> bytes:
    if len(data) > _LARGEST:
        raise ValueError(f"it has more than {_LARGEST} bytes")
    return data
