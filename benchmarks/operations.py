"""What operations cost: an agent's turn when nobody watches, and with one observer on all eight.

When nobody watches, a turn is compared with the same turn of an older checkout, one without operations: its path in
``DSHHOOKS_BEFORE`` (``git worktree add PATH ac825c7``). The two take turns, a process each. With an observer, what a
turn takes longer is divided by the operations the observer was told of.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Generator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from benchmarks.agent import CALLS, Script, turn_of
from benchmarks.harness_kit import Contender, Row, Timing, compare, compare_here, main, missing_row
from benchmarks.pipeline import Metrics, Policy, raw_tool
from dshhooks.config import AgentConfig, HarnessConfig, PluginsConfig
from dshhooks.harness import Harness
from dshhooks.operations import (
    Around,
    Call,
    Cause,
    Coordinates,
    Operation,
    OperationSet,
    Outcome,
    StepData,
    compile_set,
)
from dshhooks.session.memory import MemoryStore

BENCH = "operations"
ROUNDS = 15
PROCESSES = 10
UNWATCHED = 1.02
OBSERVED_US = 15.0
BEFORE = "DSHHOOKS_BEFORE"

# Run in either checkout: prints the CPU time of each of some turns, in microseconds.
TURNS = """
import asyncio, gc, time
from benchmarks.agent import host, turn_of

async def main():
    async with host(20, 1) as harness:
        turn = turn_of(harness)
        for _ in range(3):
            await turn()
        gc.collect()
        gc.disable()
        for _ in range(25):
            started = time.process_time()
            await turn()
            print((time.process_time() - started) * 1e6)

asyncio.run(main())
"""


class Told:
    """An observer of everything; counts what it is told of."""

    def __init__(self) -> None:
        self.of: Counter[str] = Counter()

    def begin(self, call: Any) -> Generator[None, Any, None]:
        """Count the operation once it has finished."""
        yield
        self.of[call.operation] += 1

    def declared(self) -> OperationSet:
        """Return the set with the observer on all eight operations."""
        return OperationSet(around=[Around(operation, self.begin) for operation in Operation])


@asynccontextmanager
async def host(operations: OperationSet | None = None) -> AsyncIterator[Harness]:
    """Open the host of the agent benchmark, with somebody watching or nobody."""
    config = HarnessConfig(PluginsConfig(autoload=False), agent=AgentConfig("scripted", "m"))
    opening = Harness.open(config, plugins=(Policy(), Metrics()), store=MemoryStore(), operations=operations)
    async with opening as harness:
        harness.llm.register_adapter(["scripted"], Script(CALLS, 1))
        harness.tools.register(raw_tool())
        yield harness


def unwatched() -> list[Row]:
    """Time turns of this checkout and of the one before operations, in processes of their own."""
    case, before = "one turn, 20 x 1 calls, nobody watches", os.environ.get(BEFORE)
    if before is None:
        return [missing_row(BENCH, case, "dshhooks", f"{BEFORE} names no checkout to compare with")]
    here = Path(__file__).parent.parent
    pairs = [(_best(Path(before)), _best(here)) for _ in range(PROCESSES)]
    theirs, ours = (min(side) for side in zip(*pairs, strict=True))
    # The best turn of all on either side: what other processes do can only slow one down.
    return [
        Row(BENCH, case, "before", theirs),
        Row(BENCH, case, "dshhooks", ours, "us", "before", ours / theirs, UNWATCHED),
    ]


def _best(checkout: Path) -> float:
    env = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-P", "-c", TURNS]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=True)
    return min(float(line) for line in done.stdout.split())


def alone() -> Row:
    """Time the begin and the finish of one operation with one observer."""
    runner = compile_set(Told().declared())
    place, cause = Coordinates("session-1", "session-1", "1", "1"), Cause("message-1", human=True)

    async def one() -> None:
        scope = await runner.start(Call(Operation.STEP, StepData(0), place, "", cause))
        scope.finish(Outcome.COMPLETED)

    timing = compare([Contender("one observer", one)], ROUNDS)["one observer"]
    return Row(BENCH, "begin and finish of an operation", timing.name, timing.median, "us", target=OBSERVED_US)


async def observed() -> Row:
    """Time turns with somebody watching everything, and with nobody."""
    told = Told()
    async with AsyncExitStack() as stack:
        plain = turn_of(await stack.enter_async_context(host()))
        watched = turn_of(await stack.enter_async_context(host(told.declared())))
        await watched()
        each = Counter(told.of)
        contenders = [Contender("nobody watches", plain), Contender("one observer", watched)]
        return _observed(await compare_here(contenders, ROUNDS), each)


def _observed(timings: dict[str, Timing], each: Counter[str]) -> Row:
    slow, fast, count = timings["one observer"], timings["nobody watches"], each.total()
    extra = [(mine - theirs) / count for mine, theirs in zip(slow.samples, fast.samples, strict=True)]
    seen = ", ".join(f"{number} {name}" for name, number in each.most_common())
    case = f"an observer on all eight; an operation, of {count:,}"
    return Row(BENCH, case, slow.name, statistics.median(extra), "us", target=OBSERVED_US, note=seen)


def rows() -> list[Row]:
    """Measure everything."""
    return [*unwatched(), alone(), asyncio.run(observed())]


if __name__ == "__main__":
    sys.exit(main(BENCH, rows))
