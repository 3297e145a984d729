"""What ran and how it ended: the last runs in memory, all of them in a file (spec/external-hooks.md A.13).

Never in it: payloads, prompts, environment, headers.
"""

from __future__ import annotations

import json
import logging
import os
from collections import deque
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from dshhooks.bridge.files import read_regular
from dshhooks.bridge.outcomes import Outcome, Run
from dshhooks.bridge.text import preview
from dshhooks.engine.rotation import put_aside

__all__ = ["History", "outcome_word", "read_history", "record_of"]

log = logging.getLogger("dshhooks.bridge")

_KEPT: Final = 500
_ROTATED_AT: Final = 1 << 20
# What stands there may be a pipe, and opening one waits for somebody to read it.
_APPENDING: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NONBLOCK", 0)


class History:
    """Records of runs. One that cannot be written is a log line, once, and changes no decision.

    Args:
        path: A JSON-lines file, appended to; ``None``: in memory only. At 1 MiB it becomes ``<name>.1``.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._recent: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self._complained = False

    @property
    def recent(self) -> tuple[dict[str, Any], ...]:
        """The last 500 records, oldest first."""
        return tuple(self._recent)

    def add(self, record: dict[str, Any]) -> None:
        """Keep a record."""
        self._recent.append(record)
        if self.path is None:
            return
        try:
            self._append(self.path, json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n")
        except (OSError, ValueError) as exc:
            if not self._complained:
                self._complained = True
                log.warning("the history %s cannot be written: %s", self.path, getattr(exc, "strerror", None) or exc)

    def _append(self, path: Path, line: bytes) -> None:
        try:
            handle = os.open(path, _APPENDING, 0o600)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = os.open(path, _APPENDING, 0o600)
        try:
            os.write(handle, line)  # one write: lines of two writers do not mix
            if os.fstat(handle).st_size >= _ROTATED_AT:
                put_aside(str(path), handle)
        finally:
            os.close(handle)


def record_of(run: Run, *, dispatch: str, subject: str, cap: int) -> dict[str, Any]:
    """Return the record of a run.

    Args:
        run: The run.
        dispatch: What the runs of one dispatch have in common.
        subject: What matchers were compared with.
        cap: Characters of stderr, and of the subject, that are kept.
    """
    hook, outcome = run.hook, run.outcome
    record: dict[str, Any] = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "dispatch": dispatch, "hook": hook.id, "event": hook.canonical, "subject": preview(subject, cap),
        "kind": hook.kind,
        "decision": outcome.decision, "exitCode": outcome.exit_code, "durationMs": run.duration_ms,
        "outcome": outcome_word(outcome),
    }  # fmt: skip
    said = preview(outcome.stderr, cap)
    extra = {"error": run.error, "stderr": said or None, "stdoutTruncated": outcome.stdout_truncated or None,
             "stderrTruncated": outcome.stderr_truncated or None}  # fmt: skip
    return record | {name: value for name, value in extra.items() if value is not None}


def outcome_word(outcome: Outcome) -> str:
    """Return how a run ended in one word; a failure by its kind, whatever was made of it."""
    if outcome.failure is not None:
        return outcome.failure
    if outcome.detached:
        return "spawned"
    if outcome.decision == "deny":
        return "deny"
    return "exit-0" if outcome.exit_code == 0 else "exit-nonzero"


def read_history(path: Path, tail: int | None = None) -> list[dict[str, Any]]:
    """Return the records of a file and of the one before it, oldest first; broken lines are left out.

    Args:
        path: The file; one that is missing or cannot be read has no records.
        tail: Only so many of the last.
    """
    records = [record for file in (path.with_name(f"{path.name}.1"), path) for record in _records(file)]
    return records if tail is None else records[-tail:] if tail else []


def _records(path: Path) -> Iterable[dict[str, Any]]:
    try:
        lines = read_regular(path).splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue  # torn, or another writer's
        if isinstance(record, dict):
            yield record
