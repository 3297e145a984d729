"""What a hook plugin remembers of one agent: hooks that start its session, and how its turn was made to go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import anyio

from hookspecs.signal import CancelSignal, CancelSource

__all__ = ["Life"]


class Life:
    """One agent's; it ends with the agent.

    ``forced`` counts how often in a row ``Stop`` hooks made the running turn go on; tools that ran begin the count
    again. ``active`` stays true until the turn ends.
    """

    def __init__(self) -> None:
        self._ending = CancelSource()
        self._starts: list[anyio.Event] = []
        self._turn = 0
        self._mark = 0  # the length of the log when the turn was last made to go on
        self.forced = 0
        self.active = False

    @property
    def signal(self) -> CancelSignal:
        """Aborts when the agent goes."""
        return self._ending.signal

    def end(self) -> None:
        """Abort what runs beside the turns."""
        self._ending.abort("disposed")

    # -- the start -------------------------------------------------------------------------------------------------

    def start(self) -> anyio.Event:
        """Note that hooks begin whose contexts belong before the first prompt; set the event when they have ended."""
        event = anyio.Event()
        self._starts.append(event)
        return event

    @property
    def starting(self) -> bool:
        """Whether some have begun that nobody has waited for."""
        return bool(self._starts)

    async def started(self) -> None:
        """Wait for them."""
        while self._starts:
            await self._starts[0].wait()
            del self._starts[:1]

    # -- the stop --------------------------------------------------------------------------------------------------

    def enter(self, turn: int, events: Sequence[Any]) -> None:
        """Take note of a turn that is about to stop."""
        if turn != self._turn:
            self._turn, self.forced, self.active = turn, 0, False
        elif any(events[at].type == "tool/result" for at in range(self._mark, len(events))):
            self.forced = 0

    def force(self, events: Sequence[Any]) -> None:
        """The turn is made to go on."""
        self.forced += 1
        self.active = True
        self._mark = len(events)
