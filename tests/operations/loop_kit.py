"""What the tests of the loop's operations share: a model of chunks, and the log's events beside the operations."""

from __future__ import annotations

from typing import Any

from dshhooks.operations import Operation, Outcome
from hookspecs.markers import hookimpl

TURN, STEP, INFERENCE = Operation.TURN, Operation.STEP, Operation.INFERENCE
LOOP = (TURN, STEP, INFERENCE)
COMPLETED, FAILED, CANCELED = Outcome.COMPLETED, Outcome.FAILED, Outcome.CANCELED


class Beside:
    """Writes some of the log's events into a list of operations' begins and finishes."""

    name = "beside"

    def __init__(self, log: list[str], *kinds_: str) -> None:
        self._log, self._kinds = log, kinds_

    @hookimpl
    def session_event(self, event: Any) -> None:
        if event.type in self._kinds:
            self._log.append(event.type)


class Chunks:
    """A model that sends these chunks, then whatever an exception among them says."""

    def __init__(self, *chunks: Any) -> None:
        self.chunks, self.requests = chunks, []

    async def stream(self, options: Any) -> Any:
        self.requests.append(options)
        for chunk in self.chunks:
            if isinstance(chunk, BaseException):
                raise chunk
            if callable(chunk):
                await chunk()
            else:
                yield chunk
