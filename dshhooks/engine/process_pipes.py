"""The pipes of one foreign process: what it is given and what it prints, never more than is kept (A.6.3 to A.6.5).

They are ours and not the backend's streams: those report an exit only when the last holder of a pipe is gone, so a
daemon started by the process would hold up whoever waits.
"""

from __future__ import annotations

import os
import selectors
from types import TracebackType
from typing import ClassVar, Final, Protocol

import anyio

__all__ = ["Input", "Output", "Watch"]

_PIECE: Final = 64 * 1024
# As much as a pipe holds.
_PIECES: Final = 16


class Watched(Protocol):
    """Something with a file that becomes ready."""

    events: ClassVar[int]

    def fileno(self) -> int:
        """Return the file's number."""
        ...

    def react(self) -> bool:
        """Do what can be done without waiting; say whether that was the last of it."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


class Watch:
    """Waits for several files in one task: a task for each costs more than most of what hooks do."""

    def __init__(self) -> None:
        # Its own descriptor becomes readable when one of them is ready, so any event loop can wait for it.
        self._selector: Final = selectors.DefaultSelector()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._selector.close()

    def add(self, watched: Watched) -> None:
        """Have it react from now on, until it is over; then its file is closed."""
        if watched.fileno() not in self._selector.get_map():
            self._selector.register(watched.fileno(), watched.events, watched)

    async def turn(self) -> None:
        """Wait until one of them is ready, and have those that are react."""
        await anyio.wait_readable(self._selector.fileno())
        for key, _ in self._selector.select(0):
            if key.data.react():
                # First this: a fork of the host may hold the file as well, and closed here it would stay ready there.
                self._selector.unregister(key.fileobj)
                key.data.close()


class _Pipe:
    """Our end of a pipe, which never blocks, and the process's."""

    def __init__(self, *, we_read: bool) -> None:
        reader, writer = os.pipe()
        self.ours, self.theirs = (reader, writer) if we_read else (writer, reader)
        os.set_blocking(self.ours, False)

    def fileno(self) -> int:
        """Return the number of our end."""
        return self.ours

    def close_theirs(self) -> None:
        """Close the process's end here: held open, it would never report its end."""
        if self.theirs >= 0:
            os.close(self.theirs)
            self.theirs = -1

    def close(self) -> None:
        """Close our end."""
        if self.ours >= 0:
            os.close(self.ours)
            self.ours = -1

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self.close_theirs()
        self.close()


class Output(_Pipe):
    """What a process prints: read to the end, kept up to a limit.

    Attributes:
        kept: The first ``limit`` bytes.
        truncated: There were more.
        ended: Every holder of the other end is gone.
    """

    events: ClassVar[int] = selectors.EVENT_READ

    def __init__(self, limit: int) -> None:
        super().__init__(we_read=True)
        self.kept = bytearray()
        self.truncated = self.ended = False
        self._limit = limit

    def __enter__(self) -> Output:
        return self

    def react(self) -> bool:
        """Read a piece; say whether every holder of the other end is gone."""
        self.read()
        return self.ended

    def read(self) -> bool:
        """Read once, without waiting; say whether there was anything."""
        try:
            data = os.read(self.ours, _PIECE)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        room = self._limit - len(self.kept)
        self.kept += data[:room]
        self.truncated = self.truncated or len(data) > room
        self.ended = not data
        return bool(data)

    def read_to_end(self) -> bool:
        """Read what is there, at most what a pipe holds, as a writer may go on for ever; say whether that was all."""
        for _ in range(_PIECES):
            if self.ended or not self.read():
                break
        return self.ended


class Input(_Pipe):
    """What a process is given. Whoever has it react closes it when it is over: that is the end of its stdin."""

    events: ClassVar[int] = selectors.EVENT_WRITE

    def __init__(self, data: bytes) -> None:
        super().__init__(we_read=False)
        self._data = memoryview(data)

    def __enter__(self) -> Input:
        return self

    def react(self) -> bool:
        """Write what fits; say whether that was all of it, or nobody reads any more.

        A process that does not read is no error: its exit code decides.
        """
        try:
            while self._data:
                self._data = self._data[os.write(self.ours, self._data[:_PIECE]) :]
        except BlockingIOError:
            return False
        except OSError:
            pass  # it has closed its stdin, or is gone
        return True
