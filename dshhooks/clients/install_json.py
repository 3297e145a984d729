"""Our entries in a JSON settings file: found, added, brought up to date, taken out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from dshhooks.bridge.own import is_own_command
from dshhooks.clients.install_command import is_ours_alone
from dshhooks.clients.install_forms import Form
from dshhooks.clients.settings_json import Path, inserted, removed, replaced
from dshhooks.clients.settings_text import SettingsError, scan

__all__ = ["Found", "added", "found", "taken_out"]


@frozen
class Found:
    """An entry of ours.

    Args:
        event: The event, as the file spells it.
        path: Leads to the command's object.
        command: What is run.
        timeout: What the file says, in the client's unit; ``None``: nothing.
        last: Whether nothing of somebody else comes after it.
    """

    event: str
    path: Path
    command: str
    timeout: Any
    last: bool

    @property
    def alone(self) -> bool:
        """Whether the command is ours and nobody else's: only then is it replaced or taken out."""
        return is_ours_alone(self.command)


def found(text: str, form: Form) -> list[Found]:
    """Return our entries in the order of the file.

    Raises:
        SettingsError: The file is not JSON, or its hooks are not where hooks are.
    """
    document = _document(text)
    root = _root(document, form)
    events = _at(document, root) if _leads(document, root) else {}
    return [entry for event, items in events.items() for entry in _of_event(event, items, (*root, event), form)]


def added(text: str, form: Form, entries: Mapping[str, dict[str, Any]], *, only: bool) -> str:
    """Return the text with our entries.

    Where one is already, its command is replaced and the rest of it left as it is.

    Args:
        text: The file; blank for a new one.
        form: How it is written.
        entries: What to add, by event.
        only: Whether entries of ours at other events are taken out.

    Raises:
        SettingsError: The file is not JSON, or has something else where its hooks should be.
    """
    text = text if text.strip() else _new_text(form)
    there = found(text, form)
    for entry in there:
        command = _command(entries[entry.event], form) if entry.event in entries else entry.command
        if entry.alone and command != entry.command:
            text = replaced(text, (*entry.path, form.command), command)
    if only:
        text = _without(text, [entry for entry in there if entry.alone and entry.event not in entries], None)
    for event, item in entries.items():
        if not any(entry.alone and entry.event == event for entry in there):
            text = _with(text, form, event, item)
    return text


def taken_out(text: str, form: Form, original: str | None) -> str | None:
    """Return the text without our entries; ``None`` if there is nothing in it that was not ours.

    Args:
        text: The file.
        form: How it is written.
        original: The file before our entries came, when that is known: lists and objects that were empty then stay.
    """
    there = [entry for entry in found(text, form) if entry.alone]
    if original is not None and _again(original, text, there, form) == text:
        return original
    rest = _without(text, there, original)
    nothing = original is None and _document(rest) in ({}, dict(form.new_file))
    return None if nothing and "comments" not in scan(rest)[1] else rest


def _again(original: str, text: str, there: list[Found], form: Form) -> str | None:
    """Return what installing these entries makes of the original: if it is the text, nothing else has changed since."""
    document = _document(text)
    original = original if original.strip() else _new_text(form)
    try:
        for entry in there:
            original = _with(original, form, entry.event, _at(document, _item(entry)))
    except SettingsError:
        return None
    return original


def _with(text: str, form: Form, event: str, item: Any) -> str:
    document = _document(text)
    root = _root(document, form)
    if not _leads(document, root):
        return inserted(text, (), "hooks", {event: [item]})
    events = _at(document, root)
    spelling = next((name for name in events if _event_of(name, form) == event), event)
    if spelling not in events:
        return inserted(text, root, spelling, [item])
    if not isinstance(events[spelling], list):
        raise SettingsError(f"has something else than a list at {spelling}; repair it first")
    return inserted(text, (*root, spelling), None, item)


def _without(text: str, there: list[Found], original: str | None) -> str:
    before = _document(original) if original is not None and original.strip() else {}
    for entry in reversed(there):  # from the back, so that the positions of the others still count
        item = _item(entry)
        alone = entry.path == item or len(_at(_document(text), entry.path[:-1])) == 1
        text = removed(text, item if alone else entry.path)
        for path in (item[:-1], item[:-2]):
            if path and not _at(_document(text), path) and not _leads(before, path):
                text = removed(text, path)
    return text


def _item(entry: Found) -> Path:
    """Return the way to the item of the event's list."""
    return entry.path[:-2] if entry.path[-2] == "hooks" else entry.path


def _of_event(event: str, items: Any, path: Path, form: Form) -> Iterator[Found]:
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if not isinstance(item, dict):
            continue
        grouped = isinstance(item.get("hooks"), list)
        handlers = item["hooks"] if grouped else [item]
        for number, handler in enumerate(handlers):
            if isinstance(handler, dict) and is_own_command(handler.get(form.command)):
                where = (*path, index, "hooks", number) if grouped else (*path, index)
                last = index == len(items) - 1 and number == len(handlers) - 1
                yield Found(_event_of(event, form), where, handler[form.command], handler.get(form.timeout), last)


def _command(item: dict[str, Any], form: Form) -> str:
    handler = item["hooks"][0] if form.grouped else item
    return str(handler[form.command])


def _document(text: str) -> dict[str, Any]:
    value = scan(text)[0].value
    if not isinstance(value, dict):
        raise SettingsError("is no JSON object; repair it first")
    hooks = value.get("hooks", {})
    if not isinstance(hooks, dict):
        raise SettingsError("has something else than an object at hooks; repair it first")
    return value


def _root(document: Mapping[str, Any], form: Form) -> Path:
    """Return the way to the events: some clients also read files that have nothing but events in them."""
    return () if form.bare and document and "hooks" not in document else ("hooks",)


def _event_of(spelling: str, form: Form) -> str:
    """Return the event of a name in the file: OpenHands refuses a file that has ``PreToolUse`` and ``pre_tool_use``."""
    return "".join(map(str.capitalize, spelling.split("_"))) if form.bare and spelling.islower() else spelling


def _at(document: Any, path: Path) -> Any:
    for step in path:
        document = document[step]
    return document


def _leads(document: Any, path: Path) -> bool:
    try:
        _at(document, path)
    except (KeyError, IndexError, TypeError):
        return False
    return True


def _new_text(form: Form) -> str:
    members = "".join(f'  "{name}": {value}' for name, value in form.new_file.items())
    return f"{{\n{members}\n}}\n" if members else "{}\n"
