"""Which installed plugins take part, in which order, and why the others do not (decisions.md 7.15, 7.20)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from attrs import define, field

from dshhooks.config import HarnessConfig
from dshhooks.plugins.discovery import Found
from hookspecs.errors import ConfigError

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

__all__ = ["Requirement", "Selection", "parse_requirement", "select"]


@define
class Requirement:
    """One entry of ``plugins.required``: a name and the versions that will do."""

    text: str
    name: str
    accepts: SpecifierSet

    def met_by(self, version: str) -> bool:
        """Say whether a version will do; pre-releases count when they are what is installed.

        A version that is missing, or none that Python's packaging knows, only does where any version does.
        """
        from packaging.version import InvalidVersion

        try:
            return not len(self.accepts) or (bool(version) and self.accepts.contains(version, prereleases=True))
        except InvalidVersion:
            return False


@define
class Selection:
    """The outcome of selecting.

    Args:
        chosen: Names to load, outermost first.
        disabled: Name to reason, for installed plugins that stay out.
        unknown: Name to reason, for names somewhere in the configuration that are not installed.
        required: The requirements.
    """

    chosen: list[str] = field(factory=list)
    disabled: dict[str, str] = field(factory=dict)
    unknown: dict[str, str] = field(factory=dict)
    required: list[Requirement] = field(factory=list)


# What may name a plugin object the host passes in; it takes part whatever the lists say (decisions.md 7.13).
_OF_OBJECTS = ("plugin.<name>", "plugins.shadow", "plugins.required")


def select(config: HarnessConfig, found: Mapping[str, Found], extra: Iterable[str] = ()) -> Selection:
    """Apply the configuration and its switches to what is installed.

    Args:
        config: File, environment and command line.
        found: The installed plugins.
        extra: Names of plugin objects passed in; they may have options, be shadowed, and be required.

    Raises:
        ConfigError: An entry of ``plugins.required`` is no requirement.
    """
    plugins, switches = config.plugins, config.switches
    selection = Selection(required=[parse_requirement(text, config.source) for text in plugins.required])
    for where, names in (
        ("plugins.enable", plugins.enable or ()),
        ("plugins.disable", plugins.disable),
        ("plugins.shadow", plugins.shadow),
        ("plugins.required", [requirement.name for requirement in selection.required]),
        ("--plugins / DSHHOOKS_PLUGINS", switches.only or ()),
        ("--disable / DSHHOOKS_DISABLE", switches.disable),
        ("plugin.<name>", config.plugin),
    ):
        for name in names:
            if name not in found and not (name in extra and where in _OF_OBJECTS):
                selection.unknown.setdefault(name, f"{where} names it, and it is not installed{_hint(name, found)}")
    listed = list(dict.fromkeys(_listed(config, found)))
    for name in found:
        reason = _why_not(name, config, listed)
        if reason:
            selection.disabled[name] = reason
    selection.chosen = [name for name in listed if name in found and name not in selection.disabled]
    return selection


def _listed(config: HarnessConfig, found: Mapping[str, Found]) -> Iterable[str]:
    if config.plugins.enable is not None:
        return config.plugins.enable
    return found if config.plugins.autoload else ()


def _why_not(name: str, config: HarnessConfig, listed: list[str]) -> str:
    plugins, switches = config.plugins, config.switches
    if switches.none:
        return "all plugins are switched off (--no-plugins / DSHHOOKS_NO_PLUGINS)"
    if name in switches.disable:
        return "disabled by --disable / DSHHOOKS_DISABLE"
    if name in plugins.disable:
        return f"disabled by plugins.disable in {config.source}"
    if name not in listed:
        if plugins.enable is not None:
            return f"not in plugins.enable of {config.source}"
        return f"plugins.autoload is false in {config.source} and plugins.enable does not list it"
    if switches.only is not None and name not in switches.only:
        return "not among --plugins / DSHHOOKS_PLUGINS"
    return ""


def _hint(name: str, found: Mapping[str, Found]) -> str:
    close = difflib.get_close_matches(name, found, 1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; installed: {', '.join(found) or 'none'}"


def parse_requirement(text: str, source: str) -> Requirement:
    """Parse ``"shell-policy>=0.1"``.

    Raises:
        ConfigError: Not a name with versions; extras, markers and URLs say nothing about an installed plugin.
    """
    from packaging.requirements import InvalidRequirement
    from packaging.requirements import Requirement as Parsed

    where = f"{source}: plugins.required: {text!r} is no requirement like 'name>=1.0'"
    try:
        parsed = Parsed(text)
    except InvalidRequirement as exc:
        raise ConfigError(f"{where}: {str(exc).splitlines()[0]}") from exc
    if parsed.extras or parsed.marker or parsed.url:
        raise ConfigError(f"{where}: only a plugin's name and versions can be required; leave the rest out")
    return Requirement(text, parsed.name, parsed.specifier)
