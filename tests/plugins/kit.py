"""Real distributions without pip: a folder on ``sys.path`` with modules and ``.dist-info`` folders."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from dshhooks.config import HarnessConfig, PluginsConfig, PluginSwitches
from dshhooks.engine.hooks import Hooks
from dshhooks.plugins.discovery import Found, discover
from dshhooks.plugins.manager import Plugins, load_plugins
from dshhooks.tools.registry import ToolRegistry

__all__ = ["DENY", "OPTIONS", "TOOL", "Site", "config"]

_numbers = itertools.count()

# A plugin class `Plugin` that denies every call; what it is called can be seen in the reason.
DENY = """
from dshhooks import Deny, hookimpl

class Plugin:
    @hookimpl
    def tools_pre_execute(self, execution):
        return Deny(__name__)
"""

# A plugin class `Plugin` with options.
OPTIONS = """
from __future__ import annotations
from attrs import field, frozen, validators
from dshhooks import hookimpl

@frozen
class Options:
    attempts: int = field(default=3, validator=validators.ge(1))
    codes: list[str] = field(factory=list)

class Plugin:
    def __init__(self, options: Options) -> None:
        self.options = options

    @hookimpl
    def tools_pre_execute(self, execution):
        return None
"""

# A plugin class `Plugin` that brings a tool `greet`.
TOOL = """
from dshhooks import hookimpl, tool

@tool
async def greet(name: str) -> str:
    \"\"\"Say hello.\"\"\"
    return f"hello {name}"

class Plugin:
    @hookimpl
    def register_tools(self, registry):
        registry.register(greet)
"""


class Site:
    """A folder of installed distributions; ``monkeypatch`` puts it in front of ``sys.path``, ``None`` leaves it out."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch | None = None) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.names: set[str] = set()
        if monkeypatch is not None:
            monkeypatch.syspath_prepend(str(folder))

    def install(
        self,
        name: str,
        source: str = DENY,
        *,
        value: str = "{module}:Plugin",
        version: str | None = "1.0",
        distribution: str | None = None,
        entry_points: str | None = None,
    ) -> str:
        """Install a distribution with one plugin, and return the name of its module."""
        module = f"fake_plugin_{next(_numbers)}"
        (self.folder / f"{module}.py").write_text(dedent(source), encoding="utf-8")
        text = f"[dshhooks]\n{name} = {value.format(module=module)}\n" if entry_points is None else entry_points
        self.distribution(distribution or f"dist-{module}", version, text)
        self.names.add(name)
        return module

    def distribution(self, name: str, version: str | None, entry_points: str, metadata: str | None = None) -> Path:
        """Write a ``.dist-info`` folder; ``version=None`` leaves the version out of the metadata."""
        info = self.folder / f"{name.replace('-', '_')}-{version or '0'}.dist-info"
        info.mkdir()
        if metadata is None:
            metadata = f"Metadata-Version: 2.1\nName: {name}\n" + (f"Version: {version}\n" if version else "")
        (info / "METADATA").write_text(metadata, encoding="utf-8")
        (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")
        importlib.invalidate_caches()
        return info

    def found(self) -> dict[str, Found]:
        """Discover, and leave out what the environment of the tests has installed."""
        return {name: found for name, found in discover().items() if name in self.names}

    def load(
        self, settings: HarnessConfig | None = None, objects: Sequence[Any] = (), hooks: Hooks | None = None
    ) -> tuple[Plugins, Hooks]:
        """Load the installed plugins into fresh hooks with a registry of tools."""
        hooks = hooks or Hooks()
        ToolRegistry(hooks)
        return load_plugins(hooks, settings or HarnessConfig(), objects, self.found()), hooks

    def statuses(self, settings: HarnessConfig | None = None, objects: Sequence[Any] = ()) -> dict[str, str]:
        """Load, and return the status by name."""
        plugins, _ = self.load(settings, objects)
        return {row.name: row.status for row in plugins.report()}


def config(
    *,
    options: Mapping[str, Any] | None = None,
    only: Sequence[str] | None = None,
    off: Sequence[str] = (),
    none: bool = False,
    **plugins: Any,
) -> HarnessConfig:
    """A configuration: ``[plugins]`` as keywords, ``options`` by plugin, ``only``, ``off`` and ``none`` as switches."""
    switches = PluginSwitches(None if only is None else tuple(only), tuple(off), none)
    return HarnessConfig(PluginsConfig(**plugins), plugin=dict(options or {}), switches=switches, source="test.toml")
