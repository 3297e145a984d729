"""Outcomes as statuses, errors as ``error.type``, tokens and finish reasons."""

from __future__ import annotations

import anyio
import pytest
from opentelemetry.trace import StatusCode

from dshhooks import (
    Denial,
    ErrorInfo,
    HarnessError,
    LlmError,
    ToolError,
    ToolFailure,
    ToolTimeoutError,
    deny,
)
from dshhooks.operations import (
    Call,
    Guard,
    Operation,
    OperationCanceled,
    Outcome,
    ToolCallData,
    ToolExecutionData,
    TurnData,
    classify,
    current_operation,
)

pytestmark = pytest.mark.anyio

TURN = Call(Operation.TURN, TurnData(0))


class Hostile(Exception):
    """An error that cannot be asked for anything."""

    @property
    def __class__(self):
        raise RuntimeError("do not look at me")

    code = property(lambda self: 1 / 0)


class OddCode(HarnessError):
    """An error whose code is no text."""

    def __init__(self):
        super().__init__("odd")
        self.code = 7


@pytest.mark.parametrize(
    ("error", "outcome", "status", "kind"),
    [
        (None, "completed", StatusCode.UNSET, None),
        (deny("budget.exceeded", "spent"), "denied", StatusCode.ERROR, "budget.exceeded"),
        (LlmError("busy", "RATE_LIMIT"), "failed", StatusCode.ERROR, "RATE_LIMIT"),
        (ZeroDivisionError("s3cret"), "failed", StatusCode.ERROR, "ZeroDivisionError"),
        (None, "failed", StatusCode.ERROR, "_OTHER"),
        (OperationCanceled(Operation.TURN), "canceled", StatusCode.UNSET, None),
        (None, "canceled", StatusCode.UNSET, None),
        (TimeoutError("s3cret"), "canceled", StatusCode.ERROR, "timeout"),
        (ToolTimeoutError("s3cret"), "canceled", StatusCode.ERROR, "TOOL_TIMEOUT"),
        (Hostile("s3cret"), "failed", StatusCode.ERROR, "Hostile"),
        (OddCode(), "failed", StatusCode.ERROR, "OddCode"),
        (HarnessError("s3cret", "X" * 1000), "failed", StatusCode.ERROR, "X" * 128),
        (Denial("not a code", "s3cret"), "failed", StatusCode.ERROR, "not a code"),
    ],
    ids=range(13),  # pytest would look at the errors to name them
)
async def test_status_and_error_type(anyio_backend, recorder, error, outcome, status, kind):
    """Denied and failed are errors, canceled is none unless time ran out; no error's text is on a span."""
    scope = await recorder.runner(recorder.all()).start(TURN)
    scope.finish(Outcome(outcome), error)
    (span,) = recorder.spans
    assert (span.status.status_code, span.status.description) == (status, None)
    assert (span.attributes["dshhooks.operation.outcome"], span.attributes.get("error.type")) == (outcome, kind)
    assert (span.events, recorder.faults) == ((), [])
    assert "s3cret" not in span.to_json()


@pytest.mark.parametrize(("info", "kind"), [(ErrorInfo("Broken", "BROKEN"), "BROKEN"), (None, "_OTHER")])
async def test_a_failure_nobody_raised(anyio_backend, recorder, info, kind):
    """A tool's failure without an exception is known by its code, and still none of its text is on the span."""
    scope = await recorder.runner(recorder.all()).start(
        Call(Operation.TOOL_EXECUTION, ToolExecutionData("e", "c", "t"))
    )
    scope.finish(Outcome.FAILED, result=ToolFailure(ToolError("s3cret", info)), is_error=True)
    (span,) = recorder.spans
    assert span.attributes["error.type"] == kind
    assert "s3cret" not in span.to_json()


async def test_a_guard_that_refuses(anyio_backend, recorder):
    """A refused operation is a span, with the code of the refusal."""
    runner = recorder.runner(recorder.all(), [Guard(Operation.TURN, lambda _call: deny("quiet.hours", "s3cret"))])
    scope = await runner.start(TURN)
    scope.finish(classify(scope.refusal), scope.refusal)
    (span,) = recorder.spans
    assert (span.attributes["dshhooks.operation.outcome"], span.attributes["error.type"]) == ("denied", "quiet.hours")
    assert "s3cret" not in span.to_json()


async def test_a_guard_that_breaks(anyio_backend, recorder):
    """A policy that could not be asked is a failure."""

    def broken(_call):
        raise RuntimeError("s3cret")

    runner = recorder.runner(recorder.all(), [Guard(Operation.TURN, broken)])
    scope = await runner.start(TURN)
    scope.finish(classify(scope.refusal), scope.refusal)
    (span,) = recorder.spans
    assert span.attributes["error.type"] == "OPERATION_BLOCKED"
    assert "s3cret" not in span.to_json()


async def test_an_operation_canceled_by_an_observer(anyio_backend, recorder):
    """A derived cancellation ends the span as canceled, while the work around goes on."""
    runner = recorder.runner(recorder.all())

    async def body():
        current_operation().cancel("enough")
        await anyio.sleep_forever()

    with pytest.raises(OperationCanceled):
        async with runner.operation(TURN) as op:
            await op.run(body)
    assert recorder.spans[0].attributes["dshhooks.operation.outcome"] == "canceled"


async def test_a_cancelled_caller(anyio_backend, recorder):
    """Spans end when the caller's own task is cancelled, the inner one first."""
    runner = recorder.runner(recorder.all())
    running = anyio.Event()

    async def inner():
        async with runner.operation(Call(Operation.TOOL_CALL, ToolCallData("e", "c", "wait"))):
            running.set()
            await anyio.sleep_forever()

    async def outer():
        async with runner.operation(TURN) as op:
            await op.run(inner)

    async with anyio.create_task_group() as group:
        group.start_soon(outer)
        await running.wait()
        group.cancel_scope.cancel()
    assert [(span.name, span.attributes["dshhooks.operation.outcome"]) for span in recorder.spans] == [
        ("tool_call wait", "canceled"), ("invoke_agent", "canceled"),
    ]  # fmt: skip
