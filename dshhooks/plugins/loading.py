"""Turning an entry point, or a class, into a plugin object with its options."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from dshhooks.engine.faults import is_fault
from hookspecs.errors import ConfigError, PluginError, error_message

if TYPE_CHECKING:
    from dshhooks.plugins.discovery import Found

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
        what = f"{type(exc).__name__}: {error_message(exc)}"
        raise PluginError(f"importing {found.entry_point.value!r} failed: {what}") from exc


def instantiate(plugin: Any, name: str, options: Mapping[str, Any] | None, source: str, *, proven: bool = False) -> Any:
    """Call a plugin class with its structured options; any other object is the plugin itself.

    Args:
        plugin: What the entry point named, or what was passed in.
        name: The plugin's name; its options are ``[plugin.<name>]``.
        options: That table; ``None`` when there is none.
        source: The file, for messages.
        proven: It was made from these options before, so that no options need no structuring, nor what imports it.

    Raises:
        ConfigError: An option is wrong, or there are options for a plugin that takes none.
        PluginError: The class could not be called.
    """
    if not isinstance(plugin, type):
        _refuse_options(name, options, source)
        return plugin
    taken = _options_parameter(plugin)
    if taken is None:
        _refuse_options(name, options, source)
        return _called(plugin)
    parameter, kind = taken
    structured: Any = _structured(kind, name, options, source, proven)
    if parameter.kind is parameter.KEYWORD_ONLY:
        return _called(plugin, **{parameter.name: structured})
    return _called(plugin, structured)


def _structured(kind: type, name: str, options: Mapping[str, Any] | None, source: str, proven: bool) -> Any:
    if proven and not options:
        try:
            return kind()
        except BaseException as exc:
            if not is_fault(exc):
                raise
            # Not as proven as that: structuring says what is wrong.
    from dshhooks.structure import structure  # a plugin whose options are proven has nothing to structure

    return structure(dict(options or {}), kind, f"plugin.{name}", source)


def _refuse_options(name: str, options: Mapping[str, Any] | None, source: str) -> None:
    if options:
        raise ConfigError(f"{source}: plugin.{name}: this plugin takes no options, got: {', '.join(map(str, options))}")


def _called(plugin: type, *arguments: Any, **keywords: Any) -> Any:
    try:
        return plugin(*arguments, **keywords)
    except BaseException as exc:
        if not is_fault(exc):
            raise
        raise PluginError(f"calling {plugin.__qualname__} failed: {type(exc).__name__}: {error_message(exc)}") from exc


def _options_parameter(plugin: type) -> tuple[inspect.Parameter, type] | None:
    """Return the parameter of ``__init__`` that takes the options, and their attrs class; ``None`` without one."""
    try:
        parameters = list(inspect.signature(plugin).parameters.values())
    except (ValueError, TypeError):  # a class written in C tells nothing about its arguments
        return None
    if not parameters:
        return None
    kind = _options_class(_hints(plugin).get(parameters[0].name))
    return (parameters[0], kind) if kind is not None else None


def _options_class(hint: Any) -> type | None:
    """Return the attrs class behind ``Options`` or ``Options | None``."""
    members = [member for member in typing.get_args(hint) if member is not type(None)]
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        hint = members[0] if len(members) == 1 else None
    return hint if isinstance(hint, type) and attrs.has(hint) else None


def _hints(plugin: type) -> dict[str, Any]:
    init: Any = plugin.__init__  # type: ignore[misc]  # read, not called
    try:
        try:
            return typing.get_type_hints(init)
        except NameError:
            # attrs writes __init__ into a namespace of its own, where the names of the plugin's module are not known.
            return typing.get_type_hints(init, localns=vars(sys.modules[plugin.__module__]))
    except Exception as exc:
        raise PluginError(f"the annotations of {plugin.__qualname__}.__init__ cannot be resolved: {exc}") from exc
