"""The openings of a session: kept beside its log, durably, and read back or refused (decisions.md 5.4)."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dshhooks.operations.manifest import Manifest
from dshhooks.session import jsonl
from dshhooks.session.ledger import Ledger, ledger_from_text, ledger_to_text
from dshhooks.session.memory import MemoryStore
from dshhooks.session.sqlite import SqliteStore
from tests.session.kit import Kept, header, refused, stored, turns

pytestmark = pytest.mark.anyio

ONE = Manifest("coder", "openai/gpt", ("bash",), ("policy",), "v1")
TWO = Manifest("coder", "openai/gpt", ("bash",), ("policy",), "v2")
FULL = Ledger().adopt(ONE, 5).opened().adopt(TWO, 6).opened().refuse(ONE, 7)

GOLDEN = (
    '{"type":"ledger","epoch":2,"adopted":[{"epoch":1,"time":5,'
    '"fingerprint":"c648e3487c2e34540026c4cc36b4ad64874745946f18b75bca68006da3aadc07",'
    '"manifest":{"schema":2,"agent":"coder","model":"openai/gpt","tools":["bash"],"plugins":["policy"],'
    '"hook_policy_rev":"v1"}}]}'
)


class TestText:
    def test_golden(self) -> None:
        """Durable: what one release wrote the next one reads."""
        assert ledger_to_text(Ledger().adopt(ONE, 5).opened()) == GOLDEN
        assert ledger_from_text(GOLDEN, "x") == Ledger().adopt(ONE, 5).opened()

    @pytest.mark.parametrize("ledger", [Ledger(), Ledger().opened(), FULL])
    def test_comes_back(self, ledger: Ledger) -> None:
        """Also with keys a later release may add."""
        assert ledger_from_text(ledger_to_text(ledger), "x") == ledger
        assert ledger_from_text(json.dumps({**json.loads(ledger_to_text(ledger)), "later": 1}), "x") == ledger

    @pytest.mark.parametrize(
        "text",
        [
            "", "{", "[]", "{}", '"x"', '{"epoch":0,"adopted":[]}', '{"epoch":true,"adopted":[]}', '{"epoch":1}',
            GOLDEN.replace('"epoch":2', '"epoch":"2"'), GOLDEN.replace('"epoch":1', '"epoch":3'),
            GOLDEN.replace('"v1"', '"v2"'), GOLDEN.replace('"v1"', '" "'), GOLDEN.replace('"time":5', '"time":-1'),
            GOLDEN.replace('"bash"', "1"),
        ],
    )  # fmt: skip
    def test_a_damaged_one_is_refused(self, text: str) -> None:
        """Nothing is guessed about what a session was accepted under; an edited manifest has another fingerprint."""
        with refused("SESSION_CORRUPT", "here"):
            ledger_from_text(text, "here")

    def test_the_last_accepted_counts(self) -> None:
        """R3: the baseline is what was adopted last; a refusal is none, and an acceptance ends it."""
        assert (FULL.baseline, FULL.epoch) == (TWO, 3)
        assert FULL.adopt(ONE, 8).refused is None
        assert Ledger().baseline is None


class TestStores:
    async def test_a_session_without_one_was_opened_once(self, kept: Kept) -> None:
        """Of sessions older than ledgers, and of those nobody opened twice, nothing is kept."""
        store = kept.open()
        assert await store.ledger("s") == Ledger()
        await stored(store, turns())
        assert await kept.open().ledger("s") == Ledger()

    async def test_is_stored_with_the_first_append(self, kept: Kept) -> None:
        """A session that was only created leaves nothing behind; its first event brings the ledger with it."""
        store = kept.open()
        await store.create(header(cwd="/w"))
        await store.record("s", FULL)
        assert kept.files() == {}
        assert await store.ledger("s") == FULL
        await store.append("s", turns())
        assert await kept.open().ledger("s") == FULL

    async def test_goes_with_a_session_nobody_wrote(self, kept: Kept) -> None:
        """The next one of that id has nothing to do with it."""
        store = kept.open()
        await store.claim("s")
        await store.create(header())
        await store.record("s", FULL)
        await store.release("s")
        await stored(store, turns())
        assert await store.ledger("s") == Ledger()

    async def test_is_replaced_and_the_log_is_not(self, kept: Kept) -> None:
        """The revision changes if and only if the log does; other sessions keep their own."""
        store = kept.open()
        await stored(store, turns())
        await stored(store, turns(), "t")
        before = await store.inspect("s")
        for ledger in (Ledger().opened(), FULL):
            await store.record("s", ledger)
            assert await kept.open().ledger("s") == ledger
        after = await kept.open().inspect("s")
        assert (after.revision, after.events) == (before.revision, before.events)
        assert await store.ledger("t") == Ledger()

    async def test_of_an_unknown_session(self, kept: Kept) -> None:
        """Nothing is kept of what is not there."""
        store = kept.open()
        with refused("SESSION_NOT_FOUND"):
            await store.record("s", FULL)
        assert kept.files() == {}

    async def test_of_what_somebody_else_writes(self, on_disk: Kept) -> None:
        """Only who has the session says how it goes on."""
        one, other = on_disk.open(), on_disk.open()
        await stored(one, turns())
        await one.claim("s")
        with refused("SESSION_LOCKED"):
            await other.record("s", FULL)
        await one.record("s", FULL)
        assert await other.ledger("s") == FULL

    async def test_odd_names(self, kept: Kept) -> None:
        """Ids with separators and surrogates have ledgers of their own."""
        store = kept.open()
        for epoch, name in enumerate(("a/b", "\ud800", ""), 2):
            await stored(store, turns(), name)
            await store.record(name, Ledger(epoch))
        assert [(await kept.open().ledger(name)).epoch for name in ("a/b", "\ud800", "")] == [2, 3, 4]


class TestFiles:
    async def test_a_failed_write_leaves_the_old_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """When the disk refuses, what was kept stays, and nothing is left beside it."""
        store = jsonl.JsonlStore(tmp_path)
        await stored(store, turns())
        await store.record("s", Ledger(2))

        def full(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(jsonl.os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                await store.record("s", FULL)
        assert await store.ledger("s") == Ledger(2)
        assert {Path(name).name for name in Kept("jsonl", tmp_path, MemoryStore()).files()} == {
            "session.jsonl",
            "ledger.json",
        }

    async def test_of_a_process_that_died_before_its_log_was_there(self, tmp_path: Path) -> None:
        """A ledger without a log is no session; the next first write does not take it over."""
        store = jsonl.JsonlStore(tmp_path)
        await stored(store, turns())
        await store.record("s", FULL)
        store.locate(header()).unlink()
        assert await jsonl.JsonlStore(tmp_path).list() == []
        await stored(jsonl.JsonlStore(tmp_path), turns())
        assert await jsonl.JsonlStore(tmp_path).ledger("s") == Ledger()

    @pytest.mark.parametrize("data", [b"", b"\xff", b"{"])
    async def test_a_damaged_file_is_named(self, tmp_path: Path, data: bytes) -> None:
        """Fail closed, with the file to look at; the log can still be read."""
        store = jsonl.JsonlStore(tmp_path)
        await stored(store, turns())
        path = store.locate(header()).with_name("ledger.json")
        path.write_bytes(data)
        with refused("SESSION_CORRUPT", r"ledger\.json"):
            await store.ledger("s")
        assert len((await store.load("s")).events) == len(turns())

    async def test_a_damaged_row_is_named(self, tmp_path: Path) -> None:
        """The same in a database, whatever stands in the cell."""
        path = tmp_path / "logs.db"
        store = SqliteStore(path)
        await stored(store, turns())
        await store.record("s", FULL)
        await store.aclose()
        for value in (b"\xff", "{", 7):
            with closing(sqlite3.connect(path)) as db, db:
                db.execute("UPDATE ledgers SET data = ?", (value,))
            with refused("SESSION_CORRUPT", "session 's'"):
                await SqliteStore(path).ledger("s")

    async def test_a_file_of_an_older_release(self, tmp_path: Path) -> None:
        """A database without the table is read and written as ever, and gets it when there is something to keep."""
        path = tmp_path / "logs.db"
        await stored(SqliteStore(path), turns())
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("SELECT name FROM sqlite_master WHERE name = 'ledgers'").fetchall() == []
        assert await SqliteStore(path).ledger("s") == Ledger()
        await SqliteStore(path).record("s", Ledger(2))
        assert await SqliteStore(path).ledger("s") == Ledger(2)
