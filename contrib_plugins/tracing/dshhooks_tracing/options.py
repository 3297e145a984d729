"""The options of the plugin: the table ``[plugin.tracing]``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from attrs import Attribute, field, frozen

__all__ = ["OPERATIONS", "TracingOptions"]

OPERATIONS: Final = (
    "turn", "step", "inference", "compaction", "tool_call", "gate_wait", "tool_execution", "journal_append",
)  # fmt: skip
"""Every operation there is, by its name in ``operations``."""

# A turn writes its log dozens of times; whoever wants to see that asks for it.
_DEFAULT: Final = tuple(name for name in OPERATIONS if name != "journal_append")


def _operations(_options: object, attribute: Attribute[Any], value: tuple[str, ...]) -> None:
    unknown = [name for name in value if name not in OPERATIONS]
    if unknown:
        raise ValueError(f"{attribute.name} may name {', '.join(OPERATIONS)}, not {unknown[0]!r}")


def _flag(_options: object, attribute: Attribute[Any], value: bool) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{attribute.name} must be true or false, not {value!r}")


def _count(_options: object, attribute: Attribute[Any], value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{attribute.name} must be a whole number of at least 1, not {value!r}")


def _names(_options: object, attribute: Attribute[Any], value: Mapping[str, str]) -> None:
    for route, name in value.items():
        if not isinstance(name, str) or not name:
            raise ValueError(f"{attribute.name}.{route} must be a provider's name, not {name!r}")


@frozen(kw_only=True)
class TracingOptions:
    """What becomes a span, and what is on it.

    Args:
        operations: The operations that become spans; what runs inside one that does not belongs to the span around it.
        capture_content: Put prompts, answers, instructions, arguments and results on spans. They may hold secrets, so
            by default they stay out.
        max_content: Characters of content in one attribute, at most; beyond, texts are cut and old messages left out.
        agent_name: What the agent is called that has no name of its own, which is every agent but a subagent.
        providers: The conventions' name of a provider, for provider routes that are called something else.
    """

    operations: tuple[str, ...] = field(default=_DEFAULT, converter=tuple, validator=_operations)
    capture_content: bool = field(default=False, validator=_flag)
    max_content: int = field(default=8192, validator=_count)
    agent_name: str = ""
    providers: Mapping[str, str] = field(factory=dict, converter=dict, validator=_names)
