"""The lean client: asks the daemon of this configuration, else a process of its own, and always has an answer.

Loaded by path and made of modules built into the interpreter, so that one tool call costs little more than starting
Python. It stays the parent of whatever evaluates policy: a plugin that exits, crashes, hangs or holds the interpreter
ends as a denial (decisions.md 7.26). Nothing here evaluates anything.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # built into the interpreter, and typeshed has no stub for it
import posix
import sys
import time

__all__ = ["Courier", "main"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

Wire = tuple[bytes, bytes, int]

# Well before any client's own time-out; Copilot waits for 30.
BUDGET = 15.0
CHUNK = 1 << 20

ENDED = "dshhooks ended before it had decided: a plugin that exits, a crash, or a lack of memory"
SIGNALS = (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP, _signal.SIGALRM)
OF_CALL = ("--client", "--on-error", "--budget")
SWITCHES = ("--config", "--plugins", "--disable")


class Courier:
    """One call: what was asked, and until when.

    Args:
        load: Imports a neighbour of this module by path.
        arguments: The command line after the script.
    """

    def __init__(self, load: Callable[[str], Any], arguments: list[str]) -> None:
        self.load, self.arguments = load, arguments
        self.began = time.monotonic()
        self.ends = self.began + BUDGET
        self.client, self.on_error = "auto", "deny"
        self.switches: list[bytes] = []
        self.stdin: list[bytes] = []
        self.is_read = False
        self.child = 0

    # -- what was asked -------------------------------------------------------------------------------------------

    def read_arguments(self) -> bool:
        """Find the few options that matter here; say whether these are all there are, and right as far as can be seen.

        The whole command line says what is wrong with others; whoever is denied for it is still called by his name.
        """
        right = True
        words = iter(self.arguments)
        for word in words:
            name, equals, value = word.partition("=")
            if word == "--no-plugins":
                self.switches.append(b"--no-plugins")
            elif name in OF_CALL or name in SWITCHES:
                right &= self._option(name, value if equals else next(words, None))
            elif word != "--approve":
                right = False
        return right

    def _option(self, name: str, value: str | None) -> bool:
        if value is None:
            return False
        if name in SWITCHES:
            self.switches += [name.encode(), value.encode("utf-8", "surrogateescape")]
        elif name == "--client":
            self.client = value
        elif name == "--on-error":
            self.on_error = value
            return value in ("deny", "allow")
        else:
            return self._budget(value)
        return True

    def _budget(self, value: str) -> bool:
        try:
            seconds = float(value)
        except ValueError:
            return False
        if not 0 < seconds <= 3600:
            return False
        self.ends = self.began + seconds
        return True

    def read_stdin(self) -> bytes:
        """Return all of stdin, read once."""
        try:
            while not self.is_read and (piece := posix.read(0, CHUNK)):
                self.stdin.append(piece)
        except OSError:
            pass  # closed, or a directory: what was read is what there is, and is judged as that
        self.is_read = True
        return b"".join(self.stdin)

    def command(self, part: str) -> list[str]:
        """Return the command of a process of ours; neither environment nor working directory steer its imports."""
        return [sys.executable, "-E", "-P", f"{_folder()}/apart.py", part]

    def left(self) -> str:
        """Return the seconds others have: a little less than this process has, so that their reason is the one told."""
        seconds = self.ends - time.monotonic()
        return f"{max(0.05, seconds - min(0.3, seconds / 10)):.3f}"

    # -- who answers ----------------------------------------------------------------------------------------------

    def ask_daemons(self) -> Wire | None:
        """Return the answer of a daemon; ``None``: this process has to do."""
        try:
            answer: Wire | None = self.load("asking").Asking(self, _folder()).answer()
        except OSError:
            return None  # no working directory, no descriptor left: what can be said of that is said by the other way
        return answer

    def ask_child(self) -> Wire:
        """Return the answer of a fresh interpreter with the whole of dshhooks in it, or the denial it did not give."""
        stdin = self.read_stdin()
        reader, writer = posix.pipe()
        # A signal that hits both of us before the child has become itself must not be answered twice.
        _signal.pthread_sigmask(_signal.SIG_BLOCK, SIGNALS)
        self.child = posix.fork()
        if not self.child:
            self._become(stdin, writer)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, SIGNALS)
        posix.close(writer)
        return self._told(reader)

    def _become(self, stdin: bytes, writer: int) -> NoReturn:
        try:
            for number in SIGNALS:
                _signal.signal(number, _signal.SIG_DFL)
            _signal.pthread_sigmask(_signal.SIG_UNBLOCK, SIGNALS)
            posix.dup2(_replayed(stdin), 0)
            posix.dup2(writer, 3)
            devnull = posix.open("/dev/null", posix.O_RDWR)
            posix.dup2(devnull, 1)
            posix.dup2(devnull, 2)
            posix.execv(sys.executable, [*self.command("worker"), self.left(), *self.arguments])
        finally:
            posix._exit(1)

    def _told(self, reader: int) -> Wire:
        wire = self.load("wire")
        data = b""
        while wire.parse(data) is None and len(data) <= wire.LONGEST_ANSWER and (piece := posix.read(reader, CHUNK)):
            data += piece
        answer: Wire | None = wire.parse(data)
        if answer is None:
            self.kill_child()
            answer = self.failed(wire.refusal(data) or ENDED)
        return answer

    def kill_child(self) -> None:
        """End the evaluating process, which has had its time."""
        if self.child:
            posix.kill(self.child, _signal.SIGKILL)  # not reaped by anybody before we exit: the number is still its own

    # -- endings --------------------------------------------------------------------------------------------------

    def failed(self, reason: str) -> Wire:
        """Return how this call ends when policy could not be evaluated."""
        self.load("denial")
        self.load("recognise")
        variables = {_text(name): _text(value) for name, value in posix.environ.items()}
        said = b"".join(self.stdin)
        ending: Wire = self.load("failure").failed(self.client, said, variables, reason, self.on_error)
        return ending

    def interrupted(self, number: int, _frame: object) -> None:
        """Answer a signal or the end of the budget, and exit."""
        ignore_signals()
        self.kill_child()
        spent = number == _signal.SIGALRM
        reason = "dshhooks had no answer in time" if spent else "dshhooks was interrupted before it had decided"
        self.deliver(self.failed(reason))

    def deliver(self, answer: Wire) -> NoReturn:
        """Write the answer and exit without the interpreter's farewell, which costs milliseconds and may print."""
        ignore_signals()
        stdout, stderr, code = answer
        if stdout:
            self.load("denial"), self.load("recognise"), self.load("failure")
            try:
                self.load("stdout").write(stdout)
            except OSError as exc:
                _, stderr, code = self.load("stdout").unwritten(answer, exc)
        try:
            _write(2, stderr)
        except OSError:
            pass  # nobody reads it; the exit code is what is left to say
        posix._exit(code)


def main(load: Callable[[str], Any], arguments: list[str]) -> NoReturn:
    """Answer one event of an agent and exit."""
    fill_descriptors()
    courier = Courier(load, arguments)
    known = courier.read_arguments()
    for number in SIGNALS:
        _signal.signal(number, courier.interrupted)
    # A client that blocks signals leaves them blocked in what it starts: the budget would never be spent.
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, SIGNALS)
    _signal.setitimer(_signal.ITIMER_REAL, courier.ends - courier.began)
    try:
        answer = (courier.ask_daemons() if known else None) or courier.ask_child()
    except Exception as exc:  # noqa: BLE001 - whatever it is, it must not look like exit 1
        courier.read_stdin()  # how an event ends depends on which it is, and nobody may have looked
        answer = courier.failed(f"dshhooks failed: {type(exc).__name__}: {exc}")
    courier.deliver(answer)


def fill_descriptors() -> None:
    """Keep the numbers of streams the client has closed from being given to a socket; writing there still fails."""
    while (number := posix.open("/dev/null", posix.O_RDONLY)) < 3:
        pass
    posix.close(number)


def ignore_signals() -> None:
    """From here on one answer is being written; a second one would make both count for nothing."""
    for number in SIGNALS:
        _signal.signal(number, _signal.SIG_IGN)


def _write(number: int, data: bytes) -> None:
    view = memoryview(data)
    while len(view):
        view = view[posix.write(number, view[:CHUNK]) :]


def _replayed(stdin: bytes) -> int:
    """Return a file that reads as stdin did."""
    number = posix.memfd_create("stdin") if hasattr(posix, "memfd_create") else _unnamed_file()
    _write(number, stdin)
    posix.lseek(number, 0, 0)
    return number


def _unnamed_file() -> int:
    path = f"/tmp/.dshhooks-{posix.getpid()}-{time.monotonic_ns()}"
    number = posix.open(path, posix.O_RDWR | posix.O_CREAT | posix.O_EXCL, 0o600)
    posix.unlink(path)
    return number


def _folder() -> str:
    return __file__.rpartition("/")[0] or "."


def _text(data: bytes | str) -> str:
    return data.decode("utf-8", "surrogateescape") if isinstance(data, bytes) else data
