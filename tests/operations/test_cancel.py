"""dshhooks.operations.token, .context: cancelling, deadlines, values (spec/operations.md 1.12)."""

from __future__ import annotations

import math
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from dshhooks.operations import (
    CancelToken,
    Operation,
    OperationCanceled,
    Outcome,
    classify,
    current_operation,
)
from tests.operations.kit import allow, call, forever, results, runner, started

pytestmark = pytest.mark.anyio

value: ContextVar[str] = ContextVar("value", default="outside")


async def test_derived_cancellation():
    """Case 64: an ordinary error for the owner; the scope around it goes on."""
    scope = await started()

    async def body():
        current_operation().cancel("enough")
        await forever()

    with anyio.CancelScope() as outer:
        with pytest.raises(OperationCanceled) as caught:
            await scope.run(body)
        await anyio.lowlevel.checkpoint()
    scope.finish(classify(caught.value), caught.value)
    assert (caught.value.reason, caught.value.operation) == ("enough", Operation.TOOL_CALL)
    assert "enough" not in str(caught.value)
    assert not outer.cancelled_caught


@pytest.mark.parametrize("shield", [False, True])
async def test_outer_cancellation_is_kept(shield):
    """Case 59: an observer has nothing to detach or shield with; it reaches the body untouched."""
    seen: list[Any] = []

    def detaching(_call):
        value.set("detached")
        if shield:
            operation = current_operation()
            assert not hasattr(operation, "shield")
            operation.deadline_at_most(math.inf)
        return seen.append

    with anyio.CancelScope() as outer:
        async with runner([], [detaching]).operation(call()) as op:
            outer.cancel()
            await op.run(forever)
    assert outer.cancelled_caught
    assert seen[0].outcome is Outcome.CANCELED
    assert not isinstance(seen[0].error, OperationCanceled)


async def test_the_earliest_deadline_applies():
    """Case 60: later ones change nothing, from observers and from the operation around it."""
    now = anyio.current_time()
    seen: list[float] = []

    def deadlines(*at):
        def begin(_call):
            for each in at:
                current_operation().deadline_at_most(now + each)

        return begin

    outer = await started(None, deadlines(50), operation=Operation.TURN)

    async def body():
        inner = await started(None, deadlines(70), deadlines(60), deadlines(20, 30))
        seen.append(inner.token.deadline)
        inner.finish(Outcome.COMPLETED)
        inner = await started(None, deadlines(60))
        seen.append(inner.token.deadline)
        inner.finish(Outcome.COMPLETED)

    await outer.run(body)
    outer.finish(Outcome.COMPLETED)
    assert seen == [now + 20, now + 50]
    with pytest.raises(ValueError, match="nan"):
        CancelToken().deadline_at_most(math.nan)


async def test_a_deadline_cancels():
    """P5: at its time, as a cancellation of this operation."""
    scope = await started(None, lambda _call: current_operation().deadline_at_most(anyio.current_time() + 0.01))
    with pytest.raises(OperationCanceled) as caught:
        await scope.run(forever)
    scope.finish(classify(caught.value), caught.value)
    assert (caught.value.reason, scope.token.cancelled) == ("deadline", True)


@pytest.mark.parametrize("thread", [False, True])
async def test_a_deadline_lowered_while_it_runs(thread):
    """P5: also for work that waits already, from a worker thread too, and for what is inside it."""
    outer = await started(operation=Operation.TURN)

    async def body():
        async with runner([], [allow]).operation(call()) as op:
            await op.run(forever)

    async with anyio.create_task_group() as group:
        group.start_soon(_lower, outer.token, thread)
        with pytest.raises(OperationCanceled) as caught:
            await outer.run(body)
    outer.finish(classify(caught.value), caught.value)
    assert caught.value.operation is Operation.TURN


async def _lower(token: CancelToken, thread: bool) -> None:
    await anyio.lowlevel.checkpoint()
    now = anyio.current_time()
    if thread:
        await anyio.to_thread.run_sync(token.deadline_at_most, now)
    else:
        token.deadline_at_most(now)


async def test_cancel_from_a_thread():
    """P8: tokens may be cancelled from anywhere."""
    scope = await started()

    async def body():
        await anyio.to_thread.run_sync(scope.token.cancel, "thread")
        await forever()

    with pytest.raises(OperationCanceled):
        await scope.run(body)
    scope.finish(Outcome.CANCELED)


async def test_a_parent_s_cancellation_reaches_inside():
    """P6: the inner one sees ordinary cancellation, the outer one's run turns it into its own error."""
    seen: list[Any] = []
    outer = await started(operation=Operation.TURN)

    async def body():
        async with runner([], [results(seen)]).operation(call()) as op:
            outer.token.cancel("all")
            assert op.scope.token.cancelled
            await op.run(forever)

    with pytest.raises(OperationCanceled) as caught:
        await outer.run(body)
    outer.finish(classify(caught.value), caught.value)
    assert caught.value.operation is Operation.TURN
    assert seen[0].outcome is Outcome.CANCELED
    assert not isinstance(seen[0].error, OperationCanceled)


@pytest.mark.parametrize("how", ["cancel", "deadline"])
async def test_it_reaches_work_in_other_tasks(how):
    """P6: an operation begun inside another is cut with it, wherever it runs now."""
    outer = await started(operation=Operation.TURN)
    inner = await outer.run(started)
    async with anyio.create_task_group() as group:

        async def work():
            with pytest.raises(OperationCanceled) as caught:
                await inner.run(forever)
            inner.finish(classify(caught.value), caught.value)

        group.start_soon(work)
        await anyio.lowlevel.checkpoint()
        if how == "cancel":
            outer.token.cancel()
        else:
            outer.token.deadline_at_most(anyio.current_time())
    outer.finish(Outcome.CANCELED)


async def test_a_child_s_cancellation_stays_inside():
    """P5: nothing reaches the operation around it."""
    outer = await started(operation=Operation.TURN)

    async def body():
        inner = await started()
        inner.token.cancel()
        with pytest.raises(OperationCanceled):
            await inner.run(forever)
        inner.finish(Outcome.CANCELED)
        await anyio.lowlevel.checkpoint()
        return 5

    assert await outer.run(body) == 5
    assert not outer.token.cancelled
    outer.finish(Outcome.COMPLETED)


async def test_an_answer_wins_over_a_cancellation():
    """D9: deterministically."""
    scope = await started()

    async def body():
        scope.token.cancel()
        return "answer"

    assert await scope.run(body) == "answer"
    scope.finish(Outcome.COMPLETED)


async def test_a_run_finished_from_inside():
    """It ends as canceled, and a finished operation runs nothing."""
    seen: list[Any] = []
    scope = await started()

    async def body():
        scope.finish(Outcome.COMPLETED)
        return "answer"

    with pytest.raises(OperationCanceled):
        await scope.run(body)
    with pytest.raises(OperationCanceled):
        await scope.run(seen.append, "ran")
    assert seen == []


async def test_scopes_that_interleave():
    """P2: begun one after the other in one task, run in others, ended in any order; no value strays."""
    seen: dict[str, str] = {}

    async def work(name, scope):
        async def body():
            await anyio.lowlevel.checkpoint()
            seen[name] = value.get()

        await scope.run(body)
        scope.finish(Outcome.COMPLETED)

    scopes = {}
    for name in "abc":
        scopes[name] = await started(None, lambda _call, name=name: value.set(name) and None)
    async with anyio.create_task_group() as group:
        for name in "cab":
            group.start_soon(work, name, scopes[name])
    assert seen == {"a": "a", "b": "b", "c": "c"}
    assert value.get() == "outside"
