"""Hook files from disk: bytes, text, JSON; what goes wrong is a diagnostic, never an exception (A.9.1)."""

from __future__ import annotations

import codecs
import hashlib
import json
import re
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any, Final

from attrs import define, field, frozen

from dshhooks.bridge.files import read_named, read_regular
from dshhooks.bridge.model import Diagnostic, Level

__all__ = ["Document", "Report", "below", "described", "read_document", "read_text"]

_MEANINGLESS: Final = object()


@define
class Report:
    """Collects the diagnostics of one file."""

    source: str
    diagnostics: list[Diagnostic] = field(factory=list)

    def add(self, level: Level, code: str, path: str, message: str, hint: str | None = None) -> None:
        """Note something about the member that the JSON pointer ``path`` leads to."""
        self.diagnostics.append(Diagnostic(level, code, message, self.source, path, hint))


def below(path: str, name: str) -> str:
    """Return the JSON pointer of a member of what ``path`` points to."""
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"


@frozen
class Document:
    """A file that was read: ``data`` is its JSON, if it is JSON; ``digest`` is over its bytes."""

    data: Any
    digest: str
    valid: bool


def read_document(path: Path, report: Report, *, pipes: MutableMapping[str, bytes] | None = None) -> Document | None:
    """Read a file; ``None`` if it does not exist. Everything else that is wrong is in the report.

    Args:
        path: The file; only a regular one is read, which a link may lead to.
        report: Takes what is wrong.
        pipes: For a file somebody named: it may be a pipe, and what it said is kept here for the next reading.
    """
    try:
        data = read_regular(path) if pipes is None else read_named(path, pipes)
    except (FileNotFoundError, NotADirectoryError):
        return None  # nothing is there; in the second case because a part of the path is a file
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) and exc.strerror else str(exc)
        report.add("error", "file-unreadable", "", f"cannot be read: {reason}")
        return Document(None, "", False)
    digest = hashlib.sha256(data).hexdigest()
    try:
        text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8")
    except UnicodeDecodeError as exc:
        report.add("error", "file-encoding", "", f"is not UTF-8: byte 0x{data[exc.start]:02x} at offset {exc.start}",
                   "save it as UTF-8")  # fmt: skip
        return Document(None, digest, False)
    value = read_text(text, report, comments=path.suffix == ".jsonc")
    return Document(None, digest, False) if value is _MEANINGLESS else Document(value, digest, True)


def read_text(text: str, report: Report, *, comments: bool = False) -> Any:
    """Parse JSON, with comments and trailing commas if the file may have them."""
    try:
        return json.loads(_plain(text) if comments else text)
    except json.JSONDecodeError as exc:
        hint = None if comments or not _COMMENT.search(text) else "JSON has no comments and no trailing commas"
        report.add(
            "error", "json-invalid", "", f"is not JSON: {exc.msg} at line {exc.lineno}, column {exc.colno}", hint
        )
    except RecursionError:
        report.add("error", "json-invalid", "", "is nested too deep")
    except ValueError as exc:
        report.add("error", "json-invalid", "", f"is not JSON we can read: {exc}")
    return _MEANINGLESS


_COMMENT: Final = re.compile(r"^\s*(?://|/\*)|,\s*[\]}]", re.M)
_TOKEN: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[\]}])', re.S)


def _plain(text: str) -> str:
    """Blank out comments and trailing commas; lines and columns stay where they are."""
    return "".join(_blanked(text))


def _blanked(text: str) -> Iterator[str]:
    position = 0
    for found in _TOKEN.finditer(text):
        yield text[position : found.start()]
        yield found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0])
        position = found.end()
    yield text[position:]


def described(value: Any) -> str:
    """Say in words what a JSON value is, for a message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return f"the number {value:.12g}" if isinstance(value, float) else "a number"
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list) else "an object"
