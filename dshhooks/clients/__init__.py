"""The room of other agents: being the hook command inside clients we do not run (api.md "Command line", issue 5)."""

from __future__ import annotations
