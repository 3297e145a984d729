"""What stores give and take: a session as it is stored, and who may write it (spec/core.md 5.7)."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from attrs import define, frozen

from dshhooks.session.event import Event
from dshhooks.session.log import SessionHeader
from dshhooks.session.repair import Hole, Repair

__all__ = ["Leases", "RawLog", "SessionSnapshot", "StoredSession"]


@frozen
class StoredSession:
    """A session as a store has it.

    Args:
        header: Its header.
        events: Its log.
        repair: What ``load`` did to it, or, from ``inspect``, what ``load`` would do; empty for a valid log.
        revision: Changes if and only if the stored log does.
    """

    header: SessionHeader
    events: tuple[Event, ...]
    repair: tuple[Repair, ...] = ()
    revision: str = ""


@frozen
class SessionSnapshot:
    """A stored session's header, and an opaque revision that changes if and only if its stored log does."""

    header: SessionHeader
    revision: str


@define
class RawLog:
    """What a store found when it read a session: the events before the first hole, and the hole."""

    header: SessionHeader
    events: list[Event]
    hole: Hole | None
    revision: str
    end: int = 0  # where the readable part ends, if the store wants to know


class Leases(Protocol):
    """Who may write which session."""

    def claim(self, session_id: str) -> None:
        """Take a session until it is released; ``SESSION_LOCKED`` if anybody has it."""

    def release(self, session_id: str) -> None:
        """Give a session back; does nothing if it was not taken here."""

    def guard(self, session_id: str) -> AbstractContextManager[None]:
        """Keep others out while the block runs, unless the session is taken here anyway."""
