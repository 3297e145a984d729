"""A daemon that runs: its socket, its streams, its time, and how it leaves (issue 5, point 3)."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import fcntl
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, Final

from dshhooks.clients import place
from dshhooks.clients.door import Door
from dshhooks.clients.hookthread import HookThread
from dshhooks.clients.serve import Stand
from dshhooks.clients.state import MAX_LOG, open_log
from dshhooks.clients.watch import Watch

__all__ = ["Daemon"]

# One that was started and never asked probably stands for a configuration that nobody has twice.
UNASKED: Final = 300.0
# A hook that keeps the interpreter to itself for so long, with no sign of life getting out, ends the daemon.
HUNG: Final = 5.0
LOADING: Final = 60.0
LOOK: Final = 1.0
DRAIN: Final = 25.0
BACKLOG: Final = 1024


class Daemon:
    """The daemon of one configuration.

    Args:
        stand: Which one, and where.
        lock: Its lock, held.
        idle: Seconds without a call after which it ends.
        ready: Called when it listens.
    """

    def __init__(self, stand: Stand, lock: int, idle: float, ready: Callable[[], None]) -> None:
        self.stand, self.lock, self.idle, self.ready = stand, lock, idle, ready
        self.watch = Watch(stand.setting)
        self.hooks = HookThread(stand.setting)

    def run(self) -> None:
        """Serve until it is time to go, give those who are inside their answers, and end the process."""
        _write_to_log()
        faulthandler.dump_traceback_later(LOADING, exit=True, file=2)
        self.hooks.start()
        asyncio.run(self._serve())
        stopped = self.hooks.close(2.0)
        if not stopped:
            os._exit(0)  # a hook that does not come back must not keep the process

    async def _serve(self) -> None:
        self.door = Door(self.hooks, self.watch.changed, self._facts())
        server = await asyncio.start_unix_server(self.door.serve, sock=self._listen())
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.door.retire, f"signal {number}")
        os.ftruncate(self.lock, 0)
        self.ready()
        while not self.door.retired.is_set():
            await self._tick(self.door.retired)
            self._look()
        self._vacate()
        server.close()
        ends = time.monotonic() + DRAIN
        while self.door.callers and time.monotonic() < ends:
            await self._tick(self.door.empty)
        faulthandler.cancel_dump_traceback_later()

    async def _tick(self, event: asyncio.Event) -> None:
        """Wait for an event, a moment at most, and tell the watchdog that this thread still gets its turn."""
        faulthandler.dump_traceback_later(HUNG, exit=True, file=2)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LOOK):
                await event.wait()

    def _look(self) -> None:
        """Find a reason to leave."""
        if os.fstat(2).st_size > MAX_LOG:
            _write_to_log()
        quiet = time.monotonic() - self.door.last
        patience = self.idle if self.door.answered else min(self.idle, UNASKED)
        if not self.door.callers and quiet > patience:
            self.door.retire(f"nobody has asked for {quiet:.0f} seconds")
        elif not self._is_mine():
            self.door.retire("its socket was taken away")

    def _facts(self) -> dict[str, Any]:
        setting = self.stand.setting
        return {"pid": os.getpid(), "cwd": setting.cwd, "config": setting.config, "python": sys.executable,
                "name": self.stand.name, "idle": self.idle, "since": int(time.time())}  # fmt: skip

    def _listen(self) -> socket.socket:
        path = self.stand.socket_path
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)  # whoever left it is dead: this process holds the lock
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen(BACKLOG)
        self.inode = os.lstat(path).st_ino
        return listener

    def _vacate(self) -> None:
        """Free the name at once: the next daemon need not wait until this one has drained."""
        if self._is_mine():
            os.unlink(self.stand.socket_path)
            # Whoever has opened it already may start a daemon beside the next one's; `_look` makes one of them leave.
            os.unlink(place.lock_path(self.stand.folder, self.stand.name))
        fcntl.flock(self.lock, fcntl.LOCK_UN)

    def _is_mine(self) -> bool:
        try:
            return os.lstat(self.stand.socket_path).st_ino == self.inode
        except OSError:
            return False


def _write_to_log() -> None:
    """From here on whatever plugins and what they start print goes to the log."""
    log = open_log()
    for number in (1, 2):
        os.dup2(log, number)
    os.close(log)
