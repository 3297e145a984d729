"""How what was sent becomes messages in the log: prefix contexts baked in, the others beside it (spec/core.md 4.7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dshhooks.session.event import APPEND
from dshhooks.session.events import Envelope, PrefixContext, SteeringMessage, UserMessage
from dshhooks.session.log import Session
from hookspecs.json import MISSING
from hookspecs.values import Content, HookContext, MessageSource, TextBlock

__all__ = ["record_context", "record_prompt", "record_steering"]

_DELIMITER = TextBlock("---")


def record_prompt(
    session: Session, content: Content, source: MessageSource, contexts: Iterable[HookContext], meta: Any
) -> None:
    """Append a prompt as ``user/message`` and its separate contexts behind it."""
    contexts = tuple(contexts)
    baked, envelope = _baked(content, contexts)
    session.append(UserMessage(baked, source, envelope, meta), surface_op=APPEND)
    _record_separate(session, contexts)


def record_steering(
    session: Session, turn: int, content: Content, source: MessageSource, contexts: Iterable[HookContext], meta: Any
) -> None:
    """Append ``steering/message`` and its separate contexts behind it."""
    contexts = tuple(contexts)
    baked, envelope = _baked(content, contexts)
    session.append(SteeringMessage(turn, baked, source, envelope, meta), surface_op=APPEND)
    _record_separate(session, contexts)


def record_context(session: Session, context: HookContext) -> None:
    """Append one context as its own ``user/message``."""
    session.append(UserMessage(context.content, context.source, meta=context.meta), surface_op=APPEND)


def _record_separate(session: Session, contexts: Iterable[HookContext]) -> None:
    for context in contexts:
        if context.placement == "separate":
            record_context(session, context)


def _baked(content: Content, contexts: tuple[HookContext, ...]) -> tuple[Content, Any]:
    prefix = [context for context in contexts if context.placement == "prompt-prefix"]
    if not prefix:
        return content, MISSING
    blocks = tuple(block for context in prefix for block in context.content)
    shown: Any = [PrefixContext(context.source, context.meta) for context in prefix]
    return (*blocks, _DELIMITER, *content), Envelope(content, shown)
