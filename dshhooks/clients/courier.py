"""The process a client talks to: it has an answer whatever becomes of those who evaluate (decisions.md 7.26).

Both hook commands are this: ``dshhooks handle`` forks a child that judges; the lean client asks the daemon of this
configuration, else an interpreter of its own. It runs no plugin and stays the parent of what does: a plugin that exits,
crashes, hangs or holds the interpreter ends as a denial. Made of modules built into the interpreter, and loaded by path
as well, so that one tool call costs little more than starting Python, and a fork has little to copy.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # built into the interpreter, and typeshed has no stub for it
import posix
import time

__all__ = ["SIGNALS", "Courier", "default_budget", "main", "run"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

Wire = tuple[bytes, bytes, int]

CHUNK = 1 << 20

SIGNALS = (_signal.SIGTERM, _signal.SIGINT, _signal.SIGHUP, _signal.SIGALRM)
OF_CALL = ("--client", "--on-error", "--budget")
SWITCHES = ("--config", "--plugins", "--disable")


def default_budget(client: str) -> float:
    """Return the seconds an answer may take: well before the client's own time-out (Copilot waits for 30)."""
    return 15.0 if client == "auto" or client.startswith("copilot") else 20.0


class Courier:
    """One call: what was asked, and until when.

    Args:
        load: Imports a neighbour of this module.
        arguments: The command line after ``handle``, or after the script.
    """

    def __init__(self, load: Callable[[str], Any], arguments: Sequence[str]) -> None:
        self.load, self.arguments = load, arguments
        self.began = time.monotonic()
        self.budget = 0.0
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
        self.ends = self.began + (self.budget or default_budget(self.client))
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
        self.budget = seconds
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
        return [self.load("place").interpreter(), "-E", "-P", f"{_folder()}/apart.py", part]

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
        child = self.load("child")
        answer: Wire = child.ask(self, lambda writer: child.start_worker(self, writer))
        return answer

    def kill_child(self) -> None:
        """End the evaluating process, which has had its time."""
        if self.child:
            posix.kill(self.child, _signal.SIGKILL)  # nobody has waited for it: the number is still its own

    # -- endings --------------------------------------------------------------------------------------------------

    def lost(self, reason: str) -> Wire:
        """Like :meth:`failed`, for what nobody else can have written to the log."""
        try:
            self.load("state").note(reason)
        except Exception:  # noqa: BLE001 - the log is no reason to fail
            pass
        return self.failed(reason)

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
        if number != _signal.SIGALRM:
            reason = "dshhooks was interrupted before it had decided"
        else:
            reason = "dshhooks had no answer in time" if self.is_read else "stdin was not closed in time"
        self.deliver(self.lost(reason))

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
            while stderr:
                stderr = stderr[posix.write(2, stderr) :]
        except OSError:
            pass  # nobody reads it; the exit code is what is left to say
        posix._exit(code)


def main(load: Callable[[str], Any], arguments: list[str]) -> NoReturn:
    """Be the lean client: answer one event of an agent and exit."""
    courier = Courier(load, arguments)
    known = courier.read_arguments()
    run(courier, lambda: (courier.ask_daemons() if known else None) or courier.ask_child())


def run(courier: Courier, ask: Callable[[], Wire]) -> NoReturn:
    """Write what ``ask()`` returns, or what stands for it when the budget is spent, a signal comes, or it fails.

    Args:
        courier: The call, its arguments read.
        ask: Has the event evaluated by another process.
    """
    fill_descriptors()
    for number in SIGNALS:
        _signal.signal(number, courier.interrupted)
    # A client that blocks signals leaves them blocked in what it starts: the budget would never be spent.
    _signal.pthread_sigmask(_signal.SIG_UNBLOCK, SIGNALS)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)  # ignored, it would take the child's status away
    _signal.setitimer(_signal.ITIMER_REAL, max(0.001, courier.ends - time.monotonic()))
    try:
        answer = ask()
    except Exception as exc:  # noqa: BLE001 - whatever it is, it must not look like exit 1
        courier.read_stdin()  # how an event ends depends on which it is, and nobody may have looked
        answer = courier.lost(f"dshhooks failed: {type(exc).__name__}: {exc}")
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


def _folder() -> str:
    return __file__.rpartition("/")[0] or "."


def _text(data: bytes | str) -> str:
    return data.decode("utf-8", "surrogateescape") if isinstance(data, bytes) else data
