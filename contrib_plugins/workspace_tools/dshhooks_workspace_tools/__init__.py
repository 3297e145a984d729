"""``workspace-tools``: ``bash``, ``read_file``, ``write_file`` and ``list_files`` in one folder."""

from __future__ import annotations

from .errors import WorkspaceError
from .options import WorkspaceOptions
from .plugin import WorkspaceTools

__all__ = ["WorkspaceError", "WorkspaceOptions", "WorkspaceTools"]
