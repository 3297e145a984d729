"""One tool call through the whole pipeline, beside the same call in other frameworks.

The tool is a trivial ``async`` addition, so that what is measured is the framework. ``policies`` let it through,
``wrappers`` are asynchronous metrics that hand on the same result. The promised ratios are against Semantic Kernel with
*fewer* filters than we have plugins where the two counts differ: ``n`` policies and a wrapper against ``n`` filters.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

from benchmarks.harness_kit import Contender, Row, compare, main, missing_row, ratio_row
from benchmarks.peers import BUILDERS, DISTRIBUTIONS, Meter
from dshhooks import (
    Allow,
    CancelSignal,
    CancelSource,
    Deny,
    Hooks,
    ToolCall,
    ToolDefinition,
    ToolOutput,
    ToolRegistry,
    hookimpl,
)

BENCH = "pipeline"
KERNEL = "semantic-kernel"
# policies, wrappers, target against Semantic Kernel
CASES = ((0, 0, 0.6), (1, 1, 0.75), (5, 1, 0.75), (20, 1, 1.0), (20, 20, 1.3))


class Policy:
    """Refuses a negative argument and has no opinion on any other."""

    @hookimpl
    def tools_pre_execute(self, execution: Any) -> Deny | None:
        return Deny("negative") if execution.arguments["a"] < 0 else None


class SayingPolicy:
    """The same, but says ``Allow()``."""

    @hookimpl
    def tools_pre_execute(self, execution: Any) -> Deny | Allow:
        return Deny("negative") if execution.arguments["a"] < 0 else Allow()


class AwaitingPolicy:
    """The same, as a coroutine function."""

    @hookimpl
    async def tools_pre_execute(self, execution: Any) -> Deny | None:
        return Deny("negative") if execution.arguments["a"] < 0 else None


class Metrics:
    """Takes the time around the rest of the chain."""

    def __init__(self) -> None:
        self.meter = Meter()

    @hookimpl(wrapper=True)
    async def tools_execute(self, execution: Any, *, call_next: Any) -> Any:
        started = perf_counter()
        result = await call_next()
        self.meter.add(perf_counter() - started)
        return result


class GeneratorMetrics(Metrics):
    """The same as a generator wrapper, which cannot await and needs less."""

    @hookimpl(wrapper=True)
    def tools_execute(self, execution: Any) -> Any:
        started = perf_counter()
        result = yield
        self.meter.add(perf_counter() - started)
        return result


def raw_tool() -> Any:
    """Return the tool as a hand-written definition."""

    async def add(args: Any, _exec: Any) -> int:
        return args["a"] + args["b"]

    integer = {"type": "integer"}
    parameters = {"type": "object", "properties": {"a": integer, "b": integer}, "required": ["a", "b"]}
    output = ToolOutput(integer, lambda _args, value: str(value))
    return ToolDefinition("add", "Add two integers.", parameters, output, add)


def decorated_tool() -> Any:
    """Return the tool as ``@tool`` makes it, arguments validated."""
    from dshhooks import tool

    @tool
    async def add(a: int, b: int) -> int:
        """Add two integers."""
        return a + b

    return add


def ours(
    policies: int,
    wrappers: int,
    *,
    make: Callable[[], Any] = raw_tool,
    policy: type = Policy,
    wrapper: type = Metrics,
    signal: CancelSignal | None = None,
) -> Callable[[], Any]:
    """Return our call; with a signal, the body runs in a cancel scope tied to it."""
    hooks = Hooks()
    for _ in range(policies):
        hooks.register(policy())
    for _ in range(wrappers):
        hooks.register(wrapper())
    registry = ToolRegistry(hooks)
    registry.register(make())

    async def one() -> Any:
        return await registry.execute(ToolCall("c1", "add", {"a": 1, "b": 2}, signal))

    return one


def variants(policies: int, wrappers: int) -> dict[str, Callable[[], Any]]:
    """Return builders of everybody who takes part in one case, by name."""
    found: dict[str, Callable[[], Any]] = {
        "dshhooks": lambda: ours(policies, wrappers),
        "dshhooks, @tool": lambda: ours(policies, wrappers, make=decorated_tool),
        "dshhooks, cancellable": lambda: ours(policies, wrappers, signal=CancelSource().signal),
        KERNEL: lambda: BUILDERS[KERNEL](policies, wrappers if wrappers > 1 else 0),
    }
    if policies:
        found["dshhooks, saying Allow()"] = lambda: ours(policies, wrappers, policy=SayingPolicy)
        found["dshhooks, async policies"] = lambda: ours(policies, wrappers, policy=AwaitingPolicy)
    if wrappers:
        found["dshhooks, generator wrapper"] = lambda: ours(policies, wrappers, wrapper=GeneratorMetrics)
    if wrappers == 1:
        found[f"{KERNEL}, wrapper too"] = lambda: BUILDERS[KERNEL](policies, wrappers)
    for peer, build in BUILDERS.items():
        if peer != KERNEL:
            found[peer] = lambda build=build: build(policies, wrappers)
    return found


def measure(policies: int, wrappers: int, target: float) -> list[Row]:
    """Measure one case; whoever cannot take part gets a row with the reason."""
    case = f"{policies} policies, {wrappers} wrapper{'s' if wrappers != 1 else ''}"
    contenders, rows = [], []
    for name, build in variants(policies, wrappers).items():
        try:
            one = build()
            _check(one)
        except Exception as exc:
            rows.append(missing_row(BENCH, case, name, exc))
        else:
            contenders.append(Contender(name, one))
    timings = compare(contenders)
    promised = {"dshhooks": target, "dshhooks, @tool": target}
    return [ratio_row(BENCH, case, timings, name, KERNEL, promised.get(name)) for name in timings] + rows


def _check(one: Callable[[], Any]) -> None:
    """Refuse to time something that does not add."""
    answer = asyncio.run(one())  # type: ignore[arg-type]
    text = str(getattr(answer, "result", getattr(answer, "value", answer)))
    if "3" not in text:
        raise RuntimeError(f"expected 3, got {answer!r}")


def rows() -> list[Row]:
    """Measure every case."""
    return [row for policies, wrappers, target in CASES for row in measure(policies, wrappers, target)]


if __name__ == "__main__":
    sys.exit(main(BENCH, rows, DISTRIBUTIONS))
