"""A session goes on under something else than before: say what, and decide (spec/operations.md R3, R4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from inspect import isawaitable
from typing import Any

from attrs import frozen

from dshhooks.engine.faults import discard
from dshhooks.operations.errors import DriftRejectedError
from dshhooks.operations.manifest import Manifest
from hookspecs.errors import InvalidDecisionError

__all__ = ["Assessment", "Decider", "DriftChange", "Severity", "accepts_without_warning", "assess_drift", "decide"]


class Severity(StrEnum):
    """Whether somebody has to agree."""

    INFO = "info"
    WARN = "warn"


@frozen
class DriftChange:
    """One thing that is different.

    Args:
        category: ``"hook_policy"``, ``"agent"``, ``"model"``, ``"plugins"`` or ``"tools"``.
        severity: ``warn`` for the policy: a label has no direction, so no change of it is known to be harmless.
        old: What the session was last accepted under.
        new: What it would go on under.
    """

    category: str
    severity: Severity
    old: Any
    new: Any

    def __str__(self) -> str:
        if isinstance(self.old, tuple) and isinstance(self.new, tuple):
            gone = [f"-{name}" for name in self.old if name not in self.new]
            came = [f"+{name}" for name in self.new if name not in self.old]
            if gone or came:
                return f"{self.category}: {' '.join((*gone, *came))}"
        return f"{self.category}: {_said(self.old)} -> {_said(self.new)}"


def _said(value: Any) -> str:
    return ", ".join(value) if value and isinstance(value, tuple) else repr(value) if value else "none"


@frozen
class Assessment:
    """Everything that is different, sorted by category; itself a collection of that, empty when nothing is."""

    changes: tuple[DriftChange, ...] = ()

    def __iter__(self) -> Iterator[DriftChange]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    @property
    def warnings(self) -> tuple[DriftChange, ...]:
        """The changes somebody has to agree to."""
        return tuple(change for change in self.changes if change.severity is Severity.WARN)


Decider = Callable[[Assessment], object]

_FIELDS = (
    ("agent", "agent", Severity.INFO),
    ("hook_policy", "hook_policy_rev", Severity.WARN),
    ("model", "model", Severity.INFO),
    ("plugins", "plugins", Severity.INFO),
    ("tools", "tools", Severity.INFO),
)


def assess_drift(old: Manifest | None, new: Manifest) -> Assessment:
    """Compare the manifest a session was last accepted under with the one it would go on under.

    Args:
        old: ``None`` for a session that recorded none; then only the policy counts, and it had none.
        new: The candidate.
    """
    changes = []
    for category, name, severity in _FIELDS:
        before = getattr(old, name) if old is not None else ""
        after = getattr(new, name)
        if before != after and (old is not None or severity is Severity.WARN):
            changes.append(DriftChange(category, severity, before, after))
    return Assessment(tuple(changes))


def accepts_without_warning(assessment: Assessment) -> bool:
    """The default decision: go on when nothing is a warning."""
    return not assessment.warnings


def decide(assessment: Assessment, *, allow_policy_drift: bool = False, decider: Decider | None = None) -> bool:
    """Decide whether a session goes on; returns whether that has to be recorded as the new baseline.

    Args:
        assessment: What has changed.
        allow_policy_drift: A changed policy revision is accepted.
        decider: Gets the whole assessment and answers ``True`` to go on; instead of both rules above.

    Raises:
        DriftRejectedError: It does not go on. ``__cause__`` is what a decider raised.
    """
    if decider is not None:
        try:
            accepted = _decided(decider(assessment))
        except Exception as exc:
            raise _rejected(assessment) from exc
    else:
        harmless = {"hook_policy"} if allow_policy_drift else set()
        accepted = all(change.category in harmless for change in assessment.warnings)
    if not accepted:
        raise _rejected(assessment)
    return bool(assessment.changes)


def _decided(answer: object) -> bool:
    if isawaitable(answer):
        discard(answer)
        raise InvalidDecisionError("a drift decider is called where nobody can wait; use a plain `def`")
    return answer is True


def _rejected(assessment: Assessment) -> DriftRejectedError:
    said = "; ".join(map(str, assessment.changes)) or "no change"
    hint = "allow_policy_drift=True, or dshhooks run --allow-policy-drift, accepts another policy revision"
    return DriftRejectedError(f"the session is not resumed under what has changed ({said}); {hint}", assessment)
