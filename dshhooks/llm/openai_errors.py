"""What went wrong with an OpenAI-compatible endpoint, in provider-neutral codes (spec/core.md 6)."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from hookspecs.errors import LlmError, error_chain

__all__ = ["failure_inside", "failure_of", "malformed", "retry_after"]

# How the endpoints in use say that the conversation is too long; few have a code for it.
_TOO_LONG = (
    "context length", "context_length", "context window", "context size", "context_size", "prompt is too long",
    "input is too long", "input token count", "prompt too long", "too many tokens in the prompt",
)  # fmt: skip
_QUOTA = ("insufficient_quota", "billing_hard_limit_reached", "insufficient_balance")


def failure_of(exc: Exception, *, reading: bool = False) -> LlmError:
    """Return the failure an exception of the client stands for.

    Args:
        exc: What it raised.
        reading: Whether the answer was already being read: then a ``ValueError`` is about what the endpoint sent.
    """
    import openai

    if isinstance(exc, openai.APIStatusError):
        return _status_failure(exc)
    if reading and isinstance(exc, ValueError):
        return malformed(exc)
    message = error_chain(exc) or type(exc).__name__
    # The client has changed its HTTP library, whose own errors come while an answer is read: their names are the same.
    names = {base.__name__ for base in type(exc).__mro__}
    if names & {"APITimeoutError", "TimeoutException"}:
        return LlmError(message, "TIMEOUT")
    if names & {"APIConnectionError", "TransportError", "StreamError"}:
        return LlmError(message, "TRANSPORT")
    return LlmError(message, "SERVER" if isinstance(exc, openai.APIError) else "UNKNOWN")


def failure_inside(error: Any) -> LlmError:
    """Return the failure an endpoint reports inside a stream that had begun well; a numeric code is a status."""
    facts = error if isinstance(error, dict) else {"message": error}
    message, code, kind = (facts.get(name) for name in ("message", "code", "type"))
    message = str(message or "the endpoint reported an error inside the stream")
    digits = str(code)
    status = int(digits) if re.fullmatch("[45][0-9][0-9]", digits) else None
    return LlmError(message, _code(status, {digits, str(kind)}, message), status=status)


def malformed(exc: Exception) -> LlmError:
    """Return the failure of an endpoint that sent something else than a chat completion."""
    return LlmError(f"the endpoint sent no chat completion chunk: {type(exc).__name__}: {error_chain(exc)}", "SERVER")


def _status_failure(exc: Any) -> LlmError:
    status, message = exc.status_code, str(exc) or type(exc).__name__
    return LlmError(
        message,
        _code(status, {str(exc.code), str(exc.type)}, message),
        status=status if 100 <= status <= 599 else None,
        retry_after=retry_after(exc.response.headers),
        request_id=getattr(exc, "request_id", None) or None,
    )


def _code(status: int | None, said: set[str], message: str) -> str:
    throttled = status == 429 or bool(said & {"rate_limit_exceeded", "rate_limit_error"})
    if said & set(_QUOTA) or status == 402:
        return "QUOTA"
    if status in (401, 403):
        return "AUTH"
    if "context_length_exceeded" in said or (not throttled and any(text in message.lower() for text in _TOO_LONG)):
        return "CONTEXT_WINDOW_EXCEEDED"
    if throttled:
        return "RATE_LIMIT"
    if status in (408, 504):
        return "TIMEOUT"
    if status is None:
        return "INVALID_REQUEST" if "invalid_request_error" in said else "SERVER"
    return "SERVER" if status >= 500 else "INVALID_REQUEST"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds a response asks to wait, said in milliseconds, seconds or as a date; else ``None``."""
    wish = _number(headers.get("retry-after-ms"), 1000) or _number(headers.get("retry-after"), 1)
    if wish is None:
        wish = _until(headers.get("retry-after"))
    return wish


def _number(text: str | None, unit: int) -> float | None:
    try:
        value = float(text or "") / unit
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None


def _until(text: str | None) -> float | None:
    try:
        seconds = parsedate_to_datetime(text or "").timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return None
    return seconds if seconds > 0 else None
