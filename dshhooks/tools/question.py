"""One question about one call: written down before it is asked, and closed exactly once (spec/core.md 7)."""

from __future__ import annotations

import itertools
from typing import Final, Literal, Protocol

from hookspecs.decisions import ApprovalOutcome
from hookspecs.execution import ApprovalRequest

__all__ = ["ApprovalJournal", "ApprovalPolicy", "Question"]

ApprovalPolicy = Literal["ask", "never"]

_ids: Final = itertools.count(1)


class ApprovalJournal(Protocol):
    """Where questions and answers about one agent's calls are written down."""

    def asked(self, request: ApprovalRequest) -> str:
        """Record a question and return its id; raising ends the call, not the turn."""
        ...

    def decided(self, asked: str, outcome: ApprovalOutcome) -> None:
        """Record the answer."""
        ...

    def policy(self) -> ApprovalPolicy | None:
        """Return the policy in force for the agent, or ``None`` for the configured one."""
        ...


class Question:
    """A question that has been asked, from here to its answer.

    Args:
        request: What is asked.
        journal: Where it is written down, here and now; ``None`` for nowhere.

    Raises:
        Exception: The journal refused it; nobody may be asked then.
    """

    __slots__ = ("_closed", "_journal", "fault", "id", "request")

    def __init__(self, request: ApprovalRequest, journal: ApprovalJournal | None) -> None:
        self.request = request
        self.fault: BaseException | None = None  # why what was answered is no answer
        self.id = journal.asked(request) if journal is not None else f"question-{next(_ids)}"
        self._journal = journal
        self._closed = False

    def close(self, outcome: ApprovalOutcome) -> None:
        """Write down what came of it, the first time.

        Raises:
            Exception: The journal refused that.
        """
        self.fault = None  # its traceback may hold this very object
        if not self._closed and self._journal is not None:
            self._closed = True
            self._journal.decided(self.id, outcome)
