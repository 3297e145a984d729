"""How an operation ended, as a span's status and ``error.type``. What an error says stays out: it quotes arguments."""

from __future__ import annotations

from typing import Any, Final

from opentelemetry.trace import Span, StatusCode

from dshhooks import Denial, HarnessError, ToolFailure
from dshhooks_tracing.content import encodable

__all__ = ["end_as", "error_type"]

# The conventions' word for an error nobody knows more about.
_NO_TYPE: Final = "_OTHER"
_LONGEST: Final = 128


def end_as(span: Span, result: Any) -> None:
    """Put an outcome on a span.

    ``completed`` leaves the status unset, and so does ``canceled``, for somebody wanted it to end; a deadline that
    passed is an error. ``denied`` and ``failed`` are errors.
    """
    outcome, error = result.outcome, result.error
    span.set_attribute("dshhooks.operation.outcome", str(outcome))
    if outcome in ("denied", "failed") or (outcome == "canceled" and _is(error, TimeoutError)):
        # Without a description: messages often quote what must not be here.
        span.set_status(StatusCode.ERROR)
        span.set_attribute("error.type", _failure_type(result.payload) if error is None else error_type(error))


def error_type(error: BaseException) -> str:
    """Return a low-cardinality name of an error: its code, ``timeout``, or its class."""
    code: Any = error.code if _is(error, (HarnessError, Denial)) else None  # type: ignore[attr-defined]
    return _bounded(code) or ("timeout" if _is(error, TimeoutError) else type(error).__name__)


def _failure_type(payload: Any) -> str:
    """Return the code of a tool's failure nobody raised, such as one a plugin made."""
    result = getattr(payload, "result", None)
    info = result.error.info if isinstance(result, ToolFailure) else None
    return (_bounded(info.code) if info is not None else "") or _NO_TYPE


def _bounded(code: Any) -> str:
    return encodable(code[:_LONGEST]) if isinstance(code, str) else ""


def _is(error: object, kinds: Any) -> bool:
    # Not isinstance: an exception may lie about its class, or raise when it is asked.
    return issubclass(type(error), kinds)
