"""The session: a header, an append-only log, and what is derived from it (spec/core.md 5.1)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from dshhooks.engine.hooks import Registration
from dshhooks.session.codec import Codec
from dshhooks.session.event import Event, SurfaceOp, Validator, View
from dshhooks.session.events import HeaderSnapshot, tag_of
from dshhooks.session.surface import Surface
from hookspecs.errors import HarnessError
from hookspecs.json import freeze
from hookspecs.values import Message

if TYPE_CHECKING:
    from dshhooks.operations.manifest import Manifest

__all__ = ["FORMAT_VERSION", "Session", "SessionHeader", "now_ms"]

FORMAT_VERSION = 0

# Asked for every event that is appended.
_tag_of: Final = lru_cache(maxsize=1024)(tag_of)


def now_ms() -> int:
    """Return the time as the log writes it: epoch milliseconds."""
    return time.time_ns() // 1_000_000


@frozen
class SessionHeader:
    """What is known of a session outside its log; never changes.

    Args:
        id: The session's, and its agent's, id.
        created_at: Epoch milliseconds.
        version: Format of the log.
        cwd: Absolute working directory, if one matters.
        parent_session: Where it was forked or spawned from.
        seed_length: How many events it began with.
        delegation_depth: How many agents stand between it and a person.
    """

    id: str
    created_at: int
    version: int = FORMAT_VERSION
    cwd: str | None = None
    parent_session: str | None = None
    seed_length: int | None = None
    delegation_depth: int = 0


class Session:
    """One session's log. Append to it, read it, derive from it; nothing in it ever changes.

    Args:
        header: Its header.
        codec: Between event classes and JSON.
        publish: Called with every appended event once it is in the log; contained by the caller.
        seed: Events it begins with; they are validated like appended ones.
        enclosure: Checks turns and steps, after all validators: it follows what it accepts, so nobody may refuse an
            event after it did.

    ``live`` is false once the session was disposed; nothing can be appended then. ``agent`` is whose log it is, so that
    hooks registered for one agent hear of it; ``manifest`` is what that agent's session was opened under.
    """

    def __init__(
        self,
        header: SessionHeader,
        codec: Codec,
        *,
        publish: Callable[[Session, Event], None] | None = None,
        seed: Iterable[Event] = (),
        enclosure: Validator | None = None,
    ) -> None:
        self.header = header
        self.codec = codec
        self._publish = publish
        self._log: list[Event] = []
        self._surface = Surface(self._log.__getitem__)
        self._validators: list[Validator] = []
        self._enclosure = enclosure
        self._publishing = False
        self._marks = Marks()
        self.live = True
        self.agent: Any = None
        self.manifest: Manifest | None = None
        for event in seed:
            if event.seq != len(self._log):
                what = f"event {event.seq} stands at {len(self._log)}; seqs count from 0 without gaps"
                raise HarnessError(f"session {header.id!r}, seed: {what}", "INVALID_SEED")
            self._admit(event)

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The session's id."""
        return self.header.id

    @property
    def events(self) -> View[Event]:
        """The log so far; later events do not show in it."""
        return View(self._log)

    def messages(self) -> View[Message]:
        """The conversation as the model sees it, derived from the surface."""
        return self._surface.messages()

    @property
    def surface(self) -> View[int]:
        """The seqs on the surface, in order."""
        return self._surface.nodes

    @property
    def replace_generation(self) -> int:
        """How many times the surface was replaced in part."""
        return self._surface.replace_generation

    @property
    def open_turn(self) -> int | None:
        """The number of the turn that is open in the log, or ``None``."""
        return self._marks.open_turn

    @property
    def open_step(self) -> int | None:
        """The number of the step that is open in the log, or ``None``."""
        return self._marks.open_step

    @property
    def last_turn(self) -> int:
        """The number of the last turn in the log; 0 when there was none."""
        return self._marks.last_turn

    @property
    def request_header(self) -> HeaderSnapshot | None:
        """The header of the last ``request/header`` event, or ``None``."""
        event = self._marks.header
        return event.data.header if event is not None else None

    # -- writing ---------------------------------------------------------------------------------------------------

    def append(
        self,
        data: Any,
        *,
        surface_op: SurfaceOp | None = None,
        source_event_seqs: Iterable[int] | None = None,
    ) -> Event:
        """Append an event and return it; when this returns, it is in the log and everybody has heard.

        Args:
            data: An event class (``TurnStart(...)``); its parts are checked to be lossless JSON and frozen.
            surface_op: ``"append"`` or ``Replace(start, end)``, for the four surface types; nothing for others.
            source_event_seqs: Where a surface event came from.

        Raises:
            NotLosslessError: The data is not lossless JSON; nothing was appended.
            HarnessError: ``INVALID_SURFACE``, ``TURN_ENCLOSURE``, ``SESSION_NOT_LIVE`` once it is disposed, or
                ``REENTRANT_APPEND`` from inside an event's validation or publication.
            Exception: What a validator raised.
        """
        wire = freeze(self.codec.to_wire(data))
        sources = None if source_event_seqs is None else tuple(source_event_seqs)
        if self._publishing:
            raise HarnessError(
                f"session {self.id}: an event is being published; append from outside its observers", "REENTRANT_APPEND"
            )
        if not self.live:
            raise HarnessError(f"session {self.id} was disposed; nothing can be appended to it", "SESSION_NOT_LIVE")
        variant: Any = type(data)
        kind = _tag_of(variant) or data.type  # what nobody knows has its tag in a field
        event = Event(
            len(self._log), kind, now_ms(), self.codec, wire=wire, surface_op=surface_op, source_event_seqs=sources
        )
        self._publishing = True
        try:
            self._admit(event)
            if self._publish is not None:
                self._publish(self, event)
        finally:
            self._publishing = False
        return event

    def _admit(self, event: Event) -> None:
        self._surface.check(event)
        for validate in tuple(self._validators):
            validate(event)
        if self._enclosure is not None:
            self._enclosure(event)
        self._log.append(event)
        self._surface.apply(event)
        self._marks.apply(event)

    def add_validator(self, validate: Validator) -> Registration:
        """Let ``validate(event)`` see every event before it enters the log; what it raises keeps the event out."""
        self._validators.append(validate)

        def undo() -> None:
            if validate in self._validators:
                self._validators.remove(validate)

        return Registration(undo)

    def __repr__(self) -> str:
        return f"<Session {self.id!r} {len(self._log)} events>"


class Marks:
    """Where in turns and steps the log stands, followed event by event without looking into unneeded data."""

    __slots__ = ("header", "last_turn", "open_step", "open_turn")

    def __init__(self) -> None:
        self.last_turn = 0
        self.open_turn: int | None = None
        self.open_step: int | None = None
        self.header: Event | None = None

    def apply(self, event: Event) -> None:
        """Follow one event."""
        kind = event.type
        if kind == "turn/start":
            self.open_turn = self.last_turn = event.raw["turn"]
        elif kind == "turn/end":
            self.open_turn = self.open_step = None
        elif kind == "step/start":
            self.open_step = event.raw["step"]
        elif kind == "step/end":
            self.open_step = None
        elif kind == "request/header":
            self.header = event
