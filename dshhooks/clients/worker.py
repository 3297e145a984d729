"""The process that evaluates one call, seen from within: a fork of ``handle``, or the lean client's fresh interpreter.

The courier is its parent: whatever ends it without an answer is a denial (decisions.md 7.26).
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # as in courier.py: signal itself would import enum and more
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

from dshhooks.clients import wire

if TYPE_CHECKING:
    from dshhooks.clients.answer import Answer

__all__ = ["judge_and_end", "main"]

# Plugins may take their leave after the answer has gone, but not for ever.
FAREWELL = 10


def main() -> None:
    """Answer what stdin asks; the command line is the seconds there are, and that of the hook."""
    from dshhooks.clients.apart import ANSWER_FD

    os.set_inheritable(ANSWER_FD, False)  # what plugins start must not keep the lean client waiting
    _judge(ANSWER_FD, float(sys.argv[1]), sys.argv[2:], lambda: sys.stdin.buffer.read())


def judge_and_end(writer: int, seconds: float, words: Sequence[str], stdin: bytes) -> NoReturn:
    """Be the fork: answer to a descriptor and end, letting threads and what was asked for at exit have their time.

    Args:
        writer: The descriptor.
        seconds: How long there is.
        words: The command line after ``handle``.
        stdin: What the client wrote.
    """
    try:
        _judge(writer, seconds, words, lambda: stdin)
        _take_leave()
    finally:
        os._exit(0)


def _take_leave() -> None:
    import atexit

    threading = sys.modules.get("threading")
    if threading is not None:
        threading._shutdown()
    atexit._run_exitfuncs()
    _flush()


def _judge(writer: int, seconds: float, words: Sequence[str], stdin: Callable[[], bytes]) -> None:
    try:
        said = _said(seconds, words, stdin)
    except BaseException as exc:  # noqa: BLE001 - whatever it is, the parent makes a denial of it
        from dshhooks.clients.state import note

        reason = wire.told(exc)
        note(reason)
        said = wire.failure(reason)
    _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)
    _signal.alarm(FAREWELL)
    with open(writer, "wb") as stream:
        stream.write(said)


def _said(seconds: float, words: Sequence[str], stdin: Callable[[], bytes]) -> bytes:
    from dshhooks.clients.state import log_records, open_log

    log = open_log()  # what plugins print must reach neither the agent nor the answer
    os.dup2(log, 1)
    os.dup2(log, 2)
    log_records()
    answer = _evaluate(seconds, words, stdin())
    _flush()  # nobody waits for the end of this process: what was said is in the log when the answer is out
    if answer.unread:
        return wire.failure(answer.unread)
    return wire.answer((answer.stdout, answer.stderr, answer.code))


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass  # a plugin has closed it, or put something else in its place


def _evaluate(seconds: float, words: Sequence[str], stdin: bytes) -> Answer:
    import gc

    gc.disable()  # a process that lives for one answer; looking through what was just imported finds nothing
    from dshhooks.clients.later import put_off

    put_off()
    from dshhooks.clients.arguments import read_request, working_folder
    from dshhooks.clients.service import handle_once

    request = read_request(words, stdin, os.environ, working_folder())
    return handle_once(request.replaced(budget=seconds))
