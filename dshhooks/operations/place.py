"""Where in an agent's work the running code is, for operations that begin further in (spec/operations.md 1.5)."""

from __future__ import annotations

from contextvars import ContextVar

from attrs import field, frozen

from dshhooks.operations.call import Cause, Coordinates

__all__ = ["Place", "current_place", "enter_place"]


@frozen
class Place:
    """What every operation of one step says of itself.

    Args:
        coordinates: Session, loop, turn and step; parts that do not apply are empty.
        agent_name: Whose work it is.
        cause: What made the turn happen.
    """

    coordinates: Coordinates = field(factory=Coordinates)
    agent_name: str = ""
    cause: Cause | None = None


_NOWHERE = Place()
_current: ContextVar[Place] = ContextVar("dshhooks_place", default=_NOWHERE)


def current_place() -> Place:
    """Return where the running code is; outside every turn a place without coordinates."""
    return _current.get()


def enter_place(place: Place) -> None:
    """Say where the running task is from now on; whoever it starts later is there too."""
    _current.set(place)
