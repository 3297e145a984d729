"""Placeholders in commands, prompts and headers (A.4.4). What is put in is never looked at again for placeholders."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from dshhooks.bridge.dialects import PLACEHOLDERS, Rules

__all__ = ["header_value", "prompt_text", "splits", "substitute"]

_PLACEHOLDER: Final = re.compile(r"\$\{(" + "|".join(PLACEHOLDERS) + r")\}")
_VARIABLE: Final = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_ARGUMENTS: Final = re.compile(r"\$ARGUMENTS")
_ESCAPABLE: Final = re.compile(r"\\\$|\$ARGUMENTS")
_SPLITTING: Final = re.compile(r"[\s;&|<>()$`\"'*?\[\]#~\\]")


def substitute(text: str, values: Mapping[str, str]) -> str:
    """Put values in for the known ``${NAME}`` tokens that have one; everything else stays as it is.

    For arguments of the exec form and for shells which have no such variables; POSIX shell text is left to the shell.
    """
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def splits(command: str, values: Mapping[str, str]) -> str | None:
    """Return the first placeholder outside quotes whose value a shell would take apart, or ``None``."""
    quote = ""
    position = 0
    while position < len(command):
        character = command[position]
        if character == "\\" and quote != "'":
            position += 1
        elif quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif found := _PLACEHOLDER.match(command, position):
            if _SPLITTING.search(values.get(found[1], "")):
                return found[0]
            position = found.end() - 1
        position += 1
    return None


def prompt_text(template: str, payload: str, *, append: bool) -> str:
    """Put the payload's JSON in for every ``$ARGUMENTS``.

    Args:
        template: The hook's prompt.
        payload: Compact JSON.
        append: The dialect appends the payload to a prompt without the token, and reads ``\\$`` as a plain ``$``.
    """
    if not append:
        return _ARGUMENTS.sub(lambda _found: payload, template)
    used = False

    def put(found: re.Match[str]) -> str:
        nonlocal used
        if found[0] == "\\$":
            return "$"
        used = True
        return payload

    text = _ESCAPABLE.sub(put, template)
    return text if used else f"{text}\n{payload}"


def header_value(template: str, environ: Mapping[str, str], rules: Rules, allowed: Collection[str] | None) -> str:
    """Put variables into a header.

    Args:
        template: The value as configured.
        environ: Where variables come from.
        rules: Those of the hook's dialect: what happens without a list of allowed names.
        allowed: The hook's ``allowedEnvVars``; others become empty.

    Raises:
        ValueError: The value holds a line break, which would start another header.
    """

    def put(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if allowed is None and rules.header_variables == "known":
            return environ.get(name, found[0])
        return environ.get(name, "") if name in (allowed or ()) else ""

    value = _VARIABLE.sub(put, template)
    if "\r" in value or "\n" in value:
        raise ValueError("the value of a header must not hold a line break")
    return value
