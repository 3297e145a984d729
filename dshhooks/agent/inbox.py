"""What was sent to an agent and not yet taken: two FIFOs and their ledger (spec/core.md 4.2).

Every accepted id ends in exactly one dequeue or discard.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Literal

from attrs import evolve, field, frozen, validators

from dshhooks.tools.outcome import seal_content, seal_contexts, seal_value
from hookspecs.decisions import _contexts
from hookspecs.json import MISSING, freeze
from hookspecs.values import Content, HookContext, MessageId, MessageSource, as_content

__all__ = ["Inbox", "InboxMessage", "Item", "ResolvedInput"]

_ids = itertools.count(1)


@frozen
class ResolvedInput:
    """An input with every default spelled out (decisions.md 7.12).

    Args:
        content: A ``str`` or blocks.
        source: Who says it.
        contexts: Said beside it; none for a non-waking next-step input.
        meta: JSON kept on the durable event, hidden from the model.
        target: ``"next-turn"``: a turn of its own. ``"next-step"``: the running turn, if there is one.
        wakeup: Whether an idle agent starts because of it.
    """

    content: Any
    source: MessageSource
    contexts: Sequence[HookContext] = ()
    meta: Any = MISSING
    target: Literal["next-turn", "next-step"] = field(
        default="next-turn", validator=validators.in_(("next-turn", "next-step"))
    )
    wakeup: bool = True


@frozen
class InboxMessage:
    """An accepted input, as ``agent_inbox_*`` hooks see it."""

    id: MessageId
    content: Content = field(converter=as_content)
    source: MessageSource
    contexts: tuple[HookContext, ...] = field(default=(), converter=_contexts)
    steering: bool = False
    wakeup: bool = True


@frozen
class Item:
    """An accepted input with what hooks do not see."""

    message: InboxMessage
    meta: Any = MISSING


def seal_input(given: ResolvedInput, *, steering: bool) -> Item:
    """Check, detach and freeze an input, and give it an id.

    Raises:
        TypeError: A part is no content, source or context, or is not lossless JSON.
    """
    if not isinstance(getattr(given.source, "kind", None), str) or isinstance(given.source, type):
        raise TypeError(f"source must be a message source such as UserSource(), not {given.source!r}")
    message = InboxMessage(
        MessageId(f"message-{next(_ids)}"),
        seal_content(as_content(given.content)),
        seal_value(given.source),
        seal_contexts(_contexts(given.contexts)),
        steering,
        given.wakeup,
    )
    return Item(message, given.meta if given.meta is MISSING else freeze(given.meta))


class Inbox:
    """The ordinary and the steering FIFO.

    Args:
        tell: ``tell(hook, payload)`` announces an enqueue, dequeue or discard; contained.
    """

    def __init__(self, tell: Callable[[str, Any], None]) -> None:
        self._tell = tell
        self._ordinary: deque[Item] = deque()
        self._steering: deque[Item] = deque()

    def put(self, item: Item) -> None:
        """Take an input in; enqueued before it is announced, so that what an observer sends lands behind it."""
        (self._steering if item.message.steering else self._ordinary).append(item)
        self._tell("agent_inbox_enqueue", item.message)

    def take(self) -> Item:
        """Take the oldest ordinary input out."""
        item = self._ordinary.popleft()
        self._tell("agent_inbox_dequeue", item.message)
        return item

    def take_steering(self) -> Item | None:
        """Take the oldest steering input out, or ``None``."""
        if not self._steering:
            return None
        item = self._steering.popleft()
        self._tell("agent_inbox_dequeue", item.message)
        return item

    @property
    def steering(self) -> bool:
        """Whether steering is pending."""
        return bool(self._steering)

    @property
    def waking(self) -> bool:
        """Whether an ordinary input that wakes the agent is pending."""
        return any(item.message.wakeup for item in self._ordinary)

    def __bool__(self) -> bool:
        return bool(self._ordinary or self._steering)

    def discard(self, *, steering_only: bool = False) -> None:
        """Drop what is pending and announce it: ordinary inputs first, then steering."""
        dropped = [*(() if steering_only else self._ordinary), *self._steering]
        self._steering.clear()
        if not steering_only:
            self._ordinary.clear()
        if dropped:
            self._tell("agent_inbox_discard", tuple(item.message for item in dropped))

    def requeue_steering(self) -> None:
        """Make leftover steering ordinary, in order; no second announcement, its dequeue says ``steering=False``."""
        while self._steering:
            item = self._steering.popleft()
            self._ordinary.append(evolve(item, message=evolve(item.message, steering=False)))
