"""What is printed: tables, the tree of one call (coloured on a terminal), and JSON documents."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import click

from dshhooks.engine.trace import TraceRecord

__all__ = ["duration", "one_line", "print_json", "printable", "table", "tree"]

_COLOURS = {
    "allow": "green",
    "ok": "green",
    "accept": "green",
    "allowed-once": "green",
    "deny": "red",
    "rejected": "red",
    "block": "red",
    "failure": "red",
    "raised": "red",
    "aborted": "yellow",
    "ask": "yellow",
    "abstain": "bright_black",
}


# What steers a terminal, cannot be encoded, or turns the direction of writing: text from models and tools is shown,
# never obeyed.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Return text that is safe to print: what is not printable is written as an escape; lines stay."""
    return _UNPRINTABLE.sub(lambda found: ascii(found.group())[1:-1], text)


def one_line(text: str, limit: int = 120) -> str:
    """Return text as one printable line, cut at ``limit``."""
    text = printable(" ".join(text.split()))
    return text if len(text) <= limit else text[: limit - 1] + "…"


def print_json(document: Any) -> None:
    """Print one JSON document on one line; lone surrogates stay escaped."""
    try:
        text = json.dumps(document, ensure_ascii=True)
    except RecursionError:  # a tool's value may nest deeper than Python recurses
        from hookspecs.json import encode

        text = encode(document)
    click.echo(text)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a plain aligned table; the last column takes what is left of the terminal."""
    lines = [list(heads), *([one_line(cell, 500) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    limit = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for number, line in enumerate(lines):
        text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        if limit and len(text) > limit:
            text = text[: limit - 1] + "…"
        click.secho(text, bold=number == 0)


def tree(records: Sequence[TraceRecord], title: str) -> None:
    """Print what every implementation of one call did, nested as it ran."""
    click.secho(one_line(title), bold=True)
    for index, record in enumerate(records):
        bars = "".join("│  " if _goes_on(records, index, depth) else "   " for depth in range(record.depth))
        branch = "├─ " if _goes_on(records, index, record.depth) else "└─ "
        click.echo(bars + branch + _line(record))


def _goes_on(records: Sequence[TraceRecord], index: int, depth: int) -> bool:
    for record in records[index + 1 :]:
        if record.depth <= depth:
            return record.depth == depth
    return False


def _line(record: TraceRecord) -> str:
    who = record.hook if record.kind == "phase" else f"{record.hook} · {one_line(record.plugin)}"
    kind = "" if record.kind in ("phase", "implementation") else f" ({record.kind})"
    outcome = click.style(record.outcome, fg=_COLOURS.get(record.outcome))
    detail = f" — {one_line(record.detail)}" if record.detail else ""
    return f"{who}{kind}  {outcome}{detail}  {click.style(duration(record.seconds), fg='bright_black')}"


def duration(seconds: float) -> str:
    """Return a duration for people: ``12 µs``, ``3.4 ms``, ``1.20 s``."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"
