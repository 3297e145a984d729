"""Messages, content blocks, sources and contexts: the nouns every hook speaks in.

Content blocks and message sources are open unions: each variant is a frozen attrs class whose ``kind`` is its tag,
and a plugin may bring more. An unknown tag read from a log is kept verbatim (decisions.md 3.10).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NewType, Protocol, runtime_checkable

from attrs import field, frozen

from hookspecs.json import MISSING, Missing
from hookspecs.record import Record

__all__ = ["AssistantProvenance", "CallId", "Content", "ContentBlock", "HookContext", "Message", "MessageId",
           "MessageSource", "PluginSource", "ReasoningBlock", "SessionId", "TextBlock", "ToolCallBlock",
           "ToolResultBlock", "UnknownBlock", "UnknownSource", "UserSource", "as_content", "content_text"]  # fmt: skip

CallId = NewType("CallId", str)
SessionId = NewType("SessionId", str)
MessageId = NewType("MessageId", str)


@runtime_checkable
class ContentBlock(Protocol):
    """Anything with a ``kind`` tag: the built-in blocks below and every block a plugin defines."""

    @property
    def kind(self) -> str: ...


@runtime_checkable
class MessageSource(Protocol):
    """Where a message or context came from."""

    @property
    def kind(self) -> str: ...


Content = tuple[ContentBlock, ...]


def as_content(value: str | Sequence[ContentBlock]) -> Content:
    """Return content blocks as a tuple; a ``str`` becomes one text block.

    Raises:
        TypeError: Something in the sequence is not a content block.
    """
    if isinstance(value, str):
        return (TextBlock(value),)
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"content must be a str or a sequence of content blocks, not {type(value).__name__}")
    for index, block in enumerate(value):
        # A class has its tag too: TextBlock for TextBlock(...) must not pass.
        if isinstance(block, type) or not isinstance(getattr(block, "kind", None), str):
            raise TypeError(
                f"content[{index}] is a {type(block).__name__}, not a content block; wrap text in TextBlock(...)"
            )
    return tuple(value)


def content_text(content: Sequence[ContentBlock]) -> str:
    """Return the text blocks joined by newlines; any other block shows as ``[<kind> content]`` (spec/core.md 3.6)."""
    return "\n".join(block.text if isinstance(block, TextBlock) else f"[{block.kind} content]" for block in content)


@frozen(eq=False, repr=False)
class TextBlock(Record):
    """Visible text."""

    kind: ClassVar[str] = "text"
    text: str


@frozen(eq=False, repr=False)
class ReasoningBlock(Record):
    """The model's thinking, kept apart from visible text."""

    kind: ClassVar[str] = "reasoning"
    text: str


@frozen(eq=False, repr=False)
class ToolCallBlock(Record):
    """A tool call the model asked for; ``arguments`` is the raw JSON text it produced."""

    kind: ClassVar[str] = "tool-call"
    id: str
    name: str
    arguments: str


@frozen(eq=False, repr=False)
class ToolResultBlock(Record):
    """The answer to a tool call."""

    kind: ClassVar[str] = "tool-result"
    tool_call_id: str
    content: Content = field(converter=as_content)
    is_error: bool = False


@frozen(eq=False, repr=False)
class UnknownBlock(Record):
    """A block whose tag nobody here knows; written back exactly as it was read."""

    kind: str
    data: Any


@frozen(eq=False, repr=False)
class UserSource(Record):
    """A person."""

    kind: ClassVar[str] = "user"


@frozen(eq=False, repr=False)
class PluginSource(Record):
    """A plugin, by its entry-point name."""

    kind: ClassVar[str] = "plugin"
    plugin: str = ""


@frozen(eq=False, repr=False)
class UnknownSource(Record):
    """A source whose tag nobody here knows; written back exactly as it was read."""

    kind: str
    data: Any


@frozen(eq=False, repr=False)
class AssistantProvenance(Record):
    """Which provider and model produced an assistant message, and what its adapter needs to replay it."""

    provider: str
    model: str
    replay_state: Any = MISSING


@frozen(eq=False, repr=False)
class Message(Record):
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: Content = field(converter=as_content)
    provenance: AssistantProvenance | Missing = MISSING


def _source(_instance: object, _attribute: object, value: Any) -> None:
    if isinstance(value, type) or not isinstance(getattr(value, "kind", None), str):
        raise TypeError(f"source must be a message source such as PluginSource('name'), not {type(value).__name__}")


def _placement(_instance: object, _attribute: object, value: object) -> None:
    if value not in ("separate", "prompt-prefix"):
        raise ValueError(f"placement must be 'separate' or 'prompt-prefix', not {value!r}")


@frozen(eq=False, repr=False)
class HookContext(Record):
    """Text a hook adds to the conversation beside the thing it was asked about.

    Args:
        content: A ``str`` (one text block) or a sequence of blocks.
        source: Who says it, for example ``PluginSource("my-plugin")``.
        placement: ``"separate"``: its own message; ``"prompt-prefix"``: in front of the prompt (prompts only).
        meta: JSON kept in the log and never shown to the model.
    """

    content: Content = field(converter=as_content)
    source: MessageSource = field(validator=_source)
    placement: Literal["separate", "prompt-prefix"] = field(default="separate", validator=_placement)
    meta: Any = MISSING
