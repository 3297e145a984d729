"""The typed decisions about prompts, turns and model requests; their public home is decisions.py (spec/core.md 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from hookspecs.decisions import _content, _content_or_missing, _contexts, _text
from hookspecs.json import MISSING, Missing
from hookspecs.record import Record

if TYPE_CHECKING:
    from hookspecs.values import Content, HookContext, MessageSource

__all__ = ["AllowPrompt", "BlockPrompt", "ContinueTurn", "FailRequest", "RetryRequest", "SteeringReason", "StopTurn"]


def _source(_instance: object, _attribute: object, value: Any) -> None:
    if isinstance(value, type) or not isinstance(getattr(value, "kind", None), str):
        raise TypeError(f"source must be a message source such as PluginSource('name'), not {type(value).__name__}")


def _reason(_instance: object, _attribute: object, value: Any) -> None:
    if value is not None and not isinstance(value, SteeringReason):
        raise TypeError(f"ContinueTurn(reason=...) must be a SteeringReason, not {type(value).__name__}")


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
