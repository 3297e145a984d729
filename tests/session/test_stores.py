"""What every store does, on every store (spec/core.md 5.7)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from dshhooks.session.event import Event
from dshhooks.session.jsonl import JsonlStore
from dshhooks.session.log import Session
from dshhooks.session.memory import MemoryStore
from dshhooks.session.sqlite import SqliteStore
from dshhooks.session.store import open_store
from dshhooks.session.text import dumps
from hookspecs.errors import ConfigError, NotLosslessError
from tests.session.kit import (
    CODEC,
    Kept,
    append,
    check_valid,
    header,
    kinds,
    log,
    moved,
    refused,
    steps,
    stored,
    turns,
)

pytestmark = pytest.mark.anyio


async def in_order(*calls: Callable[[], Awaitable[object]]) -> None:
    """Run calls at once, begun one after the other."""

    async def run(call: Callable[[], Awaitable[object]], begun: anyio.Event) -> None:
        begun.set()
        await call()

    async with anyio.create_task_group() as tasks:
        for call in calls:
            begun = anyio.Event()
            tasks.start_soon(run, call, begun)
            await begun.wait()


class TestRoundTrip:
    async def test_what_is_appended_is_loaded(self, kept: Kept) -> None:
        """Case 199: create, append, load: identical header and events, for a new store object too."""
        store, session = kept.open(), log()
        append(session, 3)
        events = list(session.events)
        what = header("s", cwd="/w", parent_session="p", seed_length=2, delegation_depth=1)
        await store.create(what)
        await store.append("s", events[:5])
        await store.append("s", events[5:])
        for reader in (store, kept.open()):
            found = await reader.load("s")
            assert found.header == what
            assert list(found.events) == events
            assert found.repair == ()
            assert [event.data for event in found.events] == [event.data for event in events]

    async def test_what_is_read_cannot_be_changed(self, kept: Kept) -> None:
        """Neither through the wire form nor through the data."""
        await stored(kept.open(), turns())
        store = kept.open()
        event = (await store.load("s")).events[1]
        with pytest.raises(TypeError):
            event.wire["content"].append(1)
        assert (await store.load("s")).events[1] == event

    async def test_odd_names_and_texts(self, kept: Kept) -> None:
        """Ids, folders and texts with surrogates, separators and nothing at all come back."""
        store = kept.open()
        for name in ("", ".", "..", "../x", "a/b", "\x00", "é\u2028", "\ud800", "~2E", "x" * 300, "x" * 301):
            await store.create(header(name, cwd="/odd\udcff/\n", parent_session="\udcff"))
            await store.append(name, turns())
        found = await kept.open().list()
        assert len(found) == 11
        for what in found:
            assert what.cwd == "/odd\udcff/\n"
            assert (await store.load(what.id)).header == what

    async def test_hard_data(self, kept: Kept) -> None:
        """Depth, long integers and lone surrogates survive."""
        deep: Any = 10**6000
        for _ in range(3000):
            deep = [deep, "\udfff"]
        await stored(kept.open(), [Event(0, "acme/deep", 0, CODEC, wire=deep)])
        (found,) = (await kept.open().load("s")).events
        assert dumps(found.wire) == dumps(deep)

    async def test_unknown_events_are_kept_verbatim(self, kept: Kept) -> None:
        """An event type nobody knows is written back as it was read."""
        note = Event(0, "acme/note", 5, CODEC, wire={"z": 1, "a": [None]})
        await stored(kept.open(), [note])
        again = (await kept.open().load("s")).events
        await stored(kept.open(), again, "t")
        (copy,) = (await kept.open().load("t")).events
        assert (copy.type, copy.time, list(copy.data.data.items())) == ("acme/note", 5, [("z", 1), ("a", [None])])


class TestCreate:
    async def test_stores_nothing(self, kept: Kept) -> None:
        """Case 199: a session that was only created is in no list and cannot be loaded."""
        store = kept.open()
        await store.create(header())
        assert await store.list() == []
        assert await store.length("s") is None
        assert kept.files() == {}
        with refused("SESSION_NOT_FOUND"):
            await store.load("s")

    async def test_refuses_an_id_that_was_created(self, kept: Kept) -> None:
        """A tracked id is taken."""
        store = kept.open()
        await store.create(header())
        with refused("SESSION_ALREADY_EXISTS"):
            await store.create(header())

    async def test_refuses_an_id_that_is_stored(self, kept: Kept) -> None:
        """A stored id is taken, whatever the folder."""
        await stored(kept.open(), turns(), cwd="/a")
        with refused("SESSION_ALREADY_EXISTS"):
            await kept.open().create(header(cwd="/b"))

    async def test_two_creators_race(self, on_disk: Kept) -> None:
        """Who appends first has the id; the other is refused and nothing is mixed."""
        one, other = on_disk.open(), on_disk.open()
        await one.create(header(cwd="/a"))
        await other.create(header(cwd="/b"))
        await one.append("s", turns())
        with refused("SESSION_ALREADY_EXISTS"):
            await other.append("s", turns(2))
        assert len((await on_disk.open().load("s")).events) == len(turns())

    async def test_is_forgotten_when_released(self, kept: Kept) -> None:
        """An id that was created and never written is free after its release."""
        store = kept.open()
        await store.create(header())
        await store.release("s")
        await store.create(header())

    @pytest.mark.parametrize("parts", [{"cwd": "relative"}, {"delegation_depth": -1}, {"seed_length": True},
                                       {"parent_session": 5}], ids=repr)  # fmt: skip
    async def test_refuses_a_bad_header(self, kept: Kept, parts: dict[str, Any]) -> None:
        """What could not be read again is not created."""
        with refused("INVALID_HEADER"):
            await kept.open().create(header(**parts))

    async def test_refuses_another_format(self, kept: Kept) -> None:
        """A header of a version nobody here knows is refused."""
        with refused("SESSION_FORMAT"):
            await kept.open().create(header(version=1))


class TestAppend:
    async def test_refuses_a_gap(self, kept: Kept) -> None:
        """Case 200: a batch with a gap, inside or at its start, leaves the store unchanged."""
        store, events = kept.open(), turns(2)
        await stored(store, events[:3])
        before = kept.files()
        for batch in (events[4:6], [events[3], events[5]], events[2:5], [events[3], events[3]]):
            with refused("INVALID_SEQUENCE"):
                await store.append("s", batch)
        assert kept.files() == before
        assert (await store.inspect("s")).events == tuple(events[:3])
        await store.append("s", events[3:])

    async def test_refuses_an_unknown_session(self, kept: Kept) -> None:
        """Nothing is stored for an id nobody created."""
        with refused("SESSION_NOT_FOUND"):
            await kept.open().append("s", turns())
        assert kept.files() == {}

    async def test_of_nothing_does_nothing(self, kept: Kept) -> None:
        """An empty batch is no first append either."""
        store = kept.open()
        await store.create(header())
        await store.append("s", [])
        await store.append("unknown", [])
        assert await store.list() == []

    async def test_refuses_what_is_not_lossless(self, kept: Kept) -> None:
        """Data that no JSON text stands for rejects the whole batch."""
        store, events = kept.open(), turns()
        bad = Event(1, "x", 0, CODEC, wire={"x": float("nan")})
        await store.create(header())
        with pytest.raises((NotLosslessError, ValueError)):
            await store.append("s", [events[0], bad])
        assert await store.list() == []
        await store.append("s", events)

    async def test_keeps_the_order_of_calls(self, kept: Kept) -> None:
        """Appends to one session that wait for each other are done first come, first served."""
        store, events = kept.open(), turns(3)
        await store.create(header())
        await in_order(*(lambda event=event: store.append("s", [event]) for event in events))
        assert (await store.load("s")).events == tuple(events)

    async def test_a_failure_does_not_hold_up_the_next(self, kept: Kept) -> None:
        """The chain of operations on a session goes on after one that failed."""
        store, events = kept.open(), turns()
        await store.create(header())
        outcomes: list[str] = []

        async def one(batch: list[Event]) -> None:
            try:
                await store.append("s", batch)
                outcomes.append("ok")
            except Exception:
                outcomes.append("refused")

        await in_order(*(lambda batch=batch: one(batch) for batch in (events[:2], events[5:6], events[2:])))
        assert sorted(outcomes) == ["ok", "ok", "refused"]
        assert (await store.load("s")).events == tuple(events)

    async def test_cancellation_leaves_no_half(self, kept: Kept) -> None:
        """A cancelled append is stored whole or not at all, and the store goes on."""
        store, events = kept.open(), turns(2)
        await store.create(header())
        for moment in range(6):
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(store.append, "s", events)
                    for _ in range(moment):
                        await anyio.lowlevel.checkpoint()
                    scope.cancel()
            length = await store.length("s")
            assert length in (None, len(events))
            if length:
                break
        else:
            await store.append("s", events)
        assert (await store.load("s")).events == tuple(events)

    async def test_a_snapshot_of_the_batch_is_taken(self, kept: Kept) -> None:
        """What the caller does to its list afterwards is not stored."""
        store, events = kept.open(), turns()
        await store.create(header())
        batch = list(events)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(store.append, "s", batch)
            await anyio.lowlevel.checkpoint()
            batch.clear()
        assert await store.length("s") in (None, len(events))


class TestIdempotent:
    async def test_adds_once(self, kept: Kept) -> None:
        """7.23: the same event again is no error and is not stored twice."""
        store, events = kept.open(), turns()
        await store.create(header())
        assert await store.append_idempotent("s", events[0])
        assert not await store.append_idempotent("s", events[0])
        assert await store.append_idempotent("s", events[1])
        assert await store.length("s") == 2

    async def test_refuses_another_event_at_that_place(self, kept: Kept) -> None:
        """The same seq with something else in it is a conflict; a gap is one, too."""
        store, events = kept.open(), turns()
        await stored(store, events[:3])
        other = Event(1, "acme/x", 0, CODEC, wire={})
        for event in (other, events[4]):
            with refused("INVALID_SEQUENCE"):
                await store.append_idempotent("s", event)


class TestRepair:
    async def test_closes_an_interrupted_turn(self, kept: Kept) -> None:
        """Case 202: a log whose writer died in a tool batch is closed, durably; a second load changes nothing."""
        events = steps("a", "b", started=["a"], after=1)
        await stored(kept.open(), events)
        first = await kept.open().load("s")
        assert first.events[: len(events)] == tuple(events)
        assert kinds(first.events[len(events) :]) == ["tool/result", "tool/result", "step/end", "turn/end"]
        check_valid(first.events)
        assert [step.kind for step in first.repair] == ["append"] * 4
        files = kept.files()
        second = await kept.open().load("s")
        assert second.events == first.events
        assert second.revision == first.revision
        assert second.repair == ()
        assert kept.files() == files

    async def test_inspect_says_so_and_changes_nothing(self, kept: Kept) -> None:
        """inspect shows what is stored and what load would do."""
        events = steps("a", started=["a"])
        await stored(kept.open(), events)
        files = kept.files()
        store = kept.open()
        found = await store.inspect("s")
        assert found.events == tuple(events)
        assert kinds(step.event for step in found.repair if step.event) == ["tool/result", "step/end", "turn/end"]
        assert kept.files() == files
        assert (await store.inspect("s")) == found
        assert (await store.load("s")).repair == found.repair

    async def test_appending_goes_on_after_it(self, kept: Kept) -> None:
        """A repaired log takes the next turn."""
        await stored(kept.open(), steps("a"))
        store = kept.open()
        events = (await store.load("s")).events
        session = Session(header(), CODEC, seed=events)
        append(session)
        await store.append("s", session.events[len(events) :])
        check_valid((await kept.open().load("s")).events)

    async def test_a_live_session_is_not_closed(self, kept: Kept) -> None:
        """A log that is claimed and being written here is not repaired under its writer."""
        store, events = kept.open(), steps("a")
        await store.claim("s")
        await stored(store, events)
        with refused("SESSION_LIVE"):
            await store.load("s")
        assert (await store.inspect("s")).events == tuple(events)
        await store.release("s")
        assert (await store.load("s")).repair != ()

    async def test_a_live_balanced_session_is_returned(self, kept: Kept) -> None:
        """Between turns, a live log can be loaded as it is stored."""
        store = kept.open()
        await store.claim("s")
        await stored(store, turns())
        found = await store.load("s")
        assert (kinds(found.events), found.repair) == (kinds(turns()), ())

    async def test_unknown_ids(self, kept: Kept) -> None:
        """There is nothing to load or inspect, and looking makes nothing."""
        store = kept.open()
        for look in (store.load, store.inspect):
            with refused("SESSION_NOT_FOUND", "'nobody'"):
                await look("nobody")
        assert await store.list() == []
        assert not store.has("nobody")
        if kept.kind == "sqlite":
            assert kept.files() == {}


class TestSnapshots:
    async def test_a_revision_changes_with_the_log_and_only_then(self, kept: Kept) -> None:
        """Reading, claiming and other sessions leave it alone."""
        store, events = kept.open(), turns(2)
        await stored(store, events[:7])
        await stored(store, turns(), "t")

        async def revision() -> str:
            found = {snapshot.header.id: snapshot.revision for snapshot in await kept.open().list_snapshots()}
            return found["s"]

        first = await revision()
        await store.inspect("s")
        await store.claim("t")
        await store.append("t", moved(turns(), len(turns())))
        assert await revision() == first == (await store.inspect("s")).revision
        await store.append("s", events[7:])
        second = await revision()
        assert second != first
        assert second == (await store.inspect("s")).revision

    async def test_list_is_oldest_first(self, kept: Kept) -> None:
        """Headers by their time, then by id."""
        store = kept.open()
        for name in ("b", "a", "c"):
            await stored(store, turns(), name, cwd=f"/{name}")
        assert [found.id for found in await kept.open().list()] == ["a", "b", "c"]


class TestClose:
    async def test_can_be_used_again(self, kept: Kept) -> None:
        """aclose lets go of files; the next call opens them again."""
        store, events = kept.open(), turns(2)
        await stored(store, events[:5])
        await store.aclose()
        await store.append("s", events[5:])
        assert (await store.load("s")).events == tuple(events)
        await store.aclose()
        await store.aclose()


def test_one_store_object_serves_one_loop_after_the_other(kept: Kept) -> None:
    """Nothing in a store belongs to the event loop it was first used on."""
    store, events = kept.open(), turns(2)
    anyio.run(stored, store, events[:4])
    anyio.run(store.append, "s", events[4:])
    assert anyio.run(store.load, "s", backend="trio").events == tuple(events)
    anyio.run(store.aclose)


class TestUrls:
    def test_memory(self) -> None:
        """No URL, or memory:."""
        for url in (None, "memory:"):
            assert isinstance(open_store(url), MemoryStore)

    def test_paths(self, tmp_path: Path) -> None:
        """Three slashes are relative, four absolute."""
        relative, absolute = open_store("sqlite:///a/b.db"), open_store(f"sqlite:///{tmp_path}/b.db")
        assert isinstance(relative, SqliteStore)
        assert isinstance(absolute, SqliteStore)
        assert (relative._path, absolute._path) == (Path("a/b.db"), tmp_path / "b.db")
        logs = open_store("jsonl:///logs")
        assert isinstance(logs, JsonlStore)
        assert logs.locate(header()) == Path("logs/no-project/s/session.jsonl")

    @pytest.mark.parametrize("url", ["", "sqlite:", "sqlite://x.db", "sqlite:///", "jsonl:///", "redis:///x", "x.db",
                                     "sqlite:///:memory:", "sqlite:///..", 5], ids=repr)  # fmt: skip
    def test_what_names_no_store(self, url: Any) -> None:
        """The error names the URL and says what is expected."""
        with pytest.raises(ConfigError, match="store url"):
            open_store(url)
