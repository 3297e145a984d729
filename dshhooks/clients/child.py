"""The process that evaluates one call, seen from its parent: made, waited for, and answered for (decisions.md 7.26).

Loaded by path as well, so it imports nothing but the courier and modules that are built into the interpreter.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # built into the interpreter, and typeshed has no stub for it
import posix
import time

from dshhooks.clients.courier import SIGNALS

__all__ = ["ask", "start_worker"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from dshhooks.clients.courier import Courier

Wire = tuple[bytes, bytes, int]

CHUNK = 1 << 20
# Seconds after the budget in which the parent has ended a child; one without a parent ends by itself then.
GRACE = 1.0

ENDED = "dshhooks ended before it had decided: a plugin that exits, a crash, or a lack of memory"


def ask(courier: Courier, work: Callable[[int], object]) -> Wire:
    """Have a child evaluate, and return its answer, or the denial it did not give.

    Args:
        courier: The call; its signals and its budget are watched already.
        work: What the child does: evaluate, and write to this descriptor what ``wire`` calls an answer or a failure. It
            has an empty stdin, and nobody sees what it prints.
    """
    courier.read_stdin()
    reader, writer = posix.pipe()
    # A signal that hits both of us before the child has become itself must not be answered twice.
    _signal.pthread_sigmask(_signal.SIG_BLOCK, SIGNALS)
    courier.child = posix.fork()
    if not courier.child:
        _become(courier, work, reader, writer)
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, SIGNALS)
    posix.close(writer)
    return _told(courier, reader)


def _become(courier: Courier, work: Callable[[int], object], reader: int, writer: int) -> NoReturn:
    """Be the child. Whatever happens, control never comes back out of here."""
    try:
        posix.close(reader)
        for number in SIGNALS:
            _signal.signal(number, _signal.SIG_DFL)
        # Should the parent be killed, nobody else ends a plugin that never returns.
        _signal.setitimer(_signal.ITIMER_REAL, max(0.0, courier.ends - time.monotonic()) + GRACE)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, SIGNALS)
        # The client's pipes are the parent's: neither plugins nor what they start may hold or write one.
        nothing = posix.open("/dev/null", posix.O_RDWR)
        for number in range(3):
            posix.dup2(nothing, number)
        work(writer)
    finally:
        posix._exit(1)


def start_worker(courier: Courier, writer: int) -> NoReturn:
    """Become a fresh interpreter that evaluates: ``worker``, with the event on stdin and its answer on fd 3."""
    posix.dup2(_replayed(courier.read_stdin()), 0)
    posix.dup2(writer, 3)
    command = [*courier.command("worker"), courier.left(), *courier.arguments]
    misleading = courier.load("place").MISLEADING
    posix.execve(command[0], command, {n: v for n, v in posix.environ.items() if n not in misleading})


def _told(courier: Courier, reader: int) -> Wire:
    wire = courier.load("wire")
    data = b""
    while wire.parse(data) is None and len(data) <= wire.LONGEST_ANSWER and (piece := posix.read(reader, CHUNK)):
        data += piece
    answer: Wire | None = wire.parse(data)
    if answer is not None:
        return answer  # the child may take its leave; nobody waits for that
    how, reason = _ended(courier), wire.refusal(data)
    return courier.failed(reason) if reason else courier.lost(f"{ENDED} ({how})")


def _ended(courier: Courier) -> str:
    """End the child, if it has not ended, and say how it did."""
    courier.kill_child()
    # Waited for, its number may be somebody else's: a signal that comes now must not end that one.
    child, courier.child = courier.child, 0
    code = posix.waitstatus_to_exitcode(posix.waitpid(child, 0)[1])
    names = (name for name in dir(_signal) if name.startswith("SIG") and getattr(_signal, name) == -code)
    return f"exit code {code}" if code >= 0 else f"killed by {next(names, -code)}"


def _replayed(stdin: bytes) -> int:
    """Return a file that reads as stdin did."""
    number = posix.memfd_create("stdin") if hasattr(posix, "memfd_create") else _unnamed_file()
    rest = memoryview(stdin)
    while len(rest):
        rest = rest[posix.write(number, rest[:CHUNK]) :]
    posix.lseek(number, 0, 0)
    return number


def _unnamed_file() -> int:
    path = f"/tmp/.dshhooks-{posix.getpid()}-{time.monotonic_ns()}"
    number = posix.open(path, posix.O_RDWR | posix.O_CREAT | posix.O_EXCL, 0o600)
    posix.unlink(path)
    return number
