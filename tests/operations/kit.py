"""The smallest things an operation's test needs."""

from __future__ import annotations

from typing import Any

import anyio

from dshhooks.operations import (
    Around,
    Call,
    CompactionData,
    GateWaitData,
    Guard,
    InferenceData,
    JournalAppendData,
    Operation,
    OperationSet,
    Runner,
    StepData,
    ToolCallData,
    ToolExecutionData,
    TurnData,
    compile_set,
)

GUARDABLE = (Operation.TURN, Operation.INFERENCE, Operation.COMPACTION, Operation.TOOL_CALL)
OTHERS = (Operation.STEP, Operation.GATE_WAIT, Operation.TOOL_EXECUTION, Operation.JOURNAL_APPEND)

PAYLOADS: dict[Operation, Any] = {
    Operation.TURN: TurnData(1),
    Operation.STEP: StepData(0),
    Operation.INFERENCE: InferenceData({"model": "m"}),
    Operation.COMPACTION: CompactionData("a1"),
    Operation.TOOL_CALL: ToolCallData("e1", "c1", "bash", '{"x": 1}'),
    Operation.GATE_WAIT: GateWaitData("g1"),
    Operation.TOOL_EXECUTION: ToolExecutionData("e1", "c1", "bash", "{}"),
    Operation.JOURNAL_APPEND: JournalAppendData("event", "7"),
}

TOOL = Operation.TOOL_CALL


def call(operation: Operation = TOOL, **changes: Any) -> Call:
    """A well-formed call."""
    return Call(operation, changes.pop("payload", PAYLOADS[operation]), **changes)


def allow(_call: Any) -> None:
    """A guard that has no objection."""


def watch(seen: list[Any], name: str = "o") -> Any:
    """An observer that writes down begin and finish."""

    def begin(_call: Any) -> Any:
        seen.append(f"begin {name}")
        return lambda result: seen.append(f"finish {name} {result.outcome}")

    return begin


def results(seen: list[Any]) -> Any:
    """An observer that keeps the results."""
    return lambda _call: seen.append


def runner(
    guards: list[Any] | None = None, around: list[Any] | None = None, operation: Operation = TOOL, **options: Any
) -> Runner:
    """A runner whose plain functions are for one operation."""
    checks = [each if isinstance(each, Guard) else Guard(operation, each) for each in guards or ()]
    begins = [each if isinstance(each, Around) else Around(operation, each) for each in around or ()]
    return compile_set(OperationSet("v1" if checks else "", checks, begins), **options)


async def started(seen: list[Any] | None = None, *begins: Any, operation: Operation = Operation.TOOL_CALL) -> Any:
    """A started operation that writes down its result."""
    return await runner([], [results([] if seen is None else seen), *begins], operation).start(call(operation))


async def forever() -> None:
    """A body that has to be cancelled."""
    await anyio.sleep_forever()
