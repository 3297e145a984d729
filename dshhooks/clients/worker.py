"""The process that evaluates one call for the lean client when no daemon does; run by path, its answer goes to fd 3.

The lean client is its parent and guards it: whatever ends it without an answer is a denial (decisions.md 7.26).
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dshhooks.clients.answer import Answer

ANSWER_FD = 3
# Plugins may take their leave after the answer has gone, but not for ever.
FAREWELL = 10


def main(seconds: str, words: list[str]) -> None:
    """Answer what stdin asks within so many seconds."""
    os.set_inheritable(ANSWER_FD, False)  # what plugins start must not keep the lean client waiting
    try:
        from dshhooks.clients import wire
        from dshhooks.clients.state import log_records, open_log

        log = open_log()  # what plugins print must reach neither the agent nor the answer
        os.dup2(log, 1)
        os.dup2(log, 2)
        log_records()
        answer = _evaluate(float(seconds), words)
        said = wire.answer((answer.stdout, answer.stderr, answer.code))
    except BaseException as exc:  # noqa: BLE001 - whatever it is, the parent makes a denial of it
        said = f"E {type(exc).__name__}: {exc}".encode("utf-8", "replace")
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(FAREWELL)
    with open(ANSWER_FD, "wb") as stream:
        stream.write(said)


def _evaluate(seconds: float, words: list[str]) -> Answer:
    import attrs

    from dshhooks.clients.arguments import read_request
    from dshhooks.clients.service import handle_once

    request = read_request(words, sys.stdin.buffer.read(), os.environ, os.getcwd())
    return handle_once(attrs.evolve(request, budget=seconds))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
