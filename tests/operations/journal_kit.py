"""Live sessions whose appends are observed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from dshhooks.operations import (
    Operation,
)
from dshhooks.session.log import Session
from dshhooks.session.manager import Sessions
from dshhooks.session.store import SessionStore
from hookspecs.markers import hookimpl
from tests.session.kit import sessions

__all__ = ["Watcher", "host", "live", "resumed"]


class Watcher:
    """Observes appends, and writes down begins and results in order."""

    name = "watcher"

    def __init__(self, during: Callable[[Any], object] | None = None) -> None:
        self.begun: list[str] = []
        self.results: list[Any] = []
        self.during = during

    @hookimpl
    def operation(self, call: Any) -> Any:
        assert call.operation is Operation.JOURNAL_APPEND
        if call.operation is not Operation.JOURNAL_APPEND:
            return
        self.begun.append(call.payload.record_id)
        if self.during is not None:
            self.during(call)
        self.results.append((yield))

    def records(self, family: str = "event") -> list[str]:
        """The ids of a family whose write has ended."""
        return [each.payload.record_id for each in self.results if each.payload.family == family]

    def outcomes(self, family: str = "event") -> list[str]:
        """How they ended."""
        return [str(each.outcome) for each in self.results if each.payload.family == family]


@asynccontextmanager
async def host(store: SessionStore | None, *plugins: object, background: bool = True) -> AsyncIterator[Sessions]:
    """Live sessions whose logs need no turns."""
    async with sessions(store, *plugins, background=background) as made:
        made.enclosure = False
        yield made


async def live(made: Sessions, name: str = "s") -> Session:
    """A live session."""
    session = made.create(name)
    await made.enter(session)
    return session


async def resumed(made: Sessions, name: str = "s") -> Session:
    """A stored session, live again."""
    session = await made.resume(name)
    await made.enter(session)
    return session
