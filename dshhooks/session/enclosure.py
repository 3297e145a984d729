"""The turn-enclosure rules, as a validator for ``session.add_validator`` (spec/core.md 5.3)."""

from __future__ import annotations

from dshhooks.session.event import Event, Replace
from dshhooks.session.events import InputRejected
from hookspecs.errors import HarnessError

__all__ = ["OUTSIDE", "TurnEnclosure"]

# The one event that says there was no turn.
OUTSIDE = InputRejected.type

_STEP_SCOPED = frozenset({"assistant/chunk", "assistant/message", "tool/call", "tool/result"})


class TurnEnclosure:
    """Refuses an event that would leave the turns of a log unbalanced. Feed it every event from the first on."""

    def __init__(self) -> None:
        self._last_turn = 0
        self._turn: int | None = None
        self._step: int | None = None
        self._last_step = 0
        self._calls: set[str] = set()

    def __call__(self, event: Event) -> None:
        """Check one event and follow it.

        Raises:
            HarnessError: ``TURN_ENCLOSURE``.
        """
        kind = event.type
        if kind == "turn/start":
            self._turn_start(event.raw["turn"])
        elif kind == OUTSIDE:
            self._outside(event)
        elif self._turn is None:
            raise _broken(event, "it stands outside a turn")
        elif kind == "turn/end":
            self._turn_end(event)
        elif kind == "step/start":
            self._step_start(event)
        elif kind == "step/end":
            self._in_step(event)
            self._step, self._calls = None, set()
        elif kind in _STEP_SCOPED and not isinstance(event.surface_op, Replace):
            self._in_step(event)
            self._call(event)

    def _outside(self, event: Event) -> None:
        if self._turn is not None:
            raise _broken(event, f"it stands inside turn {self._turn}")

    def _turn_start(self, turn: int) -> None:
        if self._turn is not None:
            raise HarnessError(f"turn {turn} starts inside turn {self._turn}", "TURN_ENCLOSURE")
        if turn != self._last_turn + 1:
            raise HarnessError(f"turn {turn} starts after turn {self._last_turn}", "TURN_ENCLOSURE")
        self._turn = self._last_turn = turn
        self._last_step = 0

    def _turn_end(self, event: Event) -> None:
        if self._step is not None:
            raise _broken(event, f"step {self._step} is open")
        self._same_turn(event)
        self._turn = None

    def _step_start(self, event: Event) -> None:
        self._same_turn(event)
        step = event.raw["step"]
        if self._step is not None or step != self._last_step + 1:
            raise _broken(event, f"step {step} does not follow step {self._last_step}")
        self._step = self._last_step = step

    def _in_step(self, event: Event) -> None:
        self._same_turn(event)
        if event.raw["step"] != self._step:
            raise _broken(event, f"it names step {event.raw['step']}, open is {self._step}")

    def _same_turn(self, event: Event) -> None:
        if event.raw["turn"] != self._turn:
            raise _broken(event, f"it names turn {event.raw['turn']}, open is {self._turn}")

    def _call(self, event: Event) -> None:
        if event.type == "tool/call":
            self._calls.add(event.raw["callId"])
        elif event.type == "tool/result" and event.raw["callId"] not in self._calls:
            error = event.raw.get("error") or {}
            if error.get("code") != "TOOL_NOT_STARTED":
                raise _broken(event, f"there was no tool/call {event.raw['callId']!r} in this step")


def _broken(event: Event, why: str) -> HarnessError:
    return HarnessError(f"event {event.seq} {event.type}: {why}", "TURN_ENCLOSURE")
