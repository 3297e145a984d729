"""``dshhooks doctor``: is a client guarded, does what is installed answer in its form, and who takes part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, evolve, frozen

from dshhooks.bridge.own import is_own_command
from dshhooks.clients.doctor_trial import Checked, try_command
from dshhooks.clients.install import look
from dshhooks.clients.install_advice import ailments, switched_off
from dshhooks.clients.install_command import argv_of, shell_command, words_of
from dshhooks.clients.install_forms import FORMS, Scope, place_of
from dshhooks.clients.policy import HOOKS
from dshhooks.clients.table import Client
from dshhooks.plugins.status import PluginStatus
from hookspecs.errors import HarnessError

__all__ = ["Examination", "Installed", "examine", "installed_at"]


@frozen
class Installed:
    """What one settings file says about us.

    Args:
        scope: ``project`` or ``user``.
        path: The file.
        events: The events we are asked about; empty: not installed here.
        command: What is run; empty: not installed here.
        problems: What keeps it from guarding, in sentences.
    """

    scope: Scope
    path: str
    events: tuple[str, ...] = ()
    command: str = ""
    problems: tuple[str, ...] = ()


@frozen
class Examination:
    """Everything ``doctor`` found out.

    Args:
        client: The client's name.
        places: Its settings files.
        checks: What the installed commands did.
        plugins: Who is loaded by the first of them, with the hooks this client's events ask, and who could not be.
        problems: What keeps the client from being guarded, in sentences.
        notes: What cannot be seen from here, in sentences.
    """

    client: str
    places: tuple[Installed, ...]
    checks: tuple[Checked, ...]
    plugins: tuple[PluginStatus, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def fine(self) -> bool:
        """Whether the client is guarded, as far as can be seen from here."""
        return not self.problems and all(check.fine for check in self.checks)

    def as_json(self) -> dict[str, Any]:
        """Return the document of ``--json``."""
        return {"client": self.client, "ok": self.fine, **asdict(self, filter=lambda field, _: field.name != "client")}


def examine(row: Client, cwd: Path, environ: Mapping[str, str]) -> Examination:
    """Look at a client's settings, run what is installed there on recorded events, and ask who takes part.

    Args:
        row: The client.
        cwd: The project.
        environ: The environment commands get, and in which settings are looked for.
    """
    places = tuple(installed_at(row, scope, cwd, environ) for scope in ("project", "user"))
    commands = list(dict.fromkeys(place.command for place in places if place.command))
    checks = [check for command in commands for check in try_command(row, command, cwd, environ)]
    problems = [f"{place.path}: {problem}" for place in places for problem in place.problems]
    if not commands:
        problems.append(f"{row.display} is not guarded here: `dshhooks install {row.name}`")
    plugins: tuple[PluginStatus, ...] = ()
    for command in commands[:1]:
        plugins, troubles = _who_takes_part(command, cwd, environ)
        problems += troubles
    asked = _asked(row, places)
    plugins = tuple(evolve(each, hooks=tuple(hook for hook in each.hooks if hook in asked)) for each in plugins)
    notes = (*([row.trust] if row.trust else []), *row.notes, *_twice(row, plugins))
    return Examination(row.name, places, tuple(checks), plugins, tuple(problems), notes)


def installed_at(row: Client, scope: Scope, cwd: Path, environ: Mapping[str, str]) -> Installed:
    """Look at one settings file; whatever is wrong with it is a problem of it, never an exception."""
    form = FORMS[row.name]
    try:
        place = place_of(row, scope, cwd, environ)
        text, there = look(row.name, place)
    except HarnessError as exc:
        return Installed(scope, row.project_file if scope == "project" else row.user_file, problems=(exc.message,))
    if not there:
        # It may be the other file that has our entries, and this one that switches them off.
        return Installed(scope, str(place.path), problems=tuple(switched_off(row, form, text)))
    problems = ailments(row, form, text, there)
    for command in dict.fromkeys(entry.command for entry in there):
        problems += _outdated(row, command)
    gates = [word for word, kind in row.events.items() if kind == "tool:before"]
    if not any(entry.event in gates for entry in there):
        problems.append(f"it is not asked before tool calls: {gates[0]} is missing")
    events = tuple(dict.fromkeys(entry.event for entry in there))
    command = next((entry.command for entry in there if entry.event in gates), there[0].command)
    return Installed(scope, str(place.path), events, command, tuple(problems))


def _outdated(row: Client, command: str) -> list[str]:
    """Say what an installed command has that is no more."""
    words = words_of(command)
    again = f"`dshhooks install {row.name}` brings it up to date"
    gone = [word for word in words[:4] if word.startswith("/") and not Path(word).exists()]
    if gone:
        return [f"{gone[0]} is gone, so nothing can be checked: {again}"]
    own = argv_of(row.name)
    if is_own_command(command) and words[: len(own)] != own:
        return [f"it runs another installation of dshhooks, or in another way: {shell_command(words[:4])} …; {again}"]
    return []


def _who_takes_part(
    command: str, cwd: Path, environ: Mapping[str, str]
) -> tuple[tuple[PluginStatus, ...], Sequence[str]]:
    """Load the plugins the command would load, and say who they are and what is wrong with them."""
    from dshhooks.clients.words import parsed
    from dshhooks.config import load_config, with_switches
    from dshhooks.harness import build

    words = words_of(command)
    start = next((index for index, word in enumerate(words) if word.startswith("--client")), len(words))
    said, fault = parsed(words[start:])
    if fault:
        return (), [f"every call is denied: {fault}"]
    try:
        config = load_config(said["config"], start=cwd, environ=environ)
        harness = build(with_switches(config, said["plugins"], said["disable"], said["no_plugins"]))
    except HarnessError as exc:
        return (), [f"every call is denied: {exc}"]
    harness.hooks.close()
    report = tuple(harness.plugins.report())
    bad = [row for row in report if row.status not in ("loaded", "disabled")]
    named = [f"plugin {row.name!r} is {row.status}: {row.reason}" for row in bad]
    return report, [
        f"every call is denied: {problem}" for problem in dict.fromkeys([*harness.plugins.problems, *named])
    ]


def _asked(row: Client, places: Sequence[Installed]) -> frozenset[str]:
    """Return the hooks that are asked at the events we are installed at: the call itself runs in the client."""
    kinds = {row.events.get(event, "") for place in places for event in place.events}
    return frozenset(hook for kind in kinds for hook in HOOKS.get(kind, ()))


def _twice(row: Client, plugins: Sequence[PluginStatus]) -> list[str]:
    """Say that hook files are run by the client and by a plugin of ours as well."""
    return [
        f"plugin {each.name!r} runs the hook files that {row.display} runs itself, so a hook can run twice: "
        f"`dshhooks install {row.name} --disable {each.name}` leaves them to {row.display}"
        for each in plugins
        if each.name == f"{row.name}-hooks" and each.status == "loaded"
    ]
