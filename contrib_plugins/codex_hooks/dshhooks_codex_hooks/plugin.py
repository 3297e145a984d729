"""The plugin: the shared one, for files in the dialect of Codex."""

from __future__ import annotations

from dshhooks.bridge import HookPlugin

__all__ = ["CodexHooks"]


class CodexHooks(HookPlugin):
    """Runs ``~/.codex/hooks.json`` and the project's ``.codex/hooks.json``.

    Args:
        options: The table ``[plugin.codex-hooks]``.
    """

    dialect = "codex"
    name = "codex-hooks"
