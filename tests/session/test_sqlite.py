"""The database of a SQLite store: durable, its owner's, and never somebody else's."""

# ruff: noqa: ASYNC240 - these tests look at files; nothing else runs on their event loop

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dshhooks.session.event import Event
from dshhooks.session.sqlite import SqliteStore
from tests.session.kit import CODEC, header, kinds, refused, steps, stored, turns

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database will be."""
    return tmp_path / "deep" / "sessions.db"


async def change(path: Path, statement: str, *args: Any) -> None:
    """Change a database behind the store's back."""
    with closing(sqlite3.connect(path)) as db:
        db.execute(statement, args)
        db.commit()


class TestFile:
    async def test_only_the_owner_may_read(self, path: Path) -> None:
        """The database and SQLite's files beside it are 0600, whatever the umask."""
        before = os.umask(0)
        try:
            store = SqliteStore(path)
            await stored(store, turns())
        finally:
            os.umask(before)
        files = [found for found in path.parent.iterdir() if found.is_file()]
        assert {found.name for found in files} == {"sessions.db", "sessions.db-wal", "sessions.db-shm"}
        assert {stat.S_IMODE(found.stat().st_mode) for found in files} == {0o600}
        await store.aclose()

    async def test_is_synced_and_written_ahead(self, path: Path) -> None:
        """Write-ahead log, and every commit reaches the disk."""
        store = SqliteStore(path)
        await stored(store, turns())
        assert store._writer is not None
        db = store._writer.db
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)
        await store.aclose()

    async def test_closing_tidies_up(self, path: Path) -> None:
        """After aclose everything is in the one file, also when the store was looked at meanwhile."""
        store = SqliteStore(path)
        await stored(store, turns())
        assert store.has("s")
        await store.aclose()
        assert [found.name for found in path.parent.iterdir() if found.is_file()] == ["sessions.db"]

    async def test_looking_makes_nothing(self, path: Path) -> None:
        """list and has on a database that does not exist leave it so."""
        store = SqliteStore(path)
        assert await store.list() == []
        assert not store.has("s")
        await store.create(header())
        assert not path.parent.exists()

    async def test_an_empty_file_becomes_a_database(self, path: Path) -> None:
        """Somebody made the file beforehand."""
        path.parent.mkdir()
        path.touch()
        assert await SqliteStore(path).list() == []
        store = SqliteStore(path)
        await stored(store, turns())
        await store.aclose()
        assert [found.id for found in await SqliteStore(path).list()] == ["s"]

    async def test_a_path_with_odd_characters(self, tmp_path: Path) -> None:
        """The path is no URL: ?, # and % mean themselves."""
        path = tmp_path / "a?mode=memory#b%20c.db"
        store = SqliteStore(path)
        await stored(store, turns())
        await store.aclose()
        assert path.exists()

    async def test_two_stores_share_it(self, path: Path) -> None:
        """Two processes' stores write different sessions of one file."""
        one, other = SqliteStore(path), SqliteStore(path)
        await stored(one, turns(), "a")
        await stored(other, turns(), "b")
        await one.append("a", [Event(len(turns()), "acme/x", 0, CODEC, wire={})])
        assert [found.id for found in await one.list()] == ["a", "b"]
        await one.aclose()
        await other.aclose()


class TestForeign:
    @pytest.mark.parametrize(
        "statement", ["CREATE TABLE x (y)", "PRAGMA application_id = 7", "PRAGMA user_version = 1"]
    )
    async def test_a_database_of_something_else_is_untouched(self, path: Path, statement: str) -> None:
        """A database without our mark is refused by everything, and not one byte or file of it changes."""
        path.parent.mkdir()
        await change(path, statement)
        before = path.read_bytes()
        store = SqliteStore(path)
        with refused("STORE_FORMAT", "something else"):
            store.has("s")
        with refused("STORE_FORMAT"):
            await store.list()
        with refused("STORE_FORMAT"):
            await stored(store, turns())
        assert path.read_bytes() == before
        assert [found.name for found in path.parent.iterdir() if found.is_file()] == ["sessions.db"]

    async def test_a_later_schema_is_untouched(self, path: Path) -> None:
        """A database of a later release is refused, saying which."""
        store = SqliteStore(path)
        await stored(store, turns())
        await store.aclose()
        await change(path, "PRAGMA user_version = 2")
        before = path.read_bytes()
        with refused("STORE_FORMAT", "schema version 2"):
            await SqliteStore(path).load("s")
        assert path.read_bytes() == before

    @pytest.mark.parametrize("content", [b"x", b"{}\n" * 100, b"SQLite format 3\0"])
    async def test_what_is_no_database(self, path: Path, content: bytes) -> None:
        """Any other file is refused and kept."""
        path.parent.mkdir()
        path.write_bytes(content)
        with refused("STORE_FORMAT", "no SQLite database"):
            await SqliteStore(path).list()
        assert path.read_bytes() == content


class TestRows:
    async def made(self, path: Path, events: list[Event]) -> None:
        """Store events and close."""
        store = SqliteStore(path)
        await stored(store, events)
        await store.aclose()

    @pytest.mark.parametrize(
        "column",
        ["data = 'x'", "data = x'ff'", "data = 5", "time = -1", "time = 1.5", "surface_op = '1'", "type = x'ff'"],
    )
    async def test_damage_in_the_open_turn_is_cut(self, path: Path, column: str) -> None:
        """Case 201: a row that cannot be used, behind the last turn/end, is a torn tail; load cuts it and the rest."""
        events = steps("a", after=1)
        await self.made(path, events)
        at = len(turns()) + 2
        await change(path, f"UPDATE events SET {column} WHERE seq = ?", at)
        store = SqliteStore(path)
        found = await store.inspect("s")
        assert (len(found.events), found.repair[0].kind, found.repair[0].seq) == (at, "cut", at)
        loaded = await store.load("s")
        assert kinds(loaded.events) == [*kinds(events[:at]), "turn/end"]
        again = await store.load("s")
        assert (again.repair, again.events, again.revision) == ((), loaded.events, loaded.revision)
        await store.aclose()

    async def test_damage_before_a_turn_end_is_refused(self, path: Path) -> None:
        """Case 201: otherwise it is corruption; the error names file and session."""
        await self.made(path, turns(2))
        await change(path, "DELETE FROM events WHERE seq = 2")
        for look in (SqliteStore(path).load, SqliteStore(path).inspect):
            with refused("SESSION_CORRUPT", "sessions.db, session 's'"):
                await look("s")

    async def test_rows_that_cannot_be(self, path: Path) -> None:
        """Negative and fractional seqs go with the tail; repair is done after one load."""
        await self.made(path, steps("a"))
        for seq in (-5, 1.5, 99):
            await change(path, "INSERT INTO events VALUES ('s', ?, 'acme/x', 0, '{}', NULL, NULL)", seq)
        store = SqliteStore(path)
        first = await store.load("s")
        second = await store.load("s")
        assert second.repair == ()
        assert second.events == first.events
        await store.aclose()

    async def test_a_failed_batch_leaves_nothing(self, path: Path) -> None:
        """A batch that fails in the middle is rolled back, its first header too."""
        store = SqliteStore(path)
        await store.create(header())
        events = turns()
        twice = [*events[:2], Event(2, "acme/x", 2**70, CODEC, wire={})]
        with pytest.raises(OverflowError):
            await store.append("s", twice)
        assert await store.list() == []
        await store.append("s", events)
        assert await store.length("s") == len(events)
        await store.aclose()

    async def test_a_bad_header_row_is_left_out(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        """A session of another format is not listed, and refused by name."""
        await self.made(path, turns())
        await change(path, "UPDATE sessions SET version = 9")
        store = SqliteStore(path)
        assert await store.list() == []
        assert "left out" in caplog.text
        with refused("SESSION_FORMAT", "version 9"):
            await store.load("s")

    async def test_a_database_error_names_the_file(self, path: Path) -> None:
        """What SQLite complains about comes with path and code."""
        await self.made(path, turns())
        await change(path, "DROP TABLE events")
        with refused("STORE_ERROR", "sessions.db"):
            await SqliteStore(path).load("s")
