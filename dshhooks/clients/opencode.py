"""The plugin file for opencode, which runs no hook commands: made from ``opencode_plugin.js`` and all ours."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dshhooks.clients.install_command import shell_command
from dshhooks.clients.install_forms import TIMEOUT, Form
from dshhooks.clients.install_json import Found
from dshhooks.clients.settings_text import SettingsError

__all__ = ["added", "found", "script", "taken_out"]

_TEMPLATE: Final = Path(__file__).with_name("opencode_plugin.js")
_CONSTANT: Final = re.compile(r"^const (COMMAND|EVENTS|TIME_LIMIT) = (.+)$", re.M)
_OURS: Final = "// Made by `dshhooks install opencode`"


def script(argv: Sequence[str], events: Sequence[str], seconds: float = TIMEOUT) -> str:
    """Return the plugin's source.

    Args:
        argv: The command that is asked; it runs without a shell.
        events: The words of opencode it is asked about.
        seconds: How long it may take before its answer is a denial.
    """
    values = {"@COMMAND@": list(argv), "@EVENTS@": list(events), "@TIME_LIMIT@": round(seconds * 1000)}
    text = _TEMPLATE.read_text(encoding="utf-8")
    for mark, value in values.items():
        text = text.replace(f'"{mark}"', json.dumps(value, ensure_ascii=False))
    return text


def found(text: str, _form: Form) -> list[Found]:
    """Return the events of a file of ours; none if somebody else wrote it.

    Raises:
        SettingsError: It was ours and was changed.
    """
    if not _is_ours(text):
        return []
    try:
        said = {name: json.loads(value) for name, value in _CONSTANT.findall(text)}
        command, limit = shell_command(said["COMMAND"]), said["TIME_LIMIT"] / 1000
        return [Found(event, (event,), command, limit, True) for event in said["EVENTS"]]
    except (ValueError, KeyError, TypeError):
        raise SettingsError("was made by dshhooks and changed since: remove it, and install again") from None


def added(text: str, form: Form, entries: Mapping[str, dict[str, Any]], *, only: bool) -> str:
    """Return the plugin's source, whatever it was.

    Raises:
        SettingsError: The file was written by somebody else.
    """
    _require_ours(text)
    events = [*({} if only else {entry.event: None for entry in found(text, form)}), *entries]
    return script(next(iter(entries.values()))["argv"], list(dict.fromkeys(events)))


def taken_out(text: str, _form: Form, _original: str | None) -> None:
    """Leave nothing of the file.

    Raises:
        SettingsError: It was written by somebody else.
    """
    _require_ours(text)


def _is_ours(text: str) -> bool:
    return text.startswith(_OURS)


def _require_ours(text: str) -> None:
    if text.strip() and not _is_ours(text):
        raise SettingsError("was not made by dshhooks; move it away first")
