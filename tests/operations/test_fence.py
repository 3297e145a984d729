"""dshhooks.operations.fence: what an opening fence is written through (spec/operations.md J6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from dshhooks.operations import Operation, Outcome, Record
from dshhooks.operations.fence import delegated_once, observing
from dshhooks.operations.journal import Append
from hookspecs.errors import HarnessError
from tests.operations.kit import results, runner

pytestmark = pytest.mark.anyio

Write = Callable[[], Awaitable[Any]]


class Log:
    """Counts the fences in it."""

    def __init__(self, failure: BaseException | None = None) -> None:
        self.fences, self.failure = 0, failure

    async def write(self) -> int:
        if self.failure is not None:
            raise self.failure
        self.fences += 1
        return self.fences


def nothing(_write: Write) -> None:
    """Returns nothing to call."""


def never(_write: Write) -> Write:
    """Answers without the write."""

    async def append() -> int:
        return 7

    return append


def twice(write: Write) -> Write:
    """Writes, and tries to write again, whatever that says."""

    async def append() -> None:
        await write()
        try:
            await write()
        except HarnessError:
            pass

    return append


@pytest.mark.parametrize(("middleware", "fences"), [(nothing, 0), (never, 0), (twice, 1)])
async def test_it_delegates_exactly_once(middleware: Any, fences: int) -> None:
    """Case 124: otherwise the opening fails, with no fence written, or one."""
    log = Log()
    with pytest.raises(HarnessError) as caught:
        await delegated_once(middleware, log.write)
    assert (caught.value.code, log.fences) == ("FENCE_DELEGATION", fences)


async def test_one_that_fails_before_it_delegates() -> None:
    """Case 124: nothing is written, and the error says why."""
    log, error = Log(), ValueError("no")

    def broken(_write: Write) -> Write:
        raise error

    with pytest.raises(HarnessError) as caught:
        await delegated_once(broken, log.write)
    assert caught.value.__cause__ is error
    assert log.fences == 0


@pytest.mark.parametrize("failure", [None, ValueError("made up"), SystemExit(3)])
async def test_what_it_answers_is_ignored(failure: BaseException | None) -> None:
    """Case 125: a made-up sequence or error changes nothing: the write's own answer counts."""
    log = Log()

    def inventive(write: Write) -> Write:
        async def append() -> int:
            await write()
            if failure is not None:
                raise failure
            return 99

        return append

    assert await delegated_once(inventive, log.write) == 1


async def test_it_cannot_hide_a_failure() -> None:
    """Case 123: what the write raised is raised, the same object, also when the middleware swallowed it."""
    error = OSError("disk full")

    def hiding(write: Write) -> Write:
        async def append() -> int:
            try:
                return int(await write())
            except OSError:
                return 1

        return append

    with pytest.raises(OSError, match="disk full") as caught:
        await delegated_once(hiding, Log(error).write)
    assert caught.value is error


async def test_cancellation_passes_through() -> None:
    """1.11: a middleware that is cancelled before it delegates is no middleware that forgot to."""
    log = Log()

    def waiting(write: Write) -> Write:
        async def append() -> None:
            scope.cancel()
            await anyio.sleep_forever()

        return append

    with anyio.CancelScope() as scope:
        await delegated_once(waiting, log.write)
    assert scope.cancelled_caught
    assert log.fences == 0


async def test_observers_of_appends_see_it() -> None:
    """Case 122: one observation of family fence, whatever its observers do."""
    seen: list[Any] = []

    def bad(_call: Any) -> None:
        raise ValueError("observer")

    telling = runner([], [results(seen), bad], Operation.JOURNAL_APPEND)
    log = Log()
    assert await delegated_once(observing(Append(telling, Record("fence", "4"), "s")), log.write) == 1
    [result] = seen
    assert (result.payload.family, result.payload.record_id, result.outcome) == ("fence", "4", Outcome.COMPLETED)
