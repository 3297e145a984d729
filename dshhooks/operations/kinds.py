"""The eight bounded operations, and the four ways one ends (spec/operations.md 1.1)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

__all__ = ["Operation", "Outcome"]


class Operation(StrEnum):
    """A piece of an agent's work with a begin and an end."""

    TURN = "turn"
    """One selected input, up to its durable end."""
    STEP = "step"
    """One model request, the tools it asked for, and the commit of both."""
    INFERENCE = "inference"
    """One streamed model request; a retry is another."""
    COMPACTION = "compaction"
    """One attempt to replace the conversation by a summary."""
    TOOL_CALL = "tool_call"
    """One call the model asked for, policy included."""
    GATE_WAIT = "gate_wait"
    """The time truly spent waiting for somebody's answer."""
    TOOL_EXECUTION = "tool_execution"
    """The approved run of a tool's code."""
    JOURNAL_APPEND = "journal_append"
    """One verified write to the durable log."""

    @property
    def guardable(self) -> bool:
        """True when a guard may refuse it: nothing irrevocable has happened before it starts."""
        return self in _GUARDABLE


_GUARDABLE: Final = frozenset({Operation.TURN, Operation.INFERENCE, Operation.COMPACTION, Operation.TOOL_CALL})


class Outcome(StrEnum):
    """How an operation ended."""

    COMPLETED = "completed"
    DENIED = "denied"
    FAILED = "failed"
    CANCELED = "canceled"
