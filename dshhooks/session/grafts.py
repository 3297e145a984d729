"""Where a fork may begin, and how an event gets into a log from outside the loop (spec/core.md 5.3, 5.6)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio

from dshhooks.engine.observe import described
from dshhooks.session.enclosure import OUTSIDE
from dshhooks.session.event import Event
from dshhooks.session.events import CompletedEnd, TurnEnd, TurnStart
from dshhooks.session.log import Session
from hookspecs.errors import HarnessError

__all__ = ["fork_boundary", "in_some_turn"]

log = logging.getLogger("dshhooks.session")


def fork_boundary(events: Sequence[Event], boundary: int | None) -> int:
    """Return the seq of the last event a fork takes over; -1 for an empty source.

    Raises:
        HarnessError: ``INVALID_BOUNDARY``, ``OPEN_TURN``.
    """
    last = len(events) - 1
    if boundary is None:
        boundary = last
        if last < 0:
            return last
    if type(boundary) is not int or not 0 <= boundary <= last:
        raise HarnessError(f"boundary {boundary!r} is no event of the source; it has {last + 1}", "INVALID_BOUNDARY")
    if events[boundary].type not in ("turn/end", OUTSIDE):
        raise HarnessError(
            f"event {boundary} is a {events[boundary].type}; a fork takes whole turns, up to a turn/end", "OPEN_TURN"
        )
    return boundary


async def in_some_turn(session: Session, data: Any, trigger: Any, flush: Callable[[], Awaitable[None]]) -> Event:
    """Append an event to the open turn, or to one of its own, which is then closed and flushed whatever happens.

    Raises:
        HarnessError: ``NOT_OUT_OF_BAND``.
        Exception: Why the event was refused, or the flush failed.
    """
    if getattr(type(data), "out_of_band", None) is not True:
        raise HarnessError(
            f"{type(data).__name__} may not be appended out of band; its class does not say out_of_band = True",
            "NOT_OUT_OF_BAND",
        )
    if session.open_turn is not None:
        return session.append(data)
    with anyio.CancelScope(shield=True):
        event = await _in_own_turn(session, data, trigger, flush)
    return event


async def _in_own_turn(session: Session, data: Any, trigger: Any, flush: Callable[[], Awaitable[None]]) -> Event:
    turn = session.last_turn + 1
    session.append(TurnStart(turn, trigger))
    try:
        event = session.append(data)
    except BaseException:
        session.append(TurnEnd(turn, CompletedEnd()))
        try:
            await flush()
        except Exception as exc:  # noqa: BLE001 - why the event was refused matters more
            log.warning("session %r: flushing failed: %s", session.id, described(exc))
        raise
    session.append(TurnEnd(turn, CompletedEnd()))
    await flush()
    return event
