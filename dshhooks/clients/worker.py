"""The process that evaluates one call for the lean client when no daemon does; its answer goes to fd 3.

The lean client is its parent and guards it: whatever ends it without an answer is a denial (decisions.md 7.26).
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

from dshhooks.clients import wire
from dshhooks.clients.apart import ANSWER_FD

if TYPE_CHECKING:
    from dshhooks.clients.answer import Answer

__all__ = ["main"]

# Plugins may take their leave after the answer has gone, but not for ever.
FAREWELL = 10


def main() -> None:
    """Answer what stdin asks; the command line is the seconds there are, and that of the hook."""
    os.set_inheritable(ANSWER_FD, False)  # what plugins start must not keep the lean client waiting
    try:
        said = _said(float(sys.argv[1]), sys.argv[2:])
    except BaseException as exc:  # noqa: BLE001 - whatever it is, the parent makes a denial of it
        said = wire.failure(wire.told(exc))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(FAREWELL)
    with open(ANSWER_FD, "wb") as stream:
        stream.write(said)


def _said(seconds: float, words: list[str]) -> bytes:
    from dshhooks.clients.state import log_records, open_log

    log = open_log()  # what plugins print must reach neither the agent nor the answer
    os.dup2(log, 1)
    os.dup2(log, 2)
    log_records()
    answer = _evaluate(seconds, words)
    if answer.unread:
        return wire.failure(answer.unread)
    return wire.answer((answer.stdout, answer.stderr, answer.code))


def _evaluate(seconds: float, words: list[str]) -> Answer:
    from dshhooks.clients.later import put_off_validators

    put_off_validators()
    import attrs

    from dshhooks.clients.arguments import read_request, working_folder
    from dshhooks.clients.service import handle_once

    request = read_request(words, sys.stdin.buffer.read(), os.environ, working_folder())
    return handle_once(attrs.evolve(request, budget=seconds))
