"""Starts the daemon of a configuration, detached, unless one runs: what the lean client does when it found none.

Loaded by path like the courier. A daemon holds the lock of its configuration as long as it lives; the lean client
takes it first and hands it down, so of many calls at once exactly one starts a daemon.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # built into the interpreter, and typeshed has no stub for it
import posix
import time

__all__ = ["LOCK_FD", "MOST", "abandon", "is_crowded", "is_wanted", "start", "take_lock", "take_slot"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import NoReturn

LOCK_FD = 3
# A daemon that listens wipes the word from its lock. As long as it stands in a lock that is free, the last start has
# failed, and calls do without for this many seconds: trying each time would cost more than it brings.
PAUSE = 30.0
# Of daemons of one user; each takes some 30 MB.
MOST = 16
SLOTS = 4


def start(folder: bytes, name: str, command: Sequence[str | bytes], environ: Mapping[bytes, bytes]) -> None:
    """Start a daemon in the background, if the user wants daemons and none holds this configuration's lock.

    Args:
        folder: The directory of this user's daemons.
        name: The configuration's.
        command: The program, by its absolute path, and its arguments.
        environ: Its environment.
    """
    if not is_wanted(environ):
        return
    lock = take_lock(folder, name)
    if lock is None:
        return
    if is_crowded(folder):
        posix.close(lock)
        return
    found = posix.fstat(lock)
    if not found.st_size or found.st_mtime < time.time() - PAUSE:
        posix.pwrite(lock, b"starting\n", 0)
        # The lean client's way of answering a signal must not run in its children.
        mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
        child = posix.fork()
        if not child:
            _detach(lock, mask, command, environ)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
        posix.waitpid(child, 0)
    posix.close(lock)


def is_crowded(folder: bytes) -> bool:
    """Say whether this user has so many daemons that another one would be a burden; sweeps up after the dead first.

    An environment that is another one in each session, or a thousand folders, must not fill the memory.
    """
    names = [entry[: -len(b".sock")].decode() for entry in posix.listdir(folder) if entry.endswith(b".sock")]
    return len(names) >= MOST and sum(not _swept(folder, name) for name in names) >= MOST


def _swept(folder: bytes, name: str) -> bool:
    lock = take_lock(folder, name)
    if lock is None:
        return False
    abandon(folder, name)
    posix.close(lock)
    return True


def take_lock(folder: bytes, name: str) -> int | None:
    """Return the configuration's lock as an open file; ``None``: it is taken, or this user cannot have daemons here."""
    import fcntl

    make_private(folder)
    path = folder + b"/" + name.encode() + b".lock"
    lock = posix.open(path, posix.O_RDWR | posix.O_CREAT | posix.O_NOFOLLOW | posix.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        posix.close(lock)
        return None
    return lock


def take_slot(folder: bytes) -> bool:
    """Say whether this process may evaluate now: only a few do at once, while a daemon could be on its way.

    The slot goes with the process. Two hundred interpreters at once would have no answer in time, where a daemon that
    is up a moment later has two hundred.
    """
    import fcntl

    flags = posix.O_RDWR | posix.O_CREAT | posix.O_NOFOLLOW | posix.O_CLOEXEC
    for number in range(SLOTS):
        slot = posix.open(folder + b"/slot-%d" % number, flags, 0o600)
        try:
            fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            posix.close(slot)
    return False


def is_wanted(environ: Mapping[bytes, bytes]) -> bool:
    """Say whether the user wants daemons."""
    return environ.get(b"DSHHOOKS_SERVE", b"").strip().lower() not in (b"0", b"off", b"no", b"false")


def make_private(folder: bytes) -> None:
    """Create the directory of this user's daemons.

    Raises:
        OSError: It cannot be created, or what is there belongs to somebody else or is open to others.
    """
    try:
        posix.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    found = posix.lstat(folder)
    if found.st_mode & 0o170077 != 0o040000 or found.st_uid != posix.geteuid():
        raise PermissionError(f"{folder!r} is not a private directory of this user")


def abandon(folder: bytes, name: str) -> None:
    """Take a daemon that hangs out of the way: the next call starts another, and this one ends when it wakes up."""
    for ending in (b".sock", b".lock"):
        try:
            posix.unlink(folder + b"/" + name.encode() + ending)
        except OSError:
            pass  # another call was faster


def _detach(lock: int, mask: Iterable[int], command: Sequence[str | bytes], environ: Mapping[bytes, bytes]) -> NoReturn:
    """Become the daemon: a session and streams of its own, so that no agent waits for it, and nothing else open."""
    try:
        for number in (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP, _signal.SIGALRM):
            _signal.signal(number, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
        posix.setsid()
        if posix.fork():
            posix._exit(0)
        devnull = posix.open("/dev/null", posix.O_RDWR)
        for number in range(LOCK_FD):
            posix.dup2(devnull, number)
        if lock != LOCK_FD:
            posix.dup2(lock, LOCK_FD)
        posix.set_inheritable(LOCK_FD, True)
        posix.closerange(LOCK_FD + 1, 1 << 16)
        posix.execve(command[0], list(command), dict(environ))
    finally:
        posix._exit(1)
