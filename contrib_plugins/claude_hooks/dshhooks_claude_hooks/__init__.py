"""Runs the hook files of Claude Code inside an agent."""

from __future__ import annotations

from dshhooks_claude_hooks.plugin import ClaudeHooks

__all__ = ["ClaudeHooks"]
