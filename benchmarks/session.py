"""Sessions: appending and deriving on long logs, opening them, and writing them, beside the least code that could.

* Appending to a session of 100 000 events and deriving its messages costs what it costs with 100.
* Opening a stored session of 100 000 events is measured beside reading and parsing the same bytes.
* Writing is measured beside the same rows inserted with ``sqlite3``, and the same lines written with ``os.write``, at
  the same durability. The store's part is timed without the event loop's thread hop, and with it.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks.harness_kit import Contender, Row, compare, main, ratio_row
from dshhooks.session.codec import Codec
from dshhooks.session.enclosure import TurnEnclosure
from dshhooks.session.event import APPEND, Event
from dshhooks.session.events import AssistantChunk, MessageTrigger, StepStart, TurnStart, UserMessage
from dshhooks.session.jsonl import JsonlStore
from dshhooks.session.log import Session, SessionHeader
from dshhooks.session.sqlite import SqliteStore
from dshhooks.session.store import SessionStore
from dshhooks.session.variants import Variants
from hookspecs.model import TextDelta
from hookspecs.values import UserSource

BENCH = "session"
LONG = 100_000
BATCHES = (1, 10, 100)
ROUNDS = 7

CODEC = Codec(Variants())
USER = UserSource()
INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)"


def grown(size: int) -> Session:
    """A session of about ``size`` events: one user message in fifty, the others chunks."""
    session = Session(SessionHeader("s", 0), CODEC, enclosure=TurnEnclosure())
    session.append(TurnStart(1, MessageTrigger(USER)))
    session.append(StepStart(1, 1))
    while len(session.events) < size:
        if len(session.events) % 50 == 0:
            session.append(UserMessage("what do you think of that, then?", USER), surface_op=APPEND)
        else:
            session.append(AssistantChunk(1, 1, TextDelta(0, "some words of the answer ")))
    return session


def incremental_rows() -> list[Row]:
    """Append one message and derive, on a short log and on a long one."""
    sessions = {size: grown(size) for size in (100, LONG)}

    def step(session: Session) -> Callable[[], Any]:
        def one() -> Any:
            session.append(UserMessage("next", USER), surface_op=APPEND)
            return len(session.messages())

        return one

    for session in sessions.values():
        session.messages()
    timings = compare([Contender(f"{size} events", step(session)) for size, session in sessions.items()])
    case = "append a message and derive again"
    return [ratio_row(BENCH, case, timings, name, "100 events", 2.0) for name in timings]


def wall(contenders: dict[str, Callable[[], Awaitable[float]]]) -> dict[str, float]:
    """Seconds of wall time of each, medians, taken in turns; each times its own work."""

    async def run() -> dict[str, list[float]]:
        taken: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(ROUNDS):
            for name, work in contenders.items():
                taken[name].append(await work())
        return taken

    return {name: statistics.median(times) for name, times in asyncio.run(run()).items()}


def row(case: str, name: str, seconds: float, count: int, against: str, other: float, target: float | None) -> Row:
    """One contender's time for one event, beside another's."""
    each, note = seconds / count * 1e6, "wall time"
    if name == against:
        return Row(BENCH, case, name, each, note=note)
    return Row(BENCH, case, name, each, "us", against, seconds / other, target, note)


async def stored(store: SessionStore, events: list[Event]) -> None:
    """Store a session."""
    await store.create(SessionHeader("s", 0))
    await store.append("s", events)


def keep(values: Iterable[Any]) -> list[Any]:
    """What a reader has in hand when it is done."""
    return list(values)


def opening_rows(folder: Path) -> list[Row]:
    """Open a long session, beside reading and parsing the same bytes."""
    events = list(grown(LONG).events)
    lines, database = JsonlStore(folder / "open"), SqliteStore(folder / "open.db")
    for store in (lines, database):
        asyncio.run(stored(store, events))
    path = lines.locate(SessionHeader("s", 0))

    async def parse_lines() -> float:
        started = time.perf_counter()
        with path.open(encoding="utf-8") as file:
            keep(json.loads(line) for line in file)
        return time.perf_counter() - started

    async def parse_rows() -> float:
        started = time.perf_counter()
        db = sqlite3.connect(folder / "open.db")
        found = db.execute("SELECT seq, type, time, data FROM events")
        keep((seq, kind, at, json.loads(data)) for seq, kind, at, data in found)
        db.close()
        return time.perf_counter() - started

    def load(store: SessionStore) -> Callable[[], Awaitable[float]]:
        async def one() -> float:
            started = time.perf_counter()
            found = await store.load("s")
            Session(found.header, CODEC, seed=found.events, enclosure=TurnEnclosure())
            return time.perf_counter() - started

        return one

    # An open turn would be closed by the first load; from then on the log is the same for everybody.
    for store in (lines, database):
        asyncio.run(store.load("s"))
    times = wall({"JSONL store": load(lines), "json.loads, lines": parse_lines,
                  "SQLite store": load(database), "json.loads, rows": parse_rows})  # fmt: skip
    asyncio.run(database.aclose())
    case = f"open {LONG} events, per event"
    pairs = (("JSONL store", "json.loads, lines"), ("SQLite store", "json.loads, rows"))
    return [
        row(case, name, times[name], LONG, against, times[against], 3.0)
        for store, against in pairs
        for name in (store, against)
    ]


def by_hand_sqlite(path: Path) -> sqlite3.Connection:
    """The same table at the same durability, without us."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute(
        "CREATE TABLE events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL,"
        " time INTEGER NOT NULL, data TEXT NOT NULL, source_event_seqs TEXT, surface_op TEXT,"
        " PRIMARY KEY (session_id, seq)) WITHOUT ROWID"
    )
    return db


def encoded(events: list[Event]) -> list[tuple[Any, ...]]:
    """Rows as the peer inserts them; encoding is part of the work."""
    return [("s", event.seq, event.type, event.time, json.dumps(event.wire, separators=(",", ":")), None, None)
            for event in events]  # fmt: skip


def writing_rows(folder: Path) -> list[Row]:
    """Write batches of several sizes, beside the same inserts and lines by hand."""
    return [found for batch in BATCHES for found in _writing(folder, batch)]


def _writing(folder: Path, batch: int) -> list[Row]:
    events = list(grown(batch * ROUNDS * 40 + 2).events)
    place = folder / f"write-{batch}"
    place.mkdir()
    lines, database = JsonlStore(place / "logs"), SqliteStore(place / "ours.db")
    inline = SqliteStore(place / "inline.db")
    db = by_hand_sqlite(place / "theirs.db")
    descriptor = os.open(place / "theirs.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def claim() -> None:
        for store in (lines, database, inline):
            await store.claim("s")
            await stored(store, events[:1])

    def insert(part: list[Event]) -> None:
        db.execute("BEGIN IMMEDIATE")
        db.executemany(INSERT, encoded(part))
        db.execute("COMMIT")

    def write(part: list[Event]) -> None:
        os.write(descriptor, "".join(f"{json.dumps(event.document())}\n" for event in part).encode())
        os.fsync(descriptor)

    async def append_inline(part: list[Event]) -> None:
        inline._append("s", part)

    contenders = {
        "SQLite store": _feed(events, batch, lambda part: database.append("s", part)),
        "SQLite store, no thread": _feed(events, batch, append_inline),
        "sqlite3 by hand": _feed(events, batch, _plain(insert)),
        "JSONL store": _feed(events, batch, lambda part: lines.append("s", part)),
        "os.write by hand": _feed(events, batch, _plain(write)),
    }
    asyncio.run(claim())
    times = wall(contenders)
    for store in (lines, database, inline):
        asyncio.run(store.aclose())
    db.close()
    os.close(descriptor)
    case = f"write durably, batches of {batch}, per event"
    pairs = (("SQLite store", "sqlite3 by hand", 2.0), ("SQLite store, no thread", "sqlite3 by hand", None),
             ("sqlite3 by hand", "sqlite3 by hand", None), ("JSONL store", "os.write by hand", None),
             ("os.write by hand", "os.write by hand", None))  # fmt: skip
    count = 40 * batch
    return [row(case, name, times[name], count, against, times[against], target) for name, against, target in pairs]


def _plain(write: Callable[[list[Event]], None]) -> Callable[[list[Event]], Awaitable[None]]:
    async def one(part: list[Event]) -> None:
        write(part)

    return one


def _feed(events: list[Event], batch: int, write: Any) -> Callable[[], Awaitable[float]]:
    """Write the next forty batches and return the seconds it took."""
    at = [1]

    async def one() -> float:
        started = time.perf_counter()
        for _ in range(40):
            await write(events[at[0] : at[0] + batch])
            at[0] += batch
        return time.perf_counter() - started

    return one


def rows() -> list[Row]:
    """Measure everything here."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("DSHHOOKS_BENCH_DIR")) as folder:
        return incremental_rows() + opening_rows(Path(folder)) + writing_rows(Path(folder))


if __name__ == "__main__":
    sys.exit(main(BENCH, rows))
