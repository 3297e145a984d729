"""Loading the chosen plugins into the hooks, one plugin's failure isolated from the rest.

What must stop the start stops it: an unknown name, a wrong option, a required plugin that is missing, too old, disabled
or broken. The error carries the whole report.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from dshhooks.config import HarnessConfig
from dshhooks.engine.faults import is_fault
from dshhooks.engine.hooks import Hooks, Registration
from dshhooks.plugins.discovery import Found, discover
from dshhooks.plugins.loading import import_plugin, instantiate
from dshhooks.plugins.selection import Selection, select
from dshhooks.plugins.status import PluginStatus
from hookspecs.errors import ConfigError, PluginError, error_message

__all__ = ["Plugins", "StartError", "load_plugins"]

log = logging.getLogger("dshhooks.plugins")


class StartError(PluginError, ConfigError):
    """The configured plugins do not allow the host to start. A ``ConfigError`` too: wrong options are one reason.

    Args:
        message: Every problem.
        report: What became of each plugin.
    """

    def __init__(self, message: str, report: Sequence[PluginStatus]) -> None:
        super().__init__(message)
        self.report = tuple(report)


class Plugins:
    """What was loaded, and why not the rest.

    Args:
        statuses: One for each plugin, in the report's order.
        problems: What must stop the start.
        found: The installed plugins these are of.
    """

    def __init__(self, statuses: Sequence[PluginStatus], problems: Sequence[str], found: Mapping[str, Found]) -> None:
        self._statuses = tuple(statuses)
        self.problems = tuple(problems)
        self.found = found

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
        self.given: set[str] = set()
        self.own: set[str] = set()  # made here, so closed here

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
        self._make_objects(named)
        # Once before anybody is registered, and once more for those who turned out not to fit or to contribute.
        self._check_needs()
        order = [*(name for name, _ in named), *selection.chosen]
        self._register_all(order)
        self._check_needs()
        self._check_required(selection)
        loaded = [self.statuses[name] for name in order if name in self.registrations]
        rest = [status for _, status in sorted(self.statuses.items()) if status not in loaded]
        return Plugins([*loaded, *rest], self.problems, self.found)

    def _name_objects(self, objects: Sequence[Any]) -> list[tuple[str, Any]]:
        taken = set(self.found)
        named = []
        for plugin in objects:
            name = base = self._own_name(plugin)
            number = 2
            while name in taken:
                name, number = f"{base}-{number}", number + 1
            taken.add(name)
            named.append((name, plugin))
        return named

    def _own_name(self, plugin: Any) -> str:
        if not isinstance(plugin, type):
            return self.hooks.own_name(plugin)
        name = inspect.getattr_static(plugin, "name", None)
        return name if isinstance(name, str) and name else plugin.__name__

    def _note(self, name: str, status: Any, reason: str) -> None:
        found = self.found.get(name)
        where = (found.distribution, found.version) if found is not None else ("", "")
        self.statuses[name] = PluginStatus(name, *where, status, reason)
        if status in ("failed", "duplicate") and reason not in self.problems:  # those stop the start, and are told then
            # Said here because it may have been a policy: nothing else tells that nobody asks it now.
            log.warning("plugin %r was not loaded; unless it is required, the host runs without it: %s", name, reason)

    def _load(self, name: str) -> None:
        found = self.found[name]
        if found.rivals:
            self._note(name, "duplicate", f"published by {' and by '.join(found.rivals)}; uninstall all but one")
            return
        try:
            self.ready[name] = self._made(import_plugin(found), name)
        except ConfigError as exc:
            self.problems.append(str(exc))
            self._note(name, "failed", str(exc))
        except PluginError as exc:
            self._note(name, "failed", str(exc))

    def _made(self, plugin: Any, name: str) -> Any:
        made = instantiate(plugin, name, self.config.plugin.get(name), self.config.source)
        if made is not plugin:
            self.own.add(name)
        return made

    def _make_objects(self, named: Sequence[tuple[str, Any]]) -> None:
        for name, plugin in named:
            self.ready[name] = self._made(plugin, name)
            self.given.add(name)

    def _check_needs(self) -> None:
        """Fail every plugin whose ``requires`` is not there, and then whoever required that one."""
        failing = True
        while failing:
            failing = False
            for name, plugin in list(self.ready.items()):
                reason = self._lacks(plugin)
                if reason:
                    self._fail(name, reason)
                    failing = True

    def _lacks(self, plugin: Any) -> str:
        try:
            needs = getattr(plugin, "requires", None) or ()
        except (Exception, SystemExit) as exc:  # noqa: BLE001 - a property of the plugin's
            return f"its `requires` cannot be read: {type(exc).__name__}: {error_message(exc)}"
        if not isinstance(needs, (list, tuple)) or not all(isinstance(need, str) for need in needs):
            return f"its `requires` must be a list of plugin names, not {needs!r}"
        missing = [need for need in needs if need not in self.ready]
        return f"requires {', '.join(map(repr, missing))}, which is not loaded" if missing else ""

    def _fail(self, name: str, reason: str) -> None:
        """Take a plugin out; one the host passed in itself is the host's mistake.

        Raises:
            PluginError: The plugin was passed in.
        """
        if name in self.given:
            raise PluginError(f"plugin {name!r}: {reason}")
        del self.ready[name]
        registration = self.registrations.pop(name, None)
        if registration is not None:
            registration.dispose()
        self._note(name, "failed", reason)

    def _register_all(self, order: Sequence[str]) -> None:
        """Register from the innermost outwards, since the last one registered stands outermost."""
        for name in reversed(order):
            if name in self.ready:
                self._contained(name, self._register)
        for name in order:
            if name in self.registrations:
                self._contained(name, self.hooks.announce)

    def _contained(self, name: str, step: Callable[[str], None]) -> None:
        try:
            step(name)
        except PluginError as exc:
            if name in self.given:
                raise
            self._fail(name, str(exc))
        except BaseException as exc:
            if not is_fault(exc):
                raise
            self._fail(name, f"{type(exc).__name__}: {error_message(exc)}")

    def _register(self, name: str) -> None:
        shadow = name in self.config.plugins.shadow
        self.registrations[name] = self.hooks.register(self.ready[name], name, shadow=shadow, announce=False)
        if name in self.own and callable(getattr(self.ready[name], "close", None)):
            self.hooks.on_departure(name, self.ready[name].close)
        hooks = self.hooks.hooks_of(name)
        if not hooks and name not in self.given:
            raise PluginError("it implements no hook; mark its functions with @hookimpl")
        self._note(name, "loaded", "shadow" if shadow else "")
        self.statuses[name] = attrs.evolve(self.statuses[name], hooks=hooks)

    def _check_required(self, selection: Selection) -> None:
        for requirement in selection.required:
            status = self.statuses.get(requirement.name)
            if status is None or status.status == "missing":
                continue  # reported as unknown, with a suggestion
            if status.status != "loaded":
                self.problems.append(f"required plugin {requirement.text!r} is {status.status}: {status.reason}")
            elif requirement.name in self.config.plugins.shadow:
                what = f"required plugin {requirement.text!r} is in plugins.shadow"
                self.problems.append(f"{what}, so it would not be obeyed; take it out of one of the two")
            elif not requirement.met_by(status.version):
                where = f"installed is {status.distribution}" if status.distribution else "it was passed in"
                version = status.version or "without a version"
                self.problems.append(f"required plugin {requirement.text!r}: {where} {version}; upgrade it")
