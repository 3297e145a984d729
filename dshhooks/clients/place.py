"""Where the daemon of one configuration listens: the same few facts, read the same way on both sides of the socket.

Loaded by path by the lean client, so it imports nothing but modules that are built into the interpreter. What belongs
to a configuration: interpreter, installation, working directory, the switches, and the environment without what an
agent sets anew for each call. Whoever differs in one of them gets another daemon.
"""

from __future__ import annotations

import _imp
import posix
import sys

__all__ = [
    "FORM",
    "MISLEADING",
    "connect",
    "directory",
    "identity",
    "interpreter",
    "is_own_socket",
    "is_private",
    "lock_path",
    "peer_is_ours",
    "peer_runs",
    "socket_path",
    "split_environment",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Mapping, Sequence
    from typing import Any

# Raised when what makes up a configuration changes its form.
FORM = 1

# Set by agents for each call or session; they travel with the request. A key is not one of them: plugins may need it.
_OF_THE_CALL = (b"CLAUDE", b"AI_AGENT", b"CODEX_", b"GEMINI_", b"QWEN_", b"COPILOT_", b"OPENHANDS_", b"VIBE_",
                b"OPENCODE", b"GIT_CONFIG_")  # fmt: skip
_OF_THE_SHELL = (b"PWD", b"OLDPWD", b"SHLVL", b"_", b"COLUMNS", b"LINES")
# Python takes its own path from these, with -I and -E as well (measured with 3.11 to 3.13): whoever sets one would
# have another program judge. They are meant for whatever the agent runs, so nothing of ours is started with them.
MISLEADING = (b"PYTHONEXECUTABLE", b"__PYVENV_LAUNCHER__")
_SECRET = (b"KEY", b"TOKEN", b"SECRET", b"PASSWORD")

# sun_path is 108 bytes on Linux and 104 elsewhere, with the closing zero.
_LONGEST = 103
_DIRECTORY, _SOCKET, _TYPE, _OTHERS = 0o040000, 0o140000, 0o170000, 0o077


def split_environment(environ: Mapping[bytes, bytes]) -> tuple[dict[bytes, bytes], dict[bytes, bytes]]:
    """Return what belongs to the configuration, and what belongs to this call and may travel to the daemon."""
    lasting: dict[bytes, bytes] = {}
    of_call: dict[bytes, bytes] = {}
    for name, value in environ.items():
        secret = name.endswith(_SECRET)
        if name.startswith(_OF_THE_CALL) and not (secret and not name.startswith(b"CLAUDE_CODE_")):
            if not secret:
                of_call[name] = value
        elif name not in _OF_THE_SHELL and name not in MISLEADING:
            lasting[name] = value
    return lasting, of_call


def interpreter() -> str:
    """Return the program this process was started with, by its absolute path."""
    first = sys.orig_argv[0]
    return first if first.startswith("/") else sys.executable  # which variables may name: see MISLEADING


def identity(switches: Sequence[bytes], cwd: bytes, lasting: Mapping[bytes, bytes], package: bytes) -> str:
    """Name a configuration with 32 hexadecimal digits.

    Args:
        switches: ``--config`` and its kin as they were given.
        cwd: The working directory.
        lasting: The environment's part of the configuration.
        package: The folder this module was loaded from: one installation of dshhooks.
    """
    # The folder, not the file: python, python3 and python3.12 of one environment are the same interpreter.
    folder = interpreter().encode("utf-8", "surrogateescape").rpartition(b"/")[0]
    facts = [b"%d %d" % (FORM, sys.hexversion), folder, package, cwd, b"%d" % len(switches), *switches]
    facts += [name + b"=" + lasting[name] for name in sorted(lasting)]
    # SipHash with two keys: names, not secrets. Only this user can put a socket where the name is looked up.
    text = b"\0".join(facts)
    return (_imp.source_hash(1, text) + _imp.source_hash(2, text)).hex()


def directory(environ: Mapping[bytes, bytes]) -> bytes:
    """Return the directory of this user's daemons: ``$XDG_RUNTIME_DIR/dshhooks``, or ``/tmp/dshhooks-UID``."""
    runtime = environ.get(b"XDG_RUNTIME_DIR", b"")
    path = runtime.rstrip(b"/") + b"/dshhooks"
    # 38: what a socket's own name adds to it. A path that does not fit cannot be bound.
    if runtime.startswith(b"/") and len(path) + 38 <= _LONGEST:
        return path
    return b"/tmp/dshhooks-%d" % posix.geteuid()


def socket_path(folder: bytes, name: str) -> bytes:
    """Return where the daemon of a configuration listens."""
    return folder + b"/" + name.encode() + b".sock"


def lock_path(folder: bytes, name: str) -> bytes:
    """Return the file whose lock a daemon holds as long as it lives."""
    return folder + b"/" + name.encode() + b".lock"


def connect(folder: bytes, name: str, seconds: float) -> _socket.socket | None:
    """Return a connection to a daemon of this user; ``None``: nobody listens there who can be relied on.

    Args:
        folder: The directory of this user's daemons.
        name: The configuration's.
        seconds: How long each later wait on the connection may take.
    """
    path = socket_path(folder, name)
    if not (is_private(folder) and is_own_socket(path)):
        return None
    import _socket

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(seconds)
    try:
        connection.connect(path)
        if peer_is_ours(connection):
            return connection
    except OSError:
        pass  # nobody listens any more, or too many wait already: this call does without
    connection.close()
    return None


def is_private(path: bytes) -> bool:
    """Say whether this is a directory, no link, of this user, that nobody else can enter."""
    return _is_ours(path, _DIRECTORY)


def is_own_socket(path: bytes) -> bool:
    """Say whether this is a socket of this user that nobody else can connect to."""
    return _is_ours(path, _SOCKET)


def _is_ours(path: bytes, kind: int) -> bool:
    try:
        found = posix.lstat(path)
    except OSError:
        return False
    return found.st_mode & _TYPE == kind and found.st_uid == posix.geteuid() and not found.st_mode & _OTHERS


def peer_is_ours(connection: Any) -> bool:
    """Say whether the other end of a connected socket is a process of this user, where the system can tell."""
    credentials = _credentials(connection)
    # Elsewhere the directory's owner and mode have to do; this is the second lock on the same door.
    return credentials is None or int.from_bytes(credentials[4:8], sys.byteorder) == posix.geteuid()


def peer_runs(connection: Any) -> bool:
    """Say whether the process at the other end is slow at worst: neither stopped nor dead, where the system tells."""
    credentials = _credentials(connection)
    if credentials is None:
        return False
    try:
        number = posix.open(b"/proc/%d/stat" % int.from_bytes(credentials[:4], sys.byteorder), posix.O_RDONLY)
    except OSError:
        return False
    try:
        # "pid (name) state …", and a name may contain anything.
        return posix.read(number, 4096).rpartition(b")")[2][1:2] in (b"R", b"S", b"D", b"I")
    finally:
        posix.close(number)


def _credentials(connection: Any) -> bytes | None:
    import _socket

    option = getattr(_socket, "SO_PEERCRED", None)
    return None if option is None else connection.getsockopt(_socket.SOL_SOCKET, option, 12)
