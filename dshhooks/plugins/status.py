"""What became of each plugin."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

__all__ = ["PluginStatus", "Status"]

Status = Literal["loaded", "disabled", "failed", "duplicate", "missing"]


@frozen
class PluginStatus:
    """One line of the load report.

    Args:
        name: The entry-point name.
        distribution: The distribution that publishes it; empty for an object passed in, or a missing one.
        version: That distribution's version.
        status: ``loaded``, ``disabled``, ``failed``, ``duplicate`` or ``missing``.
        reason: Why, unless it is simply loaded; ``"shadow"`` for a loaded plugin that is not obeyed.
        hooks: The hooks it implements, sorted.
    """

    name: str
    distribution: str = ""
    version: str = ""
    status: Status = "loaded"
    reason: str = ""
    hooks: tuple[str, ...] = ()
