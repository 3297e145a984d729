"""The plugin: the shared one, for files in the dialect of Claude Code."""

from __future__ import annotations

from dshhooks.bridge import HookPlugin

__all__ = ["ClaudeHooks"]


class ClaudeHooks(HookPlugin):
    """Runs ``~/.claude/settings.json`` and the project's ``.claude/settings.json`` and ``settings.local.json``.

    Args:
        options: The table ``[plugin.claude-hooks]``.
    """

    dialect = "claude"
    name = "claude-hooks"
