"""How the work of a turn stops short: interrupted, or by a model request that failed (spec/core.md 4.8, 4.11)."""

from __future__ import annotations

from attrs import define

from hookspecs.model import LlmFailure

__all__ = ["Interrupted", "RequestFailed"]


class Interrupted(Exception):
    """The turn stops here, and that is no error of anybody.

    Args:
        cause: The cancellation of the operation an observer cancelled; ``None`` when the turn's signal aborted.
    """

    def __init__(self, cause: Exception | None = None) -> None:
        super().__init__()
        self.cause = cause


@define(eq=False)
class RequestFailed(Exception):
    """The model request itself failed: offered to recovery."""

    error: BaseException
    failure: LlmFailure
