"""The command line of ``handle``, read as far as it can be understood; imports nothing that costs (api.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dshhooks.clients.denial import CLIENTS

__all__ = ["parsed"]

# Options with a value, and those without; the names are those of the fields they fill.
_VALUES: Final = {
    "--client": "client", "--budget": "budget", "--on-error": "on_error",
    "--config": "config", "--plugins": "plugins", "--disable": "disable",
}  # fmt: skip
_FLAGS: Final = {"--approve": "approve", "--no-plugins": "no_plugins"}
_LISTS: Final = ("plugins", "disable")


def parsed(arguments: Sequence[str]) -> tuple[dict[str, Any], str]:
    """Read the command line as far as it can be understood.

    Returns:
        The options by name, and what is wrong: empty when nothing is. A wrong option stands at its default, so that
        the rest can still say which client is to be denied.
    """
    said: dict[str, Any] = {
        "client": "auto", "budget": None, "on_error": "deny", "approve": False,
        "config": None, "plugins": None, "disable": None, "no_plugins": False,
    }  # fmt: skip
    faults: list[str] = []
    rest = list(arguments)
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        if word in _FLAGS and not equals:
            said[_FLAGS[word]] = True
        elif word not in _VALUES:
            faults.append(f"there is no option {word!r}; known: {', '.join((*_VALUES, *_FLAGS))}")
        elif not equals and not rest:
            faults.append(f"{word} needs a value")
        else:
            faults += _take(said, _VALUES[word], value if equals else rest.pop(0))
    return said, "; ".join(faults)


def _take(said: dict[str, Any], name: str, value: str) -> list[str]:
    if name in _LISTS and said[name] is not None:
        value = f"{said[name]},{value}"  # said twice counts twice
    elif name == "on_error" and value not in ("deny", "allow"):
        return [f"--on-error is deny or allow, not {value!r}"]
    elif name == "budget":
        return _take_budget(said, value)
    elif name == "client" and value not in CLIENTS and value != "auto":
        said[name] = value
        return [f"there is no client {value!r}; known: auto, {', '.join(CLIENTS)}"]
    said[name] = value
    return []


def _take_budget(said: dict[str, Any], value: str) -> list[str]:
    try:
        budget = float(value)
    except ValueError:
        budget = 0.0
    if not 0 < budget <= 3600:  # not a number as well
        return [f"--budget is a number of seconds above 0 and at most 3600, not {value!r}"]
    said["budget"] = budget
    return []
