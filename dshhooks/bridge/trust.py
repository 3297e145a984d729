"""Which hook files of a checkout a person has agreed to run: one hash per file (decisions.md 4.3)."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from dshhooks.bridge.dialects import LAYOUT
from dshhooks.bridge.discovery import home_directory
from dshhooks.bridge.errors import BridgeError
from dshhooks.bridge.files import read_regular
from dshhooks.bridge.model import Source
from dshhooks.bridge.options import BridgeOptions

__all__ = ["TrustStore", "trust_store"]

_PLACE: Final = Path(".config", "dshhooks", "trusted-hooks.json")


class TrustStore:
    """A file of paths and the SHA-256 each had when somebody agreed to it; a changed file is unknown again.

    A path is the place in a project, whatever is linked there: another checkout's link to the same file is another
    place, where the same words run other scripts.

    Args:
        path: Where it is kept. A missing file trusts nobody, and so does one that cannot be read: see :meth:`problem`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def trusts(self, source: Source) -> bool:
        """Say whether exactly these bytes at this place were agreed to."""
        return bool(source.digest) and self.entries().get(_place_of(source.file)) == source.digest

    def entries(self) -> dict[str, str]:
        """Return the trusted files with their hashes."""
        return self._read()[0]

    def problem(self) -> str | None:
        """Return why the store cannot be read, so that it trusts nobody; ``None``: it can, or there is none."""
        return self._read()[1]

    def _read(self) -> tuple[dict[str, str], str | None]:
        try:
            document: Any = json.loads(read_regular(self.path))
        except (FileNotFoundError, NotADirectoryError):
            return {}, None
        except OSError as exc:
            return {}, str(exc.strerror)
        except (ValueError, RecursionError) as exc:
            return {}, str(exc)
        files = document.get("files") if isinstance(document, dict) else None
        if not isinstance(files, dict) or not all(isinstance(digest, str) for digest in files.values()):
            return {}, "it is no table of files and their hashes"
        return files, None

    def add(self, contents: Mapping[str, bytes]) -> None:
        """Trust files with the contents a person has seen.

        Raises:
            BridgeError: The store cannot be written.
        """
        digests = {_place_of(path): hashlib.sha256(data).hexdigest() for path, data in contents.items()}
        with self._alone():
            self._write(self.entries() | digests)

    def remove(self, paths: Iterable[str]) -> None:
        """Trust files no more; those that were not trusted stay so.

        Raises:
            BridgeError: The store cannot be written.
        """
        gone = {_place_of(path) for path in paths}
        with self._alone():
            self._write({path: digest for path, digest in self.entries().items() if path not in gone})

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep others from changing the store meanwhile: what one has taken back, another would write again.

        Raises:
            BridgeError: The store cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(self.path.with_name(f"{self.path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as exc:
            raise self._unwritable(exc) from exc
        try:
            _lock(handle)
            yield
        finally:
            os.close(handle)

    def _unwritable(self, exc: OSError) -> BridgeError:
        return BridgeError(f"{self.path} cannot be written: {exc.strerror}")

    def _write(self, files: Mapping[str, str]) -> None:
        """Replace the store in one step: a reader sees the old or the new one."""
        text = json.dumps({"version": 1, "files": dict(sorted(files.items()))}, indent=2) + "\n"
        try:
            handle, name = tempfile.mkstemp(dir=self.path.parent, prefix=".trusted-")  # mode 0600
            try:
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(text)
                os.replace(name, self.path)
            except BaseException:
                os.unlink(name)
                raise
        except OSError as exc:
            raise self._unwritable(exc) from exc


def _lock(handle: int) -> None:
    """Wait for a file's lock, where there are locks; closing the file gives it back."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(handle, fcntl.LOCK_EX)


def _place_of(path: str) -> str:
    """Return the place of a hook file: its project, with links resolved, and where it stands in there, with none."""
    whole = os.path.abspath(path)
    places = (place.path for place in LAYOUT if place.scope != "user")
    inner = max((place for place in places if whole.endswith(f"{os.sep}{place}")), key=len, default="")
    inner = inner or os.path.basename(whole)
    return os.path.join(os.path.realpath(whole[: -len(inner)]), inner)


def trust_store(options: BridgeOptions, environ: Mapping[str, str] | None = None) -> TrustStore | None:
    """Return the user's store, ``~/.config/dshhooks/trusted-hooks.json``; ``None``: there is no home directory."""
    home = home_directory(options, environ)
    return None if home is None else TrustStore(home / _PLACE)
