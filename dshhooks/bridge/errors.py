"""What the bridge raises.

::

    HarnessError
    └── BridgeError                 a request to the bridge cannot be carried out   BRIDGE_ERROR
        ├── UnknownEventError       no dialect knows the event                       UNKNOWN_EVENT
        └── PayloadError            the payload cannot be sent as JSON               INVALID_PAYLOAD

A broken hook file or a failing hook raises nothing: the first is a :class:`~dshhooks.bridge.model.Diagnostic`, the
second part of its outcome.
"""

from __future__ import annotations

from typing import ClassVar

from hookspecs.errors import HarnessError

__all__ = ["BridgeError", "PayloadError", "UnknownEventError"]


class BridgeError(HarnessError):
    """A request to the external hook runtime cannot be carried out; no hook has run."""

    default_code: ClassVar[str] = "BRIDGE_ERROR"

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message, code or self.default_code)


class UnknownEventError(BridgeError, ValueError):
    """The event name is in no dialect's table; the message names it and the nearest one that is."""

    default_code = "UNKNOWN_EVENT"


class PayloadError(BridgeError, ValueError):
    """The payload is no JSON object, or holds something JSON has no words for, such as NaN."""

    default_code = "INVALID_PAYLOAD"
