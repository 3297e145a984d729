"""The plugin: asks ``classify`` about every call of a shell tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dshhooks import Allow, Ask, Deny, hookimpl

from .decide import classify
from .options import ShellPolicyOptions


class ShellPolicy:
    """Decides about shell tools before they run; has no opinion about other tools."""

    policy_revision = "1"

    def __init__(self, options: ShellPolicyOptions) -> None:
        self.options = options
        self._tools = frozenset(name.casefold() for name in options.tools)

    @hookimpl
    def tools_pre_execute(self, execution: Any) -> Allow | Ask | Deny | None:
        """Return the decision for a shell tool's command, ``None`` for any other tool.

        Args:
            execution: the sealed call; its arguments are read, never changed.

        Returns:
            ``Ask`` when the command is missing or not text: a guard that sees nothing does not open.
        """
        if str(execution.name).casefold() not in self._tools:
            return None
        command = self._command(execution.arguments)
        if command is None:
            return Ask(
                f"the shell tool {execution.name} was called without a text in {self.options.argument!r}, "
                "so the command cannot be judged"
            )
        return classify(command, self.options)

    def _command(self, arguments: Any) -> str | None:
        value = arguments.get(self.options.argument) if isinstance(arguments, Mapping) else None
        if isinstance(value, str):
            return value
        if isinstance(value, (list, tuple)) and value and all(isinstance(word, str) for word in value):
            import shlex

            return shlex.join(value)  # some agents pass the words of the command
        return None
