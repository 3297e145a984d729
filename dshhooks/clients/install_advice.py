"""What a person should know about a settings file our entry is in: whatever could keep it from being asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dshhooks.clients.install_command import words_of
from dshhooks.clients.install_forms import Form, Scope, time_limit
from dshhooks.clients.install_json import Found
from dshhooks.clients.settings_text import scan
from dshhooks.clients.table import Client

__all__ = ["advice", "ailments", "shared", "switched_off"]

# Clients that were seen to run no hook of a file in which one is bad.
_ALL_OR_NOTHING: Final = ("claude", "codex")
# Seconds `handle` may take with everything that is around it.
_NEEDED: Final = 25


def advice(row: Client, form: Form, scope: Scope, text: str, there: Sequence[Found]) -> tuple[str, ...]:
    """Return what is wrong with a file, and what is to be done or known beyond it, in sentences."""
    known = [*ailments(row, form, text, there), *shared(there)]
    if row.trust and not (form.folders and scope == "user"):
        known.append(row.trust)
    if scope == "user" and not all("--config" in words_of(entry.command) for entry in there):
        known.append(
            "in a project with a dshhooks.toml that file counts, which may leave your plugins out, and which an agent "
            "can write: `--config FILE` names one for every project"
        )
    if row.name == "qwen":
        known.append(
            "a hook of another settings file that allows may beat our denial: keep ours the only one that decides"
        )
    return tuple(known)


def shared(there: Sequence[Found]) -> tuple[str, ...]:
    """Name the commands that run something else beside dshhooks, and so are nothing we may change."""
    return tuple(
        f"{entry.event}: `{entry.command}` is not dshhooks alone, so it was left as it is: change it by hand"
        for entry in there
        if not entry.alone
    )


def ailments(row: Client, form: Form, text: str, there: Sequence[Found]) -> list[str]:
    """Return what in a file keeps our entries from guarding, in sentences."""
    said: list[str] = []
    if form.kind == "json":
        for check in (_looks, switched_off, _bad_neighbours):
            said += check(row, form, text)
    return said + [sentence for check in (_short, _expanded, _not_last) for sentence in check(row, form, there)]


def _looks(row: Client, form: Form, text: str) -> Iterator[str]:
    extras = " and ".join(sorted(scan(text)[1]))
    if extras and not form.expands:  # Gemini and Qwen Code, which read both comments and variables
        refuses = f"{row.display} refuses it" if form.plain else f"{row.display} may refuse it"
        yield f"the file has {extras}, which JSON does not have: {refuses}, with every hook in it"


def switched_off(row: Client, form: Form, text: str) -> Iterator[str]:
    """Say which members of a file switch the client's hooks off, those of its other files included."""
    if form.kind != "json" or not text.strip():
        return
    document = scan(text)[0].value
    for path, value in form.switches:
        said = document
        for step in path:
            said = said.get(step) if isinstance(said, dict) else None
        if said == value or (isinstance(value, list) and isinstance(said, list) and set(map(str, said)) & set(value)):
            yield f"`{'.'.join(path)}` in the file switches hooks off: {row.display} asks nobody"


def _bad_neighbours(row: Client, _form: Form, text: str) -> Iterator[str]:
    if row.name not in _ALL_OR_NOTHING:
        return
    from dshhooks.bridge.jsonfile import Report
    from dshhooks.bridge.model import Source
    from dshhooks.bridge.parse import parse_document

    report = Report("")
    source = Source("hooks.json", "claude" if row.name == "claude" else "codex", "current", "project")
    parse_document(scan(text)[0].value, source, report, name="hooks.json")
    for note in report.diagnostics:
        if note.level == "error":
            yield (
                f"{note.path}: {note.message}: {row.display} may run no hook of this file at all because of it, ours "
                "included"
            )


def _short(row: Client, _form: Form, there: Sequence[Found]) -> Iterator[str]:
    for entry in there:
        if isinstance(entry.timeout, (int, float)) and entry.timeout < time_limit(row, _NEEDED):
            yield (
                f"{entry.event}: a time-out of {entry.timeout:g} is shorter than dshhooks may need, and {row.display} "
                f"runs the tool when the time is up: write {time_limit(row)}"
            )


def _expanded(row: Client, form: Form, there: Sequence[Found]) -> Iterator[str]:
    if form.expands and any("$" in entry.command for entry in there):
        yield f"{row.display} takes the `$` in the command's path for a variable: install Python and dshhooks elsewhere"


def _not_last(row: Client, _form: Form, there: Sequence[Found]) -> Iterator[str]:
    for entry in there:
        if row.name == "qwen" and not entry.last:
            yield f"{entry.event}: a hook after ours that allows beats our denial: move ours to the end"
