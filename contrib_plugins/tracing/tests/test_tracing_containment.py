"""Nothing a tracer does, or fails to do, reaches the work it describes; and every span ends exactly once."""

from __future__ import annotations

import logging
import random

import anyio
import pytest
from dshhooks_tracing import Tracing
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.trace import NonRecordingSpan, NoOpTracer, NoOpTracerProvider

from dshhooks.operations import (
    Call,
    Coordinates,
    Operation,
    OperationCanceled,
    Outcome,
    StepData,
    ToolCallData,
    TurnData,
)

pytestmark = pytest.mark.anyio

TURN = Call(Operation.TURN, TurnData(0, None))
SECRET = "s3cret"


def broken(*_args, **_more):
    """What a broken SDK does."""
    raise RuntimeError(SECRET)


def leaving(*_args, **_more):
    """What a very broken SDK does."""
    raise SystemExit(SECRET)


class BrokenSpan(NonRecordingSpan):
    """A span whose every method breaks but those that make it a span."""

    def __init__(self):
        super().__init__(trace.INVALID_SPAN_CONTEXT)
        self.ended = 0

    set_attribute = set_attributes = set_status = broken

    def is_recording(self):
        return True

    def end(self, end_time=None):
        self.ended += 1
        broken()


class Provider(NoOpTracerProvider):
    """Gives a tracer whose spans begin as it is told."""

    def __init__(self, start):
        self.start = start

    def get_tracer(self, *args, **kwargs):
        tracer = NoOpTracer()
        tracer.start_span = self.start
        return tracer


async def worked(runner):
    """Whether an operation's work is done as if nobody watched."""
    done = []
    async with runner.operation(TURN) as op:
        await op.run(lambda: done.append("done"))
    return done == ["done"] and trace.get_current_span() is trace.INVALID_SPAN


@pytest.mark.parametrize("moment", ["on_start", "on_end"])
@pytest.mark.parametrize("how", [broken, leaving])
async def test_a_broken_processor(anyio_backend, recorder, caplog, moment, how):
    """A span processor that raises loses a span, and does not touch the work; what it says is in no log."""
    provider = TracerProvider()
    provider.add_span_processor(type("Broken", (SpanProcessor,), {moment: how})())
    with caplog.at_level(logging.DEBUG):
        assert await worked(recorder.runner(Tracing(tracer_provider=provider)))
    assert len(caplog.records) == 1
    assert SECRET not in caplog.text


async def test_a_broken_tracer(anyio_backend, recorder, caplog):
    """A tracer that cannot begin a span loses it, and says so by the fault's class."""
    assert await worked(recorder.runner(Tracing(tracer_provider=Provider(broken))))
    assert [record.message for record in caplog.records] == ["the span of a turn is not complete: RuntimeError"]


async def test_a_broken_span(anyio_backend, recorder, caplog):
    """A span that cannot be written to is still ended, once."""
    span = BrokenSpan()
    assert await worked(recorder.runner(Tracing(tracer_provider=Provider(lambda *_args, **_more: span))))
    assert span.ended == 1
    assert SECRET not in caplog.text


async def test_a_payload_nobody_can_read(anyio_backend, recorder, caplog):
    """Facts that cannot be read lose the span, not the work."""
    async with recorder.runner(recorder.all()).operation(Call(Operation.TOOL_CALL, ToolCallData(1, 2, 3))):
        pass
    assert recorder.spans == ()
    assert "the span of a tool_call is not complete: TypeError" in caplog.text


async def test_a_dropped_operation(anyio_backend, recorder):
    """An operation whose owner forgot it still ends its span; the warning names it."""
    scopes = [await recorder.runner(recorder.all()).start(TURN)]
    with pytest.warns(ResourceWarning, match="a scope of turn was dropped unfinished"):
        scopes.clear()
    assert [span.name for span in recorder.spans] == ["invoke_agent"]


async def test_finished_twice(anyio_backend, recorder):
    """The second finish ends nothing."""
    scope = await recorder.runner(recorder.all()).start(TURN)
    scope.finish(Outcome.COMPLETED)
    scope.finish(Outcome.FAILED)
    assert [span.attributes["dshhooks.operation.outcome"] for span in recorder.spans] == ["completed"]


async def test_finished_by_another_thread(anyio_backend, recorder, caplog):
    """A finish from a worker thread, while the work's context is in use, ends the span and complains of nothing."""
    scope = await recorder.runner(recorder.all()).start(TURN)

    def body():
        with anyio.from_thread.start_blocking_portal() as portal:
            portal.call(scope.finish, Outcome.COMPLETED)

    scope.context.run(body)
    assert [span.name for span in recorder.spans] == ["invoke_agent"]
    assert caplog.records == []


async def tree(runner, dice, depth):
    """Operations inside operations, in parallel; some raise, some are cancelled, some are finished early."""
    async with anyio.create_task_group() as group:
        for _ in range(dice.randint(1, 3)):
            group.start_soon(branch, runner, dice, depth)
        if dice.random() < 0.2:
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()


async def branch(runner, dice, depth):
    """One operation of the tree."""
    here = trace.get_current_span()
    try:
        async with runner.operation(Call(Operation.STEP, StepData(depth), Coordinates(step=str(depth)))) as op:
            await op.run(work, runner, dice, depth)
            if dice.random() < 0.1:
                op.scope.finish(Outcome.COMPLETED)
    except (ValueError, OperationCanceled):
        pass
    finally:
        assert trace.get_current_span() is here


async def work(runner, dice, depth):
    """The work of an operation: it is in its own span, and so is what it begins."""
    mine = trace.get_current_span()
    for _ in range(dice.randint(0, 2)):
        await anyio.lowlevel.checkpoint()
        assert trace.get_current_span() is mine
    if dice.random() < 0.2:
        raise ValueError("this branch fails")
    if depth < 2:
        await tree(runner, dice, depth + 1)
    assert trace.get_current_span() is mine


@given(seed=st.integers(0, 2**32))
def test_any_tree_of_operations(recorder_class, seed):
    """Whatever is raised and cancelled: spans begin and end equally often, and each is inside the one further out."""
    for backend in ("asyncio", "trio"):
        recorder = recorder_class()
        anyio.run(tree, recorder.runner(recorder.plugin()), random.Random(seed), 0, backend=backend)
        assert recorder.faults == []
        assert sorted(recorder.count.begun) == sorted(recorder.count.ended)
        steps = {span.context.span_id: int(span.attributes["dshhooks.step"]) for span in recorder.spans}
        for span in recorder.spans:
            around = steps[span.parent.span_id] if span.parent is not None else -1
            assert around == int(span.attributes["dshhooks.step"]) - 1
