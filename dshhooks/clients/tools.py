"""What the clients call their tools and arguments, and what plugins know them as.

Plugins are written against the names of ``workspace_tools``: ``bash``, ``read_file``, ``write_file``, ``list_files``
with ``command``, ``path`` and ``content``. Names of other programs come from the one table the bridge imports with
(``bridge/foreign.py``), by way of Claude's names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dshhooks.bridge.foreign import CLIENTS as FOREIGN

__all__ = ["arguments_for", "tool_name"]

# Claude's names, and those shells go by that no table of the bridge has.
_OURS: Final[Mapping[str, str]] = {
    "Bash": "bash", "Read": "read_file", "Write": "write_file", "Edit": "edit_file", "MultiEdit": "edit_file",
    "NotebookEdit": "edit_file", "LS": "list_files", "Glob": "glob", "Grep": "grep", "WebFetch": "web_fetch",
    "WebSearch": "web_search", "Task": "task", "TodoWrite": "todo_write",
}  # fmt: skip
_SHELLS: Final = frozenset({
    "bash", "shell", "local_shell", "exec_command", "execute_bash", "execute_command", "run_command",
    "run_shell_command", "terminal",
})  # fmt: skip
_TABLES: Final = {"gemini": "gemini", "qwen": "gemini", "copilot": "copilot", "copilot-native": "copilot"}
_OPENCODE: Final = {"read": "read_file", "write": "write_file", "edit": "edit_file", "list": "list_files",
                    "webfetch": "web_fetch"}  # fmt: skip

# Our argument, and what the clients' tools call it. Theirs counts where both are there: it is what the tool reads.
_PATHS: Final = ("file_path", "filePath", "absolute_path", "notebook_path", "dir_path")
_ARGUMENTS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "bash": {"command": ("cmd", "script")},
    "read_file": {"path": _PATHS},
    "write_file": {"path": _PATHS, "content": ("contents", "file_text")},
    "edit_file": {"path": _PATHS},
    "list_files": {"path": _PATHS},
}


def tool_name(client: str, native: str) -> str:
    """Return the name plugins know a client's tool by; a tool nobody has a name for keeps its own."""
    if native.startswith("mcp__"):
        return native
    short = native.rpartition(".")[2] if client == "vibe" else native
    if short.casefold() in _SHELLS:
        return "bash"
    if client == "opencode":
        return _OPENCODE.get(short, native)
    table = _TABLES.get(client)
    claude = FOREIGN[table].tools.get(short) if table is not None else None
    return _OURS.get(claude or short, native)


def arguments_for(name: str, native: Any) -> Any:
    """Return a tool's arguments with ours beside the client's; what is no object stays what it is."""
    known = _ARGUMENTS.get(name)
    if known is None or not isinstance(native, dict):
        return native
    found = {ours: native[key] for ours, keys in known.items() for key in reversed(keys) if key in native}
    return {**native, **found} if found else native
