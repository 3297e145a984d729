"""The thread of a daemon in which plugins run: one event loop, as in the native loop, and nothing else in it.

Hooks that do not wait are atomic for each other there, as their authors expect. What blocks it blocks other requests,
never the door: a request that has not begun is taken back and answered by the lean client itself.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import Future
from typing import Final

from dshhooks.clients.answer import Answer
from dshhooks.clients.request import HandleRequest, Setting
from dshhooks.clients.service import HandleService

__all__ = ["STALLED", "HookThread", "Ticket"]

# How long a hook may keep the loop to itself before requests that have not begun are sent away.
STALLED: Final = 1.0


class Ticket:
    """One request on its way to the plugins; whoever claims it first, they or the door, has it.

    Args:
        request: What was asked.
    """

    def __init__(self, request: HandleRequest) -> None:
        self.request = request
        self._claims = [True]

    def claim(self) -> bool:
        """Return whether it was still there to be had."""
        try:
            return self._claims.pop()  # one bytecode of one C function: two threads cannot both get it
        except IndexError:
            return False


class HookThread:
    """A thread that answers requests with one service.

    Args:
        setting: The configuration and switches.
    """

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._seen = 0.0
        self._thread = threading.Thread(target=self._run, name="dshhooks-hooks", daemon=True)

    def start(self) -> None:
        """Load the plugins and wait until requests can be answered.

        Raises:
            RuntimeError: The thread ended before; its traceback is in the log.
            BaseException: Why no event can be judged. A process of its own finds out anew each time whether that is
                still so, which a daemon would not.
        """
        self._thread.start()
        self._ready.wait()
        if self._loop is None:
            raise RuntimeError("the plugins' thread did not start")
        if self._service.fault is not None:
            self.close(1.0)
            raise self._service.fault

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        service = HandleService.open(self.setting)
        self._service, self._loop = service, asyncio.get_running_loop()
        self._ready.set()
        await self._stop.wait()
        service.close()

    def submit(self, ticket: Ticket) -> Future[Answer | None]:
        """Have a request answered; the result is ``None`` for a ticket that was taken back."""
        assert self._loop is not None, "start() comes first"
        return asyncio.run_coroutine_threadsafe(self._answer(ticket), self._loop)

    async def _answer(self, ticket: Ticket) -> Answer | None:
        try:
            return await self._service.answer(ticket.request) if ticket.claim() else None
        except (KeyboardInterrupt, SystemExit) as exc:
            # No signal comes to this thread: a hook has raised it, and it would take everybody's loop with it.
            raise RuntimeError(f"a hook raised {type(exc).__name__}") from exc

    @property
    def alive(self) -> bool:
        """Whether it can answer anything."""
        return self._thread.is_alive()

    def ping(self) -> None:
        """Ask the loop for a sign of life; :meth:`stalled` says whether the last one is long ago."""
        assert self._loop is not None, "start() comes first"
        self._loop.call_soon_threadsafe(self._pong)

    def _pong(self) -> None:
        self._seen = time.monotonic()

    def stalled(self, since: float) -> bool:
        """Say whether a hook has kept the loop to itself for too long, all the time since ``since``."""
        return time.monotonic() - max(self._seen, since) > STALLED

    def close(self, seconds: float) -> bool:
        """Take the plugins out; return whether they let go within so many seconds."""
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(seconds)
        return not self._thread.is_alive()
