"""Case 196 as a reusable check: every request is rebuilt from what the log says, and equals what was sent."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from attrs import frozen

from dshhooks.session.codec import Codec
from dshhooks.session.event import Event
from dshhooks.session.events import HeaderSnapshot
from dshhooks.session.log import Session
from dshhooks.session.records import Reader, event_text
from dshhooks.session.surface import Surface
from hookspecs.json import MISSING, canonical, thaw
from hookspecs.markers import hookimpl
from hookspecs.model import GenerateOptions

__all__ = ["Rebuilt", "Requests", "check_rebuilt", "rebuild"]


@frozen
class Rebuilt:
    """A request as the log tells it: canonical JSON of its messages and of everything else."""

    messages: str
    header: str


@frozen
class _Sent:
    session_id: str
    known: int  # how many events the log held when it was sent
    options: GenerateOptions


class Requests:
    """A plugin that writes down every request of a step, as the loop sent it, and what the log held by then."""

    name = "requests"

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.sent: list[_Sent] = []

    @hookimpl
    def session_created(self, session: Any) -> None:
        self.sessions[session.id] = session

    @hookimpl(wrapper=True, tryfirst=True)
    def llm_stream(self, options: GenerateOptions) -> Any:
        session = self.sessions.get(options.session_id or "")
        if session is not None and options.purpose is None:
            self.sent.append(_Sent(session.id, len(session.events), options))
        return (yield)

    def check(self) -> None:
        """Every request so far is what the log says."""
        for sent in self.sent:
            check_rebuilt(self.sessions[sent.session_id], sent.known, sent.options)


def check_rebuilt(session: Session, known: int, options: GenerateOptions) -> None:
    """The request sent when the log held ``known`` events is the one those events stand for."""
    rebuilt = rebuild(session.codec, reread(session.codec, session.events[:known]))
    assert rebuilt.messages == _text(session.codec, list(options.messages))
    header = HeaderSnapshot(
        options.config,
        options.system if options.system is not None else MISSING,
        options.tools or MISSING,
        _prefix(session, known),
    )
    assert rebuilt.header == _text(session.codec, header)


def _prefix(session: Session, known: int) -> Any:
    # That the prefix was sent is what comparing the messages shows; here it only has to be in its place.
    header = [event for event in session.events[:known] if event.type == "request/header"][-1]
    return header.data.header.message_prefix


def reread(codec: Codec, events: Iterable[Event]) -> list[Event]:
    """The events as a store that wrote and read them would give them back."""
    reader = Reader(codec)
    return [reader.record(json.loads(event_text(event)), seq) for seq, event in enumerate(events)]


def rebuild(codec: Codec, events: list[Event]) -> Rebuilt:
    """The request of the last step in ``events``: its messages from before ``step/start``, its header from all."""
    boundary = max(event.seq for event in events if event.type == "step/start")
    surface = Surface(events.__getitem__)
    for event in events[:boundary]:
        surface.check(event)
        surface.apply(event)
    header = [event.data.header for event in events if event.type == "request/header"][-1]
    prefix = () if header.message_prefix is MISSING else header.message_prefix
    return Rebuilt(_text(codec, [*prefix, *surface.messages()]), _text(codec, header))


def _text(codec: Codec, value: Any) -> str:
    return canonical(thaw(codec.value_to_wire(value)))
