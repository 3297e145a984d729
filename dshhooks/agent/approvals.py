"""The asked/decided pair in the session log, and the policy it can hold (spec/core.md 7)."""

from __future__ import annotations

import itertools
from typing import Any

from dshhooks.session.events import ApprovalAsked, ApprovalDecided, ApprovalPolicyChanged
from dshhooks.session.log import Session
from dshhooks.tools.approval import ApprovalPolicy
from hookspecs.decisions import ApprovalOutcome
from hookspecs.errors import HarnessError
from hookspecs.execution import ApprovalRequest
from hookspecs.json import MISSING

__all__ = ["SessionApprovals", "set_approval_policy"]

_ids = itertools.count(1)


class SessionApprovals:
    """Writes one agent's approvals into its session log."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def asked(self, request: ApprovalRequest) -> str:
        """Append ``approval/asked`` and return its id.

        Raises:
            HarnessError: ``NO_OPEN_TURN``: nothing is asked between turns.
        """
        if self._session.open_turn is None:
            raise HarnessError(f"session {self._session.id}: approval can be asked only inside a turn", "NO_OPEN_TURN")
        asked = f"approval-{next(_ids)}"
        call_id: Any = request.call_id if request.call_id is not None else MISSING
        reason: Any = request.reason if request.reason is not None else MISSING
        self._session.append(ApprovalAsked(asked, request.tool_name, call_id, reason, request.digest))
        return asked

    def decided(self, asked: str, outcome: ApprovalOutcome) -> None:
        """Append ``approval/decided``."""
        self._session.append(ApprovalDecided(asked, outcome.value))

    def policy(self) -> ApprovalPolicy | None:
        """Return what the last ``approval/policy`` event says, or ``None``."""
        for event in reversed(self._session.events):
            if event.type == ApprovalPolicyChanged.type:
                return event.data.policy  # type: ignore[no-any-return]
        return None


def set_approval_policy(session: Session, policy: Any) -> None:
    """Change the approval policy of a session from here on.

    Raises:
        TypeError: Neither ``"ask"`` nor ``"never"``; the log is unchanged.
    """
    if policy not in ("ask", "never"):
        raise TypeError(f"the approval policy is 'ask' or 'never', not {policy!r}")
    session.append(ApprovalPolicyChanged(policy))
