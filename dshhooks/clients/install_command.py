"""The command that is written into a client's settings."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from hookspecs.errors import HarnessError

__all__ = ["argv_of", "is_ours_alone", "or_no", "or_nothing", "shell_command", "words_of"]


_OR_NO: Final = "|| exit 2"
_OR_NOTHING: Final = "|| exit 0"


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


def or_no(command: str) -> str:
    """Return it so that the shell says no where it cannot say anything.

    An environment that was removed, an interpreter that is killed: exit codes 127 and 137 let tools run in most
    clients. Exit 2 does not, and what the shell itself says on stderr is the reason (observed.md 2).
    """
    return f"{command} {_OR_NO}"


def or_nothing(command: str) -> str:
    """Return it so that nothing comes of what cannot be run.

    For events that are not held up. Python itself ends with 2 where our file is gone, which at the end of a turn means
    that it goes on: Codex and Gemini would for ever. Our own answers to these events are on stdout.
    """
    return f"{command} {_OR_NOTHING}"


def is_ours_alone(command: str) -> bool:
    """Say whether a command runs dshhooks and nothing beside it, however it is called.

    One that somebody has made of several is theirs as well: neither replaced nor removed.
    """
    lexer = shlex.shlex(_bare(command), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:
        return False
    if "\n" in command.strip() or any(not set(word) - set("();<>|&") for word in words):
        return False
    handled = pairwise(words)
    return any(word.replace("\\", "/").endswith("dshhooks/clients/lean.py") for word in words) or any(
        Path(word).stem == "dshhooks" and verb == "handle" for word, verb in handled
    )


def _bare(command: str) -> str:
    return command.strip().removesuffix(_OR_NO).removesuffix(_OR_NOTHING)


def words_of(command: str) -> list[str]:
    """Return the program and its arguments; none if no shell would read it."""
    try:
        return shlex.split(_bare(command))
    except ValueError:
        return []
