"""Small helpers: a hook file on disk, what it means, and which of its hooks an event reaches."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dshhooks.bridge.jsonfile import Report
from dshhooks.bridge.merge import load
from dshhooks.bridge.model import Configuration, Diagnostic, Source
from dshhooks.bridge.options import BridgeOptions
from dshhooks.bridge.outcomes import Outcome, RawResult
from dshhooks.bridge.parse import Parsed, parse_document
from dshhooks.bridge.response import decode_response
from dshhooks.bridge.selection import matching

__all__ = ["codes", "commands", "decode", "echo", "found", "group", "home_and_project", "open_file", "parsed", "write"]


def echo(name: str, **members: Any) -> dict[str, Any]:
    """A shell hook that is told apart by its command."""
    return {"type": "command", "command": f"echo {name}", **members}


def group(*names: str, **members: Any) -> dict[str, Any]:
    """A group of such hooks."""
    return {"hooks": [echo(name) for name in names], **members}


def parsed(
    data: Any, dialect: str = "claude", profile: str = "current", *, file: str = "settings.json", **options: Any
) -> tuple[Parsed, list[Diagnostic]]:
    """Parse a document without a file."""
    report = Report(file)
    source = Source(file, dialect, profile, "pinned")  # type: ignore[arg-type]
    return parse_document(data, source, report, name=file, **options), report.diagnostics


def write(path: Path, data: Any) -> Path:
    """Write a hook file: JSON of a value, a text as it is, or bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(data, bytes):
        path.write_bytes(data)
    else:
        path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def open_file(path: Path, data: Any, **options: Any) -> Configuration:
    """Write a file and load it pinned."""
    return load(BridgeOptions(config_path=write(path, data), **options), environ={})


def home_and_project(folder: Path, files: Mapping[str, Any], **options: Any) -> Configuration:
    """Write files (``home/…``, ``project/…``) and discover them, all trusted."""
    for name, data in files.items():
        write(folder / name, data)
    options = {"home": folder / "home", "cwd": folder / "project", "trust": lambda _source: True, **options}
    return load(BridgeOptions(**options), environ={})


def commands(
    configuration: Configuration, event: str, payload: Mapping[str, Any] | None = None, **more: Any
) -> list[str]:
    """The commands that would run, in order, without their ``echo``."""
    verdicts = matching(configuration, event, payload or {}, **more)
    return [(verdict.hook.command or "").removeprefix("echo ") for verdict in verdicts]


def found(diagnostics: Any, *levels: str) -> list[tuple[str, str, str]]:
    """Level, code and path of the diagnostics of these levels; of all without levels."""
    return [(note.level, note.code, note.path) for note in diagnostics if not levels or note.level in levels]


def codes(outcome: Outcome) -> list[str]:
    """The codes of an outcome's notes."""
    return [note.code for note in outcome.notes]


def decode(
    code: int | None, stdout: bytes | str = "", stderr: bytes | str = "", event: str = "PreToolUse", **more: Any
) -> Outcome:
    """Decode what a hook left behind."""
    return decode_response(RawResult(code, stdout, stderr), event, **more)
