"""dshhooks.operations.scope, .active: finishing, exactly once (spec/operations.md 1.8, 1.9)."""

from __future__ import annotations

import threading
import time
from contextvars import ContextVar
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from dshhooks.operations import (
    Denial,
    GuardError,
    OperationCanceled,
    OperationSet,
    Outcome,
    classify,
    compile_set,
    current_operation,
    deny,
    track_scopes,
)
from hookspecs.errors import HookUsageError
from tests.operations.kit import allow, call, forever, results, runner, started, watch

pytestmark = pytest.mark.anyio

value: ContextVar[str] = ContextVar("value", default="outside")


async def test_twenty_threads_finish():
    """Case 55: the observers are told once, by whoever was first."""
    seen: list[Any] = []
    scope = await started(seen)
    gate = threading.Barrier(20)

    def finish(number):
        gate.wait()
        scope.finish(Outcome.COMPLETED, preview=str(number))

    threads = [threading.Thread(target=finish, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await anyio.to_thread.run_sync(thread.join)
    assert len(seen) == 1
    assert scope.token.cancelled


async def test_a_refused_operation():
    """Case 57: its body never runs; the observer gets the denial."""
    seen: list[Any] = []
    scope = await runner([lambda _call: deny("a", "b")], [results(seen)]).start(call())
    with pytest.raises(Denial):
        await scope.run(seen.append, "ran")
    scope.finish(Outcome.DENIED, scope.refusal)
    assert [(each.outcome, each.error) for each in seen] == [(Outcome.DENIED, scope.refusal)]


async def test_a_hundred_at_once():
    """Case 58: as many begins as guards as finishes."""
    seen: list[Any] = []
    made = runner([lambda _call: seen.append("guard")], [watch(seen)])

    async def one():
        async with made.operation(call()):
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(one)
    assert [seen.count(each) for each in ("begin o", "guard", "finish o completed")] == [100, 100, 100]


async def test_the_token_lives_until_the_finish():
    """Case 61: also when no observer wants to be told of it."""
    scope = await runner([], [allow]).start(call())
    signal = scope.token.signal
    assert not signal.aborted
    scope.finish(Outcome.COMPLETED)
    assert signal.aborted
    assert scope.token.cancelled


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, GeneratorExit])
async def test_an_interrupt_in_a_finish(interrupt):
    """Case 65: the others are told, the token is released, then it is raised."""
    seen: list[Any] = []
    error = interrupt()

    def bad(_call):
        def finish(_result):
            raise error

        return finish

    scope = await runner([], [watch(seen, "a"), bad, watch(seen, "b")]).start(call())
    try:
        scope.finish(Outcome.COMPLETED)
    except interrupt as exc:
        caught = exc
    assert caught is error
    assert seen[2:] == ["finish b completed", "finish a completed"]
    assert scope.token.cancelled


async def test_the_first_of_two_interrupts_is_raised():
    """1.11, E1: a finish that is interrupted, too, does not take the place of what the owner is raising."""
    first, second = KeyboardInterrupt("first"), KeyboardInterrupt("second")

    def interrupts(error):
        raise error

    def bad(_call):
        return lambda _result: interrupts(second)

    async def block():
        async with runner([], [bad]).operation(call()):
            raise first

    ways = (
        runner([], [bad, lambda _call: interrupts(first)]).start(call()),
        runner([lambda _call: interrupts(first)], [bad]).start(call()),
        block(),
    )
    for way in ways:
        try:
            await way
        except KeyboardInterrupt as exc:
            caught = exc
        assert caught is first


async def test_an_interrupt_in_a_finish_stands_above_an_error():
    """1.11: an ordinary error, and a cancellation, are no reason to lose it."""
    interrupt = KeyboardInterrupt()

    def bad(_call):
        def finish(_result):
            raise interrupt

        return finish

    scope = await started(None, bad)
    try:
        scope.finish(Outcome.FAILED, ValueError("x"))
    except KeyboardInterrupt as exc:
        caught = exc
    assert caught is interrupt


async def test_a_cancellation_request_is_no_outcome():
    """Case 66: without an error it has completed."""
    seen: list[Any] = []
    async with runner([], [results(seen)]).operation(call()) as op:
        op.scope.token.cancel()
    assert (classify(None), seen[0].outcome) == (Outcome.COMPLETED, Outcome.COMPLETED)


async def test_a_clock_that_steps_back():
    """Case 68: an operation does not end before it started."""
    seen: list[Any] = []
    future = datetime.now(UTC) + timedelta(hours=1)
    scope = await runner([], [results(seen)]).start(call(started_at=future))
    scope.finish(Outcome.COMPLETED)
    assert seen[0].ended_at == future


async def test_a_dropped_scope():
    """Case 69: says so, and lets go of its token."""
    with track_scopes() as tracked:
        scopes = [await started()]
        token = scopes[0].token
        with pytest.warns(ResourceWarning, match="a scope of tool_call was dropped unfinished"):
            scopes.clear()
    assert token.cancelled
    assert (list(tracked), tracked.dropped) == ([], ["a scope of tool_call was dropped unfinished"])


@pytest.mark.parametrize(
    ("outcome", "terminal"),
    [("odd", {}), (None, {}), (Outcome.COMPLETED, {"nonsense": 1}), ("completed", {"call_id": "x"})],
)
async def test_an_owner_s_mistake(outcome, terminal):
    """1.8: everybody is told `failed`, then the owner is told."""
    seen: list[Any] = []
    scope = await started(seen)
    with pytest.raises(HookUsageError):
        scope.finish(outcome, None, **terminal)
    assert [each.outcome for each in seen] == [Outcome.FAILED]


async def test_a_result_that_cannot_be_frozen(caplog):
    """D10, F7: the finish is told on the start's snapshot."""
    seen: list[Any] = []
    scope = await started(seen)
    scope.finish(Outcome.COMPLETED, result={"secret"}, preview="p")
    assert (seen[0].outcome, seen[0].payload) == (Outcome.COMPLETED, scope.call.payload)
    assert [(log.phase, log.callback_index) for log in caplog.records] == [("snapshot", -1)]
    assert "secret" not in caplog.text


async def test_a_finish_that_finishes():
    """F5: plainly nothing, no deadlock."""
    seen: list[Any] = []
    holder: list[Any] = []
    scope = await started(seen, lambda _call: lambda _result: holder[0].finish(Outcome.FAILED))
    holder.append(scope)
    scope.finish(Outcome.COMPLETED)
    assert [each.outcome for each in seen] == [Outcome.COMPLETED]


def marks(error: BaseException) -> tuple[Any, ...]:
    """What others could leave on an exception."""
    slots = error.__traceback__, error.__cause__, error.__context__, error.__suppress_context__
    return (*slots, list(error.__notes__))


async def test_observers_cannot_disfigure_the_error():
    """1.6: whoever raises it again, or writes on it, changes nothing of what the owner raises."""
    try:
        raise ValueError("x") from KeyError("k")
    except ValueError as exc:
        error = exc
    error.add_note("mine")
    before = (
        error.__traceback__,
        error.__cause__,
        error.__context__,
        error.__suppress_context__,
        list(error.__notes__),
    )

    def vandal(_call):
        def finish(result):
            result.error.add_note("theirs")
            result.error.__suppress_context__ = False
            raise result.error from RuntimeError("theirs")

        return finish

    scope = await started(None, vandal)
    scope.finish(Outcome.FAILED, error)
    assert marks(error) == before


async def test_finish_runs_where_begin_ran():
    """P3: a ContextVar may be reset with its token, also from another task, another thread, or inside the body."""
    seen: list[Any] = []

    def observer(_call):
        token = value.set("inside")

        def finish(_result):
            value.reset(token)
            seen.append(value.get())

        return finish

    one = await started(None, observer)
    async with anyio.create_task_group() as group:
        group.start_soon(one.run, allow, None)
    await anyio.to_thread.run_sync(one.finish, Outcome.COMPLETED)
    two = await started(None, observer)
    with pytest.raises(OperationCanceled):
        await two.run(two.finish, Outcome.COMPLETED)
    assert seen == ["outside", "outside"]


async def test_finish_while_another_thread_is_inside():
    """P3: a context is not entered twice; the finish gets a copy."""
    seen: list[Any] = []
    scope = await started(None, lambda _call: lambda _result: seen.append(value.get()))
    inside, leave = threading.Event(), threading.Event()

    def stay():
        value.set("inside")
        inside.set()
        leave.wait(10)

    thread = threading.Thread(target=scope.context.run, args=(stay,))
    thread.start()
    inside.wait(10)
    scope.finish(Outcome.COMPLETED)
    leave.set()
    thread.join()
    assert seen == ["inside"]


async def test_a_block():
    """1.8: finished by how the block ended, with the fields it set."""
    seen: list[Any] = []
    made = runner([], [results(seen)])
    async with made.operation(call()) as op:
        op.result(result=1)
        op.result(preview="p")
        with pytest.raises(HookUsageError, match="no terminal field nonsense"):
            op.result(nonsense=1)
    error = ValueError("x")
    with pytest.raises(ValueError, match="x") as caught:
        async with made.operation(call()):
            raise error
    assert caught.value is error
    assert [(each.outcome, each.error, each.payload.result) for each in seen] == [
        (Outcome.COMPLETED, None, 1), (Outcome.FAILED, error, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("guard", "kind", "outcome"),
    [(lambda _call: deny("a", "b"), Denial, Outcome.DENIED), (lambda _call: 1, GuardError, Outcome.FAILED)],
)
async def test_a_refused_block(guard, kind, outcome):
    """It is finished first, then the refusal is raised; the block never runs."""
    seen: list[Any] = []
    with pytest.raises(kind):
        async with runner([guard], [results(seen)]).operation(call()):
            seen.append("ran")
    assert [each.outcome for each in seen] == [outcome]


async def test_the_token_cancels_the_block():
    """As an ordinary error, once the operation is finished as canceled."""
    seen: list[Any] = []

    async def block():
        async with runner([], [results(seen)]).operation(call()) as op:
            op.scope.token.cancel()
            await forever()

    with pytest.raises(OperationCanceled):
        await block()
    assert seen[0].outcome is Outcome.CANCELED


async def test_a_block_is_entered_once():
    """And not looked into before."""
    op = runner([], [allow]).operation(call())
    with pytest.raises(HookUsageError, match="async with"):
        op.call  # noqa: B018
    async with op:
        pass
    with pytest.raises(HookUsageError, match="started once"):
        async with op:
            pass


async def test_nobody_listens():
    """A scope whose body runs as ever; it can still be cancelled by its owner."""
    made = compile_set(OperationSet())
    async with made.operation(call()) as op:
        value.set("kept")
        assert await op.run(value.get) == "kept"
        assert current_operation() is None
    scope = await made.start(call())
    scope.token.cancel()
    with pytest.raises(OperationCanceled):
        await scope.run(forever)


async def test_one_observer_is_cheap():
    """A very loose bound, so that nobody makes it ten times slower without noticing."""
    made = runner([], [results([])])
    await started_and_finished(made, 200)
    begin = time.process_time()
    await started_and_finished(made, 1000)
    assert time.process_time() - begin < 1.0


async def started_and_finished(made: Any, count: int) -> None:
    """The same operation, again and again."""
    for _ in range(count):
        (await made.start(call())).finish(Outcome.COMPLETED)
