"""``dshhooks handle`` in one process: the arguments, stdin, and one answer whatever happens (decisions.md 7.26).

Imports next to nothing, and never click. Everything after the arguments runs under the guardian.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from dshhooks.clients.denial import CLIENTS, Wire
from dshhooks.clients.failure import failed
from dshhooks.clients.guardian import (
    Interrupted,
    emit,
    fill_descriptors,
    guarded,
    read_stdin,
    settle,
    until_signal,
)
from dshhooks.clients.recognise import VARIABLES
from dshhooks.clients.stdout import unwritten
from dshhooks.clients.words import parsed

__all__ = ["default_budget", "main"]


class UsageError(Exception):
    """The command line cannot be understood."""


def main(arguments: Sequence[str]) -> int:
    """Answer one event of a client and return the exit code.

    Args:
        arguments: What follows ``handle``.
    """
    said, fault = parsed(arguments)
    stdin = bytearray()
    try:
        until_signal()
        fill_descriptors()
        answer = _answered(said, fault, stdin)
    except BaseException as exc:  # noqa: BLE001 - whatever it was, the client waits, and silence would be a yes
        answer = _failed(said, bytes(stdin), exc)
    settle()
    try:
        return emit(answer)
    except OSError as exc:
        _log(str(exc))
        return emit(unwritten(answer, exc))


def _answered(said: dict[str, Any], fault: str, stdin: bytearray) -> Wire:
    started = time.monotonic()
    budget = said["budget"] if said["budget"] is not None else default_budget(said["client"])
    deadline = started + budget
    read_stdin(deadline, stdin)
    if fault:
        raise UsageError(fault)
    return guarded(lambda: _judged(said, bytes(stdin), budget), deadline)


def _judged(said: dict[str, Any], stdin: bytes, budget: float) -> Wire:
    """Judge in the child. Everything of weight is imported here."""
    import gc

    gc.disable()  # a process that lives for one answer; looking through what was just imported finds nothing
    from dshhooks.clients.later import put_off_validators

    put_off_validators()
    from dshhooks.clients.arguments import request_of, working_folder
    from dshhooks.clients.service import handle_once
    from dshhooks.clients.state import log_records

    log_records()
    answer = handle_once(request_of({**said, "budget": budget}, stdin, os.environ, working_folder()))
    return answer.stdout, answer.stderr, answer.code


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in VARIABLES if name in os.environ}


def default_budget(client: str) -> float:
    """Return the seconds an answer may take: well before the client's own time-out (Copilot waits for 30)."""
    return 20.0 if client in CLIENTS and not client.startswith("copilot") else 15.0


# -- failures ----------------------------------------------------------------------------------------------------------


def _failed(said: dict[str, Any], stdin: bytes, exc: BaseException) -> Wire:
    reason = f"dshhooks could not judge this: {_told(exc)}"
    _log(reason)
    return failed(said["client"], stdin, _environment(), reason, said["on_error"])


def _told(exc: BaseException) -> str:
    text = str(exc)
    if isinstance(exc, (UsageError, Interrupted)) or type(exc).__module__ == "dshhooks.clients.guardian":
        return text
    return f"{type(exc).__name__}: {text}" if text else type(exc).__name__


def _log(reason: str) -> None:
    """Add one line to the log; that it cannot be written changes no answer."""
    try:
        from dshhooks.clients.state import open_log

        log = open_log()
        try:
            os.write(
                log, f"{time.strftime('%Y-%m-%dT%H:%M:%S')} dshhooks: {reason[:4000]}\n".encode("utf-8", "replace")
            )
        finally:
            os.close(log)
    except BaseException:  # noqa: BLE001 - the log is no reason to fail
        return
