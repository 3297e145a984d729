"""``dshhooks.toml``, or ``[tool.dshhooks]`` in ``pyproject.toml``: found, read and structured.

The nearest file upwards from the working directory counts; ``DSHHOOKS_CONFIG`` names another. Wrong keys and values
are :class:`ConfigError`\\ s that name file and key.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from attrs import evolve, field, frozen, validators

from dshhooks.structure import structure
from hookspecs.errors import ConfigError

__all__ = ["AgentConfig", "ApprovalConfig", "HarnessConfig", "PluginSwitches", "PluginsConfig", "StoreConfig",
           "ToolsConfig", "find_config", "load_config", "parse_config", "switches_from", "with_switches"]  # fmt: skip

FILE_NAME = "dshhooks.toml"


def _positive(instance: object, attribute: Any, value: int) -> None:
    if value < 1:
        raise ValueError(f"must be at least 1, not {value}")


@frozen
class PluginsConfig:
    """``[plugins]``: which plugins take part, and in which order.

    Args:
        enable: Only these, outermost and asked first in front; ``None``: every installed plugin, by name.
        disable: Not these; they are not even imported.
        required: Requirements such as ``"shell-policy>=0.1"``; one that is not met stops the start.
        autoload: False: without ``enable``, nothing is loaded.
        shadow: These decide, are recorded, and are not obeyed.
    """

    enable: list[str] | None = None
    disable: list[str] = field(factory=list)
    required: list[str] = field(factory=list)
    autoload: bool = True
    shadow: list[str] = field(factory=list)


@frozen
class ToolsConfig:
    """``[tools]``: how answers of ``tools_pre_execute`` combine."""

    policy_combination: Literal["strictest", "first"] = "strictest"


@frozen
class ApprovalConfig:
    """``[approval]``: ``"never"`` rejects every ask without asking."""

    policy: Literal["ask", "never"] = "ask"


@frozen
class AgentConfig:
    """``[agent]``: what an agent uses unless it is told otherwise."""

    provider: str | None = None
    model: str | None = None
    prompt_admission: Literal["recorded", "unrecorded"] = "recorded"
    max_parallel_tool_calls: int = field(default=10, validator=[validators.instance_of(int), _positive])


@frozen
class StoreConfig:
    """``[store]``: where sessions are kept; ``None``: in memory."""

    url: str | None = None


@frozen
class PluginSwitches:
    """What the environment and the command line say about plugins, over the file.

    Args:
        only: Narrows the configured list and keeps its order.
        disable: Not these.
        none: No plugin at all.
    """

    only: tuple[str, ...] | None = None
    disable: tuple[str, ...] = ()
    none: bool = False


@frozen
class HarnessConfig:
    """The whole configuration.

    Args:
        plugin: ``[plugin.<name>]``: each plugin's own options, structured when it is loaded.
        switches: What the environment and the command line say over the file.
        source: Where it was read from, for messages.
    """

    plugins: PluginsConfig = field(factory=PluginsConfig)
    tools: ToolsConfig = field(factory=ToolsConfig)
    approval: ApprovalConfig = field(factory=ApprovalConfig)
    agent: AgentConfig = field(factory=AgentConfig)
    store: StoreConfig = field(factory=StoreConfig)
    plugin: dict[str, dict[str, Any]] = field(factory=dict)
    switches: PluginSwitches = field(factory=PluginSwitches)
    source: str = "configuration"


@frozen
class _Document:
    plugins: PluginsConfig = field(factory=PluginsConfig)
    tools: ToolsConfig = field(factory=ToolsConfig)
    approval: ApprovalConfig = field(factory=ApprovalConfig)
    agent: AgentConfig = field(factory=AgentConfig)
    store: StoreConfig = field(factory=StoreConfig)
    plugin: dict[str, dict[str, Any]] = field(factory=dict)


def load_config(
    path: str | os.PathLike[str] | None = None,
    *,
    start: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> HarnessConfig:
    """Find, read and structure the configuration, with the environment's switches applied.

    Args:
        path: A file; ``None``: ``DSHHOOKS_CONFIG``, else the nearest one upwards from ``start``, else defaults.
        start: Where to look from; the working directory by default.
        environ: The environment; ``os.environ`` by default.

    Raises:
        ConfigError: The file is missing, unreadable, not TOML, or has a wrong key or value.
    """
    environ = os.environ if environ is None else environ
    named = path if path is not None else environ.get("DSHHOOKS_CONFIG") or None
    file = Path(named) if named is not None else find_config(start or _here())
    config = parse_config(*_read(file)) if file is not None else HarnessConfig(source="defaults")
    return evolve(config, switches=switches_from(environ))


def find_config(start: Path) -> Path | None:
    """Return the nearest ``dshhooks.toml`` or ``pyproject.toml`` with ``[tool.dshhooks]``, upwards; else ``None``.

    Whatever is called ``dshhooks.toml`` counts, also when it cannot be read: policy must not vanish with a broken link.

    Raises:
        ConfigError: A ``pyproject.toml`` that may configure dshhooks cannot be read.
    """
    for folder in (start, *start.resolve().parents):
        if os.path.lexists(folder / FILE_NAME):
            return folder / FILE_NAME
        project = folder / "pyproject.toml"
        # The name in whatever spelling ([tool.dshhooks], tool = {dshhooks = …}); parsing the others would be waste.
        if os.path.isfile(project) and b"dshhooks" in _bytes(project) and _read(project)[0] is not None:
            return project
    return None


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as exc:
        raise ConfigError(
            f"the working directory is gone ({exc.strerror or exc}); change to one, or name a file"
        ) from exc


def _read(file: Path) -> tuple[Any, str]:
    content = _bytes(file)
    try:
        document = tomllib.loads(content.decode("utf-8-sig"))  # editors on Windows begin a file with a mark
    except (ValueError, RecursionError) as exc:  # not UTF-8, not TOML, a number or a nesting beyond Python's limits
        raise ConfigError(f"{file}: not valid TOML: {exc}") from exc
    if file.name == "pyproject.toml":
        tool = document.get("tool", {})
        return tool.get("dshhooks") if isinstance(tool, dict) else None, f"{file} [tool.dshhooks]"
    return document, str(file)


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except (OSError, ValueError) as exc:  # ValueError: a NUL in the name
        raise ConfigError(f"{file}: cannot be read: {getattr(exc, 'strerror', None) or exc}") from exc


def parse_config(document: Any, source: str = "configuration") -> HarnessConfig:
    """Structure a parsed document; ``None`` and an empty table are the defaults.

    Raises:
        ConfigError: A key or value is wrong; names all of them.
    """
    parsed = structure({} if document is None else document, _Document, "", source)
    return HarnessConfig(
        parsed.plugins, parsed.tools, parsed.approval, parsed.agent, parsed.store, parsed.plugin, source=source
    )


def switches_from(environ: Mapping[str, str]) -> PluginSwitches:
    """Read ``DSHHOOKS_PLUGINS``, ``DSHHOOKS_DISABLE`` and ``DSHHOOKS_NO_PLUGINS``.

    Raises:
        ConfigError: ``DSHHOOKS_NO_PLUGINS`` is neither on nor off.
    """
    return PluginSwitches(
        # Blank is unset: a variable that somebody emptied must not switch every policy off.
        only=split_names(environ.get("DSHHOOKS_PLUGINS", "")) or None,
        disable=split_names(environ.get("DSHHOOKS_DISABLE", "")),
        none=_switch(environ.get("DSHHOOKS_NO_PLUGINS", "")),
    )


def with_switches(config: HarnessConfig, only: str | None, disable: str | None, none: bool) -> HarnessConfig:
    """Return the configuration with a command line's switches over those it has.

    Args:
        config: File and environment.
        only: A comma list: only these; ``None`` is silence, as for the next one.
        disable: A comma list: not these.
        none: No plugin at all.
    """
    given = config.switches
    switches = evolve(
        given,
        only=split_names(only) if only is not None else given.only,
        # The command line wins: naming plugins on it is said later than DSHHOOKS_DISABLE and DSHHOOKS_NO_PLUGINS.
        disable=split_names(disable) if disable is not None else given.disable if only is None else (),
        none=none or (given.none and only is None),
    )
    return evolve(config, switches=switches)


def split_names(text: str) -> tuple[str, ...]:
    """Split a comma list of names; blanks around them and empty entries do not count."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _switch(text: str) -> bool:
    value = text.strip().lower()
    if value in ("", "0", "false", "no", "off"):
        return False
    if value in ("1", "true", "yes", "on"):
        return True
    raise ConfigError(f"DSHHOOKS_NO_PLUGINS={text!r}: use 1 or 0")
