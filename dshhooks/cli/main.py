"""``dshhooks``: finds the verb, imports only that verb's module, and turns errors into exit codes.

``handle`` runs before every tool call of a client, so it is found without importing what the other verbs need.
"""

from __future__ import annotations

import os
import sys

__all__ = ["main"]

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is not imported before handle has forked
    from collections.abc import Sequence
    from typing import NoReturn

# The switches that may stand before a verb, with a value and without.
_VALUED = ("--config", "--plugins", "--disable")
_BARE = ("--no-plugins",)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    said = list(sys.argv[1:] if arguments is None else arguments)
    before = _switches_before(said)
    if said[before : before + 1] == ["handle"] and not {"-h", "--help"} & set(said):
        _handle([*said[:before], *said[before + 1 :]])
    from dshhooks.cli.verbs import run

    run(said)


def _switches_before(said: Sequence[str]) -> int:
    """Return how many words in front are switches and their values."""
    at = 0
    while at < len(said):
        word, equals, _ = said[at].partition("=")
        if word not in _VALUED + _BARE:
            break
        at += 2 if word in _VALUED and not equals else 1
    return at


def _handle(arguments: list[str]) -> NoReturn:
    """Answer a client and exit; where even that breaks, deny in a form that needs nothing at all."""
    try:
        from dshhooks.clients.front import main as handle

        handle(arguments)
    except BaseException as exc:  # noqa: BLE001 - a traceback would let the tool run in six clients of seven
        os._exit(_last_resort(arguments, f"dshhooks is broken: {type(exc).__name__}"))


def _last_resort(arguments: list[str], reason: str) -> int:
    if "vibe" in arguments or "--client=vibe" in arguments:
        os.write(1, f'{{"decision":"deny","reason":"{reason}"}}\n'.encode())
        return 0
    specific = f'{{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"{reason}"}}'
    try:
        os.write(1, f'{{"decision":"block","reason":"{reason}","hookSpecificOutput":{specific}}}\n'.encode())
        os.write(2, f"{reason}\n".encode())
    except OSError:
        pass  # the exit code is what is left to say
    return 2
