"""The plugin: four tools over one folder."""

from __future__ import annotations

from typing import Any

from dshhooks import hookimpl

from .actions import Actions
from .definitions import definitions
from .options import WorkspaceOptions

__all__ = ["WorkspaceTools"]

_DEFAULTS = WorkspaceOptions()


class WorkspaceTools:
    """Contributes ``bash``, ``read_file``, ``write_file`` and ``list_files``.

    Args:
        options: The table ``[plugin.workspace-tools]``.

    Raises:
        WorkspaceError: The root is not a folder, or the platform cannot confine paths; the host then reports the plugin
            as failed.
    """

    def __init__(self, options: WorkspaceOptions = _DEFAULTS) -> None:
        self.actions = Actions(options)

    @property
    def root(self) -> str:
        """The workspace's folder, absolute and with links resolved."""
        return self.actions.workspace.root

    @hookimpl
    def register_tools(self, registry: Any) -> None:
        """Register the four tools."""
        for definition in definitions(self.actions):
            registry.register(definition)
