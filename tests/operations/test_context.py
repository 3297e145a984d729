"""dshhooks.operations.context: tokens that are asked for late, streams read in another context (P1, P3, P5)."""

from __future__ import annotations

from contextvars import ContextVar, copy_context
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from dshhooks.operations import OperationCanceled, Outcome, current_operation
from dshhooks.operations.context import Driven, advance
from tests.operations.kit import forever, started

pytestmark = pytest.mark.anyio

value: ContextVar[str] = ContextVar("value", default="outside")


# -- a token that is asked for late ------------------------------------------------------------------------------------


async def test_asked_for_after_the_finish():
    """F3: a token that nobody had asked for before is dead, too."""
    scope = await started()
    inner = scope.context.run(current_operation)
    assert not inner.cancelled
    scope.finish(Outcome.COMPLETED)
    assert inner.cancelled
    assert inner.token.cancelled


async def test_asked_for_once_the_operation_around_it_was_cancelled():
    """P5: it knows of what came before it, with the same reason; and so does who never asks."""
    outer = await started()
    inner, silent = [(await outer.run(started)) for _ in range(2)]
    outer.token.cancel("all")
    assert silent.cancelled
    assert (inner.token.cancelled, inner.token.reason) == (True, "all")
    for scope in (inner, silent, outer):
        scope.finish(Outcome.CANCELED)


async def test_asked_for_once_the_deadline_around_it_was_lowered():
    """P5: the earliest deadline holds for it as well."""
    outer = await started()
    inner = await outer.run(started)
    outer.token.deadline_at_most(anyio.current_time() - 1)
    with pytest.raises(OperationCanceled):
        await inner.run(forever)
    inner.finish(Outcome.CANCELED)
    outer.finish(Outcome.COMPLETED)


async def test_an_observer_of_the_finish_finds_it_alive():
    """F1: the token dies when the observers have been told, not before."""
    alive: list[bool] = []

    def begin(_call):
        return lambda _result: alive.append(current_operation().cancelled)

    scope = await started(None, begin)
    scope.finish(Outcome.COMPLETED)
    assert (alive, scope.cancelled) == ([False], True)


# -- the next item of a stream -----------------------------------------------------------------------------------------


async def items(*, wait: bool = False):
    """Yields what it sees; sets what the caller must not see."""
    yield value.get()
    value.set("changed")
    if wait:
        await anyio.lowlevel.checkpoint()
    yield value.get()
    raise RuntimeError("its own")


async def taken(context: Any, stream: Any) -> Any:
    """The next item, waited for if need be."""
    found = advance(context, stream)
    return await found if type(found) is Driven else found


@pytest.mark.parametrize("wait", [False, True])
async def test_a_stream_is_read_in_a_context(wait):
    """P1: whether it waits or not, what it sets stays inside, and its errors come through."""
    value.set("mine")
    context, stream = copy_context(), items(wait=wait)
    assert [await taken(context, stream), await taken(context, stream)] == ["mine", "changed"]
    with pytest.raises(RuntimeError, match="its own"):
        await taken(context, stream)
    with pytest.raises(StopAsyncIteration):
        await taken(context, stream)
    assert value.get() == "mine"


async def test_a_stream_is_read_in_the_context_one_is_in():
    """P3: a context that is entered already is no obstacle."""
    context, stream = copy_context(), items()
    coroutine = taken(context, stream)
    with pytest.raises(StopIteration) as stop:
        context.run(coroutine.send, None)
    assert stop.value.value == "outside"
    await stream.aclose()
