"""Small logs, and the three stores behind one face."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import frozen

from dshhooks.engine.hooks import Hooks
from dshhooks.operations.host import Operations
from dshhooks.session.codec import Codec
from dshhooks.session.enclosure import TurnEnclosure
from dshhooks.session.event import APPEND, Event
from dshhooks.session.events import (
    AssistantChunk,
    AssistantMessage,
    CompletedEnd,
    MessageTrigger,
    StepEnd,
    StepStart,
    ToolCallStarted,
    ToolResultRecorded,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from dshhooks.session.jsonl import JsonlStore
from dshhooks.session.log import Session, SessionHeader
from dshhooks.session.manager import Sessions
from dshhooks.session.memory import MemoryStore
from dshhooks.session.sqlite import SqliteStore
from dshhooks.session.store import SessionStore
from dshhooks.session.variants import Variants
from hookspecs.errors import HarnessError
from hookspecs.model import TextDelta
from hookspecs.values import AssistantProvenance, TextBlock, ToolCallBlock, UserSource
from tests.tools.kit import Plugin

__all__ = ["CODEC", "STORES", "Kept", "Plugin", "append", "check_valid", "code", "header", "kinds", "log", "moved",
           "refused", "say", "sessions", "steps", "stored", "turns"]  # fmt: skip

CODEC = Codec(Variants())
USER = UserSource()
MODEL = AssistantProvenance("scripted", "demo")
STORES = ("memory", "jsonl", "sqlite")


@frozen
class Kept:
    """One kind of store in one place; ``open()`` gives another store object on what is kept there."""

    kind: str
    path: Path
    memory: MemoryStore

    def open(self) -> SessionStore:
        """A new store object, except that memory has only one."""
        if self.kind == "memory":
            return self.memory
        return JsonlStore(self.path / "logs") if self.kind == "jsonl" else SqliteStore(self.path / "logs.db")

    def files(self) -> dict[str, bytes]:
        """Everything on disk that is not SQLite's or the leases' scratch."""
        found = (path for path in self.path.rglob("*") if path.is_file())
        scratch = ("-shm", "-wal", ".lock")
        return {str(path): path.read_bytes() for path in found if not path.name.endswith(scratch)}


def header(session_id: str = "s", **parts: Any) -> SessionHeader:
    """A header of a fixed time."""
    return SessionHeader(session_id, 1_700_000_000_000, **parts)


def log() -> Session:
    """An empty session that checks its turns."""
    return Session(header(), CODEC, enclosure=TurnEnclosure())


def say(session: Session, text: str = "hello") -> Event:
    """Append a user message."""
    return session.append(UserMessage(text, USER), surface_op=APPEND)


def begin(session: Session) -> int:
    """Open the next turn with a prompt and a step; return the turn."""
    turn = session.last_turn + 1
    session.append(TurnStart(turn, MessageTrigger(USER)))
    say(session, f"prompt {turn}")
    session.append(StepStart(turn, 1))
    return turn


def calls(
    session: Session, turn: int, asked: Sequence[str], started: Iterable[str] = (), done: Iterable[str] = ()
) -> None:
    """Append an answer that asks for tools, and what became of them."""
    blocks = (TextBlock("working"), *(ToolCallBlock(name, "echo", "{}") for name in asked))
    session.append(AssistantMessage(turn, 1, blocks, MODEL), surface_op=APPEND)
    for name in started:
        session.append(ToolCallStarted(turn, 1, name, "echo", "{}"))
    for name in done:
        session.append(ToolResultRecorded(turn, 1, name, "done", False), surface_op=APPEND)


def append(session: Session, count: int = 1, *, chunks: int = 2) -> None:
    """Append whole turns, each with a tool call."""
    for _ in range(count):
        turn = begin(session)
        for number in range(chunks):
            session.append(AssistantChunk(turn, 1, TextDelta(0, f"word {number} ")))
        calls(session, turn, ["c1"], ["c1"], ["c1"])
        session.append(StepEnd(turn, 1))
        session.append(TurnEnd(turn, CompletedEnd()))


def turns(count: int = 1, **options: Any) -> list[Event]:
    """The events of whole turns."""
    session = log()
    append(session, count, **options)
    return list(session.events)


def moved(events: Iterable[Event], by: int) -> list[Event]:
    """The same events, further down a log."""
    return [Event(event.seq + by, event.type, event.time, CODEC, wire=event.wire, surface_op=event.surface_op,
                  source_event_seqs=event.source_event_seqs) for event in events]  # fmt: skip


def steps(*asked: str, started: Iterable[str] = (), done: Iterable[str] = (), after: int = 0) -> list[Event]:
    """The events of a turn that is in the middle of a tool batch, after ``after`` whole ones."""
    session = log()
    append(session, after)
    calls(session, begin(session), asked, started, done)
    return list(session.events)


def kinds(events: Iterable[Event]) -> list[str]:
    """The types of events."""
    return [event.type for event in events]


def check_valid(events: Sequence[Event]) -> None:
    """Fail unless the events are a log that could have been appended, with no turn open."""
    session = Session(header(), CODEC, seed=events, enclosure=TurnEnclosure())
    assert session.open_turn is None
    session.messages()
    for event in events:
        assert event.data is not None


async def stored(store: SessionStore, events: Sequence[Event], session_id: str = "s", **parts: Any) -> None:
    """Create a session in a store and append events to it."""
    await store.create(header(session_id, **parts))
    await store.append(session_id, events)


@contextmanager
def refused(expected: str, match: str = "") -> Iterator[None]:
    """Expect a ``HarnessError`` of that code."""
    with pytest.raises(HarnessError, match=match or None) as caught:
        yield
    assert caught.value.code == expected, caught.value


def code(exc: BaseException) -> str:
    """The code of an error."""
    return exc.code if isinstance(exc, HarnessError) else type(exc).__name__


@asynccontextmanager
async def _sessions(store: SessionStore | None, *plugins: object, background: bool = True) -> Any:
    hooks = Hooks()
    async with anyio.create_task_group() as tasks:
        spawn: Callable[[Any], object] = lambda work: tasks.start_soon(_run, work)  # noqa: E731
        made = Sessions(hooks, store, spawn if background else None, operations=Operations(hooks))
        for plugin in reversed(plugins):
            hooks.register(plugin)
        yield made
        await made.aclose()
        tasks.cancel_scope.cancel()


async def _run(work: Any) -> None:
    await work


def sessions(
    store: SessionStore | None = None, *plugins: object, background: bool = True
) -> AbstractAsyncContextManager[Sessions]:
    """The live sessions of a host made of these plugins, the first outermost."""
    return _sessions(store, *plugins, background=background)
