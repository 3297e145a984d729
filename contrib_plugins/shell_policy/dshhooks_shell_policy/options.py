"""The plugin's options, table ``[plugin.shell-policy]``."""

from __future__ import annotations

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
    max_length: int = attrs.field(default=65536, validator=attrs.validators.gt(0))
    max_depth: int = attrs.field(default=40, validator=attrs.validators.in_(range(5, 61)))
    second_opinion: bool = True
