"""What stands where the daemon should: sockets of others, of the dead, of the mad; the call is judged all the same."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dshhooks.clients import place, wire
from tests.clients.serve_kit import Done, User, ended, until, user

ALLOW = b".A 0 0 0\n"
NOBODY = 65534

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to somebody else")


@pytest.fixture
def someone(tmp_path: Path) -> Iterator[User]:
    """A user whose directory for sockets is there, and empty."""
    for made in user(tmp_path):
        os.mkdir(os.fsdecode(made.sockets), 0o700)
        yield made


class Impostor:
    """Listens where the daemon of a user's project would, reads what it is sent and answers everything the same.

    Args:
        path: Where.
        reply: What it says; ``None``: it never says anything.
    """

    def __init__(self, path: str, reply: bytes | None) -> None:
        self.reply, self.calls = reply, 0
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        os.chmod(path, 0o600)
        self._listener.listen(8)
        self._held: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            self._held.append(connection)
            if not connection.recv(1 << 16):
                return
            self.calls += 1
            if self.reply is not None:
                connection.sendall(self.reply)
                self._held.pop().close()

    def end(self, path: str) -> None:
        """Stop listening."""
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(path)
        self._thread.join()
        for each in (*self._held, self._listener):
            each.close()


@pytest.fixture
def impostor(someone: User) -> Iterator[Callable[[bytes | None], Impostor]]:
    """Make an impostor for the user's project."""
    path = someone.socket_path()
    kept = path + ".kept"  # the lean client takes the name of one that hangs away
    made: list[Impostor] = []

    def make(reply: bytes | None) -> Impostor:
        made.append(Impostor(path, reply))
        os.link(path, kept)
        return made[0]

    yield make
    for each in made:
        os.chmod(os.fsdecode(someone.sockets), 0o700)
        each.end(kept)


def test_what_these_tests_stand_on(someone: User, impostor: Callable[[bytes | None], Impostor]) -> None:
    """In the right place, with the right modes, of the right user: it is asked, and believed."""
    liar = impostor(ALLOW)
    assert someone.call("forbidden a") == Done(b"", b"", 0)
    assert liar.calls == 1


def test_a_directory_open_to_others(someone: User, impostor: Callable[[bytes | None], Impostor]) -> None:
    """Anybody could have put that socket there."""
    liar = impostor(ALLOW)
    os.chmod(os.fsdecode(someone.sockets), 0o755)
    assert someone.call("forbidden a").reason == "no: a"
    assert liar.calls == 0


def test_a_socket_open_to_others(someone: User, impostor: Callable[[bytes | None], Impostor]) -> None:
    """Ours are for their owner only."""
    liar = impostor(ALLOW)
    os.chmod(someone.socket_path(), 0o666)
    assert someone.call("forbidden a").reason == "no: a"
    assert liar.calls == 0


def test_a_directory_that_is_a_link(someone: User, impostor: Callable[[bytes | None], Impostor]) -> None:
    """A link may point anywhere tomorrow."""
    liar = impostor(ALLOW)
    real = os.fsdecode(someone.sockets)
    os.rename(real, real + "-real")
    os.symlink(real + "-real", real)
    try:
        assert someone.call("forbidden a").reason == "no: a"
        assert liar.calls == 0
    finally:
        os.unlink(real)
        os.rename(real + "-real", real)


@as_root
@pytest.mark.parametrize("what", ["directory", "socket"])
def test_somebody_elses(someone: User, impostor: Callable[[bytes | None], Impostor], what: str) -> None:
    """Of another user, with the modes of ours."""
    liar = impostor(ALLOW)
    os.chown(someone.sockets if what == "directory" else someone.socket_path(), NOBODY, NOBODY)
    assert someone.call("forbidden a").reason == "no: a"
    assert liar.calls == 0


@as_root
def test_somebody_else_behind_a_socket_of_ours(someone: User) -> None:
    """The process at the other end counts, not only whose file it is."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(someone.socket_path())
    os.chmod(someone.socket_path(), 0o600)

    def lie() -> None:
        listener.listen(8)  # who listens is whoever calls listen(2)
        while True:
            connection, _ = listener.accept()
            connection.recv(1 << 16)
            connection.sendall(ALLOW)
            connection.close()

    child = as_nobody(lie)
    try:
        until(lambda: _accepts(someone.socket_path()))
        assert someone.call("forbidden a").reason == "no: a"
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        listener.close()


def as_nobody(work: Callable[[], None]) -> int:
    """Fork a child that works as another user; it never comes back into the tests."""
    child = os.fork()
    if not child:
        try:
            os.setuid(NOBODY)
            work()
        finally:
            os._exit(0)
    return child


def _accepts(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


@pytest.mark.parametrize("reply", [
    b"", b".", b"garbage\n", b".A", b"A 0 0 0", b"A 0 5 0\nab", b"A 0 0 0\nmore", b"A 999 0 0\n", b"A -1 0 0\n",
    b"A 0 x 0\n", b"R", b"E nothing works here", b"A 0 0 0 0\n", b'{"decision":"allow"}\n', bytes(range(256)),
])  # fmt: skip
def test_a_mad_answer(someone: User, impostor: Callable[[bytes | None], Impostor], reply: bytes) -> None:
    """Whatever is not exactly an answer is none, and the call is judged in a process of its own."""
    liar = impostor(reply)
    assert someone.call("forbidden a").reason == "no: a"
    assert liar.calls == 1


def test_one_that_never_answers(someone: User, impostor: Callable[[bytes | None], Impostor]) -> None:
    """It is waited for once, and then taken out of the way."""
    impostor(None)
    assert someone.call("forbidden a").reason == "no: a"
    until(someone.daemons)
    assert someone.call("forbidden b").reason == "no: b"


def test_a_socket_of_the_dead(someone: User) -> None:
    """Nobody listens any more: judged in process, and the next daemon takes the name."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(someone.socket_path())
        os.chmod(someone.socket_path(), 0o600)
    assert someone.call("forbidden a").reason == "no: a"
    until(someone.daemons)


def test_no_place_for_sockets(someone: User) -> None:
    """A runtime directory that is none, or cannot be written: everything works, without a daemon."""
    (someone.home / "file").touch()
    for runtime in ("/dev/null", "/proc", str(someone.home / "file"), "/nowhere/at/all"):
        assert someone.call("forbidden a", XDG_RUNTIME_DIR=runtime).reason == "no: a"
        assert someone.call("fine", XDG_RUNTIME_DIR=runtime) == Done(b"", b"", 0)


def test_callers_that_say_nothing_hold_nobody_up(someone: User) -> None:
    """Fifty connections that never finish their first line."""
    someone.serve()
    loris = [socket.socket(socket.AF_UNIX) for _ in range(50)]
    for each in loris:
        each.connect(someone.socket_path())
        each.sendall(b"dshhooks 1")
    assert someone.call("who HOME").reason.startswith(f"pid {someone.daemons()[0].pid} ")
    for each in loris:
        each.close()


@pytest.mark.parametrize("said", [
    b"\n", b"GET / HTTP/1.1\r\n\r\n", b"dshhooks 99 0 0\n", b"dshhooks 1 -5 0\n", b"dshhooks 1 9999999999 0\n",
    b"dshhooks 1 0 99999999999\n", b"dshhooks 1 4 0\nabcd", b"\xff" * 4096,
    b"dshhooks 1 14 0\nhandle\x00x\x00/\x009999",
])  # fmt: skip
def test_a_caller_that_talks_nonsense(someone: User, said: bytes) -> None:
    """It gets no answer, and the daemon is none the worse."""
    someone.serve()
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(someone.socket_path())
        with contextlib.suppress(OSError):  # it may have been shown the door by now
            caller.sendall(said)
            caller.shutdown(socket.SHUT_WR)
        told = b"".join(iter(lambda: _received(caller), b""))
    assert wire.parse(told.lstrip(b".")) is None
    assert someone.call("who HOME").reason.startswith(f"pid {someone.daemons()[0].pid} ")


def _received(caller: socket.socket) -> bytes:
    try:
        return caller.recv(1 << 16)
    except ConnectionResetError:  # it closed with something of ours unread
        return b""


@as_root
def test_the_daemon_answers_its_user_only(someone: User) -> None:
    """A process of somebody else that got hold of the socket learns nothing from it."""
    someone.serve()
    os.chmod(someone.runtime, 0o711)
    os.chmod(os.fsdecode(someone.sockets), 0o711)
    os.chmod(someone.socket_path(), 0o666)
    reading, writing = os.pipe()

    def ask() -> None:
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(someone.socket_path())
            head = wire.request(b"status", "1", b"/", [], {})
            with contextlib.suppress(BrokenPipeError):  # it may have been shown the door by now
                caller.sendall(wire.greeting(head, b"") + head)
            os.write(writing, b"told: " + _received(caller))

    os.waitpid(as_nobody(ask), 0)
    os.close(writing)
    assert os.read(reading, 100) == b"told: "
    os.close(reading)


def test_credentials_are_those_of_the_kernel() -> None:
    """The pair of this very process is its own user's."""
    one, other = socket.socketpair()
    credentials = one.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    assert struct.unpack("3i", credentials)[1] == os.geteuid()
    assert place.peer_is_ours(other)
    one.close()
    other.close()


def test_a_call_that_is_given_up(someone: User) -> None:
    """The client kills its hook: the daemon cancels what it was doing for it, and is free for the next."""
    someone.serve()
    process = someone.asking("wait a")
    someone.begun("a")
    process.kill()
    ended(process)
    until(lambda: all(each.facts and each.facts["busy"] == 0 for each in someone.daemons()))
    assert someone.call("forbidden b").reason == "no: b"
