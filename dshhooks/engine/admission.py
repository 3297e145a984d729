"""Who may come in: what a plugin is called, and whether its functions have a form their hooks can call."""

from __future__ import annotations

import inspect
import types
from collections.abc import Collection
from typing import Any

from dshhooks.engine.plan import async_form
from hookspecs.errors import PluginError, error_message
from hookspecs.markers import Authority, HookMeta

__all__ = ["instantiate", "own_name", "refuse_misfit", "refuse_unmarked", "refuse_value"]

# What somebody hands over who meant its contents, or its namesake.
_VALUES = frozenset({str, bytes, bool, int, float, list, tuple, dict, set, frozenset})

# Nobody runs a generator that these return: an observer would go unnoticed, a guard would block everything.
_SILENT = (Authority.OBSERVE, Authority.CHECKPOINT, Authority.REFUSE)


def instantiate(plugin: type) -> object:
    """Call a plugin class without arguments.

    Raises:
        PluginError: It raised.
    """
    try:
        return plugin()
    except (Exception, SystemExit) as exc:
        raise PluginError(f"plugin class {plugin.__name__} could not be called: {error_message(exc)}") from exc


def refuse_value(plugin: object) -> None:
    """Refuse what can only be a mistake: a name, ``None``, a list where a plugin object belongs.

    Raises:
        PluginError: It is a plain value, which would be registered and never do anything.
    """
    if plugin is None or type(plugin) in _VALUES:
        shown = repr(plugin)[:80]
        raise PluginError(f"{shown} is no plugin: give a module, an instance or a class with hookimpls, each by itself")


def own_name(plugin: object) -> str:
    """Return a plugin's name when nobody gave it one: its ``name``, ``__name__``, or class; runs none of its code."""
    for attribute in ("name", "__name__"):
        value = inspect.getattr_static(plugin, attribute, None)
        if isinstance(value, types.MemberDescriptorType):  # a slot: reading it runs nobody's code
            value = getattr(plugin, attribute, None)
        if isinstance(value, str) and value:
            return value
    return type(plugin).__name__


def refuse_unmarked(name: str, plugin: object, hooks: Collection[str]) -> None:
    """Refuse an object without hookimpls whose functions are called like hooks: a policy nobody asks lets all run.

    Raises:
        PluginError: ``@hookimpl`` was forgotten on all of them.
    """
    lost = [hook for hook in hooks if hook in dir(plugin) and callable(getattr(plugin, hook))]
    if lost:
        raise PluginError(f"plugin {name!r} would never be called: put @hookimpl on {', '.join(lost)}")


def refuse_misfit(plugin: str, hook: str, meta: HookMeta, function: Any, wrapper: bool) -> None:
    """Refuse an implementation of a form its hook cannot call.

    Raises:
        PluginError: It would have to wait where nobody can, stands where nobody may, or would never run.
    """
    where = f"plugin {plugin!r}, hook {hook!r}"
    if meta.synchronous and (async_form(function) or _waits(function, meta)):
        raise PluginError(f"{where}: this hook is called synchronously; use a plain `def`")
    if wrapper and not meta.wrappable:
        raise PluginError(f"{where}: a {meta.authority.value} hook takes no wrappers; nobody may stand in front of it")
    silent = meta.authority in _SILENT or (meta.authority is Authority.CONTRIBUTE and meta.synchronous)
    if silent and not wrapper and not meta.generator and _yields(function):
        raise PluginError(f"{where}: a function with `yield` would never run here; return instead")


def _waits(function: Any, meta: HookMeta) -> bool:
    return inspect.iscoroutinefunction(function) or (meta.generator and inspect.isasyncgenfunction(function))


def _yields(function: Any) -> bool:
    return inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)
