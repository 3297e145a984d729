"""``dshhooks install`` and ``uninstall``: our entry in a client's settings, and everything else in them as it was."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from attrs import frozen

from dshhooks.clients import install_json, install_toml, opencode
from dshhooks.clients.arguments import working_folder
from dshhooks.clients.install_advice import advice, shared
from dshhooks.clients.install_command import argv_of, shell_command
from dshhooks.clients.install_forms import FORMS, Form, Place, Scope, chosen_events, client_row, entry, place_of
from dshhooks.clients.install_json import Found
from dshhooks.clients.settings_file import SettingsFile, decoded, encoded
from dshhooks.clients.settings_text import SettingsError
from dshhooks.clients.table import Client

__all__ = ["Installation", "Result", "installation", "look", "preview", "put_in", "take_out"]

_EDITORS: Final[Mapping[str, ModuleType]] = {"json": install_json, "toml": install_toml, "script": opencode}


@frozen
class Installation:
    """What is to be in which file.

    Args:
        row: The client.
        place: The file.
        events: The client's words for the events.
        only: Whether entries of ours at other events are to go.
        argv: The program and its arguments.
    """

    row: Client
    place: Place
    events: tuple[str, ...]
    only: bool
    argv: Sequence[str]

    @property
    def form(self) -> Form:
        """How the file is written."""
        return FORMS[self.row.name]

    def changed(self, text: str) -> str:
        """Return a file's text with our entries in it.

        Raises:
            SettingsError: They cannot be added; no file name is in the message.
        """
        return str(_editor(self.form).added(text, self.form, dict(self._entries()), only=self.only))

    def _entries(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for event in self.events:
            script = self.form.kind == "script"
            yield event, {"argv": self.argv} if script else entry(self.row, event, shell_command(self.argv))


@frozen
class Result:
    """What was done.

    Args:
        path: The file.
        changed: Whether it is another one now.
        events: The events our entries stand at, as the file spells them; empty: none is left.
        backup: Where the original is; ``None``: there was no file, or the backup is gone again.
        warnings: What a person should know, in sentences.
    """

    path: Path
    changed: bool
    events: tuple[str, ...] = ()
    backup: Path | None = None
    warnings: tuple[str, ...] = ()


def installation(
    client: str,
    scope: Scope = "project",
    *,
    events: str | None = None,
    more: Sequence[str] = (),
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Installation:
    """Say what is to be installed, without looking at any file.

    Args:
        client: A client's name.
        scope: Into the project's settings or the user's.
        events: A comma list of events; ``None``: all that plugins have hooks for.
        more: Switches for every call of the command.
        cwd: The project; ``None``: the working directory.
        environ: The environment; ``None``: this process's.

    Raises:
        HarnessError: The client or an event is unknown, or the client has no such settings.
    """
    row = client_row(client)
    place = place_of(row, scope, cwd or Path(working_folder()), os.environ if environ is None else environ)
    return Installation(row, place, chosen_events(row, events), events is not None, argv_of(client, more))


def preview(wanted: Installation) -> tuple[str, tuple[str, ...]]:
    """Return the file as it would be, and the warnings; nothing is changed.

    Raises:
        SettingsError: The file cannot be read or changed.
    """
    data = _file(wanted.place).read()
    text = decoded(data or b"", wanted.place.path)[1]
    after = _named(wanted.place.path, wanted.changed, text)
    return after, _advice(wanted, after, _found(wanted.form, after, wanted.place.path))


def put_in(wanted: Installation) -> Result:
    """Install: write the file if it is not right already, and keep what it was before.

    Raises:
        SettingsError: The file cannot be read or changed, and was not.
    """
    file, path = _file(wanted.place), wanted.place.path
    with file.held(make=True):
        data = file.read()
        mark, text = decoded(data or b"", path)
        after = _named(path, wanted.changed, text)
        if data is None:
            file.forget()  # what was kept of a file that somebody has removed since
        if data is not None and after != text and not any(e.alone for e in _found(wanted.form, text, path)):
            with file.kept(data):
                file.replace(encoded(mark, after, path))
        elif data is None or after != text:
            file.replace(encoded(mark, after, path))
        there = _found(wanted.form, after, path)
        backup = file.backup if file.backup.exists() else None
    events = tuple(dict.fromkeys(entry.event for entry in there))
    return Result(path, data is None or after != text, events, backup, _advice(wanted, after, there))


def take_out(client: str, place: Place) -> Result:
    """Uninstall: what was there before stays, byte for byte; a file and folders that only held our entry are gone.

    Raises:
        SettingsError: The file cannot be read or changed, and was not.
    """
    form, file, path = FORMS[client], _file(place), place.path
    if file.read() is None:
        return Result(path, False)
    with file.held(make=False):
        data, kept = file.read(), file.original()
        mark, text = decoded(data or b"", path)
        there = _found(form, text, path)
        if data is None or not any(entry.alone for entry in there):
            return Result(path, False, warnings=shared(there))
        original = None if kept is None else decoded(kept, file.backup)[1]
        rest = _named(path, lambda text: _editor(form).taken_out(text, form, original), text)
        done = kept if kept is not None and rest == original else None if rest is None else encoded(mark, rest, path)
        return Result(path, True, (), _put_back(file, done, kept), shared(there))


def look(client: str, place: Place) -> tuple[str, list[Found]]:
    """Return a file's text and our entries in it; an empty text if there is no file.

    Raises:
        SettingsError: The file cannot be read.
    """
    text = decoded(_file(place).read() or b"", place.path)[1]
    return text, _found(FORMS[client], text, place.path)


def _put_back(file: SettingsFile, data: bytes | None, kept: bytes | None) -> Path | None:
    """Write what is left. A backup that says nothing else than the file is not needed any more."""
    if data is not None:
        file.replace(data)
    if kept is not None and data == kept:
        file.forget()
    if data is None:
        file.remove()
    return file.backup if kept is not None and data != kept else None


def _advice(wanted: Installation, text: str, there: list[Found]) -> tuple[str, ...]:
    return advice(wanted.row, wanted.form, wanted.place.scope, text, there)


def _file(place: Place) -> SettingsFile:
    return SettingsFile(place.path, place.base)


def _editor(form: Form) -> Any:
    return _EDITORS[form.kind]


def _found(form: Form, text: str, path: Path) -> list[Found]:
    if not text.strip():
        return []
    return list(_named(path, lambda text: _editor(form).found(text, form), text))


def _named(path: Path, change: Callable[[str], Any], text: str) -> Any:
    try:
        return change(text)
    except SettingsError as exc:
        raise SettingsError(f"{path} {exc.message}; nothing was changed") from None
