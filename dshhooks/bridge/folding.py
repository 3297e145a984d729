"""Many runs of one event become one answer (spec/external-hooks.md A.8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from dshhooks.bridge.events import Event, resolve
from dshhooks.bridge.options import Limits
from dshhooks.bridge.outcomes import Decision, FoldedOutcome, Outcome
from dshhooks.bridge.text import clean

__all__ = ["fold"]

_RANK: Final[dict[Decision, int]] = {"none": 0, "allow": 1, "ask": 2, "deny": 3}
_SPOKEN: Final = ("ask", "deny")  # decisions whose reasons anybody reads


def fold(outcomes: Iterable[Outcome], event: str | Event, *, limits: Limits | None = None) -> FoldedOutcome:
    """Return the answer of all hooks of one event: the strictest decision, everybody's contexts and messages.

    Args:
        outcomes: One for each run, in the order of the configuration.
        event: Any dialect's name for the event, or its row.
        limits: How long a context taken from stdout may be.

    Returns:
        The folded outcome. On an event that cannot be blocked a deny is downgraded and kept as ``raw_decision``.

    Raises:
        UnknownEventError: No dialect calls an event that.
    """
    row = event if isinstance(event, Event) else resolve(event)
    decision: Decision = "none"
    reasons: list[str] = []
    stopping: Outcome | None = None
    contexts: list[str] = []
    messages: list[str] = []
    wishes: list[Mapping[str, Any]] = []
    for run in outcomes:
        if _RANK[run.decision] > _RANK[decision]:
            decision, reasons = run.decision, []
        if run.reason and run.decision == decision and decision in _SPOKEN:
            reasons.append(run.reason)
        if run.stop and stopping is None:
            stopping = run
        contexts += [text for text in run.contexts if text and not text.isspace()]
        if row.context_stdout and run.plain and run.stdout:
            contexts += _printed(run, limits or _LIMITS)
        messages += run.messages
        if run.update_input is not None:
            wishes.append(run.update_input)
    reason = "\n\n".join(reasons) or None
    downgraded = decision == "deny" and not row.blockable
    return FoldedOutcome(
        decision="none" if downgraded else decision,
        reason=None if downgraded else reason,
        stop=stopping is not None,
        stop_reason=None if stopping is None else stopping.stop_reason,
        contexts=contexts,
        messages=messages,
        update_inputs=wishes,
        downgraded=downgraded,
        raw_decision="deny" if downgraded else None,
        raw_reason=reason if downgraded else None,
    )


def _printed(run: Outcome, limits: Limits) -> list[str]:
    """What a successful hook printed for the model."""
    if run.exit_code != 0 or run.failure is not None or run.detached:
        return []
    text = clean(run.stdout, limits.context).strip()
    return [text] if text else []


_LIMITS: Final = Limits()
