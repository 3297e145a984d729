"""A started operation: where its work runs, and how it is finished exactly once (spec/operations.md 1.8, 1.9)."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from datetime import datetime
from inspect import isawaitable
from time import monotonic
from typing import Any, Final

from dshhooks.operations.call import Call, ended, now
from dshhooks.operations.context import CURRENT, CurrentOperation, Driven, current_operation, run_in
from dshhooks.operations.declare import Around
from dshhooks.operations.errors import OperationCanceled
from dshhooks.operations.guards import Refusal
from dshhooks.operations.kinds import Outcome
from dshhooks.operations.observers import Begun, ObserverFault, Report, begin_all, finish_all
from dshhooks.operations.payloads import Payload, filled, terminal_fields
from dshhooks.operations.snapshot import freeze_each
from dshhooks.operations.token import CancelToken
from dshhooks.operations.verdict import is_containable
from hookspecs.errors import HookUsageError

__all__ = ["IdleScope", "Scope", "track_scopes"]


_NOTHING: Final[dict[str, Any]] = {}


class Unfinished(weakref.WeakSet["Scope"]):
    """Scopes that were started and not finished; of those that nobody holds any more only what is said of them."""

    def __init__(self) -> None:
        super().__init__()
        self.dropped: list[str] = []


_tracked: Unfinished | None = None


@contextmanager
def track_scopes() -> Iterator[Unfinished]:
    """Collect the scopes that are started and not finished, for tests that must not leave any."""
    global _tracked
    outer, _tracked = _tracked, Unfinished()
    try:
        yield _tracked
    finally:
        _tracked = outer


class Scope:
    """A started operation. Whoever started it finishes it, refused or not, on every path.

    Args:
        call: The frozen call.
        context: Its own context, a copy of the one it begins in.
        report: Told of observers that fail.
    """

    __slots__ = ("__weakref__", "_begun", "_call", "_context", "_open", "_operation", "_payload", "_refusal",
                 "_report", "_started")  # fmt: skip

    def __init__(self, call: Call, context: Context, report: Report) -> None:
        self._open = [True]
        self._call, self._context, self._report = call, context, report
        self._payload = call.payload  # the finish needs it, whatever an observer has written into the call
        self._refusal: Refusal | None = None
        self._begun: list[Begun] = []
        self._operation = CurrentOperation(call, context.get(CURRENT))  # inside the one the context was copied in
        self._started = monotonic()
        if _tracked is not None:
            _tracked.add(self)

    @property
    def call(self) -> Call:
        """What the callbacks were given."""
        return self._call

    @property
    def refusal(self) -> Refusal | None:
        """Why the work must not be done: a :class:`Denial`, a :class:`GuardError`, or :class:`OperationCanceled`."""
        return self._refusal

    @property
    def token(self) -> CancelToken:
        """This operation's cancellation; dead after the finish."""
        return self._operation.token

    @property
    def cancelled(self) -> bool:
        """True once this operation, or one around it, was cancelled; asking makes no token."""
        return self._operation.cancelled

    @property
    def context(self) -> Context:
        """The context its work runs in; for work handed to other tasks (P7)."""
        return self._context

    @property
    def finished(self) -> bool:
        """True once ``finish`` was called."""
        return not self._open

    async def run(self, body: Callable[..., Any], *args: Any) -> Any:
        """Run a stretch of the operation's work in its context, until it ends or the operation is cancelled.

        Args:
            body: Plain or async.

        Returns:
            What it returned. An answer that came together with a cancellation wins.

        Raises:
            OperationCanceled: This operation was cancelled or finished, and nothing around it was.
            Exception: The refusal of a refused operation, whose body never runs; or what the body raised.
        """
        if self._refusal is not None:
            raise self._refusal from None
        if self._open:
            with self.token.tied() as tie:
                value = run_in(self._context, body, *args)
                if isawaitable(value):
                    value = await Driven(self._context, value)
            if not tie.caught and self._open:
                return value
        raise OperationCanceled(self._call.operation, self.token.reason)

    @contextmanager
    def cancellable(self) -> Iterator[None]:
        """Tie a block to the operation's token, for owners whose work has several stretches.

        Raises:
            OperationCanceled: Instead of the cancellation, when it was this operation's.
        """
        with self.token.tied() as tie:
            yield
        if tie.caught:
            raise OperationCanceled(self._call.operation, self.token.reason) from None

    def begin(self, told: Iterable[tuple[int, Around]]) -> None:
        """Tell the observers, in order; for the runner.

        Raises:
            BaseException: An interrupt came out of one; what had begun was finished.
        """
        left = iter(told)
        try:
            # Nobody is in the context yet: the operation only begins.
            while (failed := self._context.run(begin_all, self._operation, left, self._begun)) is not None:
                index, plugin, fault = failed
                self._report(ObserverFault(self._call.operation, "begin", index, plugin), fault)
        except BaseException as exc:
            self.finish(Outcome.FAILED, exc)
            raise

    def refuse(self, refusal: Refusal | None) -> None:
        """Keep the guards' answer; for the runner."""
        self._refusal = refusal

    def finish(self, outcome: Outcome, error: BaseException | None = None, **terminal: Any) -> None:
        """Tell the observers how it ended, last begun first, then let go of the token. Only the first call does it.

        Safe from any thread and task, inside cancelled scopes, and inside its own body.

        Args:
            outcome: How it ended; ``classify(error)`` knows for most owners.
            error: The original exception, if one ended it.
            terminal: The payload's terminal fields, for example ``result=...`` of a tool call.

        Raises:
            HookUsageError: No such outcome or field; the observers were told ``failed``.
            BaseException: What an observer raised that passes through every boundary; the others were told. Not if
                ``error`` is of that kind itself: that one came first.
        """
        self.finish_at(now(), outcome, error, terminal)

    def finish_at(
        self, at: datetime, outcome: Outcome, error: BaseException | None, terminal: dict[str, Any] = _NOTHING
    ) -> None:
        """Do the same for what had ended by then; for whoever finishes many that had one end."""
        try:
            self._open.pop()  # one step: of several callers, from whatever threads, one gets it (F5)
        except IndexError:
            return
        passing: BaseException | None = None
        misuse: HookUsageError | None = None
        if terminal or type(outcome) is not Outcome:
            misuse = _misuse(self._call, self._payload, outcome, terminal)
            if misuse is not None:
                outcome = Outcome.FAILED
            elif type(outcome) is not Outcome:  # to ask an enumeration for its own member takes long
                outcome = Outcome(outcome)
        try:
            if self._begun:
                payload = self._filled(terminal) if terminal and misuse is None else self._payload
                result = ended(self._call, payload, outcome, error, at, monotonic() - self._started)
                passing = finish_all(self._context, self._begun, result, self._report)
        finally:
            self._begun.clear()
            self._operation.release()
            if _tracked is not None:
                _tracked.discard(self)
        # An interrupt that is the error itself is the first one, and its owner is raising it (1.11).
        if passing is not None and (error is None or is_containable(error)):
            raise passing
        if misuse is not None:
            raise misuse

    def _filled(self, terminal: dict[str, Any]) -> Payload:
        try:
            payload: Payload = filled(self._payload, freeze_each(terminal))
        except Exception as exc:  # noqa: BLE001 - the finish is told without them rather than not at all (D10)
            self._report(ObserverFault(self._call.operation, "snapshot", -1), exc)
            return self._payload
        return payload

    def __del__(self) -> None:
        if not getattr(self, "_open", None):
            return
        self._open.clear()
        self._operation.release()
        message = f"a scope of {self._call.operation} was dropped unfinished"
        if _tracked is not None:
            _tracked.dropped.append(message)
        warnings.warn(message, ResourceWarning, stacklevel=2, source=self)

    def __repr__(self) -> str:
        state = "finished" if not self._open else "refused" if self._refusal is not None else "started"
        return f"<{type(self).__name__} of {self._call.operation}, {state}>"


def _misuse(call: Call, payload: Payload, outcome: object, terminal: dict[str, Any]) -> HookUsageError | None:
    if type(outcome) is not Outcome and outcome not in _OUTCOMES:
        return HookUsageError(f"{call.operation} cannot end as {outcome!r}; say one of {', '.join(_OUTCOMES)}")
    known = terminal_fields(payload)
    if known.issuperset(terminal):
        return None
    unknown = ", ".join(sorted(terminal.keys() - known))
    return HookUsageError(f"{type(payload).__name__} has no terminal field {unknown}")


_OUTCOMES: Final = [str(outcome) for outcome in Outcome]


class IdleScope(Scope):
    """An operation nobody listens to: its body runs as if there were no operations, and its finish does nothing."""

    __slots__ = ("_token",)

    def __init__(self, call: Any) -> None:
        self._open = []  # nothing has to be finished
        self._call = call
        self._token: CancelToken | None = None
        self._refusal = None

    @property
    def token(self) -> CancelToken:
        """A token that an owner may cancel before it runs a body."""
        if self._token is None:
            outer = current_operation()
            self._token = CancelToken(outer.token if outer is not None else None)
        return self._token

    @property
    def cancelled(self) -> bool:
        """True once the owner has cancelled the token, or an operation around it was cancelled."""
        return self.token.cancelled

    @property
    def context(self) -> Context:
        """The caller's own, as a copy."""
        return copy_context()

    async def run(self, body: Callable[..., Any], *args: Any) -> Any:
        """Run the body, in the caller's context."""
        if self._token is None:
            value = body(*args)
            return await value if isawaitable(value) else value
        with super().cancellable():
            value = body(*args)
            return await value if isawaitable(value) else value

    @contextmanager
    def cancellable(self) -> Iterator[None]:
        """Run a block; tied to the token once somebody has asked for it."""
        if self._token is None:
            yield
            return
        with super().cancellable():
            yield

    def finish(self, outcome: Outcome, error: BaseException | None = None, **terminal: Any) -> None:
        """Do nothing; nobody was told of the begin."""
