"""dshhooks.operations.verdict: what an exception means (spec/operations.md 1.3, 1.10)."""

from __future__ import annotations

import asyncio
import pickle
import traceback
from concurrent.futures import CancelledError as FutureCancelled
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from dshhooks.operations import (
    Denial,
    GuardError,
    Operation,
    OperationCanceled,
    OperationConfigError,
    Outcome,
    as_denial,
    classify,
    deny,
)
from hookspecs.errors import ToolTimeoutError


class Wrapper(Exception):
    pass


class Text(str):
    pass


def caused(cause: BaseException | None, error: BaseException | None = None) -> BaseException:
    """An exception raised from another."""
    error = error or Wrapper("w")
    error.__cause__ = cause
    return error


def parts(denial: Denial | None) -> Any:
    """Code and reason."""
    return None if denial is None else (denial.code, denial.reason)


class Liar(Denial):
    """Says it is nothing of the kind."""

    @property
    def __class__(self):  # type: ignore[override]
        raise RuntimeError("no")

    @property
    def __cause__(self):  # type: ignore[override]
        raise RuntimeError("no")


class Hostile(Exception):
    """Raises whatever is asked of it."""

    @property
    def __class__(self):  # type: ignore[override]
        raise RuntimeError("no")

    @property
    def __cause__(self):  # type: ignore[override]
        raise RuntimeError("no")

    def __str__(self):
        raise RuntimeError("no")

    def __eq__(self, other):
        raise RuntimeError("no")

    def __hash__(self):
        raise RuntimeError("no")


def test_deny():
    """Case 16: exactly these values."""
    assert parts(deny("unsafe_tool", " not here ")) == ("unsafe_tool", " not here ")


@pytest.mark.parametrize("code", ["", " ", "Abc", "1a", ".a", "a/b", "é", "a\x00"])
def test_a_bad_code(code):
    """Case 17: invalid_denial, and nobody takes the attempt for a denial."""
    with pytest.raises(OperationConfigError) as caught:
        deny(code, "r")
    assert (caught.value.kind, caught.value.field) == ("invalid_denial", "denial")
    assert as_denial(caught.value) is None


@pytest.mark.parametrize("reason", ["", " \t", "a\nb", "\ud800"])
def test_a_bad_reason(reason):
    """Case 19: invalid_denial."""
    with pytest.raises(OperationConfigError) as caught:
        deny("a", reason)
    assert caught.value.kind == "invalid_denial"


@pytest.mark.parametrize(("reason", "good"), [("x" * 1024, True), ("x" * 1025, False), ("€" * 342, False)])
def test_reasons_count_in_bytes(reason, good):
    """Case 20: 1024 bytes."""
    if good:
        assert deny("a", reason).reason == reason
    else:
        with pytest.raises(OperationConfigError):
            deny("a", reason)


def test_a_wrapped_denial():
    """Case 21: found through explicit causes, the first that is one."""
    assert parts(as_denial(caused(deny("a", "b")))) == ("a", "b")
    assert parts(as_denial(caused(caused(deny("a", "b"))))) == ("a", "b")
    assert parts(as_denial(caused(deny("x", "inner"), deny("a", "outer")))) == ("a", "outer")


MALFORMED = [
    ("", "r"), ("A", "r"), ("1", "r"), ("a b", "r"), ("a\n", "r"), ("a" * 65, "r"),
    ("a", ""), ("a", "  "), ("a", "x\ny"), ("a", "\ud800"), ("a", "x" * 1025), (Text("a"), "r"),
]  # fmt: skip


@pytest.mark.parametrize("fault", MALFORMED)
def test_a_malformed_denial(fault):
    """Case 22: is none, and does not make the search go on."""
    assert as_denial(Denial(*fault)) is None
    assert as_denial(caused(deny("a", "b"), Denial(*fault))) is None


@pytest.mark.parametrize("value", [None, ValueError("x"), "denied", 7, False, Denial, object()])
def test_no_denial(value):
    """Case 23: neither is anything else."""
    assert as_denial(value) is None


def test_the_denial_is_a_copy():
    """Case 24: changing the original afterwards changes nothing."""
    original = deny("a", "b")
    found = as_denial(original)
    original.code = "z"
    assert found is not original
    assert parts(found) == ("a", "b")


def test_implicit_context_does_not_count():
    """N5: a crash while a denial was being handled is a crash."""
    try:
        try:
            raise deny("a", "b")
        except Denial:
            raise ValueError("crash")  # noqa: B904 - that is the point
    except ValueError as exc:
        found = as_denial(exc)
    assert found is None


def test_groups():
    """N5: every leaf must be one; the first wins."""
    one, two = deny("a", "1"), deny("b", "2")
    assert parts(as_denial(ExceptionGroup("g", [ExceptionGroup("h", [one]), two]))) == ("a", "1")
    assert parts(as_denial(caused(ExceptionGroup("g", [caused(one)])))) == ("a", "1")
    assert as_denial(ExceptionGroup("g", [one, ValueError()])) is None
    assert as_denial(ExceptionGroup("g", [one, Denial("BAD", "x")])) is None
    assert as_denial(BaseExceptionGroup("g", [one, KeyboardInterrupt()])) is None


def test_a_group_that_holds_itself_many_times_over():
    """N5: the walk is bounded, whatever shape it meets."""
    group = ExceptionGroup("g", [deny("a", "b")])
    for _ in range(60):
        group = ExceptionGroup("g", [group, group])
    assert parts(as_denial(group)) == ("a", "b")
    assert as_denial(ExceptionGroup("g", [deny("a", "b")] * 5000)) is None


def test_long_and_circular_chains():
    """N5: the exception itself and 32 hops behind it, and no going in circles."""
    error = last_hop(deny("a", "b"))
    assert parts(as_denial(error)) == ("a", "b")
    assert as_denial(caused(error)) is None
    error = last_hop(TimeoutError())
    assert classify(error) is Outcome.CANCELED
    assert classify(caused(error)) is Outcome.FAILED
    loop = Wrapper()
    loop.__cause__ = caused(loop)
    assert as_denial(loop) is None


def last_hop(error: BaseException) -> BaseException:
    """An exception that another is exactly 32 causes behind of."""
    for _ in range(32):
        error = caused(error)
    return error


def test_hostile_exceptions():
    """N5: it never raises, and reads past what lies."""
    assert parts(as_denial(Liar("a", "b"))) == ("a", "b")
    assert as_denial(Hostile()) is None
    assert parts(as_denial(caused(Liar("a", "b")))) == ("a", "b")


def test_a_guard_error_is_no_denial():
    """N6: whatever it holds or was raised from."""
    error = GuardError(Operation.TURN, 0, deny("a", "b"))
    assert as_denial(error) is None
    assert as_denial(caused(deny("a", "b"), error)) is None
    assert as_denial(caused(caused(deny("a", "b"), error))) is None
    assert as_denial(ExceptionGroup("g", [error])) is None


BLOCKED = GuardError(Operation.TURN, 0, asyncio.CancelledError())
CANCELED = OperationCanceled(Operation.TURN)


class LateGuard(GuardError, TimeoutError):
    """A guard's failure that looks like a deadline, too."""


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, Outcome.COMPLETED),
        (deny("a", "b"), Outcome.DENIED),
        (caused(deny("a", "b")), Outcome.DENIED),
        (Denial("BAD", "b"), Outcome.FAILED),
        (BLOCKED, Outcome.FAILED),
        (caused(asyncio.CancelledError(), BLOCKED), Outcome.FAILED),
        (caused(BLOCKED), Outcome.FAILED),
        (ExceptionGroup("g", [BLOCKED]), Outcome.FAILED),
        (asyncio.CancelledError(), Outcome.CANCELED),
        (BaseExceptionGroup("g", [asyncio.CancelledError(), CANCELED]), Outcome.CANCELED),
        (BaseExceptionGroup("g", [asyncio.CancelledError(), ValueError()]), Outcome.FAILED),
        (ExceptionGroup("g", [caused(CANCELED), caused(TimeoutError())]), Outcome.CANCELED),
        (ExceptionGroup("g", [caused(TimeoutError()), caused(ValueError())]), Outcome.FAILED),
        (ExceptionGroup("g", [caused(BLOCKED)]), Outcome.FAILED),
        (LateGuard(Operation.TURN, 0), Outcome.FAILED),
        (CANCELED, Outcome.CANCELED),
        (caused(CANCELED), Outcome.CANCELED),
        (TimeoutError(), Outcome.CANCELED),
        (ToolTimeoutError("late"), Outcome.CANCELED),
        (FutureCancelled(), Outcome.FAILED),
        (ValueError("x"), Outcome.FAILED),
        (KeyboardInterrupt(), Outcome.FAILED),
        (SystemExit(0), Outcome.FAILED),
        ("no exception", Outcome.FAILED),
    ],
)
def test_classification(error, outcome):
    """Cases 51 and 67: the table of 1.10; a guard that timed out is a broken guard."""
    assert classify(error) is outcome


def test_hostile_errors_are_failures():
    """Case 67: whatever they do when they are looked at."""
    assert classify(Hostile()) is Outcome.FAILED
    assert classify(caused(Hostile())) is Outcome.FAILED


@pytest.mark.anyio
async def test_the_backend_s_own_cancellation():
    """Case 67: on each backend."""
    with anyio.CancelScope() as scope:
        scope.cancel()
        try:
            await anyio.lowlevel.checkpoint()
        except BaseException as exc:
            outcome = classify(exc)
            raise
    assert scope.cancelled_caught
    assert outcome is Outcome.CANCELED


class TestGuardError:
    """X1: nothing shown of it holds the cause's text."""

    def test_text_repr_args_traceback(self):
        """Wherever it may be printed."""
        error = GuardError(Operation.TURN, 3, ValueError("secret"))
        try:
            raise error from None
        except GuardError as exc:
            shown = [str(exc), repr(exc), repr(exc.args), traceback.format_exc(), repr(pickle.loads(pickle.dumps(exc)))]
            kept = exc.operation, exc.index, str(exc.cause)
        assert kept == (Operation.TURN, 3, "secret")
        assert not [text for text in shown if "secret" in text]
        assert all("turn" in text or "TURN" in text for text in shown)
