"""Many operations at once, nested, cancelled, with observers that fail: none is lost, nothing leaks."""

from __future__ import annotations

import random
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dshhooks.operations import (
    Around,
    Guard,
    Operation,
    OperationCanceled,
    OperationSet,
    Outcome,
    classify,
    compile_set,
    current_operation,
    deny,
    track_scopes,
)
from hookspecs.operations import Denial
from tests.operations.kit import call

NESTED = (Operation.TURN, Operation.STEP, Operation.TOOL_CALL)
path: ContextVar[tuple[int, ...]] = ContextVar("path", default=())


class Plan:
    """One run: everything random comes from one seed."""

    nested: tuple[Operation, ...] = NESTED

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.begun: list[int] = []  # every operation's number, once for each good observer
        self.finished: list[int] = []
        self.outcomes: dict[int, Outcome] = {}
        self.strays: list[Any] = []
        self.numbers = iter(range(10**6))
        self.declared = self.declare()
        self.runner = compile_set(self.declared)

    def declare(self) -> OperationSet:
        around = [Around(each, begin) for each in self.nested for begin in (self.count, self.wild, self.generator)]
        guards = [Guard(each, self.guard) for each in self.nested if each.guardable]
        return OperationSet("v1", guards, around)

    def count(self, _call: Any) -> Any:
        """Takes a number, and expects to find it at the finish."""
        number = next(self.numbers)
        token = path.set((*path.get(), number))
        self.begun.append(number)

        def finish(result: Any) -> None:
            self.finished.append(number)
            self.outcomes[number] = result.outcome
            if path.get()[-1] != number:
                self.strays.append((number, path.get()))
            path.reset(token)

        return finish

    def wild(self, _call: Any) -> Any:
        """Raises, or is unusable, or cancels, or lowers the deadline; here or at the finish."""
        self.break_something()
        return self.random.choice([None, 7, lambda _result: self.break_something()])

    def generator(self, _call: Any) -> Any:
        self.break_something()
        yield
        self.break_something()

    def break_something(self) -> None:
        chance = self.random.random()
        if chance < 0.2:
            raise self.random.choice([ValueError, SystemExit, Denial])("x", "y")
        if chance < 0.25:
            current_operation().cancel("wild")  # type: ignore[union-attr]
        if chance < 0.3:
            current_operation().deadline_at_most(anyio.current_time())  # type: ignore[union-attr]

    async def guard(self, _call: Any) -> Any:
        chance = self.random.random()
        if chance < 0.3:
            await anyio.lowlevel.checkpoint()
        if chance < 0.03:
            raise ValueError("broken")
        return deny("a", "b") if chance < 0.06 else False if chance < 0.08 else None

    async def work(self, depth: int = 0) -> None:
        """One operation, and the one inside it."""
        outside = path.get()
        scope = await self.runner.start(call(NESTED[depth]))
        try:
            if scope.refusal is None:
                await scope.run(self.body, depth, outside)
            scope.finish(classify(scope.refusal), scope.refusal)
        except BaseException as exc:
            scope.finish(classify(exc), exc)
            if not isinstance(exc, (OperationCanceled, ValueError)):
                raise
        finally:
            scope.finish(Outcome.FAILED)  # must do nothing
            if path.get() != outside:
                self.strays.append((depth, path.get(), outside))

    async def body(self, depth: int, outside: tuple[int, ...]) -> None:
        here = path.get()
        if here[:-1] != outside:
            self.strays.append((depth, here, outside))
        await anyio.lowlevel.checkpoint()
        if depth + 1 < len(NESTED):
            await self.work(depth + 1)
        if path.get() != here:
            self.strays.append((depth, path.get(), here))
        if self.random.random() < 0.1:
            raise ValueError("body")
        if self.random.random() < 0.1:
            await anyio.sleep_forever() if current_operation().cancelled else await anyio.lowlevel.checkpoint()  # type: ignore

    async def run(self, tasks: int) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(tasks):
                group.start_soon(self.cancelled_at_random)

    async def cancelled_at_random(self) -> None:
        with anyio.CancelScope() as scope:
            if self.random.random() < 0.3:
                scope.deadline = anyio.current_time() + self.random.random() / 200
            await self.work()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_nothing_is_lost_and_nothing_leaks(backend, seed):
    """Case 58, nested three deep: begins equal finishes, each once, every scope finished, no value strays."""
    plan = Plan(seed)
    with track_scopes() as scopes:
        anyio.run(plan.run, 100, backend=backend)
        assert [scope for scope in scopes if not scope.finished] == []
    assert len(plan.begun) >= 100
    assert sorted(plan.finished) == plan.begun
    assert plan.strays == []
    assert path.get() == ()


def test_the_plan_meets_everything():
    """The property above is worth nothing if nothing ever goes wrong in it."""
    met: set[Outcome] = set()
    for seed in range(3):
        plan = Plan(seed)
        anyio.run(plan.run, 100)
        met |= set(plan.outcomes.values())
    assert met == set(Outcome)
