"""How the lean client gets an answer from a daemon, or learns that there is none to be had. Loaded by path.

A daemon that lives says so at once and then twice a second. One that is silent is looked at: whether it is only slow,
the system tells. One that ends in the middle may have begun, so it is asked again once at most.
"""

from __future__ import annotations

import posix
import time

__all__ = ["Asking"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable
    from typing import Any, TypeVar

    from dshhooks.clients.courier import Courier

    A = TypeVar("A")
    T = TypeVar("T")

Wire = tuple[bytes, bytes, int]

# Seconds after which one looks what is the matter.
SILENCE = 2.0
CHUNK = 1 << 20
# Of daemons that end over the same call; then it is evaluated where that harms nobody else.
TRIES = 2
PAUSE = 0.05


class Asking:
    """One call and its daemon.

    Args:
        courier: The call.
        package: The folder of this installation's ``clients``.
    """

    def __init__(self, courier: Courier, package: str) -> None:
        self.courier, self.ends = courier, courier.ends
        self.place = courier.load("place")
        self.cwd = posix.getcwdb()
        self.lasting, self.of_call = self.place.split_environment(posix.environ)
        self.folder = self.place.directory(self.lasting)
        self.name = self.place.identity(
            courier.switches, self.cwd, self.lasting, package.encode("utf-8", "surrogateescape")
        )
        # How often it was handed to a daemon that then had no answer.
        self.broken = 0

    @property
    def starter(self) -> Any:
        """Loaded for those who need it: a call that is answered does not."""
        return self.courier.load("starter")

    def answer(self) -> Wire | None:
        """Return the answer of a daemon; ``None``: there is none that can be relied on, and this process has to do.

        Of many calls without a daemon a few evaluate and the others wait for the one that is being started.
        """
        pause = PAUSE
        while True:
            answer = self._ask_daemon() if self.broken < TRIES else None
            if answer is not None or self._may_evaluate():
                return answer
            time.sleep(pause)
            pause = min(pause * 1.5, 10 * PAUSE)

    def _ask_daemon(self) -> Wire | None:
        connection = self.place.connect(self.folder, self.name, SILENCE)
        answer = None
        if connection is not None:
            try:
                answer = self._exchange(connection)
            except TimeoutError:
                self._background(lambda: self.starter.abandon(self.folder, self.name))
            except OSError:
                pass  # it ended in the middle: evaluated once more, by somebody who lives
            connection.close()
        if answer is None:
            command = [*self.courier.command("serve"), *self.courier.switches]
            self._background(lambda: self.starter.start(self.folder, self.name, command, self.lasting))
        return answer

    def _exchange(self, connection: _socket.socket) -> Wire | None:
        wire = self.courier.load("wire")
        body = self.courier.read_stdin()
        head = wire.request(b"handle", self.courier.left(), self.cwd, self.courier.arguments, self.of_call)
        view = memoryview(wire.greeting(head, body) + head + body)
        while len(view):
            view = view[self._patiently(connection, connection.send, view[:CHUNK]) :]
        self.broken += 1  # until there is an answer: it may have begun
        data = b""
        while len(data) <= wire.LONGEST_ANSWER and (piece := self._patiently(connection, connection.recv, CHUNK)):
            data = (data + piece).lstrip(wire.ALIVE)
        self.broken -= data == wire.YOURSELF
        answer: Wire | None = wire.parse(data)
        return answer

    def _patiently(self, connection: _socket.socket, step: Callable[[A], T], argument: A) -> T:
        """Do one step, and wait for it as long as the daemon is only slow; its own watchdog ends one that hangs."""
        patience = time.monotonic() + (self.ends - time.monotonic()) / 2
        while True:
            try:
                return step(argument)
            except TimeoutError:
                if time.monotonic() > patience or not self.place.peer_runs(connection):
                    raise

    def _may_evaluate(self) -> bool:
        """Say whether this call is to be evaluated here: there is room, or no time or no sense in waiting."""
        half = (self.courier.began + self.ends) / 2
        if time.monotonic() > half or not self.starter.is_wanted(self.lasting):
            return True
        try:
            return not self.place.is_private(self.folder) or bool(self.starter.take_slot(self.folder))
        except OSError:
            return True  # there is no place for slots, nor for a daemon

    def _background(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Exception:  # noqa: BLE001 - then there is no daemon for the next call; this one has its answer to find
            pass
