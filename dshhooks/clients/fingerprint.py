"""The cached list of plugins: who implements which hook, for as long as nothing that list was made from has changed.

A list is only kept when every enabled plugin could be loaded, and it is only used while the configuration, the
installed distributions and every file the plugins were imported from are the very files they were: so a plugin that
would not load any more is noticed although this event does not need it (decisions.md 7.26).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable
from typing import Any, Final

from dshhooks import __version__
from dshhooks.clients import place
from dshhooks.clients.request import Setting
from dshhooks.clients.state import cache_folder
from hookspecs.plain import Plain

__all__ = ["TICK", "Listed", "PluginList", "config_files", "facts_of", "load", "plugin_files", "save", "unchanged",
           "younger"]  # fmt: skip

_FORM: Final = 1  # of the file; another one is not read
_KEPT: Final = 64
_PRIME: Final = (1 << 61) - 1
# A file's time is that of the kernel's last tick, some milliseconds behind the clock.
TICK: Final = 50_000_000

Facts = dict[str, "list[int] | None"]


class Listed(Plain):
    """One plugin that could be loaded.

    Args:
        name: Its name.
        target: What its entry point names: ``"package.module:attribute"``.
        hooks: The hooks it implements.
        options: Its table of the configuration.
        shadow: Whether it answers without being obeyed.
    """

    name: str
    target: str
    hooks: tuple[str, ...]
    options: dict[str, Any]
    shadow: bool


class PluginList(Plain):
    """Every enabled plugin, outermost first, and what else of the configuration an event needs."""

    plugins: tuple[Listed, ...]
    combination: str
    approval: str
    source: str


def load(setting: Setting) -> PluginList | None:
    """Return the cached list, or ``None`` when there is none that still holds."""
    try:
        with open(_file(setting), encoding="utf-8") as file:
            document = json.load(file)
        if document["form"] != _FORM or document["key"] != _key(setting) or not unchanged(document["facts"]):
            return None
        plugins = tuple(Listed(**{**row, "hooks": tuple(row["hooks"])}) for row in document["plugins"])
        return PluginList(plugins, document["combination"], document["approval"], document["source"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # missing, torn or foreign: then it is made again


def save(setting: Setting, plugins: PluginList, facts: Facts) -> None:
    """Keep a list. Without success that costs the next event time and nothing else."""
    rows = [
        {"name": row.name, "target": row.target, "hooks": row.hooks, "options": row.options, "shadow": row.shadow}
        for row in plugins.plugins
    ]
    document = {"form": _FORM, "key": _key(setting), "facts": facts, "plugins": rows,
                "combination": plugins.combination, "approval": plugins.approval, "source": plugins.source}  # fmt: skip
    file = _file(setting)
    draft = f"{file}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as out:
            json.dump(document, out)
        os.replace(draft, file)
        _forget_oldest(os.path.dirname(file))
    except (OSError, ValueError, TypeError):  # TypeError: a date in an option's table has no JSON
        return


def _forget_oldest(folder: str) -> None:
    """Keep the lists that were made last: there is one for each folder somebody ever worked in."""
    lists = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("plugins-")]
    for path in sorted(lists, key=os.path.getmtime)[:-_KEPT]:
        os.unlink(path)


def _key(setting: Setting) -> list[Any]:
    """Return what a list belongs to.

    A relative root in a plugin's options makes the folder part of it, and a plugin that has its hooks by a variable the
    environment: as a name only, for it holds keys.
    """
    environment = place.identity((), b"", place.split_environment(os.environb)[0], b"")
    return [
        __version__, sys.version, sys.prefix, sys.path, setting.config, setting.plugins, setting.disable,
        setting.no_plugins, setting.cwd, sorted(setting.environment.items()), environment,
    ]  # fmt: skip


def _file(setting: Setting) -> str:
    # The name only has to spread; that the list is the right one is what its key says.
    name = int.from_bytes(json.dumps(_key(setting)).encode()) % _PRIME
    return os.path.join(cache_folder(), f"plugins-{name:016x}.json")


# -- facts -------------------------------------------------------------------------------------------------------------


def facts_of(paths: Iterable[str]) -> Facts:
    """Return what is to stay as it is of each path; ``None`` for one that is not there."""
    return {path: _fact(path) for path in paths}


def younger(facts: Facts, since: int) -> str:
    """Return a path that was written after ``since``, a time in nanoseconds less :data:`TICK`; empty: none was."""
    # A time still to come says nothing: somebody's clock was wrong when the file was written.
    now = time.time_ns()
    return next((path for path, fact in facts.items() if fact is not None and since < fact[0] <= now), "")


def unchanged(facts: Facts) -> bool:
    """Say whether every path is what it was."""
    return all(_fact(path) == fact for path, fact in facts.items())


def _fact(path: str) -> list[int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    # The change time as well: it tells of a file put back under its old size and modification time.
    return [found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode]


def config_files(setting: Setting) -> list[str]:
    """Return every file whose appearance, change or loss would mean another configuration."""
    named = setting.config or setting.environment.get("DSHHOOKS_CONFIG")
    if named:
        return [os.path.join(setting.cwd, named)]
    found, folder = [], os.path.realpath(setting.cwd)
    while True:
        found += [os.path.join(folder, "dshhooks.toml"), os.path.join(folder, "pyproject.toml")]
        parent = os.path.dirname(folder)
        if parent == folder:
            return found
        folder = parent


def plugin_files(before: Iterable[str]) -> list[str]:
    """Return what the installed plugins are made of: metadata, and each file imported since ``before``.

    Args:
        before: The names of the modules there were before plugins were loaded.
    """
    from importlib.metadata import distributions

    known = set(before)
    paths = [path or "." for path in sys.path]
    for distribution in distributions():
        place = getattr(distribution, "_path", None)
        if place is not None:
            paths += [str(place), os.path.join(str(place), "entry_points.txt")]
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        # Ours are imported in any case, and another version of ours is another key.
        if name not in known and isinstance(file, str) and name.partition(".")[0] not in ("dshhooks", "hookspecs"):
            paths.append(file)
    return list(dict.fromkeys(paths))
