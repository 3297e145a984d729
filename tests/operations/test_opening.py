"""dshhooks.session.opening: one observed fence for every opening (spec/operations.md J6, cases 122 to 125, 130)."""

from __future__ import annotations

from typing import Any

import pytest

from dshhooks.operations import (
    current_operation,
)
from dshhooks.session import opening
from dshhooks.session.ledger import Ledger
from hookspecs.errors import HarnessError
from tests.operations.journal_kit import Watcher, host, live, resumed
from tests.session.kit import Kept, refused, say, stored, turns

pytestmark = pytest.mark.anyio


class TestFence:
    async def test_one_each_opening(self, kept: Kept) -> None:
        """Case 122: a new session and each restore show exactly one, the epoch as id; so does a new store object."""
        for epoch in (1, 2, 3):
            watcher = Watcher()
            async with host(kept.open(), watcher) as made:
                session = await (live(made) if epoch == 1 else resumed(made))
                say(session)
                await made.flush(session)
            assert watcher.records("fence") == [str(epoch)]
            assert watcher.begun[0] == str(epoch)
            assert (await kept.open().ledger("s")).epoch == epoch

    async def test_observed_or_not(self, kept: Kept) -> None:
        """Openings nobody observed count."""
        await stored(kept.open(), turns())
        for _ in range(3):
            async with host(kept.open()) as made:
                await resumed(made)
        watcher = Watcher()
        async with host(kept.open(), watcher) as made:
            await resumed(made)
        assert watcher.records("fence") == ["5"]

    async def test_one_that_fails(self, kept: Kept) -> None:
        """Case 123: one failed finish with the original error, no live session, nothing claimed; a retry works."""
        await stored(kept.open(), turns())
        watcher, error, store = Watcher(), OSError("disk full"), kept.open()
        async with host(store, watcher) as made:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(store, "_write_ledger", raising(error))
                session = await made.resume("s")
                with pytest.raises(OSError, match="disk full"):
                    await made.enter(session)
            assert watcher.outcomes("fence") == ["failed"]
            assert watcher.results[0].error is error
            assert made.list() == []
            await resumed(made)
        assert watcher.outcomes("fence") == ["failed", "completed"]

    async def test_a_second_writer(self, kept: Kept) -> None:
        """Case 123: who is refused because somebody has the session put up no fence; who has it keeps it."""
        watcher, store = Watcher(), kept.open()
        await stored(store, turns())
        async with host(kept.open()) as one, host(kept.open(), watcher) as other:
            await resumed(one)
            mine = await other.resume("s")
            with refused("SESSION_LOCKED"):
                await other.enter(mine)
            assert (watcher.records("fence"), watcher.outcomes("fence")) == (["3"], ["failed"])
            with refused("SESSION_LOCKED"):
                await kept.open().claim("s")

    async def test_a_session_somebody_opened_meanwhile(self, on_disk: Kept) -> None:
        """An epoch is given once: what was opened elsewhere since it was looked at is refused, and then opened."""
        there, next_epoch = on_disk.open(), opening._Claim.next_epoch
        await stored(there, turns())
        async with host(on_disk.open()) as made:

            async def slip_in(claim: Any) -> int:
                epoch = await next_epoch(claim)
                await there.record("s", Ledger(2))
                return epoch

            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(opening._Claim, "next_epoch", slip_in)
                with refused("SESSION_CHANGED"):
                    await resumed(made)
            await resumed(made)
        assert (await on_disk.open().ledger("s")).epoch == 3

    async def test_cancelled_by_an_observer(self, kept: Kept) -> None:
        """J9: an observer's cancellation does not stop the write; it has completed."""
        watcher = Watcher(lambda _call: current_operation().cancel("no"))  # type: ignore[union-attr]
        async with host(kept.open(), watcher) as made:
            session = await live(made)
            say(session)
            await made.flush(session)
        assert {str(each.outcome) for each in watcher.results} == {"completed"}

    @pytest.mark.parametrize(("calls", "epoch"), [(0, 1), (2, 2)])
    async def test_a_middleware_must_delegate_once(self, kept: Kept, calls: int, epoch: int) -> None:
        """Case 124: none or two delegations: the opening fails with no fence or one; nothing is live or claimed."""
        await stored(kept.open(), turns())
        async with host(kept.open()) as made:
            made.journal.fencing = lambda _session, _epoch: delegating(calls)  # type: ignore[method-assign]
            with refused("FENCE_DELEGATION"):
                await resumed(made)
            assert made.list() == []
            assert (await kept.open().ledger("s")).epoch == epoch
            await kept.open().claim("s")

    async def test_a_middleware_that_makes_up_an_answer(self, kept: Kept) -> None:
        """Case 125: the real result is used, and the next append follows it."""

        def inventive(write: Any) -> Any:
            async def outer() -> Ledger:
                await write()
                raise HarnessError("made up", "MADE_UP")

            return outer

        await stored(kept.open(), turns())
        async with host(kept.open()) as made:
            made.journal.fencing = lambda _session, _epoch: inventive  # type: ignore[method-assign]
            session = await resumed(made)
            say(session)
            await made.flush(session)
        found = await kept.open().load("s")
        assert [event.seq for event in found.events] == list(range(len(turns()) + 1))
        assert (await kept.open().ledger("s")).epoch == 2

    async def test_of_a_session_without_an_event(self, kept: Kept) -> None:
        """A new session leaves nothing before its first event, its fence included: the next one is new as well."""
        watcher = Watcher()
        for _ in range(2):
            async with host(kept.open(), watcher) as made:
                await live(made)
        assert watcher.records("fence") == ["1", "1"]
        assert kept.files() == {}

    async def test_a_taken_name(self, kept: Kept) -> None:
        """A new session of a stored one's id is refused; the stored one was not opened."""
        await stored(kept.open(), turns())
        watcher = Watcher()
        async with host(kept.open(), watcher) as made:
            with refused("SESSION_ALREADY_EXISTS"):
                await live(made)
        assert watcher.outcomes("fence") == ["failed"]
        assert await kept.open().ledger("s") == Ledger()

    async def test_no_history(self, kept: Kept) -> None:
        """Case 130, R5: a restored session shows one fence and its new events; nothing of what was there."""
        await stored(kept.open(), turns(3))
        watcher = Watcher()
        async with host(kept.open(), watcher) as made:
            session = await resumed(made)
            assert (watcher.records("fence"), watcher.records()) == (["2"], [])
            event = say(session)
            await made.flush(session)
        assert watcher.records() == [str(event.seq)]


def raising(error: BaseException) -> Any:
    """A function that fails."""

    def fail(*_args: Any) -> None:
        raise error

    return fail


def delegating(calls: int) -> Any:
    """A middleware that calls the write this often."""

    def middleware(write: Any) -> Any:
        async def outer() -> None:
            for _ in range(calls):
                await write()

        return outer

    return middleware
