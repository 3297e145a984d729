"""Every typed decision a hook can return; those about turns and prompts are defined in turn_decisions.py.

Constructors check types, not JSON: a block that holds something no log could keep is found when the result is
materialized, and fails the call there (decisions.md 7.5).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from hookspecs.json import MISSING, Missing
from hookspecs.record import Record

if TYPE_CHECKING:
    from hookspecs.turn_decisions import AllowPrompt as AllowPrompt
    from hookspecs.turn_decisions import BlockPrompt as BlockPrompt
    from hookspecs.turn_decisions import ContinueTurn as ContinueTurn
    from hookspecs.turn_decisions import FailRequest as FailRequest
    from hookspecs.turn_decisions import RetryRequest as RetryRequest
    from hookspecs.turn_decisions import SteeringReason as SteeringReason
    from hookspecs.turn_decisions import StopTurn as StopTurn
    from hookspecs.values import Content, ContentBlock, HookContext

__all__ = ["Accept", "Allow", "AllowPrompt", "ApprovalOutcome", "Ask", "Block", "BlockPrompt", "ContinueTurn", "Deny",
           "FailRequest", "PostToolDecision", "PreToolDecision", "RetryRequest", "SteeringReason",
           "StopTurn"]  # fmt: skip


def _text(instance: object, attribute: Any, value: Any) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{type(instance).__name__}({attribute.name}=...) must be a str, not {type(value).__name__}")


def _text_or_none(instance: object, attribute: Any, value: Any) -> None:
    if value is not None:
        _text(instance, attribute, value)


# values.py is imported on first use: `from dshhooks import Deny` should not pay for every message class.
def _content(value: str | Sequence[ContentBlock]) -> Content:
    from hookspecs.values import as_content

    return as_content(value)


def _content_or_missing(value: Any) -> Any:
    return value if value is MISSING else _content(value)


def _contexts(value: Sequence[HookContext]) -> tuple[HookContext, ...]:
    if not value and isinstance(value, (list, tuple)):
        return ()
    from hookspecs.values import HookContext

    if not isinstance(value, (list, tuple)):
        raise TypeError(f"contexts must be a sequence of HookContext, not {type(value).__name__}")
    for index, item in enumerate(value):
        if not isinstance(item, HookContext):
            raise TypeError(f"contexts[{index}] must be a HookContext, not {type(item).__name__}")
    return tuple(value)


@frozen(eq=False, repr=False)
class Allow(Record):
    """Let the call go on."""


@frozen(eq=False, repr=False)
class Deny(Record):
    """Refuse the call; ``reason`` is what the model is told."""

    reason: str = field(validator=_text)


@frozen(eq=False, repr=False)
class Ask(Record):
    """Let a person decide; ``reason`` is what they are shown."""

    reason: str | None = field(default=None, validator=_text_or_none)


@frozen(eq=False, repr=False)
class Accept(Record):
    """Keep the result, perhaps with other content or another value.

    Args:
        content: Replaces what the model sees; the value programs see stays.
        value: Replaces the canonical value of a success; content is rendered from it again. ``None`` is JSON null.
        contexts: Added to the conversation after the result.
    """

    content: Content | Missing = field(default=MISSING, converter=_content_or_missing)
    value: Any = MISSING
    contexts: tuple[HookContext, ...] = field(default=(), converter=_contexts)


@frozen(eq=False, repr=False)
class Block(Record):
    """Turn the result into a failure whose content is ``feedback``."""

    feedback: Content = field(converter=_content)
    contexts: tuple[HookContext, ...] = field(default=(), converter=_contexts)


class ApprovalOutcome(Enum):
    """What came of asking a person. Closed: any other answer counts as ``UNAVAILABLE``."""

    ALLOWED_ONCE = "allowed-once"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    UNAVAILABLE = "unavailable"


PreToolDecision = Allow | Deny | Ask
PostToolDecision = Accept | Block


def __getattr__(name: str) -> Any:
    # On first use, like values.py: a tool call is judged without them, and they cost more than the judging.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from hookspecs import turn_decisions

    return getattr(turn_decisions, name)
