"""What a session's log says of hooks: a pair of events around every run in a turn (spec/external-hooks.md B.4)."""

from __future__ import annotations

import itertools
import logging
import math
from typing import TYPE_CHECKING, Any, ClassVar, Final

from attrs import field, frozen

from dshhooks.engine.faults import is_fault
from dshhooks.engine.observe import described
from dshhooks.session.events import EventData
from hookspecs.json import MISSING, Missing

if TYPE_CHECKING:
    from dshhooks.bridge.model import Hook
    from dshhooks.bridge.outcomes import Outcome, Run

__all__ = ["HookInvoked", "HookResult", "Journal", "register"]

log = logging.getLogger("dshhooks.bridge")

# What the log calls a dialect; runs of other dialects are not written.
NAMES: Final = {"claude": "claude-code", "codex": "codex"}

_numbers: Final = itertools.count(1)


def _turn(_event: object, attribute: Any, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{attribute.name} must be the number of a turn, not {value!r}")


def _filled(_event: object, attribute: Any, value: str) -> None:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{attribute.name} must be a text that is not empty, not {value!r}")


def _dialect(_event: object, _attribute: Any, value: str) -> None:
    if value not in NAMES.values():
        raise ValueError(f"dialect must be one of {', '.join(NAMES.values())}, not {value!r}")


def _duration(_event: object, attribute: Any, value: float) -> None:
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{attribute.name} must be milliseconds, not {value!r}")


@frozen
class HookInvoked(EventData):
    """An external hook begins to run.

    Args:
        turn: The turn it runs in.
        point: The event, as its dialect calls it.
        dialect: ``claude-code`` or ``codex``.
        handler_id: This run: its result has the same.
        matcher: Its group's pattern as written, if there is one.
    """

    type: ClassVar[str] = "hook/invoked"
    turn: int = field(validator=_turn)
    point: str = field(validator=_filled)
    dialect: str = field(validator=_dialect)
    handler_id: str = field(validator=_filled)
    matcher: str | Missing = MISSING


@frozen
class HookResult(EventData):
    """It has run.

    Args:
        turn: The turn it ran in.
        point: The event, as its dialect calls it.
        handler_id: That of the ``hook/invoked`` before.
        decision: The hook's own word (``approve``, ``allow``, ``ask``, ``block``, ``deny``), else ``stop`` if it asked
            the agent to stop, else ``pass``.
        duration_ms: How long it took.
        exit_code: Missing when it did not come to one.
        stderr_summary: The beginning of what it printed there; missing when that was nothing.
    """

    type: ClassVar[str] = "hook/result"
    turn: int = field(validator=_turn)
    point: str = field(validator=_filled)
    handler_id: str = field(validator=_filled)
    decision: str = field(validator=_filled)
    duration_ms: float = field(validator=_duration)
    exit_code: int | Missing = MISSING
    stderr_summary: str | Missing = MISSING


def register(variants: Any) -> None:
    """Add both events to a table of variants; two plugins of this kind share them."""
    known = variants.unions["session-event"].members
    for event in (HookInvoked, HookResult):
        if known.get(event.type) is not event:
            variants.register("session-event", event)


class Journal:
    """Writes the runs of one dispatch into the open turn of a session. What cannot be written is logged.

    Args:
        session: The session.
        point: The event, as its dialect calls it.
        dialect: The dialect.
        cap: Characters of stderr.
    """

    def __init__(self, session: Any, point: str, dialect: str, *, cap: int) -> None:
        self._session, self._point, self._dialect, self._cap = session, point, NAMES[dialect], cap
        self._turn: int | None = session.open_turn
        self._running: dict[str, str] = {}

    def began(self, hook: Hook) -> None:
        """Write that a hook begins."""
        if self._turn is None:
            return
        handler = f"{self._dialect}:{self._point}:{next(_numbers)}"
        matcher = MISSING if hook.matcher is None else hook.matcher
        if self._append(HookInvoked(self._turn, self._point, self._dialect, handler, matcher)):
            self._running[hook.id] = handler

    def ended(self, run: Run) -> None:
        """Write what became of it, if its beginning was written."""
        handler = self._running.pop(run.hook.id, None)
        if handler is None or self._turn is None:
            return
        outcome, code = run.outcome, run.outcome.exit_code
        self._append(HookResult(
            self._turn, self._point, handler, _word(outcome), run.duration_ms,
            MISSING if code is None else code, _summary(outcome.stderr, self._cap),
        ))  # fmt: skip

    def _append(self, event: HookInvoked | HookResult) -> bool:
        if self._session.open_turn != self._turn:
            return False
        try:
            self._session.append(event)
        except BaseException as exc:
            if not is_fault(exc):
                raise
            log.warning("session %r: %s could not be written: %s", self._session.id, event.type, described(exc))
            return False
        return True


def _word(outcome: Outcome) -> str:
    if outcome.decision != "none":
        return outcome.said or outcome.decision
    return "stop" if outcome.stop else "pass"


def _summary(stderr: str, cap: int) -> str | Missing:
    text = stderr.strip()
    if not text:
        return MISSING
    return text if len(text) <= cap else text[:cap] + "…"
