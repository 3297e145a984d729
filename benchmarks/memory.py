"""Memory: 100,000 calls through one registry must leave the process as large as it was."""

from __future__ import annotations

import asyncio
import gc
import sys
from pathlib import Path
from typing import Any

from benchmarks.harness_kit import Row, main, missing_row
from benchmarks.pipeline import GeneratorMetrics, Metrics, Policy
from dshhooks import CancelSource, Hooks, ToolCall, ToolDefinition, ToolOutput, ToolRegistry

BENCH = "memory"
CALLS = 100_000
WARM_UP = 5_000
LIMIT_MB = 5.0


async def add(args: Any, _exec: Any) -> int:
    """Add, or fail when told to: both ways must be free of leaks."""
    if args["b"] == 13:
        raise ValueError("thirteen")
    return args["a"] + args["b"]  # type: ignore[no-any-return]


def registry() -> ToolRegistry:
    """Return a registry with five policies and both kinds of wrapper."""
    hooks = Hooks()
    for kind in (Policy, Policy, Policy, Policy, Policy, Metrics, GeneratorMetrics):
        hooks.register(kind())
    made = ToolRegistry(hooks)
    made.register(ToolDefinition("add", "Add.", {}, ToolOutput({"type": "integer"}, lambda _a, v: str(v)), add))
    return made


async def work(made: ToolRegistry, calls: int) -> None:
    """Make calls that succeed, fail, are denied and carry a signal, in turns."""
    for number in range(calls):
        a, b = (-1 if number % 10 == 3 else number), (13 if number % 10 == 7 else 1)
        signal = CancelSource().signal if number % 2 else None
        await made.execute(ToolCall(f"c{number}", "add", {"a": a, "b": b, "edits": [{"text": "x" * 50}]}, signal))


def resident_mb() -> float:
    """Return the resident size of this process.

    Raises:
        OSError: The system does not say.
    """
    gc.collect()
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise OSError("no VmRSS in /proc/self/status")


async def grown() -> float:
    """Return by how many MB the process grew over the calls, after a warm-up."""
    made = registry()
    await work(made, WARM_UP)
    before = resident_mb()
    await work(made, CALLS)
    return resident_mb() - before


def rows() -> list[Row]:
    """Measure it, or say why not."""
    case = f"{CALLS:,} calls, growth of the resident size"
    try:
        growth = asyncio.run(grown())
    except OSError as exc:
        return [missing_row(BENCH, case, "dshhooks", exc)]
    return [Row(BENCH, case, "dshhooks", growth, "MB", target=LIMIT_MB)]


if __name__ == "__main__":
    sys.exit(main(BENCH, rows))
