"""Which processes belong to one command, and a signal for all of them (A.6.3).

The process leads a session and a group of its own. Its descendants may leave both, so on Linux four signs are looked
for in ``/proc``: that session, that group, a parent which belongs to it, and a mark in the environment, which a daemon
without parents still has. Elsewhere the group is all that is known.
"""

from __future__ import annotations

import os
import signal
from typing import Final

from dshhooks.engine.processes import ProcessEntry, is_the_same, newest

__all__ = ["Members"]


class Members:
    """The processes that bear a mark or stem from one that leads, whoever started them.

    Args:
        mark: What the environment of those that belong says.
        since: No process that started before bears the mark, in ticks of the kernel; 0: nobody knows. It spares
            reading the environments of those.

    Attributes:
        mark: The mark.
        leader: The number of the process that leads; -1: it is not known, the mark alone decides.
    """

    def __init__(self, mark: str, since: int = 0) -> None:
        self.mark: Final = mark
        self.leader = -1
        self._since = since
        self._sought = mark.encode()
        # Whoever was found once: when its parent has gone, a daemon with an environment of its own bears no sign.
        self._seen: set[tuple[int, int]] = set()

    def send(self, number: int) -> bool:
        """Send a signal to all of them, 0 for none; say whether any of them is alive.

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
        return entry.started >= self._since and self._sought in entry.marks


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
