"""Runs the hook files of Codex inside an agent."""

from __future__ import annotations

from dshhooks_codex_hooks.plugin import CodexHooks

__all__ = ["CodexHooks"]
