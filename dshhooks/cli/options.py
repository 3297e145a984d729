"""The switches every command that runs hooks accepts, before or after its name."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click
from attrs import evolve, frozen

if TYPE_CHECKING:
    from dshhooks.config import HarnessConfig

__all__ = ["Switches", "stdin_text", "stdout_kept", "switch_options", "with_plugin_switches",
           "with_switches"]  # fmt: skip


@frozen
class Switches:
    """What the command line says about configuration and plugins; ``None`` is silence."""

    config: str | None = None
    plugins: str | None = None
    disable: str | None = None
    no_plugins: bool = False

    def over(self, other: Switches) -> Switches:
        """Return these switches, with ``other`` where these are silent."""
        return Switches(
            self.config if self.config is not None else other.config,
            self.plugins if self.plugins is not None else other.plugins,
            self.disable if self.disable is not None else other.disable,
            self.no_plugins or other.no_plugins,
        )

    def load(self) -> HarnessConfig:
        """Read the configuration and apply the switches over the environment's.

        Raises:
            ConfigError: The configuration is wrong.
        """
        from dshhooks.config import load_config

        return self.apply(load_config(self.config))

    def apply(self, config: HarnessConfig) -> HarnessConfig:
        """Return ``config`` with these switches over its own."""
        from dshhooks.config import with_switches as switched

        return switched(config, self.plugins, self.disable, self.no_plugins)


def switch_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the switches to a command and hand them over as ``switches``."""

    @click.option("--config", metavar="FILE", help="Use this configuration file.")
    @_plugin_options
    @functools.wraps(function)
    def command(*args: Any, config: Any, switches: Switches, **kwargs: Any) -> Any:
        return function(*args, switches=evolve(switches, config=config), **kwargs)

    return command


def _plugin_options(function: Callable[..., Any]) -> Callable[..., Any]:
    @click.option("--plugins", metavar="A,B", multiple=True, help="Only these plugins of the configured ones.")
    @click.option("--disable", metavar="A,B", multiple=True, help="Not these plugins.")
    @click.option("--no-plugins", is_flag=True, help="No plugins at all.")
    @functools.wraps(function)
    def command(*args: Any, plugins: Any, disable: Any, no_plugins: bool, **kwargs: Any) -> Any:
        return function(*args, switches=Switches(None, _joined(plugins), _joined(disable), no_plugins), **kwargs)

    return command


def _joined(said: Sequence[str]) -> str | None:
    """Join comma lists; said twice counts twice (``--disable a --disable b``), not said at all is silence."""
    return ",".join(said) if said else None


def with_switches(function: Callable[..., Any]) -> Callable[..., Any]:
    """Like :func:`switch_options` for a verb: what was said before the verb's name counts too."""

    return switch_options(_with_those_before(function))


def with_plugin_switches(function: Callable[..., Any]) -> Callable[..., Any]:
    """Like :func:`with_switches` for a verb whose ``--config`` is another file: the configuration is named before."""
    return _plugin_options(_with_those_before(function))


def _with_those_before(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def command(*args: Any, switches: Switches, **kwargs: Any) -> Any:
        before = click.get_current_context().obj or Switches()
        return function(*args, switches=switches.over(before), **kwargs)

    return command


def stdout_kept(for_document: bool) -> contextlib.AbstractContextManager[Any]:
    """While plugins run: what they print goes to stderr when stdout is for one JSON document."""
    return contextlib.redirect_stdout(sys.stderr) if for_document else contextlib.nullcontext()


def stdin_text() -> str:
    """Return all of stdin, which is UTF-8 whatever the locale says; empty when it is closed.

    Raises:
        ValueError: It is not UTF-8.
    """
    return sys.stdin.buffer.read().decode("utf-8") if sys.stdin is not None else ""
