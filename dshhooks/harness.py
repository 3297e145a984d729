"""The composition root: configuration, plugins, registry."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from dshhooks.config import HarnessConfig, load_config
from dshhooks.engine.hooks import Hooks
from dshhooks.plugins.manager import Plugins, load_plugins
from dshhooks.tools.registry import ToolRegistry

__all__ = ["Harness", "build"]


class Harness:
    """A host: its hooks, the plugins it loaded, and the tools.

    Made by :meth:`open`. Attributes: ``config``, ``hooks``, ``plugins``, ``tools``.
    """

    def __init__(self, config: HarnessConfig, hooks: Hooks, plugins: Plugins, tools: ToolRegistry) -> None:
        self.config, self.hooks, self.plugins, self.tools = config, hooks, plugins, tools

    @classmethod
    @asynccontextmanager
    async def open(
        cls, config: str | os.PathLike[str] | HarnessConfig | None = None, *, plugins: Sequence[Any] = ()
    ) -> AsyncIterator[Harness]:
        """Start a host, and stop it when the block ends.

        Args:
            config: A file, a configuration, or ``None`` for the nearest file upwards from the working directory.
            plugins: Plugin objects or classes that take part beside the installed ones, the first one outermost.

        Raises:
            ConfigError: The configuration is wrong.
            StartError: The configured plugins do not allow a start; fail closed.
        """
        harness = build(config, plugins)
        try:
            harness.plugins.raise_problems()
            yield harness
        finally:
            harness.hooks.close()


def build(config: str | os.PathLike[str] | HarnessConfig | None = None, plugins: Sequence[Any] = ()) -> Harness:
    """Compose a host without refusing to start, so that its load report can be shown.

    Raises:
        ConfigError: The configuration is wrong.
        PluginError: A plugin object passed in does not fit.
    """
    if not isinstance(config, HarnessConfig):
        config = load_config(config)
    hooks = Hooks()
    hooks.set_policy_combination(config.tools.policy_combination)
    tools = ToolRegistry(hooks)
    tools.approvals.policy = config.approval.policy
    try:
        return Harness(config, hooks, load_plugins(hooks, config, plugins), tools)
    except BaseException:
        hooks.close()  # those that were registered by then may hold something
        raise
