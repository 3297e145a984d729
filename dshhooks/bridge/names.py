"""What plugins know the tools of Claude Code by: the names of ``workspace-tools``, and others in the same style."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["PLUGIN_NAMES"]

PLUGIN_NAMES: Final[Mapping[str, str]] = {
    "Bash": "bash", "Read": "read_file", "Write": "write_file", "Edit": "edit_file", "MultiEdit": "edit_file",
    "NotebookEdit": "edit_file", "LS": "list_files", "Glob": "glob", "Grep": "grep", "WebFetch": "web_fetch",
    "WebSearch": "web_search", "Task": "task", "TodoWrite": "todo_write",
}  # fmt: skip
