"""File names for session ids and working directories."""

from __future__ import annotations

import hashlib
import re
from typing import Final

__all__ = ["project", "segment"]

_LONGEST: Final = 180  # bytes; file systems take 255, and suffixes are added
_UNSAFE: Final = re.compile(rb"[^A-Za-z0-9._-]")


def segment(session_id: str) -> str:
    """Return the one path segment that stands for a session id; no two ids share one, and none leaves its directory."""
    if session_id == "":
        return "~"
    raw = session_id.encode("utf-8", "surrogatepass")
    escaped = (b"~2E" * len(raw) if raw in (b".", b"..") else _UNSAFE.sub(_escape, raw)).decode("ascii")
    if len(escaped) <= _LONGEST:
        return escaped
    # "~h" is no escape, so a shortened name cannot be another id's.
    return f"{escaped[:100]}~h{hashlib.sha256(raw).hexdigest()}"


def _escape(found: re.Match[bytes]) -> bytes:
    return b"~%02X" % found.group()[0]


def project(cwd: str | None) -> str:
    """Return a readable directory name for the sessions of a working directory; different ones may share it."""
    if cwd is None:
        return "no-project"
    key = re.sub(r"[^A-Za-z0-9_-]+", "-", cwd).strip("-")
    return f"at-{key[-_LONGEST:]}"
