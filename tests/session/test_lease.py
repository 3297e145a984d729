"""One writer a session: across store objects, across processes, and past the death of a holder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from dshhooks.session import lease
from dshhooks.session.lease import FileLeases
from tests.session.kit import Kept, refused, stored, turns

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parent.parent.parent

HOLDER = """
import sys
import anyio
from pathlib import Path
from tests.session.kit import Kept, stored, turns
from dshhooks.session.memory import MemoryStore

async def main():
    store = Kept(sys.argv[1], Path(sys.argv[2]), MemoryStore()).open()
    await store.claim("s")
    if await store.length("s") is None:
        await stored(store, turns())
    print("claimed", flush=True)
    sys.stdin.readline()
    if sys.argv[3] == "release":
        await store.release("s")
        print("released", flush=True)
        sys.stdin.readline()

anyio.run(main)
"""


@contextmanager
def holder(kept: Kept, then: str = "die") -> Iterator[subprocess.Popen[str]]:
    """Another process that has claimed session "s" and stored it."""
    command = [sys.executable, "-c", HOLDER, kept.kind, str(kept.path), then]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "claimed\n"
        yield process
    finally:
        process.kill()
        process.communicate()


class TestAcrossProcesses:
    async def test_the_second_writer_is_refused(self, on_disk: Kept) -> None:
        """Claiming and appending are refused, naming who has it; reading is not."""
        with holder(on_disk) as process:
            store = on_disk.open()
            for attempt in (store.claim("s"), store.append("s", turns(2)[len(turns()) :])):
                with refused("SESSION_LOCKED", rf"process {process.pid} on \S+ since 20\d\d-"):
                    await attempt
            assert len((await store.load("s")).events) == len(turns())
            await store.claim("other")

    async def test_a_dead_holder_has_nothing(self, on_disk: Kept) -> None:
        """After a kill, the session can be claimed at once."""
        with holder(on_disk) as process:
            process.kill()
            process.wait()
            store = on_disk.open()
            await store.claim("s")
            await store.append("s", turns(2)[len(turns()) :])

    async def test_a_released_session_is_free(self, on_disk: Kept) -> None:
        """Releasing is enough; the other process may live on."""
        with holder(on_disk, "release") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "released\n"
            await on_disk.open().claim("s")

    async def test_of_many_claimants_one_wins(self, on_disk: Kept) -> None:
        """Store objects that claim at once: exactly one succeeds."""
        outcomes: list[str] = []

        async def claim() -> None:
            try:
                await on_disk.open().claim("s")
                outcomes.append("won")
            except Exception as exc:
                outcomes.append(getattr(exc, "code", repr(exc)))

        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(claim)
        assert sorted(outcomes) == ["SESSION_LOCKED"] * 11 + ["won"]


class TestInOneProcess:
    async def test_a_claim_excludes_every_other_store_object(self, on_disk: Kept) -> None:
        """Also in the same process; who claimed may go on."""
        one, other = on_disk.open(), on_disk.open()
        await one.claim("s")
        await stored(one, turns())
        for attempt in (other.claim("s"), other.append("s", turns(2)[len(turns()) :])):
            with refused("SESSION_LOCKED"):
                await attempt
        await one.append("s", turns(2)[len(turns()) :])

    async def test_a_claim_is_taken_once(self, kept: Kept) -> None:
        """Claiming again is refused even to the same object: somebody there has it."""
        store = kept.open()
        await store.claim("s")
        with refused("SESSION_LOCKED"):
            await store.claim("s")
        await store.release("s")
        await store.release("s")
        await store.claim("s")

    async def test_writers_without_a_claim_take_turns(self, on_disk: Kept) -> None:
        """An append without a claim keeps others out only while it runs; they wait for it."""
        events = turns(6)
        one, other = on_disk.open(), on_disk.open()
        await stored(one, events[:1])
        for at in range(1, len(events)):
            await (one, other)[at % 2].append("s", events[at : at + 1])
        assert (await on_disk.open().load("s")).events == tuple(events)

    async def test_a_crashed_session_that_is_claimed_is_not_repaired(self, on_disk: Kept) -> None:
        """An open turn that somebody is writing is not closed from outside."""
        one, other = on_disk.open(), on_disk.open()
        await one.claim("s")
        await stored(one, turns()[:4])
        with refused("SESSION_LOCKED"):
            await other.load("s")
        assert (await other.inspect("s")).repair != ()
        await one.append("s", turns()[4:])


class TestLockFiles:
    def test_leave_nothing_behind(self, tmp_path: Path) -> None:
        """A lock file goes with the lease."""
        leases = FileLeases(tmp_path / "locks")
        leases.claim("a/b")
        with leases.guard("c"):
            assert len(list((tmp_path / "locks").iterdir())) == 2
        leases.release("a/b")
        assert list((tmp_path / "locks").iterdir()) == []

    def test_of_a_dead_process_are_taken_over(self, tmp_path: Path) -> None:
        """What a killed process left, whatever stands in it, is in nobody's way."""
        for content in (b"", b"{", b"[]", b'{"pid":1,"host":"h","since":0,"claim":true}'):
            (tmp_path / "s.lock").write_bytes(content)
            leases = FileLeases(tmp_path)
            leases.claim("s")
            leases.release("s")

    def test_a_short_guard_is_waited_for(self, tmp_path: Path) -> None:
        """Somebody who only does one thing is not named as a writer; the claim comes after it."""
        one, other = FileLeases(tmp_path), FileLeases(tmp_path)

        async def main() -> None:
            async with anyio.create_task_group() as tasks:
                with one.guard("s"):
                    tasks.start_soon(anyio.to_thread.run_sync, other.claim, "s")
                    for _ in range(20):
                        await anyio.lowlevel.checkpoint()
                    assert not other.holds("s")

        anyio.run(main)
        assert other.holds("s")
        other.release("s")

    def test_patience_ends(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A guard that never ends is refused after all."""
        monkeypatch.setattr(lease, "_PATIENCE", 0.0)
        one, other = FileLeases(tmp_path), FileLeases(tmp_path)
        with one.guard("s"), refused("SESSION_LOCKED"):
            other.claim("s")
