"""Everything one command starts: known from before its start, and ended as a whole; public (A.6.3, A.6.5)."""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Final

import anyio
import anyio.to_thread

from dshhooks.engine.lifeline import hold, release
from dshhooks.engine.process_members import Members
from dshhooks.engine.processes import MARK

__all__ = ["MARK", "ProcessTree"]

# Seconds between two looks at what is being ended: the first, the longest, and where there is no waiting.
_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.05
_PAUSE: Final = 0.005
# So often is looked where there is no waiting.
_LOOKS: Final = 100


class ProcessTree(Members):
    """The processes of one command, its descendants with it: as long as the block runs, and until they are ended.

    Make it before the command starts, start that with :attr:`environment` in a session of its own, and set
    :attr:`leader` to its number. While the block runs, all of it is ended when this process is killed, if somebody
    holds a :func:`lifeline`; leaving the block ends nothing. On Linux daemons are found as well; elsewhere only the
    process group is known.

    Args:
        environment: What the command is to be given.

    Attributes:
        environment: That with the mark, by which its processes are known.
        mark: The mark.
        leader: The number of the command's process; -1 until you set it.

    Raises:
        OSError: On entering: a lifeline is held, and its helper cannot be started.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__(secrets.token_hex(8), _now())
        # Marks add up, so that what a nested run starts is still found by the outer one.
        outer = environment.get(MARK)
        self.environment = {**environment, MARK: f"{outer}:{self.mark}" if outer else self.mark}

    def __enter__(self) -> ProcessTree:
        hold(self.mark)
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        release(self.mark)

    async def end(
        self, grace: float = 2.0, *, patience: float = 5.0, meanwhile: Callable[[], object] | None = None
    ) -> bool:
        """End all of it: SIGTERM, the grace, SIGKILL until nothing is left; only then a cancellation goes on.

        A task that asyncio cancels a second time, which no shield keeps off, has it ended at once; as it is where no
        thread can be started. The command's own process is left for you to wait for.

        Args:
            grace: Seconds between both signals; 0: SIGKILL at once.
            patience: Seconds SIGKILL is sent again; what survives it so long sits in the kernel.
            meanwhile: Called between the signals. It reads pipes: what is blocked in a write cannot react to SIGTERM.

        Returns:
            Whether nothing of it is left.
        """
        try:
            with anyio.CancelScope(shield=True):
                gone = await self._end(grace, patience, meanwhile)
        except RuntimeError:  # no thread can be started: too many run, or, since 3.12, the interpreter is about to end
            return self.kill()
        except BaseException:
            self.kill()
            raise
        return gone

    def kill(self) -> bool:
        """SIGKILL to all of it, again and again until nothing is left, at most for half a second, in this thread.

        Returns:
            Whether nothing of it is left.
        """
        for _ in range(_LOOKS):
            if not self.send(signal.SIGKILL):
                return True
            time.sleep(_PAUSE)
        return False

    async def _end(self, grace: float, patience: float, meanwhile: Callable[[], object] | None) -> bool:
        # A limiter of its own: with all worker threads taken, ending a process must not wait for them.
        limiter = anyio.CapacityLimiter(1)

        async def gone(number: int, seconds: float) -> bool:
            """Send a signal, again and again if it is SIGKILL, until nothing is left or the time is over."""
            pause, until, sending = _FIRST_PAUSE, anyio.current_time() + seconds, number
            while await anyio.to_thread.run_sync(self.send, sending, limiter=limiter):
                if meanwhile is not None:
                    meanwhile()
                if anyio.current_time() >= until:
                    return False
                await anyio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                sending = number if number == signal.SIGKILL else 0
            return True

        return (grace > 0 and await gone(signal.SIGTERM, grace)) or await gone(signal.SIGKILL, patience)


def _now() -> int:
    """Return the moment in ticks of the kernel; 0 where there is no such clock."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    # A second of slack: the kernel rounds, and too late a moment would hide a daemon.
    return int((time.clock_gettime(clock) - 1) * os.sysconf("SC_CLK_TCK")) if clock is not None else 0
