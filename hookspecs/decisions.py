"""Every typed decision a hook can return.

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
    from hookspecs.values import Content, ContentBlock, HookContext, MessageSource

__all__ = ["Accept", "Allow", "AllowPrompt", "ApprovalOutcome", "Ask", "Block", "BlockPrompt", "ContinueTurn", "Deny",
           "FailRequest", "PostToolDecision", "PreToolDecision", "RetryRequest", "SteeringReason",
           "StopTurn"]  # fmt: skip


def _text(instance: object, attribute: Any, value: Any) -> None:
    if not isinstance(value, str):
        raise TypeError(f"{type(instance).__name__}({attribute.name}=...) must be a str, not {type(value).__name__}")


def _text_or_none(instance: object, attribute: Any, value: Any) -> None:
    if value is not None:
        _text(instance, attribute, value)


def _source(_instance: object, _attribute: object, value: Any) -> None:
    if isinstance(value, type) or not isinstance(getattr(value, "kind", None), str):
        raise TypeError(f"source must be a message source such as PluginSource('name'), not {type(value).__name__}")


def _reason(_instance: object, _attribute: object, value: Any) -> None:
    if value is not None and not isinstance(value, SteeringReason):
        raise TypeError(f"ContinueTurn(reason=...) must be a SteeringReason, not {type(value).__name__}")


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


@frozen(eq=False, repr=False)
class AllowPrompt(Record):
    """Let the prompt in, perhaps rewritten; ``contexts`` replaces the attached ones (spec/core.md 4.7)."""

    content: Content | Missing = field(default=MISSING, converter=_content_or_missing)
    contexts: tuple[HookContext, ...] = field(default=(), converter=_contexts)


@frozen(eq=False, repr=False)
class BlockPrompt(Record):
    """Refuse the prompt."""

    reason: str = field(validator=_text)


@frozen(eq=False, repr=False)
class SteeringReason(Record):
    """Why a turn goes on, in words the model reads at the top of the next step."""

    content: Content = field(converter=_content)
    source: MessageSource = field(validator=_source)


@frozen(eq=False, repr=False)
class StopTurn(Record):
    """End the turn."""


@frozen(eq=False, repr=False)
class ContinueTurn(Record):
    """Run another step in the same turn."""

    reason: SteeringReason | None = field(default=None, validator=_reason)


@frozen(eq=False, repr=False)
class FailRequest(Record):
    """Let the failed model request fail the turn."""


@frozen(eq=False, repr=False)
class RetryRequest(Record):
    """Run the failed model request again as a new step."""


class ApprovalOutcome(Enum):
    """What came of asking a person. Closed: any other answer counts as ``UNAVAILABLE``."""

    ALLOWED_ONCE = "allowed-once"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    UNAVAILABLE = "unavailable"


PreToolDecision = Allow | Deny | Ask
PostToolDecision = Accept | Block
