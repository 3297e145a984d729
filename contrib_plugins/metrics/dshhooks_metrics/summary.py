"""The count of calls in memory, one line a tool, with an upper bound on lines."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from attrs import Factory, define, frozen

from dshhooks import MISSING, ToolExecution, ToolFailure, ToolResult

__all__ = ["OTHER", "UNKNOWN", "Outcome", "Summary", "ToolSummary", "outcome_of"]

UNKNOWN: Final = "(unknown)"
OTHER: Final = "(other)"

_ABORTED: Final = ("ABORTED", "ABORTED_BEFORE_DISPATCH")


class Outcome(StrEnum):
    """How a call ended."""

    OK = "ok"
    FAILED = "failed"
    DENIED = "denied"
    ABORTED = "aborted"


def outcome_of(execution: ToolExecution, result: ToolResult, *, dispatched: bool) -> Outcome:
    """Say how a call ended.

    A denial is a failure without a code of a call that was not dispatched: policies, guards and people refuse with
    words only (spec/core.md 3.3). Arguments that could not be read have no code either, and are a failure.
    """
    if not isinstance(result, ToolFailure):
        return Outcome.OK
    info = result.error.info
    if info is not None:
        return Outcome.ABORTED if info.code in _ABORTED else Outcome.FAILED
    return Outcome.FAILED if dispatched or execution.arguments is MISSING else Outcome.DENIED


@frozen
class ToolSummary:
    """What one tool did so far.

    Args:
        name: The tool; ``(unknown)`` for names that were no tool, ``(other)`` for tools beyond ``max_tools``.
        calls: All calls; the sum of the four below.
        ok: Calls that worked.
        failed: Calls that failed, those a plugin turned into a failure included.
        denied: Calls a policy, a guard or a person refused.
        aborted: Calls that were cancelled.
        seconds_total: Time spent in dispatch, wrappers further in included; denied calls take none.
        seconds_max: The longest of these times.
    """

    name: str
    calls: int
    ok: int
    failed: int
    denied: int
    aborted: int
    seconds_total: float
    seconds_max: float


@define
class _Line:
    counts: dict[Outcome, int] = Factory(lambda: dict.fromkeys(Outcome, 0))
    seconds_total: float = 0.0
    seconds_max: float = 0.0

    def frozen(self, name: str) -> ToolSummary:
        counts = self.counts
        return ToolSummary(
            name, sum(counts.values()), counts[Outcome.OK], counts[Outcome.FAILED], counts[Outcome.DENIED],
            counts[Outcome.ABORTED], self.seconds_total, self.seconds_max,
        )  # fmt: skip


class Summary:
    """The lines, by tool.

    Args:
        max_tools: Lines at most, those of ``(unknown)`` and ``(other)`` not counted.
    """

    def __init__(self, max_tools: int) -> None:
        self._max_tools = max_tools
        self._lines: dict[str, _Line] = {}
        self._rest = {UNKNOWN: _Line(), OTHER: _Line()}

    def label(self, execution: ToolExecution) -> str:
        """Return the name a call is counted under. A model makes names up, so only tools that exist get a line."""
        name = execution.name
        if name in self._lines:
            return name
        if execution.definition is None:
            return UNKNOWN
        if len(self._lines) >= self._max_tools:
            return OTHER
        self._lines[name] = _Line()
        return name

    def add(self, label: str, outcome: Outcome, seconds: float) -> None:
        """Count one call under a label of :meth:`label`."""
        line = self._lines.get(label) or self._rest[label]
        line.counts[outcome] += 1
        line.seconds_total += seconds
        line.seconds_max = max(line.seconds_max, seconds)

    def lines(self) -> list[ToolSummary]:
        """Return what was counted so far, by name; names without a call are left out."""
        both = {**self._lines, **self._rest}
        return [line for name in sorted(both) if (line := both[name].frozen(name)).calls]
