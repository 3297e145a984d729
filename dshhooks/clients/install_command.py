"""The command that is written into a client's settings."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from hookspecs.errors import HarnessError

__all__ = ["argv_of", "shell_command"]


def argv_of(client: str, more: Sequence[str] = ()) -> list[str]:
    """Return the program and its arguments: absolute, so that no PATH and no activated environment is needed.

    Args:
        client: The client's name.
        more: Switches for every call, for example ``("--config", "/etc/dshhooks.toml")``.

    Raises:
        HarnessError: The interpreter does not know where it is.
    """
    if not sys.executable:
        raise HarnessError("this Python does not know its own path, so no command can be written: use another one")
    script = Path(__file__).absolute().with_name("lean.py")
    return [sys.executable, "-I", "-S", str(script), "--client", client, *more]


def shell_command(argv: Sequence[str]) -> str:
    """Return it for a shell, which every client has: quoted where it is needed."""
    return shlex.join(argv)
