"""Loading the chosen plugins into the hooks, one plugin's failure isolated from the rest.

What must stop the start stops it: an unknown name, a wrong option, a required plugin that is missing, too old, disabled
or broken. The error carries the whole report.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from dshhooks.config import HarnessConfig
from dshhooks.engine.hooks import Hooks, Registration
from dshhooks.plugins.discovery import Found, discover
from dshhooks.plugins.loading import import_plugin, instantiate
from dshhooks.plugins.selection import Selection, select
from dshhooks.plugins.status import PluginStatus
from hookspecs.errors import ConfigError, PluginError

__all__ = ["Plugins", "StartError", "load_plugins"]

log = logging.getLogger("dshhooks.plugins")


class StartError(PluginError):
    """The configured plugins do not allow the host to start.

    Args:
        message: Every problem.
        report: What became of each plugin.
    """

    def __init__(self, message: str, report: Sequence[PluginStatus]) -> None:
        super().__init__(message)
        self.report = tuple(report)


class Plugins:
    """What was loaded, and why not the rest."""

    def __init__(self, statuses: Sequence[PluginStatus], problems: Sequence[str]) -> None:
        self._statuses = tuple(statuses)
        self.problems = tuple(problems)

    def report(self) -> list[PluginStatus]:
        """Return one status per plugin: loaded ones outermost first, then the others by name."""
        return list(self._statuses)

    def raise_problems(self) -> None:
        """Refuse to start.

        Raises:
            StartError: There are problems; names all of them.
        """
        if self.problems:
            raise StartError("; ".join(self.problems), self._statuses)


def load_plugins(
    hooks: Hooks, config: HarnessConfig, objects: Sequence[Any] = (), found: Mapping[str, Found] | None = None
) -> Plugins:
    """Load what the configuration chooses, register it, and report; never raises for a plugin's failure.

    Args:
        hooks: Where plugins are registered.
        config: File, environment and command line.
        objects: Plugins passed in by the host; they stand outermost, the first one outside the others.
        found: The installed plugins; discovered by default.
    """
    return _Loading(hooks, config, discover() if found is None else found).run(objects)


class _Loading:
    def __init__(self, hooks: Hooks, config: HarnessConfig, found: Mapping[str, Found]) -> None:
        self.hooks, self.config, self.found = hooks, config, found
        self.statuses: dict[str, PluginStatus] = {}
        self.problems: list[str] = []
        self.ready: dict[str, Any] = {}
        self.registrations: dict[str, Registration] = {}

    def run(self, objects: Sequence[Any]) -> Plugins:
        named = self._name_objects(objects)
        selection = select(self.config, self.found, [name for name, _ in named])
        for name, reason in selection.disabled.items():
            self._note(name, "disabled", reason)
        for name, reason in selection.unknown.items():
            self.statuses[name] = PluginStatus(name, status="missing", reason=reason)
            self.problems.append(f"unknown plugin {name!r}: {reason}")
        for name in selection.chosen:
            self._load(name)
        self._check_needs()
        order = self._register_all(named, selection.chosen)
        self._check_required(selection)
        loaded = [self.statuses[name] for name in order if name in self.statuses]
        rest = [status for _, status in sorted(self.statuses.items()) if status not in loaded]
        return Plugins([*loaded, *rest], self.problems)

    def _name_objects(self, objects: Sequence[Any]) -> list[tuple[str, Any]]:
        taken = set(self.found)
        named = []
        for plugin in objects:
            name = base = self.hooks.own_name(plugin)
            number = 2
            while name in taken:
                name, number = f"{base}-{number}", number + 1
            taken.add(name)
            named.append((name, plugin))
        return named

    def _note(self, name: str, status: Any, reason: str) -> None:
        found = self.found.get(name)
        where = (found.distribution, found.version) if found is not None else ("", "")
        self.statuses[name] = PluginStatus(name, *where, status, reason)
        if status in ("failed", "duplicate"):
            log.warning("plugin %r was not loaded: %s", name, reason)

    def _load(self, name: str) -> None:
        found = self.found[name]
        if found.rivals:
            self._note(name, "duplicate", f"published by {' and by '.join(found.rivals)}; uninstall all but one")
            return
        try:
            self.ready[name] = self._made(import_plugin(found), name)
        except ConfigError as exc:
            self._note(name, "failed", str(exc))
            self.problems.append(str(exc))
        except PluginError as exc:
            self._note(name, "failed", str(exc))

    def _made(self, plugin: Any, name: str) -> Any:
        return instantiate(plugin, name, self.config.plugin.get(name), self.config.source)

    def _check_needs(self) -> None:
        """Fail every plugin whose ``requires`` is not ready, and then whoever required that one."""
        failing = True
        while failing:
            failing = False
            for name, plugin in list(self.ready.items()):
                missing = [need for need in getattr(plugin, "requires", None) or () if need not in self.ready]
                if missing:
                    del self.ready[name]
                    self._note(name, "failed", f"requires {', '.join(map(repr, missing))}, which is not loaded")
                    failing = True

    def _register_all(self, named: Sequence[tuple[str, Any]], chosen: Sequence[str]) -> list[str]:
        """Register from the innermost outwards, since the last one registered stands outermost."""
        for name in reversed(chosen):
            if name in self.ready:
                self._register(name, self.ready[name])
        for name, plugin in reversed(named):
            self._register(name, self._made(plugin, name), given=True)
        order = [name for name, _ in named] + [name for name in chosen if name in self.registrations]
        for name in order:
            self._announce(name, given=name not in self.found)
        return [name for name in order if name in self.registrations]

    def _register(self, name: str, plugin: Any, *, given: bool = False) -> None:
        shadow = name in self.config.plugins.shadow
        try:
            self.registrations[name] = self.hooks.register(plugin, name, shadow=shadow, announce=False)
        except PluginError as exc:
            if given:
                raise
            self._note(name, "failed", str(exc))
            return
        hooks = self.hooks.hooks_of(name)
        if not hooks and not given:
            self.registrations.pop(name).dispose()
            self._note(name, "failed", "it implements no hook; mark its functions with @hookimpl")
            return
        self._note(name, "loaded", "shadow" if shadow else "")
        self.statuses[name] = attrs.evolve(self.statuses[name], hooks=hooks)

    def _announce(self, name: str, *, given: bool) -> None:
        try:
            self.hooks.announce(name)
        except PluginError as exc:
            if given:
                raise
            self.registrations.pop(name).dispose()
            self._note(name, "failed", str(exc))

    def _check_required(self, selection: Selection) -> None:
        for requirement in selection.required:
            status = self.statuses.get(requirement.name)
            if status is None or status.status == "missing":
                continue  # reported as unknown, with a suggestion
            if status.status != "loaded":
                self.problems.append(
                    f"required plugin {requirement.text!r} is {status.status}: {status.reason}"
                )
            elif not requirement.met_by(status.version):
                self.problems.append(
                    f"required plugin {requirement.text!r}: installed is {status.distribution} {status.version}; "
                    f"upgrade it"
                )
