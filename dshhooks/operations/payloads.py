"""What each operation is about: known at its start, and added at its finish (spec/operations.md 1.5).

A field marked ``_ADDED`` is filled at the finish. Fields named in ``SAFE`` are plain facts that may be logged;
everything else may hold what a person, a model or a tool said, and is kept out of ``repr``. Most payloads have no
slots: attrs fills a dict faster, and a dict is what :func:`filled` copies.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

import attrs
from attrs import field, frozen

from dshhooks.operations.draft import Drafted, draft_of
from dshhooks.operations.kinds import Operation
from hookspecs.json import MISSING
from hookspecs.model import GenerateOptions, TokenUsage
from hookspecs.values import Content, Message

__all__ = ["PAYLOADS", "CompactionData", "CompactionInput", "CompactionOutput", "GateAnswer", "GateWaitData",
           "InferenceData", "JournalAppendData", "Payload", "StepData", "StreamResult", "ToolCallData",
           "ToolExecutionData", "TurnData", "append_data", "filled", "terminal_fields"]  # fmt: skip


# Marks a field that is filled at the finish.
_ADDED: Final = {"added": True}


def _sequence(values: Iterable[Any] | None) -> tuple[Any, ...] | None:
    return tuple(values) if type(values) is list else values  # type: ignore[return-value]  # judged when frozen


@frozen(slots=False)
class TurnData:
    """A turn: its index in the loop, and the input that opens it."""

    SAFE: ClassVar = ("index",)
    index: int
    input: Message | Content | None = field(default=None, repr=False)


@frozen(slots=False)
class StepData:
    """A step: its index in the turn, from zero."""

    SAFE: ClassVar = ("index",)
    index: int


@frozen
class StreamResult:
    """What the provider said of a stream that ended well: how many tokens it took, and why it stopped."""

    usage: TokenUsage | None = None
    finish: Any = None


@frozen(slots=False)
class InferenceData:
    """A model request, exactly as the provider gets it; then what came back.

    Args:
        request: The request.
        ai_message: What the model said; of a stream that was cut, what arrived.
        stream_result: The provider's metadata, a :class:`StreamResult`; only after a clean end of the stream.
    """

    SAFE: ClassVar = ()
    request: GenerateOptions | Any = field(repr=False)
    ai_message: Message | None = field(default=None, repr=False, kw_only=True, metadata=_ADDED)
    stream_result: Any = field(default=None, repr=False, kw_only=True, metadata=_ADDED)


@frozen
class CompactionInput:
    """What a summary is made of."""

    basis: str = ""
    model_key: str = ""
    fingerprint: str = ""
    transcript: tuple[Message, ...] = field(default=(), repr=False, converter=_sequence)
    max_tokens: int | None = None


@frozen
class CompactionOutput:
    """The summary, and what it was made from and by."""

    basis: str = ""
    model_key: str = ""
    fingerprint: str = ""
    summary: Message | Content | str | None = field(default=None, repr=False)


@frozen(slots=False)
class CompactionData:
    """One attempt to replace the conversation; ``output`` only when it succeeded."""

    SAFE: ClassVar = ("attempt_id",)
    attempt_id: str
    input: CompactionInput | None = field(default=None, repr=False)
    output: CompactionOutput | None = field(default=None, repr=False, kw_only=True, metadata=_ADDED)


@frozen(slots=False)
class ToolCallData:
    """A call the model asked for; then what became of it.

    Args:
        execution_id: Ours; empty when none could be minted.
        call_id: The model's.
        tool_name: Which tool.
        arguments: The raw text the model produced, which may be no JSON; ``MISSING`` when it gave none.
        summary: A bounded line about it: the tool's name, and after its audit more.
        permission_effect: ``"approve"``, ``"deny"``, or empty when no decision was reached.
        permission_reason: Why.
        result: The full result, whatever the transcript keeps of it.
        preview: Its bounded form for display.
        is_error: Whether the model is told of an error.
    """

    SAFE: ClassVar = ("execution_id", "call_id", "tool_name", "permission_effect", "is_error")
    execution_id: str
    call_id: str
    tool_name: str
    arguments: Any = field(default=MISSING, repr=False)
    summary: str = field(default="", repr=False, kw_only=True, metadata=_ADDED)
    permission_effect: str = field(default="", repr=False, kw_only=True, metadata=_ADDED)
    permission_reason: str = field(default="", repr=False, kw_only=True, metadata=_ADDED)
    result: Any = field(default=None, repr=False, kw_only=True, metadata=_ADDED)
    preview: str = field(default="", repr=False, kw_only=True, metadata=_ADDED)
    is_error: bool | None = field(default=None, repr=False, kw_only=True, metadata=_ADDED)


@frozen
class GateAnswer:
    """What somebody answered; ``source`` is ``"user"`` only when a person did, else empty."""

    gate_id: str
    action: str = ""
    values: Any = field(default=MISSING, repr=False)
    source: str = ""


@frozen(slots=False)
class GateWaitData:
    """A wait for somebody's answer; ``answer`` if one came."""

    SAFE: ClassVar = ("gate_id", "gate_kind", "resolver", "effect")
    gate_id: str
    gate_kind: str = ""
    resolver: str = ""
    blocks: Any = field(default=(), repr=False, converter=_sequence)
    effect: str = ""
    answer: GateAnswer | None = field(default=None, repr=False, kw_only=True, metadata=_ADDED)


@frozen(slots=False)
class ToolExecutionData:
    """The approved run of a tool; then its own result, unshaped."""

    SAFE: ClassVar = ("execution_id", "call_id", "tool_name", "is_error")
    execution_id: str
    call_id: str
    tool_name: str
    arguments: Any = field(default=MISSING, repr=False)
    result: Any = field(default=None, repr=False, kw_only=True, metadata=_ADDED)
    preview: str = field(default="", repr=False, kw_only=True, metadata=_ADDED)
    is_error: bool | None = field(default=None, repr=False, kw_only=True, metadata=_ADDED)


@frozen
class JournalAppendData(Drafted):
    """A write to the log: its family (``"event"``, ``"command"``, ``"gate_prepared"``, ``"fence"``) and id, no text."""

    SAFE: ClassVar = ("family", "record_id")
    family: str
    record_id: str


Payload = (
    TurnData
    | StepData
    | InferenceData
    | CompactionData
    | ToolCallData
    | GateWaitData
    | ToolExecutionData
    | JournalAppendData
)

PAYLOADS: Final[dict[Operation, type]] = {
    Operation.TURN: TurnData,
    Operation.STEP: StepData,
    Operation.INFERENCE: InferenceData,
    Operation.COMPACTION: CompactionData,
    Operation.TOOL_CALL: ToolCallData,
    Operation.GATE_WAIT: GateWaitData,
    Operation.TOOL_EXECUTION: ToolExecutionData,
    Operation.JOURNAL_APPEND: JournalAppendData,
}


_AppendDraft: Final = draft_of(JournalAppendData)


def append_data(family: str, record_id: str) -> JournalAppendData:
    """Return the payload of an append: most operations are appends."""
    data = _AppendDraft()
    data.family, data.record_id = family, record_id
    data.__class__ = JournalAppendData
    return data  # type: ignore[no-any-return]  # by now it is one


def filled(payload: Any, terminal: dict[str, Any]) -> Any:
    """Return a payload as it is at the finish: the same one with frozen values in its terminal fields."""
    made = object.__new__(type(payload))
    object.__setattr__(made, "__dict__", vars(payload) | terminal)
    return made


def terminal_fields(payload: Payload) -> frozenset[str]:
    """Return the names of the fields a payload gets at the finish."""
    return _TERMINAL[type(payload)]


def _added(kind: Any) -> frozenset[str]:
    return frozenset(attribute.name for attribute in attrs.fields(kind) if attribute.metadata.get("added"))


_TERMINAL: Final[dict[type, frozenset[str]]] = {kind: _added(kind) for kind in PAYLOADS.values()}
