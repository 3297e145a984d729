"""A settings file of somebody else's program: read, kept once as it was, and replaced in one step."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from dshhooks.clients.settings_text import SettingsError

__all__ = ["BACKUP", "SettingsFile", "decoded", "encoded"]

BACKUP: Final = ".dshhooks-backup"
_BOM: Final = "\ufeff"
_LARGEST: Final = 16 << 20


class SettingsFile:
    """A file that may not be there yet.

    Args:
        path: Where the client looks for it; it may be a link, which stays one.
        base: The folder the client's own folders stand in: never removed.
    """

    def __init__(self, path: Path, base: Path) -> None:
        self.path, self.base = path, base
        self.backup = path.with_name(path.name + BACKUP)

    def read(self) -> bytes | None:
        """Return the contents; ``None`` if there is no file.

        Raises:
            SettingsError: It cannot be read.
        """
        return _contents(self.path)

    def original(self) -> bytes | None:
        """Return what was kept; ``None`` if there was no file, or nothing is known."""
        return _contents(self.backup)

    @contextlib.contextmanager
    def held(self, *, make: bool) -> Iterator[None]:
        """Keep other installers out while the block runs.

        Args:
            make: Make the folders that are missing; they are gone again if the block raises.

        Raises:
            SettingsError: The folder cannot be made or entered.
        """
        made = [folder for folder in self.path.parents if not folder.exists()] if make else []
        try:
            with _locked(self.path.parent, make=make):
                yield
        except BaseException as exc:
            _remove_empty(made)
            if isinstance(exc, OSError):
                raise SettingsError(f"{self.path} cannot be changed: {exc.strerror or exc}") from exc
            raise

    def replace(self, data: bytes) -> None:
        """Put other contents in the place of the old ones; who may read and write it stays as it was."""
        _replace(Path(os.path.realpath(self.path)), data)

    @contextlib.contextmanager
    def kept(self, data: bytes) -> Iterator[None]:
        """Keep what the file was before we were in it, unless the block that puts us there raises."""
        _replace(self.backup, data, like=self.path)
        try:
            yield
        except BaseException:
            self.forget()
            raise

    def forget(self) -> None:
        """Remove what was kept."""
        self.backup.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the file, and the folders that are empty without it; a link stays, and what it leads to goes."""
        Path(os.path.realpath(self.path)).unlink()
        _remove_empty(folder for folder in self.path.parents if self.base in folder.parents)


def decoded(data: bytes, path: Path) -> tuple[str, str]:
    """Return a byte order mark, if there is one, and the text behind it.

    Raises:
        SettingsError: It is not UTF-8.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise SettingsError(f"{path} is not UTF-8 at byte {exc.start}: nothing was changed; save it as UTF-8") from None
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def encoded(mark: str, text: str, path: Path) -> bytes:
    """Return the bytes of a text.

    Raises:
        SettingsError: It holds a path of this machine that is no text.
    """
    try:
        return (mark + text).encode("utf-8")
    except UnicodeEncodeError:
        raise SettingsError(
            f"{path} cannot hold the command: the path of Python or of dshhooks is not UTF-8; install both elsewhere"
        ) from None


def _contents(path: Path) -> bytes | None:
    try:
        # Without waiting for somebody to write into it, should it be a pipe.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SettingsError(f"{path} is no file: nothing was changed")
            data = file.read(_LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as exc:
        raise SettingsError(f"{path} cannot be read: {exc.strerror}; nothing was changed") from exc
    if len(data) > _LARGEST:
        raise SettingsError(f"{path} has more than {_LARGEST} bytes: nothing was changed")
    return data


def _replace(path: Path, data: bytes, like: Path | None = None) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            _copy_access(like or path, handle)
            file.write(data)
            file.flush()
            os.fsync(handle)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _copy_access(path: Path, handle: int) -> None:
    """Give a new file the mode and owner of an old one, or the mode any new file would get."""
    try:
        old = path.stat()
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(handle, 0o666 & ~mask)
        return
    with contextlib.suppress(OSError):  # only root can give files away; for anybody else they are the same
        os.fchown(handle, old.st_uid, old.st_gid)
    os.fchmod(handle, stat.S_IMODE(old.st_mode))


@contextlib.contextmanager
def _locked(folder: Path, *, make: bool) -> Iterator[None]:
    """Hold a lock on a folder itself: a lock file would be one more thing to leave behind."""
    import fcntl

    while True:
        if make:
            folder.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            if make:
                continue  # somebody else took it away again
            yield  # so there is nothing in it
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if _is_still(folder, handle):
                yield
                return
        finally:
            os.close(handle)


def _is_still(folder: Path, handle: int) -> bool:
    """Whether nobody removed, or removed and made, the folder while we waited."""
    try:
        return os.path.samestat(folder.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _remove_empty(folders: Iterable[Path]) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return  # something else is in it, or it is a link
