"""What one call of ``dshhooks handle`` was asked: the client, its bytes, where, and under which configuration.

The variables in them, and what the client wrote, are shown nowhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

from hookspecs.plain import Plain

__all__ = ["HandleRequest", "Setting"]

# The variables that choose configuration and plugins (api.md "Configuration").
VARIABLES = ("DSHHOOKS_CONFIG", "DSHHOOKS_PLUGINS", "DSHHOOKS_DISABLE", "DSHHOOKS_NO_PLUGINS")

_NONE: Final[Mapping[str, str]] = MappingProxyType({})


class Setting(Plain):
    """What selects the host a request is answered by; equal settings may share one.

    Args:
        config: The configuration file; ``None``: the nearest one upwards from ``cwd``.
        plugins: A comma list: only these.
        disable: A comma list: not these.
        no_plugins: No plugin at all.
        cwd: The absolute folder relative things are relative to.
        environment: Those of :data:`VARIABLES` that are set; never logged.
    """

    config: str | None = None
    plugins: str | None = None
    disable: str | None = None
    no_plugins: bool = False
    cwd: str = "."
    environment: Mapping[str, str] = _NONE

    def __repr__(self) -> str:
        """Return what may stand in a log."""
        return f"<{type(self).__name__} {self.config} {self.plugins} {self.disable} {self.no_plugins} {self.cwd}>"


class HandleRequest(Plain):
    """One event of a client, unread.

    Args:
        client: The client's name, or ``"auto"``.
        stdin: What the client wrote, as it is.
        environment: The variables that recognising the client and reading the event need; never logged.
        cwd: The absolute folder the command was started in.
        budget: Seconds until an answer must be there; ``None``: well before that client's own time-out.
        on_error: What a gating event ends as when policy cannot be evaluated.
        approve: Pass a plugin's ``Allow()`` on as the client's approval.
        setting: Configuration and plugin switches.
    """

    client: str
    stdin: bytes
    environment: Mapping[str, str] = _NONE
    cwd: str = "."
    budget: float | None = None
    on_error: Literal["deny", "allow"] = "deny"
    approve: bool = False
    setting: Setting = Setting()

    def __repr__(self) -> str:
        """Return what may stand in a log: nothing of what the client wrote."""
        return f"<{type(self).__name__} {self.client} {self.cwd} {self.setting!r}>"
