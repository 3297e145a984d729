"""A full file is put aside by exactly one of those who write to it (spec/external-hooks.md A.13)."""

from __future__ import annotations

import fcntl
import os

__all__ = ["put_aside"]


def put_aside(path: str, descriptor: int) -> None:
    """Rename an open file to ``<path>.1``, unless another writer does so now or has done it.

    Whoever renames holds the file's lock, so what has taken its place meanwhile is never renamed over it.

    Args:
        path: Where the file was opened.
        descriptor: The open file; its lock ends when it is closed.

    Raises:
        OSError: It cannot be renamed.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), os.stat(path)):
            os.replace(path, f"{path}.1")
    except (BlockingIOError, FileNotFoundError):
        return  # another one is at it, or was
