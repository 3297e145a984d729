"""The engine: one dispatch through a compiled plan, beside pluggy's own synchronous call and a loop written by hand.

Everybody runs the same plugin objects: ``n`` implementations that abstain inside ``n`` generator wrappers. Ours is
dispatched as the pipeline does it, plan lookup included. The second half seals arguments, beside ``copy.deepcopy``.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pluggy

from benchmarks.harness_kit import Contender, Row, compare, main, ratio_row
from dshhooks import hookimpl
from dshhooks.engine.hooks import Hooks
from hookspecs.decisions import Allow
from hookspecs.json import freeze
from hookspecs.markers import PROJECT
from hookspecs.tools import ToolsHooks

BENCH = "engine"
SIZES: dict[int, float | None] = {0: None, 1: None, 5: 1.5, 20: 1.6}
SEALED = {10_000: "10 kB", 100_000: "100 kB", 1_000_000: "1 MB"}
ALLOW = Allow()
EXECUTION: Any = object()


class Abstains:
    """An implementation without an opinion."""

    @hookimpl
    def tools_pre_execute(self, execution: Any) -> None:
        return None


class Surrounds:
    """A generator wrapper that changes nothing."""

    @hookimpl(wrapper=True)
    def tools_pre_execute(self, execution: Any) -> Any:
        return (yield)


class Awaits:
    """An async wrapper that changes nothing."""

    @hookimpl(wrapper=True)
    async def tools_pre_execute(self, execution: Any, *, call_next: Any) -> Any:
        return await call_next()


def ours(implementations: int, wrappers: int, wrapper: type = Surrounds) -> Callable[[], Any]:
    """Return our dispatch, the way the pipeline does it."""
    hooks = Hooks()
    for _ in range(implementations):
        hooks.register(Abstains())
    for _ in range(wrappers):
        hooks.register(wrapper())

    async def dispatch() -> Any:
        plan = hooks.plan("tools_pre_execute", None)
        if plan.active:
            return await plan.run(plan, (EXECUTION,), ALLOW)
        return ALLOW

    return dispatch


def raw_pluggy(implementations: int, wrappers: int) -> Callable[[], Any]:
    """Return pluggy's synchronous call of the same hookspec with the same plugins."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(ToolsHooks)
    for plugin in [Abstains() for _ in range(implementations)] + [Surrounds() for _ in range(wrappers)]:
        manager.register(plugin)
    hook = manager.hook
    return lambda: hook.tools_pre_execute(execution=EXECUTION)


def by_hand(implementations: int, wrappers: int) -> Callable[[], Any]:
    """Return the least code that calls the same functions: no errors, no checks."""
    answers = [Abstains().tools_pre_execute for _ in range(implementations)]
    generators = [Surrounds().tools_pre_execute for _ in range(wrappers)]

    def dispatch() -> Any:
        opened = [make(EXECUTION) for make in generators]
        for generator in opened:
            next(generator)
        result = None
        for answer in answers:
            result = answer(EXECUTION)
            if result is not None:
                break
        for generator in reversed(opened):
            try:
                generator.send(result)
            except StopIteration as stop:
                result = stop.value
        return result

    return dispatch


def dispatch_rows() -> list[Row]:
    """Measure the dispatch at every size."""
    rows = []
    for size, target in SIZES.items():
        timings = compare(
            [
                Contender("dshhooks", ours(size, size)),
                Contender("pluggy, sync", raw_pluggy(size, size)),
                Contender("by hand", by_hand(size, size)),
                Contender("dshhooks, async wrappers", ours(size, size, Awaits)),
            ]
        )
        case = f"{size} implementations, {size} wrappers"
        for name in timings:
            promised = target if name == "dshhooks" else None
            rows.append(ratio_row(BENCH, case, timings, name, "pluggy, sync", promised))
    return rows


def nested(size: int) -> dict[str, Any]:
    """Return a nested argument of about ``size`` bytes of JSON: edits of a file, each with positions and text."""
    edits: list[dict[str, Any]] = []
    while len(edits) * 125 < size:
        edits.append(
            {"path": f"src/module_{len(edits)}.py", "range": {"start": [len(edits), 4], "end": [len(edits) + 3, 80]},
             "text": "return value if value else None", "weight": 0.5, "force": False}
        )  # fmt: skip
    return {"edits": edits, "dry_run": True, "author": None}


def seal_rows() -> list[Row]:
    """Measure sealing at three sizes, in one run.

    Ten times the size should cost ten times as much. Past the processor's caches every copy gets dearer, ours and
    deepcopy's alike, so growth is judged beside deepcopy's.
    """
    contenders = []
    for size, label in SEALED.items():
        value = nested(size)
        contenders.append(Contender(f"freeze {label}", lambda v=value: freeze(v)))
        contenders.append(Contender(f"deepcopy {label}", lambda v=value: copy.deepcopy(v)))
    timings = compare(contenders)
    found = []
    for label in SEALED.values():
        mine, theirs = timings[f"freeze {label}"], timings[f"deepcopy {label}"]
        case = f"seal a nested argument, {label}"
        found.append(Row(BENCH, case, "freeze", mine.median, "us", "copy.deepcopy", mine.over(theirs), 1.5))
        found.append(Row(BENCH, case, "copy.deepcopy", theirs.median))
    for before, label in pairwise(SEALED.values()):
        grown = timings[f"freeze {label}"].over(timings[f"freeze {before}"])
        usual = timings[f"deepcopy {label}"].over(timings[f"deepcopy {before}"])
        case = f"seal, growth from {before} to {label}"
        found.append(Row(BENCH, case, "freeze", grown, "x", "copy.deepcopy", grown / usual, 1.3))
    return found


def rows() -> list[Row]:
    """Measure everything here."""
    return dispatch_rows() + seal_rows()


if __name__ == "__main__":
    sys.exit(main(BENCH, rows))
