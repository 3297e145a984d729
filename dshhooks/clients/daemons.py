"""The daemons a user has running: which there are, what they say of themselves, and how they are stopped."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
from typing import Any, Final

from attrs import frozen

from dshhooks.clients import place, wire

__all__ = ["Running", "own_folder", "running", "stop"]

PATIENCE: Final = 2.0


@frozen
class Running:
    """One daemon.

    Args:
        name: Its configuration's name.
        pid: Its process.
        facts: What it says of itself; ``None``: it does not answer.
    """

    name: str
    pid: int
    facts: dict[str, Any] | None


def own_folder() -> bytes:
    """Return the directory of this user's daemons."""
    return place.directory(os.environb)


def running(folder: bytes) -> list[Running]:
    """Return the daemons that listen in a directory, by name; what nobody listens on any more is left out."""
    found = (_ask(folder, name, "status") for name in _names(folder))
    return [each for each in found if each is not None]


def stop(folder: bytes, daemon: Running) -> None:
    """Let a daemon finish what it is doing and end; one that does not answer is killed."""
    asked = _ask(folder, daemon.name, "stop")
    if asked is not None and asked.facts is None:
        os.kill(asked.pid, signal.SIGKILL)  # the process that listens on the socket we have just been connected to


def _names(folder: bytes) -> list[str]:
    try:
        entries = os.listdir(os.fsdecode(folder))
    except OSError:
        return []
    return sorted(entry.removesuffix(".sock") for entry in entries if entry.endswith(".sock"))


def _ask(folder: bytes, name: str, kind: str) -> Running | None:
    connection = place.connect(folder, name, PATIENCE)
    if connection is None:
        return None
    try:
        return Running(name, _pid(connection), _facts(connection, kind))
    finally:
        connection.close()


def _pid(connection: Any) -> int:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", credentials)[0])


def _facts(connection: Any, kind: str) -> dict[str, Any] | None:
    head = wire.request(kind.encode(), str(PATIENCE), b"/", [], {})
    try:
        connection.sendall(wire.greeting(head, b"") + head)
        data = b""
        while piece := connection.recv(1 << 16):
            data = (data + piece).lstrip(wire.ALIVE)
    except OSError:
        return None
    told = wire.parse(data)
    facts = json.loads(told[0]) if told is not None else None
    return facts if isinstance(facts, dict) else None
