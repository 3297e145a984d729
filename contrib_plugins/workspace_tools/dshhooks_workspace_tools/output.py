"""Collecting a stream of any length in a fixed amount of memory: its head and its tail."""

from __future__ import annotations

from .text import cut_end, cut_start

__all__ = ["CappedOutput"]


class CappedOutput:
    """The first and last bytes of what was fed.

    Holds at most one and a half times ``limit`` bytes, whatever is fed.

    Args:
        limit: Bytes to keep; half of them from the start.
    """

    def __init__(self, limit: int) -> None:
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    @property
    def total(self) -> int:
        """Bytes fed so far."""
        return self._total

    @property
    def truncated(self) -> bool:
        """Whether bytes have been dropped."""
        return self._total > self._head_limit + self._tail_limit

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        self._total += len(data)
        room = self._head_limit - len(self._head)
        self._head += data[:room]
        self._tail += data[room:][-self._tail_limit :] if self._tail_limit else b""
        # Trimmed only when twice too long, so that feeding single bytes stays cheap.
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: -self._tail_limit]

    def text(self) -> str:
        """Return what was kept as text: malformed UTF-8 as U+FFFD, a marker where bytes are missing."""
        if not self.truncated:
            return bytes(self._head + self._tail).decode("utf-8", "replace")
        head = cut_end(bytes(self._head))
        tail = cut_start(bytes(self._tail[len(self._tail) - self._tail_limit :]))
        omitted = self._total - len(head) - len(tail)
        marker = f"\n… {omitted} bytes omitted …\n"
        return head.decode("utf-8", "replace") + marker + tail.decode("utf-8", "replace")
