"""Many runs of one event become one answer (spec/external-hooks.md A.8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

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
    runs = tuple(outcomes)
    decision: Decision = max((run.decision for run in runs), key=_RANK.__getitem__, default="none")
    reason = _reason(runs, decision)
    downgraded = decision == "deny" and not row.blockable
    stopping = next((run for run in runs if run.stop), None)
    return FoldedOutcome(
        decision="none" if downgraded else decision,
        reason=None if downgraded else reason,
        stop=stopping is not None,
        stop_reason=None if stopping is None else stopping.stop_reason,
        contexts=tuple(text for run in runs for text in _contexts(run, row, limits)),
        messages=tuple(text for run in runs for text in run.messages),
        update_inputs=tuple(run.update_input for run in runs if run.update_input is not None),
        downgraded=downgraded,
        raw_decision="deny" if downgraded else None,
        raw_reason=reason if downgraded else None,
    )


def _reason(runs: tuple[Outcome, ...], decision: Decision) -> str | None:
    """The reasons of those who won, in their order; an allow needs none."""
    if decision not in _SPOKEN:
        return None
    return "\n\n".join(run.reason for run in runs if run.decision == decision and run.reason) or None


def _contexts(run: Outcome, event: Event, limits: Limits | None) -> Iterator[str]:
    yield from (text for text in run.contexts if text.strip())
    if event.context_stdout and run.plain and run.exit_code == 0 and run.failure is None and not run.detached:
        text = clean(run.stdout, (limits or _LIMITS).context).strip()
        if text:
            yield text


_LIMITS: Final = Limits()
