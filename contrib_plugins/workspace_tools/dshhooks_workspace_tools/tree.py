"""Everything a command started: finding it and ending it.

A command runs in its own session and process group. Its descendants may leave both, so on Linux they are looked for in
``/proc`` by four signs, any of which is enough: the command's session, its group, a parent that belongs to it, and a
mark in the environment that is inherited even by a daemon whose parents are gone. Elsewhere only the group is known.
A process that has shed all four (its own session, parents gone, environment cleared) is found only if it was before.
"""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Iterable
from contextlib import suppress

import attrs

__all__ = ["MARK", "ProcessTree", "new_mark"]

MARK = "DSHHOOKS_COMMAND"

_HAS_PROC = os.path.exists("/proc/self/stat")


def new_mark(inherited: str | None) -> tuple[str, str]:
    """Return a fresh mark and the value to set the variable ``MARK`` to.

    The value keeps the marks of enclosing commands, so that a harness run by a command is still found by the outer one.
    """
    mark = secrets.token_hex(8)
    return mark, f"{inherited}:{mark}" if inherited else mark


@attrs.frozen
class _Process:
    pid: int
    parent: int
    group: int
    session: int
    started: int


class ProcessTree:
    """The processes of one command. Build it before the command starts, then set ``leader``.

    Without a leader only the mark decides.

    Args:
        mark: What ``new_mark`` returned for its environment.
    """

    def __init__(self, mark: str) -> None:
        # No process, group or session has this number.
        self.leader = -1
        self._mark = mark.encode()
        # Whoever was found once: when its parent has gone, a daemon with an environment of its own bears no sign.
        self._seen: set[tuple[int, int]] = set()
        # Older processes cannot belong to it; knowing that spares reading their environment.
        self._not_before = _ticks_now() if _HAS_PROC else 0

    def alive(self) -> bool:
        """Tell whether any process of the command still runs. Reads ``/proc``; call it from a worker thread."""
        return bool(self._members()) if _HAS_PROC else _signal_group(self.leader, 0)

    def kill(self, number: signal.Signals) -> bool:
        """Send a signal to every process of the command; tell whether there was any.

        Reads ``/proc``; call it from a worker thread.
        """
        if not _HAS_PROC:
            return _signal_group(self.leader, number)
        members = self._members()
        # The group as a whole first: the kernel does it in one step, which no fork gets ahead of. Only while a member
        # is known to be in it, because an empty group's number may already be somebody else's.
        if any(member.group == self.leader for member in members):
            _signal_group(self.leader, number)
        for member in members:
            if member.group != self.leader:
                _signal(member, number)
        return bool(members)

    def _members(self) -> list[_Process]:
        running = [process for process in _processes() if process.started >= self._not_before]
        known = {process.pid for process in running if self._is_marked(process)}
        grew = True
        while grew:
            more = {process.pid for process in running if process.parent in known} - known
            known |= more
            grew = bool(more)
        members = [process for process in running if process.pid in known]
        self._seen.update((process.pid, process.started) for process in members)
        return members

    def _is_marked(self, process: _Process) -> bool:
        if self.leader in (process.pid, process.group, process.session):
            return True
        if (process.pid, process.started) in self._seen:
            return True
        try:
            with open(f"/proc/{process.pid}/environ", "rb") as file:
                return self._mark in file.read()
        except OSError:
            return False


def _ticks_now() -> int:
    # One second of slack: the kernel rounds, and a wrong "older" would hide a process.
    return int((time.clock_gettime(time.CLOCK_BOOTTIME) - 1) * os.sysconf("SC_CLK_TCK"))


def _processes() -> Iterable[_Process]:
    for name in os.listdir("/proc"):
        if name.isdecimal():
            process = _process(int(name))
            if process is not None:
                yield process


def _process(pid: int) -> _Process | None:
    """Read one process; None when it is gone or only waits to be collected."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            line = file.read()
    except OSError:
        return None
    # The name in parentheses may itself contain spaces and parentheses.
    fields = line[line.rindex(b")") + 2 :].split()
    if fields[0] in (b"Z", b"X", b"x"):
        return None
    return _Process(pid, int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19]))


def _signal(process: _Process, number: signal.Signals) -> None:
    """Signal one process through a handle, so that a reused number never hits a stranger."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):
        with suppress(OSError):
            os.kill(process.pid, number)
        return
    try:
        found = _process(process.pid)
        if found is not None and found.started == process.started:
            signal.pidfd_send_signal(handle, number)
    except OSError:
        pass
    finally:
        os.close(handle)


def _signal_group(group: int, number: int) -> bool:
    """Signal a group; tell whether it exists. Signal 0 only asks."""
    if group <= 0:
        return False
    try:
        os.killpg(group, number)
    except OSError:
        return False
    return True
