"""What the clients call their tools and arguments, and what plugins know them as.

Plugins are written against the names of ``workspace_tools``: ``bash``, ``read_file``, ``write_file``, ``list_files``
with ``command``, ``path`` and ``content``. Names of other programs come from the one table the bridge imports with
(``bridge/foreign.py``), by way of Claude's names (``bridge/names.py``). Both are read when a tool is no shell.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["arguments_for", "said_twice", "tool_name"]

# Whatever runs a command, by names that no table of the bridge has.
_SHELLS: Final = frozenset({
    "bash", "shell", "local_shell", "shell_command", "container.exec", "exec_command", "execute_bash",
    "execute_command", "run_command", "run_shell_command", "terminal", "monitor", "process.start", "powershell",
})  # fmt: skip
# Editors that are one tool: its `command` says what it does, and is none of a shell.
_EDITORS: Final = frozenset({"file_editor", "str_replace_editor", "str_replace_based_edit_tool"})
_EDITS: Final = {"view": "read_file", "create": "write_file"}
_TABLES: Final = {"gemini": "gemini", "qwen": "gemini", "copilot": "copilot", "copilot-native": "copilot"}
_OPENCODE: Final = {"read": "read_file", "write": "write_file", "edit": "edit_file", "list": "list_files",
                    "webfetch": "web_fetch"}  # fmt: skip
_SEARCH_REPLACE: Final = ("search_replace", "edit")

# Our argument, and what the clients' tools call it. Which of two a tool reads is the client's secret: see `said_twice`.
_PATHS: Final = ("file_path", "filePath", "absolute_path", "notebook_path", "dir_path")
_ARGUMENTS: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "bash": {"command": ("cmd", "script")},
    "read_file": {"path": _PATHS},
    "write_file": {"path": _PATHS, "content": ("contents", "file_text")},
    "edit_file": {"path": _PATHS},
    "list_files": {"path": _PATHS},
}


def tool_name(client: str, native: str, arguments: Mapping[str, Any]) -> str:
    """Return the name plugins know a client's tool by; a tool nobody has a name for keeps its own.

    Args:
        client: The client.
        native: Its own name of the tool.
        arguments: Those of the call: some tools are several.
    """
    if native.startswith("mcp__"):
        return native
    short = native.removeprefix("file_system.") if client == "vibe" else native
    if short.casefold() in _SHELLS:
        return "bash"
    if short in _EDITORS:
        return _EDITS.get(str(arguments.get("command")), "edit_file")
    if client == "opencode":
        return _OPENCODE.get(short, native)
    if short in _SEARCH_REPLACE:
        return "edit_file"
    from dshhooks.bridge.names import PLUGIN_NAMES

    # A client may use the very names: they are ours then, whatever stood before them.
    return PLUGIN_NAMES.get(_claudes(client, short), short if short in PLUGIN_NAMES.values() else native)


def _claudes(client: str, short: str) -> str:
    """Return Claude's name of a tool; clients that use its names need no table."""
    if client not in _TABLES:
        return short
    from dshhooks.bridge.foreign import CLIENTS

    return CLIENTS[_TABLES[client]].tools.get(short) or short


def arguments_for(name: str, native: Any) -> Any:
    """Return a tool's arguments with ours beside the client's; what is no object stays what it is."""
    known = _ARGUMENTS.get(name)
    if known is None or not isinstance(native, dict):
        return native
    found = {ours: native[key] for ours, keys in known.items() for key in reversed(keys) if key in native}
    if name == "bash":
        found |= _as_text(found.get("command", native.get("command")))
    return {**native, **found} if found else native


def said_twice(name: str, native: Mapping[str, Any]) -> str:
    """Return the names under which arguments say one thing in two ways; empty: there is nothing of the kind.

    A model may add `cmd` to the `command` of a tool that takes no notice of it. Clients that let the additional one
    pass (Gemini, Qwen Code, Copilot) run the one, and a policy that judged the other would have judged nothing.
    """
    for ours, theirs in _ARGUMENTS.get(name, {}).items():
        keys = [key for key in (ours, *theirs) if key in native]
        if any(native[key] != native[keys[0]] for key in keys[1:]):
            return " and ".join(f"`{key}`" for key in keys)
    return ""


def _as_text(command: Any) -> dict[str, str]:
    """Return a command that came as words as the line a shell would take: policies look for text in text."""
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        return {}
    from shlex import join

    return {"command": join(command)}
