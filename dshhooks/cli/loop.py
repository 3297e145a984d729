"""Running a verb's coroutine so that Ctrl-C, and a polite kill, let it clean up; another is cleaned up after."""

from __future__ import annotations

import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["run"]

T = TypeVar("T")


def run(function: Callable[..., Awaitable[T]], *arguments: Any) -> T:
    """Run a coroutine function in an event loop of its own.

    The first SIGINT, SIGTERM or SIGHUP (a closed terminal) cancels it, and whatever it started unwinds; the second one
    does not ask.
    asyncio's own way delivers one cancellation, which whoever waits for a child process while unwinding swallows; a
    cancel scope keeps saying it. After SIGKILL, or a second signal, the lifeline ends the commands that ran.

    Raises:
        KeyboardInterrupt: SIGINT ended it.
        SystemExit: SIGTERM or SIGHUP ended it; the code is 143 or 129.
        BaseException: What the function raised.
    """
    import anyio

    from dshhooks.engine.lifeline import lifeline

    with lifeline():
        return anyio.run(_cancellable, function, arguments)


async def _cancellable(function: Callable[..., Awaitable[T]], arguments: tuple[Any, ...]) -> T:
    import asyncio

    import anyio

    loop, received = asyncio.get_running_loop(), []
    with anyio.CancelScope() as scope:

        def cancel(number: int, _frame: Any) -> None:
            received.append(number)
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
            loop.call_soon_threadsafe(scope.cancel)

        with _handled(cancel):
            return await function(*arguments)
    raise KeyboardInterrupt if received[0] == signal.SIGINT else SystemExit(128 + received[0])


@contextmanager
def _handled(handler: Callable[[int, Any], None]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's business
        return
    numbers = [signal.SIGINT, signal.SIGTERM]
    # Ignored from the start: `nohup dshhooks …` outlives its terminal.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
