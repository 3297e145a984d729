"""The plugins an event is judged by: all of them for a daemon, those with a hook of this event for one process."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dshhooks.clients import fingerprint
from dshhooks.clients.fingerprint import Listed, PluginList
from dshhooks.clients.request import Setting
from dshhooks.engine.faults import is_fault
from dshhooks.engine.hooks import Hooks
from dshhooks.engine.logs import catch_up
from hookspecs.errors import PluginError, error_message

if TYPE_CHECKING:
    from dshhooks.harness import Harness
    from dshhooks.plugins.status import PluginStatus

__all__ = ["Host", "full_host", "lean_host"]

# Where a hook is specified (a module of ``hookspecs``), by its first word.
_DOMAINS = {"tools": "tools", "operation": "operations", "agent": "agent", "subagent": "agent"}


class Host:
    """Hooks with plugins in them.

    Args:
        hooks: The plugins.
        approval: ``"never"``: an ask is a denial.
        listed: Plugins that are enabled and not imported yet.
        source: The configuration's file, for messages.
    """

    def __init__(self, hooks: Hooks, approval: str, listed: Iterable[Listed] = (), source: str = "") -> None:
        self.hooks, self.approval = hooks, approval
        self._listed, self._source = list(listed), source

    def need(self, wanted: Iterable[str]) -> None:
        """Let every enabled plugin with one of these hooks take part.

        Raises:
            PluginError: One cannot be loaded; whatever was to be judged is not judged without it.
        """
        hooks = set(wanted)
        chosen = [row for row in self._listed if hooks.intersection(row.hooks)]
        # The last one registered stands outermost, so from the innermost outwards.
        for row in reversed(chosen):
            self._listed.remove(row)
            self.hooks.register(_made(row, self._source), row.name, shadow=row.shadow, announce=False)

    def close(self) -> None:
        """Take the plugins out."""
        self.hooks.close()


def full_host(setting: Setting) -> Host:
    """Load every enabled plugin.

    Raises:
        ConfigError: The configuration is wrong.
        PluginError: An enabled plugin cannot be loaded.
    """
    harness = _built(setting)
    return Host(harness.hooks, harness.config.approval.policy)


def _built(setting: Setting) -> Harness:
    from pathlib import Path

    from dshhooks.config import load_config, with_switches
    from dshhooks.harness import build

    catch_up()
    config = load_config(setting.config, start=Path(setting.cwd), environ=setting.environment)
    harness = build(with_switches(config, setting.plugins, setting.disable, setting.no_plugins))
    problems = list(harness.plugins.problems)
    bad = [row for row in harness.plugins.report() if row.status not in ("loaded", "disabled")]
    problems += [f"plugin {row.name!r} is {row.status}: {row.reason}" for row in bad if row.reason not in problems]
    if problems:
        harness.hooks.close()
        raise PluginError(f"{'; '.join(problems)} (`dshhooks plugins` shows all of them)")
    return harness


def lean_host(setting: Setting, wanted: Iterable[str]) -> Host:
    """Load the plugins with one of these hooks, by the cached list; without one everything is loaded, and listed.

    Raises:
        ConfigError: The configuration is wrong.
        PluginError: An enabled plugin cannot be loaded, needed here or not.
    """
    cached = fingerprint.load(setting)
    if cached is None:
        return _listing(setting)
    hooks = Hooks(dict.fromkeys(_DOMAINS[hook.partition("_")[0]] for hook in wanted))
    hooks.set_policy_combination(cached.combination)
    host = Host(hooks, cached.approval, cached.plugins, cached.source)
    host.need(wanted)
    return host


def _listing(setting: Setting) -> Host:
    """Load everything and write the list down, unless some of it changed meanwhile: what was read is old then."""
    since = time.time_ns() - fingerprint.TICK
    paths = fingerprint.config_files(setting)
    early = fingerprint.facts_of(paths)
    before = list(sys.modules)
    harness = _built(setting)
    facts = {**fingerprint.facts_of(fingerprint.plugin_files(before)), **early}
    config = harness.config
    listed = tuple(_listed(row, harness) for row in harness.plugins.report() if row.status == "loaded")
    plugins = PluginList(listed, config.tools.policy_combination, config.approval.policy, config.source)
    if not fingerprint.younger(facts, since):
        fingerprint.save(setting, plugins, facts)
    return Host(harness.hooks, config.approval.policy)


def _listed(row: PluginStatus, harness: Harness) -> Listed:
    target, config = harness.plugins.found[row.name].entry_point.value, harness.config
    options = dict(config.plugin.get(row.name, {}))
    return Listed(row.name, target, row.hooks, options, row.name in config.plugins.shadow)


def _made(row: Listed, source: str) -> Any:
    """Import and instantiate a plugin as ``plugins/`` does, without what that needs to find it."""
    from dshhooks.plugins.loading import instantiate

    try:
        module, _, attributes = row.target.partition("[")[0].strip().partition(":")
        plugin: Any = importlib.import_module(module.strip())
        for attribute in filter(None, attributes.strip().split(".")):
            plugin = getattr(plugin, attribute)
        catch_up()
    except BaseException as exc:
        if not is_fault(exc):
            raise
        what = f"{type(exc).__name__}: {error_message(exc)}"
        raise PluginError(f"plugin {row.name!r} is failed: importing {row.target!r} failed: {what}") from exc
    return instantiate(plugin, row.name, row.options or None, source, proven=True)
