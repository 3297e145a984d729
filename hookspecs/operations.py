"""Hooks around bounded operations, and the one way a guard says no (spec/operations.md 1.3)."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Any, Final

from hookspecs.errors import OperationConfigError
from hookspecs.markers import Authority, hookspec

__all__ = ["Denial", "OperationHooks", "denial_fault", "deny"]

_CODE: Final = re.compile(r"[a-z][a-z0-9_.-]{0,63}")
# Unicode category Cc is exactly these 65 code points; the class is faster than asking for each category.
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_REASON_BYTES: Final = 1024


class Denial(Exception):
    """A guard's refusal; returned or raised, both mean the same.

    The constructor takes anything: whoever judges the answer checks it again, so a malformed denial is an internal
    failure of the guard and never a refusal with a bad code (spec/operations.md N4). Use :func:`deny` to build one.

    Args:
        code: A stable machine-readable kind, for example ``"budget.exceeded"``.
        reason: What the outside is told.
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.code}: {self.reason}"


def deny(code: str, reason: str) -> Denial:
    """Return a well-formed :class:`Denial` (spec/operations.md N1-N3).

    Args:
        code: 1 to 64 bytes: a lowercase letter, then lowercase letters, digits, ``_``, ``.`` or ``-``.
        reason: 1 to 1024 bytes of UTF-8, not blank, without control characters; kept as it is.

    Raises:
        OperationConfigError: Either is malformed; ``kind`` is ``"invalid_denial"``, ``field`` is ``"denial"``.
    """
    fault = denial_fault(code, reason)
    if fault is not None:
        raise OperationConfigError(f"deny(code, reason): {fault}", kind="invalid_denial", field="denial")
    return Denial(code, reason)


def denial_fault(code: object, reason: object) -> str | None:
    """Say what is wrong with the parts of a denial, or return None. Never raises, whatever it is given."""
    # Exact types only: a str subclass could tell the checks one thing and the log another.
    if type(code) is not str or not _CODE.fullmatch(code):
        return "code must be 1 to 64 of a-z, 0-9, '_', '.', '-' and begin with a letter"
    if type(reason) is not str:
        return "reason must be a str"
    if not reason or reason.isspace():
        return "reason is blank; say in words why the operation is refused"
    if _CONTROL.search(reason):
        return "reason holds a control character; write it as one line of plain text"
    try:
        size = len(reason.encode())
    except UnicodeEncodeError:
        return "reason holds a lone surrogate, which has no UTF-8 form"
    return f"reason has {size} bytes; at most {_REASON_BYTES} are allowed" if size > _REASON_BYTES else None


class OperationHooks:
    """Around turns, steps, inferences, compactions, tool calls, waits for answers, tool bodies and journal writes."""

    @hookspec("operation", Authority.OBSERVE, synchronous=True, generator=True)
    def operation(self, call: Any) -> Generator[None, Any, None] | Callable[[Any], None] | None:
        """Watch an operation from its begin to its finish: time it, trace it, count it.

        Fires: when an operation begins, before its guards; once more, with the result, when it has finished.

        Parameters:
            call: the frozen call: ``operation``, ``started_at``, ``coordinates``, ``agent_name``, ``cause``,
                ``payload``.

        Returns: a generator function yields once and is sent the result, which has ``ended_at``, ``outcome`` and
            ``error`` besides; a plain function may return ``finish(result)``, or ``None`` when it has seen enough.
            Context variables set before the ``yield`` are seen by guards and body; ``current_operation()`` may cancel
            the operation or lower its deadline.

        Authority: observe. Plain functions and generators only: ``async def`` is refused at registration.

        Wrappers: none; a generator here is the observer's own begin and finish.

        Failure: logged without its text; a failing begin gets no finish, and neither changes the operation.

        Example::

            @hookimpl
            def operation(self, call):
                with self.tracer.span(str(call.operation)) as span:
                    result = yield
                    span.set_attribute("outcome", str(result.outcome))
        """

    @hookspec("operation/guard", Authority.REFUSE, returns=(Denial,))
    def operation_guard(self, call: Any) -> Denial | None:
        """Refuse a turn, an inference, a compaction or a tool call before it starts; nobody can undo it.

        Fires: after every observer's begin, before the body; one guard at a time. A plugin with operation guards needs
            a ``policy_revision``.

        Parameters:
            call: the frozen call; ``call.operation`` says which kind it is.

        Returns: ``deny(code, reason)`` refuses (raising it is the same), ``None`` abstains. The first refusal wins. Any
            other answer, ``True`` and ``False`` included, is a failure.

        Authority: refuse.

        Wrappers: none; a wrapper could undo a refusal.

        Failure: blocks the operation; what it says is kept from the outside, who is told only that it was blocked.

        Example::

            @hookimpl
            def operation_guard(self, call):
                if call.operation == "inference" and self.spent > self.options.budget:
                    return deny("budget.exceeded", "the budget of this session is used up")
        """
