"""``async with runner.operation(call)``: an operation whose owner is one block (spec/operations.md 1.8)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from dshhooks.operations.call import Call
from dshhooks.operations.payloads import terminal_fields
from dshhooks.operations.scope import Scope
from dshhooks.operations.verdict import classify
from hookspecs.errors import HookUsageError

__all__ = ["Active"]


class Active:
    """The operation of a block.

    Args:
        start: Starts it.
        call: What to start.
    """

    __slots__ = ("_block", "_call", "_scope", "_start", "_terminal")

    def __init__(self, start: Callable[[Call], Awaitable[Scope]], call: Call) -> None:
        self._start = start
        self._call = call
        self._scope: Scope | None = None
        self._block: AbstractContextManager[None] | None = None
        self._terminal: dict[str, Any] = {}

    @property
    def scope(self) -> Scope:
        """The started operation.

        Raises:
            HookUsageError: The block has not been entered.
        """
        if self._scope is None:
            raise HookUsageError("enter it first: async with runner.operation(call) as op")
        return self._scope

    @property
    def call(self) -> Call:
        """What the callbacks were given."""
        return self.scope.call

    async def run(self, body: Callable[..., Any], *args: Any) -> Any:
        """Run a body in the operation's context; see :meth:`Scope.run`."""
        return await self.scope.run(body, *args)

    def result(self, **terminal: Any) -> None:
        """Set terminal fields of the payload, which the observers get at the finish.

        Raises:
            HookUsageError: The payload has no such field.
        """
        unknown = terminal.keys() - terminal_fields(self.call.payload)
        if unknown:
            name = type(self.call.payload).__name__
            raise HookUsageError(f"{name} has no terminal field {', '.join(sorted(unknown))}")
        self._terminal |= terminal

    async def __aenter__(self) -> Active:
        if self._scope is not None:
            raise HookUsageError("an operation is started once; call runner.operation(call) again")
        scope = self._scope = await self._start(self._call)
        refusal = scope.refusal
        if refusal is not None:
            scope.finish(classify(refusal), refusal)
            raise refusal from None
        self._block = scope.cancellable()
        self._block.__enter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        assert self._block is not None
        error = exc
        try:
            self._block.__exit__(kind, exc, traceback)
        except BaseException as other:  # noqa: BLE001 - the operation was cancelled; raised below, once finished
            error = other
        self.scope.finish(classify(error), error, **self._terminal)
        if error is not exc and error is not None:
            raise error from None
        return False
