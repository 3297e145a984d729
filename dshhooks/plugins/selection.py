"""Which installed plugins take part, in which order, and why the others do not (decisions.md 7.15, 7.20)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from attrs import define, field

from dshhooks.config import HarnessConfig
from dshhooks.plugins.discovery import Found
from hookspecs.errors import PluginError

__all__ = ["Requirement", "Selection", "parse_requirement", "select"]


@define
class Requirement:
    """One entry of ``plugins.required``: a name and the versions that will do."""

    text: str
    name: str
    accepts: object  # packaging's SpecifierSet

    def met_by(self, version: str) -> bool:
        """Say whether a version will do; pre-releases count when they are what is installed."""
        return self.accepts.contains(version, prereleases=True)  # type: ignore[attr-defined,no-any-return]


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


def select(config: HarnessConfig, found: Mapping[str, Found], extra: Iterable[str] = ()) -> Selection:
    """Apply the configuration and its switches to what is installed.

    Args:
        config: File, environment and command line.
        found: The installed plugins.
        extra: Names of plugin objects passed in; options may be given for them.
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
            if name not in found and not (name in extra and where in ("plugin.<name>", "plugins.shadow")):
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
        PluginError: Not a requirement.
    """
    from packaging.requirements import InvalidRequirement
    from packaging.requirements import Requirement as Parsed

    try:
        parsed = Parsed(text)
    except InvalidRequirement as exc:
        raise PluginError(f"{source}: plugins.required: {text!r} is no requirement like 'name>=1.0': {exc}") from exc
    return Requirement(text, parsed.name, parsed.specifier)
