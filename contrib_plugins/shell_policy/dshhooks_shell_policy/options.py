"""The plugin's options, table ``[plugin.shell-policy]``."""

from __future__ import annotations

from typing import Any

import attrs
from hookspecs.record import Record

DEFAULT_TOOLS = [
    "bash",
    "shell",
    "sh",
    "zsh",
    "run_command",
    "run_shell_command",
    "execute_command",
    "exec_command",
    "local_shell",
    "terminal",
]


# Written here and not taken from attrs.validators, which a hook command would import for these two alone.
def _positive(_options: object, field: Any, value: int) -> None:
    if value <= 0:
        raise ValueError(f"{field.name} must be above 0, not {value}")


def _from_5_to_60(_options: object, field: Any, value: int) -> None:
    if not 5 <= value <= 60:
        raise ValueError(f"{field.name} must be from 5 to 60, not {value}")


@attrs.frozen(eq=False, repr=False)
class ShellPolicyOptions(Record):
    """Options of the shell policy; every field has a default.

    Attributes:
        tools: names of the tools that run shell commands.
        argument: the tool's argument that holds the command.
        allow: patterns of commands that run although the default rules would ask or deny.
        ask: patterns of commands that ask.
        deny: patterns of commands that are denied.
        max_length: longer commands (in characters) ask without being parsed.
        max_depth: nesting of quotes, substitutions and compound commands beyond this asks.
        second_opinion: compare with the tree-sitter grammar and ask when the two disagree about what runs.
    """

    tools: list[str] = attrs.field(factory=lambda: list(DEFAULT_TOOLS))
    argument: str = "command"
    allow: list[str] = attrs.field(factory=list)
    ask: list[str] = attrs.field(factory=list)
    deny: list[str] = attrs.field(factory=list)
    max_length: int = attrs.field(default=65536, validator=_positive)
    max_depth: int = attrs.field(default=40, validator=_from_5_to_60)
    second_opinion: bool = True
