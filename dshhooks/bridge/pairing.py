"""The rules of the log's events about hooks: pairs, each inside one turn (spec/external-hooks.md B.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dshhooks.bridge.journal import HookInvoked, HookResult
from hookspecs.errors import HarnessError

__all__ = ["pairing"]

_EVENTS: Final = (HookInvoked.type, HookResult.type)
_RUN: Final = ("turn", "point", "handlerId")


def pairing(session: Any) -> Callable[[Any], None]:
    """Return a validator for ``session.add_validator``.

    It raises ``HarnessError`` with the code ``HOOK_PAIRING`` for an event that is not in the turn it names, and for a
    result of a run that did not begin there, or has a result already.
    """

    def validate(event: Any) -> None:
        if event.type not in _EVENTS:
            return
        if session.open_turn is None or event.raw["turn"] != session.open_turn:
            open_turn = "no turn is open" if session.open_turn is None else f"open is turn {session.open_turn}"
            raise _broken(event, f"it names turn {event.raw['turn']}, and {open_turn}")
        if event.type == HookResult.type and not _pending(session.events, _run_of(event)):
            raise _broken(event, f"no run {event.raw['handlerId']!r} of {event.raw['point']} is waiting for a result")

    return validate


def _pending(log: Any, run: tuple[Any, ...]) -> bool:
    """Say whether the open turn has more beginnings of a run than results; the last one is near the end of the log."""
    ended = 0
    for event in reversed(log):
        if event.type == "turn/start":
            return False
        if event.type in _EVENTS and _run_of(event) == run:
            ended += 1 if event.type == HookResult.type else -1
        if ended < 0:
            return True
    return False


def _run_of(event: Any) -> tuple[Any, ...]:
    return tuple(event.raw[name] for name in _RUN)


def _broken(event: Any, why: str) -> HarnessError:
    return HarnessError(f"event {event.seq} {event.type}: {why}", "HOOK_PAIRING")
