"""How the benchmarks measure and report.

A contender is a callable that does one unit of work, plain or ``async``. Contenders are timed in turns, A B C A B C,
so that a machine that slows down slows all of them; what counts is CPU time, and the median over the rounds.
"""

from __future__ import annotations

import asyncio
import gc
import importlib.metadata
import inspect
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from attrs import asdict, field, frozen

__all__ = ["RESULTS", "ROUNDS", "Contender", "Row", "Timing", "compare", "compare_here", "finish", "main",
           "missing_row", "print_table", "ratio_row", "versions", "write_json"]  # fmt: skip

ROUNDS: Final = 15
BATCH_SECONDS: Final = 0.02
RESULTS: Final = Path(__file__).parent / "results"


@frozen
class Contender:
    """Somebody who does the same work as the others.

    Args:
        name: Its column in the table.
        one: Does the work once; a coroutine function is awaited.
    """

    name: str
    one: Callable[[], Any]


@frozen
class Timing:
    """What one contender needed for one unit of work, in microseconds of CPU time, round by round."""

    name: str
    samples: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle of all rounds."""
        return statistics.median(self.samples)

    def over(self, other: Timing) -> float:
        """The median of the ratios round by round: what slowed a whole round down is in both halves of its ratio."""
        return statistics.median(mine / theirs for mine, theirs in zip(self.samples, other.samples, strict=True))


@frozen
class Row:
    """One line of the table.

    Args:
        bench: The module it comes from.
        case: What was done.
        contender: Who did it.
        value: The figure; ``None`` when there is none.
        unit: Of the figure: ``us``, ``ms``, ``MB``, ``x``.
        against: Whom ``ratio`` compares with.
        ratio: The figure over the other's.
        target: The largest ratio (or figure, without a ratio) that is good; ``None``: nothing is promised.
        note: A reason, a version, a caveat.
    """

    bench: str
    case: str
    contender: str
    value: float | None = None
    unit: str = "us"
    against: str = ""
    ratio: float | None = None
    target: float | None = None
    note: str = ""
    verdict: str = field(init=False)

    @verdict.default
    def _judge(self) -> str:
        if self.target is None:
            return ""
        measured = self.value if self.ratio is None else self.ratio
        return "missing" if measured is None else "ok" if measured <= self.target else "MISSED"


def compare(contenders: Sequence[Contender], rounds: int = ROUNDS) -> dict[str, Timing]:
    """Time the contenders in turns inside one event loop; return their timings by name."""
    return asyncio.run(compare_here(contenders, rounds))


async def compare_here(contenders: Sequence[Contender], rounds: int = ROUNDS) -> dict[str, Timing]:
    """Do what :func:`compare` does in the running event loop, for contenders that live in it."""
    batches = [(contender, _batch(contender.one)) for contender in contenders]
    counts = {contender.name: await _calibrate(batch) for contender, batch in batches}
    samples: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    for _ in range(rounds):
        for contender, batch in batches:
            count = counts[contender.name]
            samples[contender.name].append(await _timed(batch, count) / count * 1e6)
    return {name: Timing(name, tuple(taken)) for name, taken in samples.items()}


def _batch(one: Callable[[], Any]) -> Callable[[int], Any]:
    """Return a coroutine function that does the work ``count`` times; the loop costs every contender the same."""
    if inspect.iscoroutinefunction(one):

        async def repeat(count: int) -> None:
            for _ in range(count):
                await one()
    else:

        async def repeat(count: int) -> None:
            for _ in range(count):
                one()

    return repeat


async def _timed(batch: Callable[[int], Any], count: int) -> float:
    # Collected before and off during, as timeit does: a collection hits whoever happens to be running.
    gc.collect()
    gc.disable()
    try:
        started = time.process_time()
        await batch(count)
        return time.process_time() - started
    finally:
        gc.enable()


async def _calibrate(batch: Callable[[int], Any]) -> int:
    """Warm up, and return how often the work fits into one batch."""
    count = 1
    # Two looks: a hiccup of the machine in one of them must not shrink every later batch.
    while (taken := min(await _timed(batch, count), await _timed(batch, count))) < BATCH_SECONDS / 4:
        count *= 4
    return max(1, int(count * BATCH_SECONDS / taken))


def ratio_row(bench: str, case: str, timings: dict[str, Timing], name: str, against: str, target: float | None) -> Row:
    """Return the row of one contender, compared with another of the same run."""
    mine, other = timings[name], timings.get(against)
    ratio = mine.over(other) if other is not None and against != name else None
    return Row(bench, case, name, mine.median, "us", against if ratio is not None else "", ratio,
               target if ratio is not None else None)  # fmt: skip


def missing_row(bench: str, case: str, contender: str, why: object) -> Row:
    """Return the row of somebody who could not take part; the reason stands in the table, nobody is left out."""
    text = f"{type(why).__name__}: {why}" if isinstance(why, BaseException) else str(why)
    return Row(bench, case, contender, None, "", note=f"not available: {text}"[:160])


def versions(*names: str) -> dict[str, str]:
    """Return the installed version of each distribution; ``"not installed"`` for the others."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def print_table(rows: Iterable[Row]) -> None:
    """Print the rows as one aligned table."""
    lines = [("bench", "case", "contender", "figure", "ratio", "target", "verdict", "note"), *map(_cells, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for number, line in enumerate(lines):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        if not number:
            print("  ".join("-" * width for width in widths))


def _cells(row: Row) -> tuple[str, ...]:
    figure = "-" if row.value is None else f"{row.value:.2f} {row.unit}"
    ratio = "" if row.ratio is None else f"{row.ratio:.2f}x {row.against}"
    target = "" if row.target is None else f"<= {row.target:g}{'x' if row.ratio is not None else ' ' + row.unit}"
    return (row.bench, row.case, row.contender, figure, ratio, target, row.verdict, row.note)


def write_json(name: str, rows: Sequence[Row], extra: dict[str, Any] | None = None) -> Path:
    """Write the rows, with what they were measured on, to ``benchmarks/results/<name>.json``."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    document = {
        "python": sys.version.split()[0],
        "machine": platform.machine(),
        "versions": versions("pluggy", "anyio", "attrs", *(extra or {}).get("peers", ())),
        "rows": [asdict(row) for row in rows],
        **{key: value for key, value in (extra or {}).items() if key != "peers"},
    }
    path.write_text(json.dumps(document, indent=1, default=str) + "\n", encoding="utf-8")
    return path


def main(name: str, rows: Callable[[], list[Row]], peers: Sequence[str] = ()) -> int:
    """Run one benchmark on its own: measure, print, write; return 1 when a promised figure was missed."""
    return finish(name, rows(), peers)


def finish(name: str, rows: list[Row], peers: Sequence[str] = ()) -> int:
    """Print and write rows; return 1 when a promised figure was missed."""
    print_table(rows)
    path = write_json(name, rows, {"peers": tuple(peers)})
    shown = ", ".join(f"{peer} {version}" for peer, version in versions("pluggy", *peers).items())
    print(f"\nPython {sys.version.split()[0]}; {shown}; CPU time, medians, taken in turns; JSON: {path.name}")
    return 1 if any(row.verdict == "MISSED" for row in rows) else 0
