"""Turning an entry point, or a class, into a plugin object with its options."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from typing import Any

import attrs

from dshhooks.engine.faults import is_fault
from dshhooks.plugins.discovery import Found
from dshhooks.structure import structure
from hookspecs.errors import ConfigError, PluginError

__all__ = ["import_plugin", "instantiate"]


def import_plugin(found: Found) -> Any:
    """Import what the entry point names.

    Raises:
        PluginError: Importing it failed, in whatever way.
    """
    try:
        return found.entry_point.load()
    except BaseException as exc:
        if not is_fault(exc):
            raise
        raise PluginError(f"importing {found.entry_point.value!r} failed: {type(exc).__name__}: {exc}") from exc


def instantiate(plugin: Any, name: str, options: Mapping[str, Any] | None, source: str) -> Any:
    """Call a plugin class with its structured options; any other object is the plugin itself.

    Args:
        plugin: What the entry point named, or what was passed in.
        name: The plugin's name; its options are ``[plugin.<name>]``.
        options: That table; ``None`` when there is none.
        source: The file, for messages.

    Raises:
        ConfigError: An option is wrong, or there are options for a plugin that takes none.
        PluginError: The class could not be called.
    """
    kind = _options_class(plugin) if isinstance(plugin, type) else None
    if kind is None:
        if options:
            raise ConfigError(f"{source}: plugin.{name}: this plugin takes no options, got: {', '.join(options)}")
        return _called(plugin, name) if isinstance(plugin, type) else plugin
    return _called(plugin, name, structure(dict(options or {}), kind, f"plugin.{name}", source))


def _called(plugin: type, name: str, *arguments: Any) -> Any:
    try:
        return plugin(*arguments)
    except BaseException as exc:
        if not is_fault(exc):
            raise
        raise PluginError(f"calling {plugin.__qualname__} failed: {type(exc).__name__}: {exc}") from exc


def _options_class(plugin: type) -> type | None:
    """Return the attrs class ``__init__`` takes first, or ``None``."""
    parameters = list(inspect.signature(plugin).parameters.values())
    if not parameters:
        return None
    try:
        hints = typing.get_type_hints(plugin.__init__)
    except Exception as exc:
        raise PluginError(f"the annotations of {plugin.__qualname__}.__init__ cannot be resolved: {exc}") from exc
    hint = hints.get(parameters[0].name)
    return hint if isinstance(hint, type) and attrs.has(hint) else None
