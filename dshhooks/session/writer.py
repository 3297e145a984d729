"""From live sessions to the store: every event is buffered at once and written in the background (spec/core.md 5.7)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import anyio
from attrs import define, field

from dshhooks.engine.observe import described
from dshhooks.session.event import Event
from dshhooks.session.operations import Journal

__all__ = ["Spawn", "Writer"]

log = logging.getLogger("dshhooks.session")

Spawn = Callable[[Coroutine[Any, Any, Any]], object]


@define(eq=False)
class _Buffer:
    """One session's events that are not known to be durable."""

    id: str
    pending: list[Event] = field(factory=list)
    lock: anyio.Lock = field(factory=anyio.Lock)
    running: bool = True
    # Whether some of them may be stored in spite of a failure.
    unsure: bool = False


class Writer:
    """Writes what is appended to live sessions.

    Args:
        journal: Where to.
        spawn: Runs a coroutine in the background; without it nothing is written before a flush.
    """

    def __init__(self, journal: Journal, spawn: Spawn | None = None) -> None:
        self._journal, self._spawn = journal, spawn
        self._buffers: dict[str, _Buffer] = {}

    def watch(self, session_id: str, unwritten: Iterable[Event] = ()) -> None:
        """Begin to buffer a session; ``unwritten`` is what its log holds and the store does not."""
        self._buffers[session_id] = _Buffer(session_id, list(unwritten))

    def begin(self, session_id: str) -> None:
        """Begin to write in the background what is buffered; before, only a flush writes."""
        buffer = self._buffers[session_id]
        buffer.running = False
        if buffer.pending:
            self._kick(buffer)

    def note(self, session_id: str, event: Event) -> None:
        """Take an event that was just appended, and see that it gets written soon."""
        buffer = self._buffers[session_id]
        buffer.pending.append(event)
        if not buffer.running:
            self._kick(buffer)

    def _kick(self, buffer: _Buffer) -> None:
        if self._spawn is None:
            return
        buffer.running = True
        work = self._eagerly(buffer)
        try:
            self._spawn(work)
        except Exception as exc:  # noqa: BLE001 - the host is closing; the next flush writes what is buffered
            work.close()
            buffer.running = False
            log.warning("session %r: no background write: %s", buffer.id, described(exc))

    def pending(self, session_id: str) -> int:
        """Return how many events of a session are not known to be durable."""
        buffer = self._buffers.get(session_id)
        return len(buffer.pending) if buffer is not None else 0

    async def flush(self, session_id: str) -> None:
        """Return when everything appended so far, and meanwhile, is durable; tries again what failed before.

        Raises:
            Exception: Why it is not; the events are kept.
        """
        buffer = self._buffers.get(session_id)
        while buffer is not None and buffer.pending:
            await self._write(buffer)

    def forget(self, session_id: str) -> None:
        """Stop; what is still buffered is dropped."""
        self._buffers.pop(session_id, None)

    async def _eagerly(self, buffer: _Buffer) -> None:
        try:
            while buffer.pending and self._buffers.get(buffer.id) is buffer:
                await self._write(buffer)
        except Exception as exc:  # noqa: BLE001 - kept for the next flush, which raises
            log.warning("session %r: a write failed and will be tried again: %s", buffer.id, described(exc))
        finally:
            buffer.running = False

    async def _write(self, buffer: _Buffer) -> None:
        # Shielded: after a write that ended well the events must leave the buffer, or they would be written twice.
        with anyio.CancelScope(shield=True):
            async with buffer.lock:
                batch = tuple(buffer.pending)
                try:
                    await self._put(buffer, batch)
                except BaseException:
                    buffer.unsure = True
                    raise
                buffer.unsure = False
                del buffer.pending[: len(batch)]

    async def _put(self, buffer: _Buffer, batch: tuple[Event, ...]) -> None:
        if not buffer.unsure:
            await self._journal.append(buffer.id, batch)
            return
        for event in batch:
            await self._journal.append_idempotent(buffer.id, event)
