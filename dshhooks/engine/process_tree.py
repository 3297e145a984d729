"""Everything one process started: found, so that it can be ended.

The process leads a session and a group of its own. Its descendants may leave both, so on Linux four signs are looked
for in ``/proc``: that session, that group, a parent which belongs to it, and a mark in the environment, which a daemon
without parents still has. Elsewhere the group is all that is known.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import Mapping
from typing import Final

from dshhooks.engine.processes import MARK, ProcessEntry, is_the_same, newest

__all__ = ["MARK", "ProcessTree"]


class ProcessTree:
    """The processes of one command. Made before it starts; ``leader`` is set when it has.

    Args:
        environment: What the command is to be given; :attr:`environment` is that with the mark.
        mark: Its mark; made up here, but for a command somebody else has started (:meth:`of`).
    """

    def __init__(self, environment: Mapping[str, str], mark: str | None = None) -> None:
        self.mark: Final = mark or secrets.token_hex(8)
        # Marks add up, so that what a nested run starts is still found by the outer one.
        outer = environment.get(MARK)
        self.environment = {**environment, MARK: f"{outer}:{self.mark}" if outer else self.mark}
        self.leader = -1
        self._sought = self.mark.encode()
        # Whoever was found once: when its parent has gone, a daemon with an environment of its own bears no sign.
        self._seen: set[tuple[int, int]] = set()

    @classmethod
    def of(cls, mark: str) -> ProcessTree:
        """Return the processes that bear a mark, whoever started them, with their descendants."""
        return cls({}, mark)

    def send(self, number: int) -> bool:
        """Send a signal to all of it, 0 for none; say whether anything of it is alive.

        Reads ``/proc``: a matter of milliseconds, for a worker thread.
        """
        try:
            members = self._members()
        except OSError:
            return self._send_group(number)  # there is no such thing here, or no file left to read it with
        # The group in one step, which no fork gets ahead of; only while somebody is in it: numbers are used again.
        if number and any(member.group == self.leader for member in members):
            self._send_group(number)
        for member in members:
            if number and member.group != self.leader:
                _send(member, number)
        return bool(members)

    def _send_group(self, number: int) -> bool:
        if self.leader <= 0:
            return False
        try:
            os.killpg(self.leader, number)
        except OSError:
            return False
        return True

    def _members(self) -> list[ProcessEntry]:
        running = newest()
        found = {entry.pid for entry in running if self._belongs(entry)}
        while more := {entry.pid for entry in running if entry.parent in found} - found:
            found |= more
        members = [entry for entry in running if entry.pid in found]
        self._seen.update((entry.pid, entry.started) for entry in members)
        return members

    def _belongs(self, entry: ProcessEntry) -> bool:
        if self.leader in (entry.pid, entry.group, entry.session) or (entry.pid, entry.started) in self._seen:
            return True
        return self._sought in entry.marks


def _send(entry: ProcessEntry, number: int) -> None:
    """Signal one process through a handle: its number may be a stranger's by now."""
    try:
        handle = os.pidfd_open(entry.pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):
        _send_by_number(entry, number)
        return
    try:
        if is_the_same(entry):
            signal.pidfd_send_signal(handle, number)
    except OSError:
        return
    finally:
        os.close(handle)


def _send_by_number(entry: ProcessEntry, number: int) -> None:
    """Signal one process where there are no handles (an old kernel, or a Python built for one)."""
    try:
        if is_the_same(entry):
            os.kill(entry.pid, number)
    except OSError:
        return
