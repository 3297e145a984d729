"""Hook files written for another program's names of tools: which hooks miss a tool of this host (spec A.3, aliases)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dshhooks.bridge.events import TOOL_EVENTS
from dshhooks.bridge.model import Configuration
from dshhooks.bridge.names import PLUGIN_NAMES

__all__ = ["unmatched"]


def unmatched(configuration: Configuration, tool: str, aliases: Sequence[str], plugin: str) -> Iterator[str]:
    """Yield a sentence for each matcher that fits a tool's name in Claude Code and not the one the tool has here.

    Args:
        configuration: The hooks.
        tool: The tool's name here.
        aliases: Further names of it that matchers are tested against.
        plugin: Whose table of options has the aliases.
    """
    elsewhere = [theirs for theirs, ours in PLUGIN_NAMES.items() if ours == tool]
    for event in sorted(TOOL_EVENTS) if elsewhere else ():
        for group in configuration.by_event.get(event, ()):
            meant = [name for name in elsewhere if group.test.matches(name)]
            if meant and not group.test.matches(tool, aliases):
                yield (
                    f"{group.source.file}#{group.path}: the matcher {group.matcher!r} means {meant[0]}, which is "
                    f"called {tool} here, so its hooks do not run for that tool; in dshhooks.toml set "
                    f'plugin.{plugin}.tool_aliases.{tool} = ["{meant[0]}"]'
                )
