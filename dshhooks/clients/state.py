"""Where a user's log, caches and counters are, and the counter that keeps a turn from going on for ever.

Imports ``os`` only: the process that answers for a dead one needs it too.
"""

from __future__ import annotations

import os

__all__ = ["MAX_CONTINUATIONS", "cache_folder", "continuations", "forget_continuations", "is_continuation", "log_file",
           "log_records", "may_go_on", "note", "open_log", "state_folder"]  # fmt: skip

# Codex and Gemini go on for as long as a hook says so (observed.md 4); Claude and qwen end it after eight.
MAX_CONTINUATIONS = 8
MAX_LOG = 1_000_000


def state_folder() -> str:
    """Return the folder for what is kept: ``$XDG_STATE_HOME/dshhooks``; nothing is made."""
    return _under("XDG_STATE_HOME", ".local/state")


def cache_folder() -> str:
    """Return the folder for what may be lost: ``$XDG_CACHE_HOME/dshhooks``; nothing is made."""
    return _under("XDG_CACHE_HOME", ".cache")


def _under(variable: str, default: str) -> str:
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):  # the rule of the XDG specification: a relative one does not count
        base = os.path.join(os.path.expanduser("~"), default)
    if not os.path.isabs(base):  # no home: a list of plugins in the working directory would be the agent's to write
        base = os.devnull
    return os.path.join(base, "dshhooks")


def log_file() -> str:
    """Return the path of the log."""
    return os.path.join(state_folder(), "handle.log")


def open_log() -> int:
    """Open the log to append to, for its owner only; a full one becomes ``handle.log.1``.

    Returns:
        A file descriptor; of ``/dev/null`` when there can be no log.
    """
    path = log_file()
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = _append(path)
        return _emptied(path, descriptor) if os.fstat(descriptor).st_size > MAX_LOG else descriptor
    except (OSError, ImportError):
        return os.open(os.devnull, os.O_WRONLY)


def _emptied(path: str, descriptor: int) -> int:
    from dshhooks.engine.rotation import put_aside

    try:
        put_aside(path, descriptor)
    finally:
        os.close(descriptor)
    return _append(path)


def note(line: str) -> None:
    """Add a line with its time to the log; that it cannot be written changes nothing.

    Args:
        line: What happened; cut at 4000 characters.
    """
    from time import strftime

    log = open_log()
    try:
        os.write(log, f"{strftime('%Y-%m-%dT%H:%M:%S')} dshhooks: {line[:4000]}\n".encode("utf-8", "replace"))
    except OSError:
        pass
    finally:
        os.close(log)


def log_records() -> None:
    """Write what is logged to stderr, which is the log by then: what plugins are in shadow, warnings of everybody."""
    from dshhooks.engine.logs import set_up_later

    set_up_later(_log_records)


def _log_records() -> None:
    import logging

    logging.basicConfig(format="%(asctime)s dshhooks: %(message)s", level=logging.WARNING)
    logging.getLogger("dshhooks").setLevel(logging.INFO)


def _append(path: str) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    return os.open(path, flags, 0o600)


# -- continuations -----------------------------------------------------------------------------------------------------


def may_go_on(client: str, session: str, text: str) -> bool:
    """Count one more continuation of a session's turn; say whether it is one too many.

    False as well where it cannot be counted: a turn that ends is better than one that never does.

    Args:
        client: The client.
        session: Its session.
        text: What the turn goes on with, as it is written.
    """
    if not session:
        return False
    path = _counter(client, session)
    count = continuations(client, session) + 1
    if count > MAX_CONTINUATIONS:
        return False
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(descriptor, b"%d %d" % (count, _mark(text)))
        finally:
            os.close(descriptor)
    except OSError:
        return False
    return True


def continuations(client: str, session: str) -> int:
    """Return how often a session's turn went on because of a hook."""
    return _counted(client, session)[0]


def is_continuation(client: str, session: str, prompt: str) -> bool:
    """Say whether a prompt is what the turn goes on with: Gemini submits that as if a user had written it."""
    count, mark = _counted(client, session)
    return count > 0 and mark == _mark(prompt)


def _counted(client: str, session: str) -> tuple[int, int]:
    try:
        with open(_counter(client, session), "rb") as file:
            count, mark = file.read(40).split()
            return int(count), int(mark)
    except (OSError, ValueError):
        return 0, 0


def _mark(text: str) -> int:
    """Return a number to know a text by; the text itself is nobody's to keep."""
    from binascii import crc32

    return crc32(text.strip().encode("utf-8", "replace"))


def forget_continuations(client: str, session: str) -> None:
    """Start counting anew: a prompt came, or the turn ended."""
    try:
        os.unlink(_counter(client, session))
    except OSError:
        pass  # there was none


def _counter(client: str, session: str) -> str:
    name = "".join(c if c.isascii() and (c.isalnum() or c == "-") else "_" for c in f"{client}-{session}")[:150]
    return os.path.join(state_folder(), "turns", name)
