"""What can stand in a session log: the event classes, their triggers and reasons (spec/core.md 5.2).

Each event's ``kind`` is its tag, like every variant's; in the log it is the ``type``. Durable spelling (camelCase,
milliseconds) is the codec's business. Plugins register more types; an unknown one is kept verbatim as
:class:`UnknownEvent`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from attrs import field, frozen

from hookspecs.json import MISSING, Missing
from hookspecs.model import LlmCallConfig, LlmFailure, StreamChunk, TokenUsage, ToolSchema
from hookspecs.values import AssistantProvenance, Content, Message, MessageSource, as_content

__all__ = ["AbortedEnd", "ApprovalAsked", "ApprovalDecided", "ApprovalPolicyChanged", "AssistantChunk",
           "AssistantMessage", "CompletedEnd", "DisposedEnd", "Envelope", "ErrorEnd", "HeaderSnapshot",
           "HookDecision", "InjectionTrigger", "InputRejected", "InterruptedEnd", "LlmRetry", "MaxTokensEnd",
           "MessageTrigger", "PrefixContext", "PromptBlocked", "RejectedEnd", "RequestHeader", "SteeringMessage",
           "StepEnd", "StepStart", "TodoItem", "TodoWrite", "ToolCallStarted", "ToolErrorInfo", "ToolResultRecorded",
           "TurnEnd", "TurnStart", "UnknownEnd", "UnknownEvent", "UnknownTrigger", "UserMessage"]  # fmt: skip


class EventData:
    """The data of an event: ``type`` is the event's type in the log, ``kind`` the same under the name of every tag."""

    __slots__ = ()
    type: ClassVar[str]
    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.kind = cls.type


def tag_of(variant: Any) -> str | None:
    """Return the tag of an event class, whichever of its two names it stands under; ``None`` without one."""
    # A class attribute, so that an event may have a field of the other name.
    tags = (getattr(variant, name, None) for name in ("type", "kind"))
    return next((tag for tag in tags if isinstance(tag, str) and tag), None)


@frozen
class MessageTrigger:
    """A message opened the turn."""

    kind: ClassVar[str] = "message"
    source: MessageSource


@frozen
class InjectionTrigger:
    """An injection between turns opened it; the model does not run."""

    kind: ClassVar[str] = "injection"
    source: MessageSource


@frozen
class UnknownTrigger:
    """A trigger nobody here knows."""

    kind: str
    data: Any


@frozen
class CompletedEnd:
    """The turn came to its natural end."""

    kind: ClassVar[str] = "completed"


@frozen
class AbortedEnd:
    """The turn was cancelled; the durable record says no more than that."""

    kind: ClassVar[str] = "aborted"


@frozen
class ErrorEnd:
    """The turn failed at a step: with a message (and code), or with a model request's failure."""

    kind: ClassVar[str] = "error"
    step: int
    message: str | Missing = MISSING
    code: str | Missing = MISSING
    failure: LlmFailure | Missing = MISSING


@frozen
class DisposedEnd:
    """The agent was disposed while the turn ran."""

    kind: ClassVar[str] = "disposed"


@frozen
class MaxTokensEnd:
    """An answer of the turn was cut at the token limit."""

    kind: ClassVar[str] = "max-tokens"


@frozen
class RejectedEnd:
    """A prompt policy blocked the prompt; the turn has no steps."""

    kind: ClassVar[str] = "rejected"
    reason: str


@frozen
class InterruptedEnd:
    """The process died while the turn ran; written by repair only."""

    kind: ClassVar[str] = "interrupted"


@frozen
class UnknownEnd:
    """A reason nobody here knows."""

    kind: str
    data: Any


TurnTrigger = MessageTrigger | InjectionTrigger | UnknownTrigger
TurnEndReason = (
    CompletedEnd | AbortedEnd | ErrorEnd | DisposedEnd | MaxTokensEnd | RejectedEnd | InterruptedEnd | UnknownEnd
)


@frozen
class TurnStart(EventData):
    """A turn opens; turns count 1, 2, 3, …"""

    type: ClassVar[str] = "turn/start"
    turn: int
    trigger: TurnTrigger


@frozen
class TurnEnd(EventData):
    """The turn closes."""

    type: ClassVar[str] = "turn/end"
    turn: int
    reason: TurnEndReason


@frozen
class StepStart(EventData):
    """A step opens: the boundary up to which its request can be rebuilt from the log."""

    type: ClassVar[str] = "step/start"
    turn: int
    step: int


@frozen
class StepEnd(EventData):
    """The step closes."""

    type: ClassVar[str] = "step/end"
    turn: int
    step: int


@frozen
class PrefixContext:
    """Who put something in front of a prompt."""

    source: MessageSource
    meta: Any = MISSING


@frozen
class Envelope:
    """What a prompt looked like before contexts were put in front of it."""

    display_content: Content = field(converter=as_content)
    prefix_contexts: tuple[PrefixContext, ...] = field(default=(), converter=tuple)


@frozen
class UserMessage(EventData):
    """A message of the user's side: a prompt, a context, an injection."""

    type: ClassVar[str] = "user/message"
    content: Content = field(converter=as_content)
    source: MessageSource
    envelope: Envelope | Missing = MISSING
    meta: Any = MISSING


@frozen
class PromptBlocked(EventData):
    """A prompt that was refused, as it was written."""

    type: ClassVar[str] = "prompt/blocked"
    content: Content = field(converter=as_content)
    source: MessageSource
    reason: str


@frozen
class InputRejected(EventData):
    """An input got no turn: a guard refused it (spec/operations.md 1.13). Stands outside every turn, without its text.

    Args:
        input: Its message id.
        source: Who sent it.
        outcome: ``rejected``; ``cancelled`` for what no person sent.
        reason: That the turn was denied or blocked, and no more.
    """

    type: ClassVar[str] = "input/rejected"
    input: str
    source: MessageSource
    outcome: str
    reason: str


@frozen
class AssistantChunk(EventData):
    """One chunk of the model's stream."""

    type: ClassVar[str] = "assistant/chunk"
    turn: int
    step: int
    chunk: StreamChunk


@frozen
class AssistantMessage(EventData):
    """The model's answer, assembled."""

    type: ClassVar[str] = "assistant/message"
    turn: int
    step: int
    content: Content = field(converter=as_content)
    provenance: AssistantProvenance
    usage: TokenUsage | Missing = MISSING


@frozen
class ToolCallStarted(EventData):
    """The model's call is about to be run; ``arguments`` is the raw text it produced."""

    type: ClassVar[str] = "tool/call"
    turn: int
    step: int
    call_id: str
    name: str
    arguments: str


@frozen
class ToolErrorInfo:
    """Name and code of a tool result's error."""

    name: str
    code: str


@frozen
class ToolResultRecorded(EventData):
    """What the model is told of a call's outcome."""

    type: ClassVar[str] = "tool/result"
    turn: int
    step: int
    call_id: str
    content: Content = field(converter=as_content)
    is_error: bool
    error: ToolErrorInfo | Missing = MISSING
    meta: Any = MISSING


@frozen
class SteeringMessage(EventData):
    """A message taken in between two steps of a turn."""

    type: ClassVar[str] = "steering/message"
    turn: int
    content: Content = field(converter=as_content)
    source: MessageSource
    envelope: Envelope | Missing = MISSING
    meta: Any = MISSING


@frozen
class TodoItem:
    """One entry of a to-do list; ``status`` is ``pending``, ``in_progress`` or ``completed``."""

    content: str
    status: str


@frozen
class TodoWrite(EventData):
    """The whole to-do list; the last one counts."""

    type: ClassVar[str] = "todo/write"
    todos: tuple[TodoItem, ...] = field(converter=tuple)


@frozen
class HeaderSnapshot:
    """Everything of a request that is not in the messages; empty parts are absent, tool order matters."""

    config: LlmCallConfig
    system: str | Missing = MISSING
    tools: tuple[ToolSchema, ...] | Missing = MISSING
    message_prefix: tuple[Message, ...] | Missing = MISSING


@frozen
class RequestHeader(EventData):
    """The header from here on; ``reason`` is ``initial``, ``resume`` or ``change``."""

    type: ClassVar[str] = "request/header"
    header: HeaderSnapshot
    reason: str


@frozen
class ApprovalAsked(EventData):
    """A person was asked (spec/core.md 7); ``digest`` binds the question to what was asked (decisions.md 3.14)."""

    type: ClassVar[str] = "approval/asked"
    id: str
    tool_name: str
    call_id: str | Missing = MISSING
    reason: str | Missing = MISSING
    digest: str | Missing = MISSING


@frozen
class ApprovalDecided(EventData):
    """The answer; ``outcome`` is the wire value of ``ApprovalOutcome``."""

    type: ClassVar[str] = "approval/decided"
    id: str
    outcome: str


@frozen
class ApprovalPolicyChanged(EventData):
    """From here on: ``ask`` or ``never``. May be appended while no turn is open."""

    type: ClassVar[str] = "approval/policy"
    out_of_band: ClassVar[bool] = True
    policy: str


@frozen
class LlmRetry(EventData):
    """A failed request is about to be tried again, after ``delay_ms`` milliseconds."""

    type: ClassVar[str] = "llm/retry"
    turn: int
    step: int
    retry: int
    max_retries: int
    delay_ms: int
    failure: LlmFailure


@frozen
class HookDecision(EventData):
    """What a shadowed plugin would have decided."""

    type: ClassVar[str] = "hook/decision"
    hook: str
    plugin: str
    outcome: str
    detail: str


@frozen
class UnknownEvent:
    """An event whose type nobody here knows; written back exactly as it was read."""

    type: str
    data: Any

    @property
    def kind(self) -> str:
        """The tag: its type."""
        return self.type
