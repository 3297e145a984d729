"""Hooks around a session and its log, in the order they fire."""

from __future__ import annotations

from typing import Any

from hookspecs.markers import Authority, hookspec


class SessionHooks:
    """The life of a session: created, written to, flushed, disposed."""

    @hookspec("session/created", Authority.CHECKPOINT)
    def session_created(self, session: Any) -> None:
        """Hear that a session exists, and perhaps object.

        Fires: when a new, forked or resumed session can be found by its id; before ``agent_created``.

        Parameters:
            session: the session; the events of a resumed or forked one are in its log already.

        Returns: nothing.

        Authority: checkpoint.

        Wrappers: may stand around the others.

        Failure: the creation is rolled back: nothing stays published, the id is free again, who was told of the session
            hears ``session_disposed``, and the exception reaches whoever created it.

        Example::

            @hookimpl
            def session_created(self, session):
                self.written[session.header.id] = len(session.events)
        """

    @hookspec("session/event", Authority.OBSERVE)
    def session_event(self, session: Any, event: Any) -> None:
        """Hear of every event of a session's log; the one source for facts that can be replayed.

        Fires: once for every appended event, in order, when it is the last of the log. What was there before the
            session was resumed or forked is not repeated.

        Parameters:
            session: the session; appending to it from here is refused, steering or cancelling its agent is fine.
            event: frozen: ``type``, ``seq``, ``time``, ``data``, ``surface_op``, ``source_event_seqs``.

        Returns: nothing; answers are ignored. To refuse an event, use ``session.add_validator``.

        Authority: observe.

        Wrappers: none; observers do not stand around each other.

        Failure: logged as a warning; the event stays in the log and the others still hear it.

        Example::

            @hookimpl
            def session_event(self, event):
                if event.type == "turn/end":
                    self.turns.inc()
        """

    @hookspec("session/flush", Authority.CHECKPOINT)
    def session_flush(self, session: Any) -> None:
        """Make durable what was heard of a session.

        Fires: awaited after every turn, after an injection between turns, and when somebody flushes the session.

        Parameters:
            session: the session.

        Returns: nothing.

        Authority: checkpoint.

        Wrappers: may stand around the others.

        Failure: reported to whoever flushed once every implementation was asked, and by the agent as ``agent_error``;
            the turn stays committed.

        Example::

            @hookimpl
            async def session_flush(self, session):
                await self.exporter.drain(session.header.id)
        """

    @hookspec("session/disposed", Authority.OBSERVE)
    def session_disposed(self, session: Any) -> None:
        """Hear that a session is no longer live; what the store keeps of it stays.

        Fires: once for every session whose creation was announced; after ``agent_disposed``.

        Parameters:
            session: the session; its log can still be read.

        Returns: nothing; answers are ignored.

        Authority: observe.

        Wrappers: none; observers do not stand around each other.

        Failure: logged as a warning; the disposal goes on.

        Example::

            @hookimpl
            def session_disposed(self, session):
                self.written.pop(session.header.id, None)
        """
