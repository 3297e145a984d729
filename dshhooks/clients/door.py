"""The door of a daemon: reads requests, gives signs of life, keeps time, and hands out answers (issue 5, point 3).

It runs in the main thread and never waits for a plugin. Whatever it cannot do well it leaves to the lean client, which
can always evaluate in a process of its own: too much at once, a request it cannot read, a configuration that changed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from dshhooks.clients import place, wire
from dshhooks.clients.arguments import read_request
from dshhooks.clients.failure import failed
from dshhooks.clients.hookthread import STALLED, HookThread, Ticket
from dshhooks.clients.request import HandleRequest

__all__ = ["Door"]

log = logging.getLogger("dshhooks.clients")

BEAT: Final = 0.5
# How long a caller may take to say what it wants. It reads its own stdin meanwhile, and has a budget of 20 s.
READING: Final = 30.0
LONGEST_HEAD: Final = 1 << 20
# Of all requests that are being read or answered; the lean clients of those beyond it evaluate for themselves.
MOST_BYTES: Final = 256 << 20
MOST_CALLERS: Final = 512


class Door:
    """Everything a daemon has to do with its callers.

    Args:
        hooks: The plugins' thread.
        changed: Says which file of the configuration is not what it was; empty: none.
        facts: What ``dshhooks serve --status`` tells beside what is counted here.
    """

    def __init__(self, hooks: HookThread, changed: Callable[[], str], facts: dict[str, Any]) -> None:
        self.hooks, self.changed, self.facts = hooks, changed, facts
        self.retired = asyncio.Event()
        self.empty = asyncio.Event()
        self.callers = 0
        self.answered = 0
        self.last = time.monotonic()
        self._bytes = 0
        self._environment = dict(os.environ)

    def retire(self, why: str) -> None:
        """Take no more callers; those that are inside get their answers."""
        if not self.retired.is_set():
            log.info("serve: this daemon ends: %s", why)
            self.retired.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one caller."""
        self.callers += 1
        self.empty.clear()
        try:
            if place.peer_is_ours(writer.get_extra_info("socket")):
                writer.write(wire.ALIVE)
                writer.write(await self._reply(reader, writer) if self.callers <= MOST_CALLERS else wire.YOURSELF)
                async with asyncio.timeout(READING):
                    await writer.drain()
        except (OSError, EOFError, ValueError, TimeoutError) as exc:
            log.debug("serve: a caller left or said nothing of use: %s", exc)
        finally:
            self.callers -= 1
            self.last = time.monotonic()
            if not self.callers:
                self.empty.set()
            writer.close()

    async def _reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        async with asyncio.timeout(READING):
            head_length, body_length = wire.lengths(await reader.readline())
            size = head_length + body_length
            if head_length > LONGEST_HEAD or self._bytes + size > MOST_BYTES:
                return wire.YOURSELF
            with self._carried(size):
                head, body = await reader.readexactly(head_length), await reader.readexactly(body_length)
        with self._carried(size):
            kind, seconds, cwd, words, variables = wire.fields(head)
            if kind != "handle":
                return self._command(kind)
            request = read_request(words, body, variables, cwd)
            if self._is_stale():
                return wire.YOURSELF
            ticket = Ticket(request.replaced(budget=seconds, setting=self.hooks.setting))
            return await self._answer(ticket, reader, writer)

    def _is_stale(self) -> bool:
        why = self.changed() or self._surroundings() or ("" if self.hooks.alive else "the state of the plugins' thread")
        if why:
            self.retire(f"{why} has changed")
        return self.retired.is_set()

    def _surroundings(self) -> str:
        """Say what of this process a plugin has changed under the next ones; empty: nothing."""
        try:
            if os.getcwd() != self.hooks.setting.cwd:
                return "its working directory"
        except OSError:
            return "its working directory"
        return "" if dict(os.environ) == self._environment else "its environment"

    @contextlib.contextmanager
    def _carried(self, size: int) -> Iterator[None]:
        self._bytes += size
        try:
            yield
        finally:
            self._bytes -= size

    def _command(self, kind: str) -> bytes:
        if kind == "stop":
            self.retire("it was asked to")
        facts = {**self.facts, "answered": self.answered, "busy": self.callers - 1, "stopping": self.retired.is_set()}
        return wire.answer((json.dumps(facts).encode(), b"", 0))

    async def _answer(self, ticket: Ticket, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        began = time.monotonic()
        ends = began + (ticket.request.budget or 0)
        future = asyncio.wrap_future(self.hooks.submit(ticket))
        while not (await asyncio.wait({future}, timeout=max(0.0, min(BEAT, ends - time.monotonic()))))[0]:
            self.hooks.ping()
            writer.write(wire.ALIVE)
            if self.hooks.stalled(began) and ticket.claim():
                return wire.YOURSELF
            late = time.monotonic() >= ends
            if late or reader.at_eof():
                future.cancel()
                self._suspect()
                return self._unchecked(ticket.request, "the plugins had no answer in time")
        try:
            answer = future.result()
        except Exception as exc:  # noqa: BLE001 - it has begun: whatever stopped it, this is where it is denied
            return self._unchecked(ticket.request, f"{type(exc).__name__}: {exc}")
        assert answer is not None, "only the door takes a ticket back, and then it does not wait"
        if answer.unread:
            # Perhaps it is this process that cannot read any more: a plugin has replaced a function of `json`, say.
            self.retire("an event could not be read")
            return wire.YOURSELF
        self.answered += 1
        return wire.answer((answer.stdout, answer.stderr, answer.code))

    def _suspect(self) -> None:
        """A call had its time: if the plugins' thread is not back soon, it is stuck; another daemon must take over."""
        since = time.monotonic()
        self.hooks.ping()

        def look() -> None:
            if self.hooks.stalled(since):
                self.retire("a hook does not come back")

        asyncio.get_running_loop().call_later(STALLED + 0.1, look)

    def _unchecked(self, request: HandleRequest, why: str) -> bytes:
        reason = f"dshhooks could not check this: {why}"
        return wire.answer(failed(request.client, request.stdin, request.environment, reason, request.on_error))
