"""The open unions and their variants by tag (decisions.md 3.10).

Each union has a name, the key its tag stands under on the wire, and the class that keeps what nobody knows.
"""

from __future__ import annotations

from typing import Any

from attrs import define

from dshhooks.engine.hooks import Registration
from dshhooks.session import events
from hookspecs import model, values
from hookspecs.errors import HarnessError

__all__ = ["Union", "Variants"]


@define
class Union:
    """One open union.

    Args:
        name: What plugins call it: ``"content-block"``.
        key: Where the tag stands on the wire: ``"type"`` or ``"kind"``.
        unknown: Keeps an unknown variant: ``unknown(tag, data)``.
        members: Tag to class.
    """

    name: str
    key: str
    unknown: type
    members: dict[str, type]


def _tagged(*classes: Any) -> dict[str, type]:
    return {cls.kind: cls for cls in classes}


_EVENTS = (
    events.TurnStart, events.TurnEnd, events.StepStart, events.StepEnd, events.UserMessage, events.PromptBlocked,
    events.InputRejected,
    events.AssistantChunk, events.AssistantMessage, events.ToolCallStarted, events.ToolResultRecorded,
    events.SteeringMessage, events.TodoWrite, events.RequestHeader, events.ApprovalAsked, events.ApprovalDecided,
    events.ApprovalPolicyChanged, events.LlmRetry, events.HookDecision,
)  # fmt: skip


class Variants:
    """The table of variants; ``register_variants`` hooks add to it, and what they added goes when they go."""

    def __init__(self) -> None:
        self.version = 0
        unions = (
            Union("content-block", "type", values.UnknownBlock,
                  _tagged(values.TextBlock, values.ReasoningBlock, values.ToolCallBlock, values.ToolResultBlock)),
            Union("message-source", "kind", values.UnknownSource, _tagged(values.UserSource, values.PluginSource)),
            Union("finish-reason", "kind", model.UnknownFinish,
                  _tagged(model.StopFinish, model.ToolCallsFinish, model.MaxTokensFinish, model.AbortedFinish,
                          model.ErrorFinish)),
            Union("turn-trigger", "kind", events.UnknownTrigger,
                  _tagged(events.MessageTrigger, events.InjectionTrigger)),
            Union("turn-end-reason", "kind", events.UnknownEnd,
                  _tagged(events.CompletedEnd, events.AbortedEnd, events.ErrorEnd, events.DisposedEnd,
                          events.MaxTokensEnd, events.RejectedEnd, events.InterruptedEnd)),
            Union("session-event", "type", events.UnknownEvent, _tagged(*_EVENTS)),
        )  # fmt: skip
        self.unions = {union.name: union for union in unions}

    def register(self, union: str, variant: Any) -> Registration:
        """Add a variant to an open union.

        Args:
            union: ``content-block``, ``message-source``, ``finish-reason``, ``turn-trigger``, ``turn-end-reason`` or
                ``session-event``.
            variant: A frozen attrs class; its tag is ``kind`` (for events, ``type`` will do as well).

        Raises:
            HarnessError: ``UNKNOWN_UNION``, ``INVALID_VARIANT`` or ``DUPLICATE_VARIANT``.
        """
        if union not in self.unions:
            raise HarnessError(f"there is no union {union!r}; there are: {', '.join(self.unions)}", "UNKNOWN_UNION")
        members = self.unions[union].members
        tag = events.tag_of(variant) if union == "session-event" else getattr(variant, "kind", None)
        if not isinstance(tag, str) or not tag or not hasattr(variant, "__attrs_attrs__"):
            raise HarnessError(f"{variant!r}: a variant is an attrs class with a str tag", "INVALID_VARIANT")
        if tag in members:
            raise HarnessError(f"{union} already has a variant {tag!r}", "DUPLICATE_VARIANT")
        members[tag] = variant
        self.version += 1

        def undo() -> None:
            if members.get(tag) is variant:
                del members[tag]
                self.version += 1

        return Registration(undo)
