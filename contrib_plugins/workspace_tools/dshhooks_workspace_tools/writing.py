"""``write_file``: replace one regular file, all of it or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress

import attrs

from .errors import WorkspaceError
from .paths import Place, Workspace

__all__ = ["Written", "write_text"]

_PROBE = os.O_WRONLY | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0) | os.O_NONBLOCK | os.O_NOCTTY
_FRESH = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)


@attrs.frozen
class Written:
    """A finished write.

    Args:
        path: The file's path from the root, links resolved.
        size: Bytes written.
    """

    path: str
    size: int


def write_text(workspace: Workspace, path: str, content: str, *, max_bytes: int) -> Written:
    """Write ``content`` as UTF-8, unchanged, to ``path``; make missing folders.

    The new content appears under the name at once, by renaming a temporary file beside it; an existing file keeps its
    permission bits, and its owner where the system allows. Other hard links to the old file keep the old content.

    Args:
        workspace: Where ``path`` is looked up.
        path: The file; a link to a place inside is written through.
        content: The whole new content.
        max_bytes: Bytes of content accepted.

    Raises:
        WorkspaceError: ``TOO_LARGE``, ``INVALID_ARGUMENT`` for text that is not Unicode, ``NOT_A_FILE`` for a path
            that is a folder, FIFO, device or socket, ``PERMISSION_DENIED`` for a file this user may not write, and the
            errors of ``Workspace.at``. Nothing has been changed then.
    """
    data = _encoded(content, max_bytes)
    if path.rsplit("/", 1)[-1] in ("", ".", "..") and path:
        raise WorkspaceError(f"path {path!r} names a folder, not a file to write", "NOT_A_FILE")
    with workspace.at(path, create_parents=True) as place:
        _replace(place, data, _existing(place))
        return Written(place.path, len(data))


def _encoded(content: str, max_bytes: int) -> bytes:
    try:
        data = content.encode()
    except UnicodeEncodeError as exc:
        message = f"content has a character that is not Unicode text at index {exc.start}"
        raise WorkspaceError(message, "INVALID_ARGUMENT") from None
    if len(data) > max_bytes:
        raise WorkspaceError(f"content has {len(data)} bytes, more than the {max_bytes} allowed", "TOO_LARGE")
    return data


def _existing(place: Place) -> os.stat_result | None:
    """Return the status of the file to replace, None when there is none; refuse what may not be replaced."""
    found = place.status()
    if found is None:
        return None
    if not stat.S_ISREG(found.st_mode) or place.name is None:
        what = "a folder" if stat.S_ISDIR(found.st_mode) else "not a regular file"
        raise WorkspaceError(f"path {place.shown!r} is {what} and cannot be written", "NOT_A_FILE")
    # A rename needs no permission on the old file; asking for it keeps read-only files safe.
    os.close(os.open(place.name, _PROBE, dir_fd=place.fd))
    return found


def _replace(place: Place, data: bytes, old: os.stat_result | None) -> None:
    assert place.name is not None
    # Short whatever the name is: a suffix could make a long name too long.
    temporary = f".workspace-{secrets.token_hex(8)}.tmp"
    fd = os.open(temporary, _FRESH, 0o666 if old is None else 0o600, dir_fd=place.fd)
    try:
        with os.fdopen(fd, "wb", buffering=0) as file:
            _write_all(file.fileno(), data)
            if old is not None:
                _keep_owner_and_mode(file.fileno(), old)
        os.replace(temporary, place.name, src_dir_fd=place.fd, dst_dir_fd=place.fd)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=place.fd)
        raise


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _keep_owner_and_mode(fd: int, old: os.stat_result) -> None:
    # Only root may give a file away; a file that then belongs to the writer is the usual result of a rename.
    with suppress(OSError):
        os.fchown(fd, old.st_uid, old.st_gid)
    # New content never inherits set-id bits; a plain write would clear them as well.
    os.fchmod(fd, stat.S_IMODE(old.st_mode) & ~(stat.S_ISUID | stat.S_ISGID))
