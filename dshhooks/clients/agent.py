"""The agent plugins are given for a client's session: what they may ask of an agent that is not ours.

It has ``id``, ``name``, ``parent``, ``session``, ``options``, ``status``, ``disposed``, ``client`` and ``event``, and
takes what plugins say to an agent. What is steered or injected is collected for the answer to the event at hand; what
the client cannot take is written to the log.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from hookspecs.json import MISSING
from hookspecs.plain import Plain

if TYPE_CHECKING:
    from dshhooks.clients.event import ClientEvent
    from hookspecs.values import HookContext

__all__ = ["ClientAgent", "ClientSession", "Outbox", "collecting", "context_texts"]


class Outbox:
    """What plugins said to the agent while one event was judged.

    Args:
        event: The event.

    Attributes:
        contexts: Texts for the model, in order.
        steering: Texts that also ask for another step.
        cancelled: Whether somebody cancelled the agent.
    """

    def __init__(self, event: ClientEvent) -> None:
        self.event = event
        self.contexts: list[str] = []
        self.steering: list[str] = []
        self.cancelled = False


# By context and not on the agent: a daemon answers several events of one session at once.
_OUTBOX: ContextVar[Outbox | None] = ContextVar("dshhooks_outbox", default=None)


class collecting:
    """While the block runs, what is said to a :class:`ClientAgent` goes into this outbox."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox

    def __enter__(self) -> Outbox:
        self._token = _OUTBOX.set(self._outbox)
        return self._outbox

    def __exit__(self, *_exc: object) -> None:
        _OUTBOX.reset(self._token)


class _Header(Plain):
    cwd: str | None
    id: str


class ClientSession:
    """What is known of a client's session: its id and folder. Its log is the client's own, so there are no events."""

    events: tuple[Any, ...] = ()
    open_turn: int | None = None
    last_turn: int = 0
    request_header: Any = None

    def __init__(self, session_id: str, cwd: str | None) -> None:
        self.id, self.header = session_id, _Header(cwd, session_id)

    def messages(self) -> list[Any]:
        """Return nothing: the conversation is the client's."""
        return []


class _Options(Plain):
    provider: str
    model: str


class ClientAgent:
    """A client's agent, one for each session. Never compared by anything but identity."""

    status = "running"
    disposed = False

    def __init__(self, event: ClientEvent, *, parent: ClientAgent | None = None) -> None:
        self.client, self.parent = event.client.name, parent
        self.id = (event.session_id if parent is None else event.agent_id) or f"{self.client}-session"
        self.name = self.client if parent is None else event.agent_type
        self.session = ClientSession(self.id, event.cwd or None)
        model = event.raw.get("model")
        self.options = _Options(self.client, model if isinstance(model, str) else "")

    def child(self, event: ClientEvent) -> ClientAgent:
        """Return the agent for the sub-agent an event is about."""
        return ClientAgent(event, parent=self)

    @property
    def event(self) -> ClientEvent | None:
        """The event being judged, as the client sent it; ``None`` outside of one."""
        outbox = _OUTBOX.get()
        return outbox.event if outbox is not None else None

    def inject(self, content: Any, *, source: Any = None, meta: Any = MISSING) -> None:
        """Add text for the model beside this event."""
        self._say("contexts", content)

    def steer(self, content: Any, *, source: Any = None, contexts: Any = (), meta: Any = MISSING) -> None:
        """Add text for the model and ask for another step; at a turn's end the client goes on because of it."""
        self._say("steering", content)

    followup = queue = steer

    def send(self, message: Any) -> None:
        """Like :meth:`steer` for a prepared message."""
        self._say("steering", message.content)

    def cancel(self, cause: Any = None, *, keep_inbox: bool = False) -> None:
        """Cancel what is being judged: a tool call is denied, a prompt blocked, a turn ends."""
        outbox = _OUTBOX.get()
        if outbox is not None:
            outbox.cancelled = True

    async def when_idle(self) -> None:
        """Return at once: nobody here knows when the client is idle."""

    def _say(self, where: str, content: Any) -> None:
        outbox = _OUTBOX.get()
        if outbox is not None:
            from hookspecs.values import as_content, content_text

            getattr(outbox, where).append(content_text(as_content(content)))

    def __repr__(self) -> str:
        return f"<ClientAgent {self.client!r} {self.id!r}>"


def context_texts(contexts: tuple[HookContext, ...]) -> list[str]:
    """Return the texts of contexts, empty ones left out."""
    from hookspecs.values import content_text  # where there is a context, it is there

    return [text for context in contexts if (text := content_text(context.content))]
