"""The options of the plugin: the table ``[plugin.timeout]``."""

from __future__ import annotations

from typing import Any, Final

from attrs import Attribute, field, frozen

__all__ = ["MAX_SECONDS", "TimeoutOptions", "check_seconds"]

MAX_SECONDS: Final = 2_147_483.647
"""The longest deadline: 2**31 - 1 milliseconds, a little under 25 days."""


def check_seconds(value: Any, what: str) -> None:
    """Refuse what is not a possible deadline.

    Raises:
        TypeError: Not a number.
        ValueError: Not above 0 and up to :data:`MAX_SECONDS`. Both messages begin with ``what``.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} must be a number of seconds, not {value!r}")
    # Two comparisons that NaN fails, too.
    if not 0 < value <= MAX_SECONDS:
        raise ValueError(f"{what} must be more than 0 and at most {MAX_SECONDS} seconds, not {value!r}")


def _default(_options: object, attribute: Attribute[Any], value: float | None) -> None:
    if value is not None:
        check_seconds(value, attribute.name)


def _overrides(_options: object, attribute: Attribute[Any], value: dict[str, float]) -> None:
    if not isinstance(value, dict):
        raise TypeError(f"{attribute.name} must be a table of tool names and seconds, not {type(value).__name__}")
    for name, seconds in value.items():
        check_seconds(seconds, f"{attribute.name}[{name!r}]")


@frozen(kw_only=True)
class TimeoutOptions:
    """Who gets how long.

    A deadline is looked up in ``tools``, then in the tool's own definition, then in ``default``. There is no value that
    means "no deadline": a tool that needs longer than the others gets a longer one in ``tools``.

    Args:
        default: Seconds for tools that declare none; ``None``: they have no deadline.
        tools: Seconds by tool name; stands above what the tool declares.
    """

    default: float | None = field(default=None, validator=_default)
    tools: dict[str, float] = field(factory=dict, validator=_overrides)
