"""Our entries in a TOML settings file: found, added, brought up to date, taken out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dshhooks.bridge.own import is_own_command
from dshhooks.clients.install_forms import Form
from dshhooks.clients.install_json import Found
from dshhooks.clients.settings_text import SettingsError
from dshhooks.clients.settings_toml import parse, with_table, with_value, without_table

__all__ = ["added", "found", "taken_out"]


def found(text: str, form: Form) -> list[Found]:
    """Return our entries in the order of the file.

    Raises:
        SettingsError: The file is not TOML.
    """
    hooks = parse(text).get("hooks", [])
    return [
        Found(str(hook.get("type")), ("hooks", index), hook[form.command], hook.get(form.timeout), True)
        for index, hook in enumerate(hooks)
        if is_own_command(hook.get(form.command))
    ]


def added(text: str, form: Form, entries: Mapping[str, dict[str, Any]], *, only: bool) -> str:
    """Return the text with our entries; see :func:`dshhooks.clients.install_json.added`.

    Raises:
        SettingsError: The file is not TOML, or writes its hooks as one list.
    """
    there = found(text, form)
    for entry in there:
        command = entries.get(entry.event, {}).get(form.command, entry.command)
        if entry.alone and command != entry.command:
            text = with_value(text, _index(entry), form.command, command)
    if only:
        text = _without(text, [entry for entry in there if entry.alone and entry.event not in entries])
    for event, table in entries.items():
        if not any(entry.alone and entry.event == event for entry in there):
            text = with_table(text, table)
    return text


def taken_out(text: str, form: Form, original: str | None) -> str | None:
    """Return the text without our entries; ``None`` if there is nothing in it that was not ours."""
    there = [entry for entry in found(text, form) if entry.alone]
    if original is not None and _again(original, text, there) == text:
        return original
    rest = _without(text, there)
    return rest if rest.strip() or original is not None else None


def _again(original: str, text: str, there: list[Found]) -> str | None:
    hooks = parse(text).get("hooks", [])
    try:
        for entry in there:
            original = with_table(original, hooks[_index(entry)])
    except SettingsError:
        return None
    return original


def _without(text: str, there: list[Found]) -> str:
    for entry in reversed(there):
        text = without_table(text, _index(entry))
    return text


def _index(entry: Found) -> int:
    return int(entry.path[-1])
