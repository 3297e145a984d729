"""Writing the answer: it is the only thing on stdout, or no client takes it for one (observed.md 2; decisions.md 7.26).

Loaded by path as well, so it imports nothing but what is built in, and that only where there is something to write.
"""

from __future__ import annotations

import posix

from dshhooks.clients.failure import peek

__all__ = ["DirtyError", "unwritten", "write"]

Wire = tuple[bytes, bytes, int]


class DirtyError(OSError):
    """Something else is on stdout already: a client that reads both takes neither for an answer."""


def write(data: bytes) -> None:
    """Write an answer to stdout.

    Raises:
        DirtyError: It would not be alone.
        OSError: Stdout cannot be written.
    """
    if data and _is_dirty():
        raise DirtyError("something else was written to stdout before the answer")
    while data:
        data = data[posix.write(1, data) :]


def _is_dirty() -> bool:
    """Say whether something was written before us, as far as that can be seen.

    What stands in a file can be, and what a pipe's reader has not taken yet.
    """
    import fcntl
    import termios

    try:
        return posix.lseek(1, 0, 1) > 0
    except OSError:
        pass  # no file
    try:
        return any(fcntl.ioctl(1, termios.FIONREAD, bytes(4)))
    except OSError:
        return False


def unwritten(answer: Wire, exc: OSError) -> Wire:
    """Return how an answer ends that stdout does not take: by exit code and stderr, which all clients but Vibe honour.

    Args:
        answer: What could not be written; one that holds nothing up is lost, and nothing is held up for it.
        exc: Why.
    """
    reason = _denied_with(peek(answer[0]))
    if reason is None:
        return b"", b"", 0
    what = "" if isinstance(exc, DirtyError) else "dshhooks could not write its answer to stdout: "
    return b"", f"{reason} ({what}{exc.strerror or exc})\n".encode("utf-8", "replace"), 2


def _denied_with(document: object) -> str | None:
    """Return the reason in an answer that holds something up; ``None`` for one that does not."""
    if not isinstance(document, dict):
        return None
    specific = document.get("hookSpecificOutput", document)
    decision = specific.get("decision", specific)
    for part in (document, specific, decision if isinstance(decision, dict) else {}):
        if any(part.get(key) in ("deny", "block", "ask") for key in ("decision", "permissionDecision", "behavior")):
            return str(part.get("permissionDecisionReason") or part.get("reason") or part.get("message"))
    return None
