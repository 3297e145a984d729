"""Commands that are dshhooks itself: what ``dshhooks install`` writes into the settings of other agents."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_own_command"]

# By the script, or by the verb when somebody wrote the entry by hand.
_OWN: Final = re.compile(r"dshhooks[/\\]clients[/\\]lean\.py|dshhooks['\"]?\s+handle(?:\s|$)")


def is_own_command(command: object) -> bool:
    """Whether a command of a hook file asks dshhooks, this installation of it or another.

    The bridge must not run it: its answer would be that of the plugins that are asked anyway, the bridge among them,
    which would run it again, and so on.
    """
    return isinstance(command, str) and _OWN.search(command) is not None
