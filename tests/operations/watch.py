"""A plugin that watches operations, for the tests of those who begin and finish them."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from dshhooks.operations import Operation, Outcome
from hookspecs.markers import hookimpl

__all__ = ["VALUES", "Guarding", "Watch", "value"]

# What the begins inside one another have set; each adds the name of its operation.
VALUES: ContextVar[tuple[str, ...]] = ContextVar("values", default=())


def value(call: Any) -> None:
    """A begin that leaves the operation's name in the context."""
    VALUES.set((*VALUES.get(), str(call.operation)))


class Watch:
    """Writes down every begin and finish of some operations.

    Args:
        only: Which; all of them by default.
        begin: Called with each of their calls when it begins.
    """

    name = "watch"

    def __init__(self, *only: Operation, begin: Callable[[Any], object] = value) -> None:
        self._only, self._begin = only or tuple(Operation), begin
        self.log: list[str] = []
        self.calls: list[Any] = []
        self.results: list[Any] = []

    @hookimpl
    def operation(self, call: Any) -> Any:
        if call.operation not in self._only:
            return
        self.calls.append(call)
        self.log.append(f"begin {call.operation}")
        self._begin(call)
        result = yield
        self.results.append(result)
        self.log.append(f"finish {call.operation} {result.outcome}")

    def of(self, operation: Operation) -> list[Any]:
        """The results of one operation, in the order they came."""
        return [result for result in self.results if result.operation is operation]

    def one(self, operation: Operation = Operation.TOOL_CALL) -> Any:
        """The only result of one operation."""
        [result] = self.of(operation)
        return result

    def outcomes(self, operation: Operation = Operation.TOOL_CALL) -> list[Outcome]:
        """How they ended."""
        return [result.outcome for result in self.of(operation)]


class Guarding:
    """A plugin with a guard on one operation: on tool calls, at their admission, by default."""

    policy_revision = "r1"

    def __init__(
        self, answer: Callable[[Any], Any], name: str = "guarding", operation: Operation = Operation.TOOL_CALL
    ) -> None:
        self.name, self._answer, self._operation = name, answer, operation

    @hookimpl
    def operation_guard(self, call: Any) -> Any:
        return self._answer(call) if call.operation is self._operation else None
