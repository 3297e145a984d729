"""The one error class of the plugin, and the translation of operating-system errors into its codes.

=====================  ==========================================================================
code                   when
=====================  ==========================================================================
OUTSIDE_WORKSPACE      a path, or a symbolic link on its way, leads out of the root folder
NOT_FOUND              nothing is there
NOT_A_FILE             a folder, FIFO, device or socket where a regular file is needed
NOT_A_DIRECTORY        something else where a folder is needed
PERMISSION_DENIED      the operating system refuses
INVALID_PATH           empty, with a NUL, or not representable as UTF-8
PATH_TOO_LONG          a name, a whole path or a nesting is beyond what can be opened
SYMLINK_LOOP           symbolic links lead in a circle
TOO_LARGE              content or a command exceeds a limit
INVALID_ARGUMENT       another argument cannot be used
SHELL_NOT_FOUND        the configured shell is not installed
WORKSPACE_MOVED        the root folder is no longer the one the plugin was started with
UNSUPPORTED_PLATFORM   the operating system lacks what confinement needs
IO_ERROR               any other operating-system error
=====================  ==========================================================================
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from dshhooks import HarnessError

__all__ = ["WorkspaceError", "os_errors"]

_CODES = {
    errno.ENOENT: ("NOT_FOUND", "does not exist; list_files shows what is there"),
    errno.EACCES: ("PERMISSION_DENIED", "is not accessible for this user"),
    errno.EPERM: ("PERMISSION_DENIED", "may not be changed by this user"),
    errno.ENOTDIR: ("NOT_A_DIRECTORY", "passes through something that is not a folder, or was swapped meanwhile"),
    errno.EISDIR: ("NOT_A_FILE", "is a folder"),
    errno.ELOOP: ("SYMLINK_LOOP", "became a symbolic link while it was opened; try again"),
    errno.ENAMETOOLONG: ("PATH_TOO_LONG", "is too long; use a shorter name"),
}


class WorkspaceError(HarnessError):
    """A workspace tool refuses or fails; the table of codes is in the module's docstring."""


@contextmanager
def os_errors(path: str) -> Iterator[None]:
    """Turn an ``OSError`` about ``path`` inside the block into a ``WorkspaceError``.

    Args:
        path: The path as the caller wrote it; the message shows it instead of the descriptor-relative name.

    Raises:
        WorkspaceError: With the code the table gives the error number, ``IO_ERROR`` for the rest.
    """
    try:
        yield
    except OSError as exc:
        fallback = ("IO_ERROR", f"failed: {exc.strerror or exc}")
        code, what = _CODES.get(exc.errno or 0, fallback)
        raise WorkspaceError(f"path {path!r} {what}", code) from exc
