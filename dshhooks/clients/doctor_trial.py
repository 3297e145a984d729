"""Trying an installed command out on recorded events, and judging its answers as strictly as the client would."""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

from dshhooks.clients.denial import Wire, denial
from dshhooks.clients.install_forms import TIMEOUT
from dshhooks.clients.samples import harmless_call
from dshhooks.clients.table import Client

__all__ = ["Checked", "honoured", "try_command"]

_ROUNDS: Final = 3
# How reasons start that are no decision of a plugin.
_FAILURES: Final = ("dshhooks could not", "dshhooks is not", "dshhooks had no")


@frozen
class Checked:
    """What an installed command did with one event.

    Args:
        name: ``a harmless call`` or ``an event cut in half``.
        fine: Whether it did what it must.
        said: What it did, for a person.
        milliseconds: The median over the runs; ``None``: it is not measured.
    """

    name: str
    fine: bool
    said: str
    milliseconds: float | None = None


def try_command(row: Client, command: str, cwd: Path, environ: Mapping[str, str]) -> list[Checked]:
    """Run an installed command as the client would: on a harmless call, and on one that is cut in half."""
    call = harmless_call(row.name, str(cwd))
    word = next(word for word, kind in row.events.items() if kind == "tool:before")
    runs = [_run(command, call, cwd, environ) for _ in range(_ROUNDS)]
    speed = statistics.median(seconds for _, seconds in runs) * 1000
    fine, said = min(_judged(row, word, answer) for answer, _ in runs)  # one that failed counts for all
    cut = _run(command, call[: len(call) // 2], cwd, environ)[0]
    return [
        Checked("a harmless call", fine, said, round(speed, 1)),
        Checked("an event cut in half", *_judged_cut(row, word, cut, lenient="--on-error allow" in command)),
    ]


def _judged_cut(row: Client, word: str, answer: Wire | None, *, lenient: bool) -> tuple[bool, str]:
    """Say whether an answer to an event nobody can read is one, and which."""
    reason = honoured(row.name, word, answer)
    if reason is not None:
        return True, f"denied: {reason}"
    if lenient and answer == (b"", b"", 0):
        return True, "let through, as --on-error allow wants it"
    return False, f"not denied in {row.display}'s form: {_shown(answer)}"


def honoured(client: str, word: str, answer: Wire | None) -> str | None:
    """Return the reason of a denial that the client was measured to honour; ``None`` for anything else.

    Args:
        client: The client.
        word: Its word for the event.
        answer: Stdout, stderr and the exit code; ``None``: there was none in time.
    """
    reason = _reason(answer)
    if answer is None or reason is None:
        return None
    names = (client,) if client == "vibe" else (client, "")  # the portable denial is not for Vibe
    known = [denial(name, said, reason) for name in names for said in (word, None)]
    return reason if answer in known else None


def _reason(answer: Wire | None) -> str | None:
    try:
        document = json.loads(answer[0]) if answer is not None else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    scoped = document.get("hookSpecificOutput")
    values = [document, *([scoped] if isinstance(scoped, dict) else [])]
    said = [value.get(name) for value in values for name in ("reason", "permissionDecisionReason")]
    return next((reason for reason in said if isinstance(reason, str)), None)


def _judged(row: Client, word: str, answer: Wire | None) -> tuple[bool, str]:
    """Say whether an answer to a harmless call is one, and which."""
    if answer is None:
        return False, f"no answer within {TIMEOUT} s"
    reason = honoured(row.name, word, answer)
    if reason is not None:
        return not reason.startswith(_FAILURES), f"denied: {reason}"
    out, _, code = answer
    if code == 0 and not out:
        return True, "no objection"
    try:
        usable = code == 0 and isinstance(json.loads(out), dict)
    except (ValueError, RecursionError):
        usable = False
    return usable, f"answered {_shown(answer)}"


def _shown(answer: Wire | None) -> str:
    if answer is None:
        return f"nothing within {TIMEOUT} s"
    out, err, code = answer
    return f"exit {code}, stdout {out[:200]!r}, stderr {err[:200]!r}"


def _run(command: str, stdin: bytes, cwd: Path, environ: Mapping[str, str]) -> tuple[Wire | None, float]:
    """Run a command in a shell, as all clients do. Here and now only: it is what an agent would run by itself."""
    start = time.perf_counter()
    try:
        done = subprocess.run(["/bin/sh", "-c", command], input=stdin, capture_output=True, cwd=cwd,
                              env=dict(environ), timeout=TIMEOUT, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        return None, time.perf_counter() - start
    return (done.stdout, done.stderr, done.returncode), time.perf_counter() - start
