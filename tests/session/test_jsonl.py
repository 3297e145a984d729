"""The files of a JSONL store: where they are, who may read them, what a crash leaves, what is refused."""

# ruff: noqa: ASYNC240 - these tests look at files; nothing else runs on their event loop

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.session import jsonl
from dshhooks.session.jsonl import JsonlStore
from dshhooks.session.names import project, segment
from tests.session.kit import check_valid, header, kinds, refused, steps, stored, turns

pytestmark = pytest.mark.anyio


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The store's directory; it does not exist yet."""
    return tmp_path / "deep" / "logs"


def log_of(root: Path) -> Path:
    """The one log under a root."""
    (path,) = root.glob("*/*/session.jsonl")
    return path


class TestNames:
    @pytest.mark.parametrize(
        ("session_id", "name"),
        [("a-Z_0.9", "a-Z_0.9"), ("", "~"), (".", "~2E"), ("..", "~2E~2E"), ("../x", "..~2Fx"), ("~", "~7E"),
         ("a b", "a~20b"), ("é", "~C3~A9"), ("\ud800", "~ED~A0~80"), ("...", "...")],
    )  # fmt: skip
    def test_vectors(self, session_id: str, name: str) -> None:
        """Case 205: ids are escaped so that none leaves its directory."""
        assert segment(session_id) == name

    @given(st.text(st.characters(codec=None), max_size=300), st.text(st.characters(codec=None), max_size=300))
    def test_are_injective(self, one: str, other: str) -> None:
        """Case 205: two ids never share a name, and every name is one plain path segment."""
        assert (segment(one) == segment(other)) == (one == other)
        name = segment(one)
        assert name not in ("", ".", "..")
        assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-~")
        assert len(name) < 250

    def test_of_long_ids(self) -> None:
        """Ids beyond what a file system takes are told apart by their digest."""
        one, other = segment("x" * 5000), segment("x" * 5001)
        assert one != other
        assert len(one) < 250

    @pytest.mark.parametrize(
        ("cwd", "name"),
        [(None, "no-project"), ("/", "at-"), ("/home/u/my app", "at-home-u-my-app"), ("/../..", "at-")],
    )
    def test_of_projects(self, cwd: str | None, name: str) -> None:
        """A working directory gives a readable folder, never one of ours or one outside."""
        assert project(cwd) == name

    async def test_a_path_like_id_stays_inside(self, root: Path) -> None:
        """Case 205: "../x", "." and ".." are stored under the root, next to each other."""
        store = JsonlStore(root)
        for name in ("../x", ".", "..", "/etc/x"):
            await stored(store, turns(), name)
        paths = {store.locate(header(name)) for name in ("../x", ".", "..", "/etc/x")}
        assert len(paths) == 4
        assert {path.resolve() for path in root.glob("*/*/session.jsonl")} == {path.resolve() for path in paths}
        assert {found.id for found in await store.list()} == {"../x", ".", "..", "/etc/x"}


class TestFiles:
    async def test_only_the_owner_may_read(self, root: Path) -> None:
        """Files are 0600, the directories made for them 0700, whatever the umask."""
        before = os.umask(0)
        try:
            await stored(JsonlStore(root), turns(), cwd="/w")
        finally:
            os.umask(before)
        path = log_of(root)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert {stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, root / ".locks")} == {0o700}

    async def test_nothing_else_is_left(self, root: Path) -> None:
        """No temporary file and no lock file stays behind."""
        store = JsonlStore(root)
        await store.claim("s")
        await stored(store, turns())
        await store.release("s")
        assert [path for path in root.rglob("*") if path.is_file()] == [log_of(root)]

    async def test_a_dead_writers_temporary_file_is_removed(self, root: Path) -> None:
        """What a process left that died before its first write was published goes with the next first write."""
        store = JsonlStore(root)
        stale = store.locate(header()).with_name("session.jsonl.0123.tmp")
        stale.parent.mkdir(parents=True)
        stale.write_text("half")
        assert await store.list() == []
        await stored(store, turns())
        assert not stale.exists()

    async def test_a_failed_write_leaves_the_file_as_it_was(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """When the disk refuses a batch, what was written of it is cut off again, and the next attempt succeeds."""
        store, events = JsonlStore(root), turns(2)
        await stored(store, events[:4])
        before = log_of(root).read_bytes()

        def full(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(jsonl.os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                await store.append("s", events[4:])
        assert log_of(root).read_bytes() == before
        await store.append("s", events[4:])
        assert (await store.load("s")).events == tuple(events)

    async def test_a_failed_first_write_publishes_nothing(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Header and first batch appear together or not at all."""
        store, events = JsonlStore(root), turns()
        await store.create(header())

        def full(descriptor: int) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(jsonl.os, "fsync", full)
            with pytest.raises(OSError, match="No space"):
                await store.append("s", events)
        assert await JsonlStore(root).list() == []
        assert list(root.glob("*/*/*")) == []
        await store.append("s", events)

    async def test_file_systems_without_links(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where hard links are refused, the first write is renamed into place."""

        def refuse(one: object, other: object) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(jsonl.os, "link", refuse)
        await stored(JsonlStore(root), turns())
        assert len((await JsonlStore(root).load("s")).events) == len(turns())


class TestTornTail:
    @pytest.mark.parametrize("rest", [b'{"type":"turn/st', b"\x00" * 100, b"\xff\xfe", b"{}\n{}\n", b"\n"])
    async def test_is_cut_by_load_only(self, root: Path, rest: bytes) -> None:
        """Case 201: what a crash left after the last complete record goes; inspect and list leave it."""
        await stored(JsonlStore(root), turns())
        path = log_of(root)
        whole = path.read_bytes()
        path.write_bytes(whole + rest)
        store = JsonlStore(root)
        found = await store.inspect("s")
        assert [step.kind for step in found.repair] == ["cut"]
        assert len(await store.list()) == 1
        assert path.read_bytes() == whole + rest
        assert (await store.load("s")).events == found.events
        assert path.read_bytes() == whole

    async def test_a_last_line_without_end_is_torn(self, root: Path) -> None:
        """A record that lacks its newline was never acknowledged, complete as it looks."""
        await stored(JsonlStore(root), steps("a"))
        path = log_of(root)
        path.write_bytes(path.read_bytes()[:-1])
        found = await JsonlStore(root).load("s")
        assert len(found.repair) == 3  # cut, step/end, turn/end: the answer with the call is gone
        check_valid(found.events)
        assert path.read_bytes().endswith(b"\n")

    async def test_refuses_an_append_behind_it(self, root: Path) -> None:
        """Nothing is written behind half a line."""
        await stored(JsonlStore(root), turns())
        path = log_of(root)
        path.write_bytes(path.read_bytes() + b"{")
        with refused("SESSION_CORRUPT", "torn tail"):
            await JsonlStore(root).append("s", turns(2)[len(turns()) :])
        assert path.read_bytes().endswith(b"\n{")

    async def test_cut_anywhere(self, root: Path) -> None:
        """Wherever the file ends, load gives a valid log and says so only once."""
        events = steps("a", "b", started=["a"], after=1)
        await stored(JsonlStore(root), events)
        path = log_of(root)
        whole = path.read_bytes()
        first = whole.index(b"\n") + 1
        for end in range(first, len(whole), 31):
            path.write_bytes(whole[:end])
            found = await JsonlStore(root).load("s")
            complete = whole[:end].count(b"\n") - 1
            assert kinds(found.events[:complete]) == kinds(events[:complete])
            check_valid(found.events)
            assert (await JsonlStore(root).load("s")).repair == ()


class TestDamage:
    async def test_before_a_turn_end_is_refused(self, root: Path) -> None:
        """Case 201: a corrupt line with a turn/end behind it is refused by load and inspect; the file stays."""
        await stored(JsonlStore(root), turns(2))
        path = log_of(root)
        damaged = path.read_bytes().replace(b'"type":"step/start"', b'"type":"step/start', 1)
        path.write_bytes(damaged)
        for look in (JsonlStore(root).load, JsonlStore(root).inspect):
            with refused("SESSION_CORRUPT", "session.jsonl"):
                await look("s")
        assert path.read_bytes() == damaged

    @pytest.mark.parametrize(
        "line",
        [b"", b"{}", b"nonsense", b'{"type":"session"}', b'{"type":"session","version":0,"id":"s","createdAt":-1}',
         b'{"type":"session","version":0,"id":"s","createdAt":1,"cwd":null}',
         b'{"type":"session","version":0,"id":"s","createdAt":1,"more":1}',
         b'{"type":"session","version":0,"id":"other","createdAt":1}', b"\xff"],
    )  # fmt: skip
    async def test_of_the_header_is_refused(self, root: Path, line: bytes) -> None:
        """Without a header that fits nothing is read; the error names the file."""
        await stored(JsonlStore(root), turns())
        path = log_of(root)
        path.write_bytes(line + path.read_bytes()[path.read_bytes().index(b"\n") :])
        with refused("SESSION_CORRUPT", "session.jsonl"):
            await JsonlStore(root).load("s")

    async def test_another_format_is_refused(self, root: Path, caplog: pytest.LogCaptureFixture) -> None:
        """A log of a later release is left alone, by load and inspect, and is not listed."""
        await stored(JsonlStore(root), turns())
        path = log_of(root)
        path.write_bytes(path.read_bytes().replace(b'"version":0', b'"version":1', 1))
        for look in (JsonlStore(root).load, JsonlStore(root).inspect):
            with refused("SESSION_FORMAT", "version 1"):
                await look("s")
        assert await JsonlStore(root).list() == []
        assert "left out" in caplog.text

    async def test_an_empty_file_is_refused(self, root: Path) -> None:
        """A file without a single line is no session."""
        await stored(JsonlStore(root), turns())
        log_of(root).write_bytes(b"")
        with refused("SESSION_CORRUPT", "no header"):
            await JsonlStore(root).load("s")

    async def test_a_foreign_writer_is_noticed(self, root: Path) -> None:
        """When the file grew behind the store's back, it is read again before anything is appended."""
        store, events = JsonlStore(root), turns(2)
        await stored(store, events[:4])
        await JsonlStore(root).append("s", events[4:6])
        with refused("INVALID_SEQUENCE", "6 events"):
            await store.append("s", events[4:])
        await store.append("s", events[6:])
        assert (await store.load("s")).events == tuple(events)
