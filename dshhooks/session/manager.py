"""The live sessions of a host: made, entered, flushed, resumed, forked, disposed (spec/core.md 5.6, 5.9)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import anyio
import attrs
from attrs import define, field

from dshhooks.engine.contribution import Belongings, contribute
from dshhooks.engine.faults import for_host
from dshhooks.engine.hooks import Hooks
from dshhooks.engine.observe import described, observe, observe_now
from dshhooks.session.codec import Codec
from dshhooks.session.enclosure import TurnEnclosure
from dshhooks.session.event import Event
from dshhooks.session.flush import ask_all
from dshhooks.session.grafts import fork_boundary, in_some_turn
from dshhooks.session.log import Session, SessionHeader, now_ms
from dshhooks.session.opening import Opener, Terms
from dshhooks.session.operations import Journal
from dshhooks.session.records import check_header
from dshhooks.session.store import SessionStore, any_store
from dshhooks.session.variants import Variants
from dshhooks.session.writer import Spawn, Writer
from hookspecs.errors import HarnessError

if TYPE_CHECKING:
    from dshhooks.operations.host import Operations

__all__ = ["Sessions"]

log = logging.getLogger("dshhooks.session")

_TAKEN = ("SESSION_ALREADY_EXISTS", "SESSION_LOCKED")


@define(eq=False)
class _Origin:
    """What is known of a private session."""

    numbered: bool = False  # the id was made here, so it may be changed as long as nobody can find the session
    stored: int | None = None  # how many of its events the store has; None: it is new


@define(eq=False)
class _Live:
    session: Session
    # Held by what must not see the session go: out-of-band appends, one after the other.
    lock: anyio.Lock = field(factory=anyio.Lock)


class Sessions:
    """The sessions of one host.

    A session is *private* when it is made: nobody can find it, nothing is stored or claimed for it, and it may be
    dropped. :meth:`enter` makes it *live*; :meth:`dispose` ends that.

    Args:
        hooks: Where the session hooks are dispatched.
        store: A store, its URL, or ``None`` for memory.
        spawn: Runs a coroutine in the background as long as the host is open.
        variants: The open unions; a new table by default.
        enclosure: Whether every log is held to the turn-enclosure rules.
        operations: Where those who observe appends come from; ``None`` for nobody.
    """

    def __init__(
        self,
        hooks: Hooks,
        store: SessionStore | str | None = None,
        spawn: Spawn | None = None,
        *,
        variants: Variants | None = None,
        enclosure: bool = True,
        operations: Operations | None = None,
    ) -> None:
        self.hooks, self.store, self.enclosure = hooks, any_store(store), enclosure
        self.variants = variants if variants is not None else Variants()
        self.codec = self.store.codec = Codec(self.variants)
        self._spawn = spawn
        self.journal = Journal(self.store, operations)
        self._opener = Opener(self.store, self.journal)
        self._writer = Writer(self.journal, spawn)
        self._live: dict[str, _Live] = {}
        self._private: WeakKeyDictionary[Session, _Origin] = WeakKeyDictionary()
        self._entering: set[str] = set()
        self._number = 0
        hooks.on_arrival(self._welcome)

    # -- looking ---------------------------------------------------------------------------------------------------

    def get(self, session_id: str) -> Session | None:
        """Return the live session of that id, or ``None``."""
        live = self._live.get(session_id)
        return live.session if live is not None else None

    def list(self) -> list[Session]:
        """Return the live sessions, oldest first."""
        return [live.session for live in self._live.values()]

    def is_live(self, session: Session) -> bool:
        """Say whether this very object is a live session here."""
        return self.get(session.id) is session

    # -- making ----------------------------------------------------------------------------------------------------

    def _welcome(self, plugin: str) -> Callable[[], None]:
        return contribute(self.hooks, "register_variants", plugin, Belongings(self.variants, ("register",)))

    def create(
        self,
        id: str | None = None,
        *,
        seed: Iterable[Event] = (),
        cwd: str | None = None,
        parent_session: str | None = None,
        delegation_depth: int = 0,
        seed_length: int | None = None,
    ) -> Session:
        """Make a private session.

        Args:
            id: Its id; by default a free ``session-<n>``, which may still change until the session is live.
            seed: Events it begins with, validated like appended ones.
            cwd: Absolute working directory.
            parent_session: Where it comes from.
            delegation_depth: How many agents stand between it and a person.
            seed_length: How many events of another session it begins with.

        Raises:
            HarnessError: ``INVALID_HEADER``, ``INVALID_SEED``, or what a seed's event breaks.
        """
        header = SessionHeader(
            self._free_id() if id is None else id,
            now_ms(),
            cwd=cwd,
            parent_session=parent_session,
            seed_length=seed_length,
            delegation_depth=delegation_depth,
        )
        return self._make(check_header(header), seed, _Origin(numbered=id is None))

    async def resume(self, session_id: str) -> Session:
        """Make a private session of a stored one, repaired if its process died.

        Raises:
            HarnessError: ``SESSION_NOT_FOUND``, ``SESSION_ALREADY_EXISTS`` if it is live here, ``SESSION_LOCKED``,
                ``SESSION_CORRUPT``, ``SESSION_FORMAT``, or what its log breaks.
        """
        self._refuse_taken(session_id)
        stored = await self.store.load(session_id)
        return self._make(stored.header, stored.events, _Origin(stored=len(stored.events)))

    async def fork(self, source: Session | str, boundary: int | None = None, child_id: str | None = None) -> Session:
        """Make a private session that begins with the events of another, which does not notice.

        Args:
            source: A live session, or the id of a live or stored one.
            boundary: The seq of the last event taken over, a ``turn/end``; by default the last event.
            child_id: The child's id; by default a free one.

        Raises:
            HarnessError: ``SESSION_ALREADY_EXISTS``, ``SESSION_NOT_FOUND``, ``SESSION_NOT_LIVE`` for an object that is
                no live session here, ``INVALID_BOUNDARY``, ``OPEN_TURN``.
        """
        if child_id is not None:
            self._refuse_taken(child_id)
            if self.store.has(child_id):
                raise _taken(child_id)
        header, events = await self._source(source)
        seed = events[: fork_boundary(events, boundary) + 1]
        return self.create(
            child_id,
            seed=seed,
            cwd=header.cwd,
            parent_session=header.id,
            delegation_depth=header.delegation_depth,
            seed_length=len(seed),
        )

    async def _source(self, source: Session | str) -> tuple[SessionHeader, Sequence[Event]]:
        if isinstance(source, Session):
            if not self.is_live(source):
                raise _not_live(source)
            return source.header, source.events
        live = self.get(source)
        if live is not None:
            return live.header, live.events
        stored = await self.store.inspect(source)
        return stored.header, stored.events

    def _make(self, header: SessionHeader, seed: Iterable[Event], origin: _Origin) -> Session:
        enclosure = TurnEnclosure() if self.enclosure else None
        session = Session(header, self.codec, publish=self._publish, seed=seed, enclosure=enclosure)
        self._private[session] = origin
        return session

    def _free_id(self) -> str:
        """Return a free ``session-<n>``: near the last one, found by doubling and halving, for there may be many."""
        low, step = self._number, 1
        while self._is_taken(f"session-{low + step}"):
            low, step = low + step, step * 2
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._is_taken(f"session-{middle}") else (low, middle)
        self._number = high
        return f"session-{high}"

    def _is_taken(self, session_id: str) -> bool:
        return session_id in self._live or session_id in self._entering or self.store.has(session_id)

    def _refuse_taken(self, session_id: str) -> None:
        if session_id in self._live or session_id in self._entering:
            raise _taken(session_id)

    # -- living ----------------------------------------------------------------------------------------------------

    async def enter(self, session: Session, terms: Terms | None = None) -> None:
        """Make a private session live: its id is taken, it is claimed in the store, everybody hears of it.

        Args:
            session: The session.
            terms: What it is opened under; a resumed one is held to what it was last accepted under.

        Raises:
            HarnessError: ``SESSION_ALREADY_EXISTS``, ``SESSION_LOCKED``, ``SESSION_NOT_PRIVATE`` for an object that was
                not made here or was live before, ``SESSION_CHANGED`` if a resumed log is not the stored one any more.
            DriftRejectedError: It does not go on under these terms; nothing was bound.
            Exception: What a ``session_created`` hook raised; the session is not live and its id is free.
        """
        origin = self._private.get(session)
        if origin is None:
            code = "SESSION_ALREADY_EXISTS" if self.is_live(session) else "SESSION_NOT_PRIVATE"
            raise HarnessError(f"session {session.id!r} cannot be entered: it is no private session", code)
        await self._reserve(session, origin, terms)
        del self._private[session]
        live = self._live[session.id] = _Live(session)
        unwritten = session.events[origin.stored or 0 :]
        self.journal.note_all(session, unwritten)
        self._writer.watch(session.id, unwritten)
        try:
            plan = self.hooks.plan("session_created", session.agent)
            if plan.active:
                await plan.run(plan, (session,))
        except BaseException as exc:  # noqa: BLE001 - raised on
            with anyio.CancelScope(shield=True):
                await self._remove(live, drain=False)
            raise for_host(exc)  # noqa: B904 - the exception itself, or it is the cause
        self._writer.begin(session.id)

    async def _reserve(self, session: Session, origin: _Origin, terms: Terms | None) -> None:
        while True:
            try:
                await self._take(session, origin, terms)
                return
            except HarnessError as exc:
                if not origin.numbered or exc.code not in _TAKEN:
                    raise
            session.header = attrs.evolve(session.header, id=self._free_id())

    async def _take(self, session: Session, origin: _Origin, terms: Terms | None) -> None:
        name = session.id
        self._refuse_taken(name)
        self._entering.add(name)
        try:
            await self._opener.open(session, origin.stored, terms)
        finally:
            self._entering.discard(name)

    def _publish(self, session: Session, event: Event) -> None:
        if not self.is_live(session):
            return
        self.journal.note(session, event)
        self._writer.note(session.id, event)
        plan = self.hooks.plan("session_event", session.agent)
        if plan.active:
            observe_now(plan, (session, event), self._spawn)

    async def flush(self, session: Session) -> None:
        """Return when a session's log is durable and every ``session_flush`` hook has answered.

        Raises:
            HarnessError: ``SESSION_NOT_LIVE``.
            Exception: The first failure; everybody was asked nevertheless.
        """
        if not self.is_live(session):
            raise _not_live(session)
        failure: Exception | None = None
        try:
            await self._writer.flush(session.id)
        except Exception as exc:  # noqa: BLE001 - raised below
            failure = exc
        try:
            await ask_all(self.hooks.plan("session_flush", session.agent), (session,))
        except Exception as exc:
            if failure is None:
                raise
            log.warning("session %r: a session_flush hook failed, too: %s", session.id, described(exc))
        if failure is not None:
            try:
                raise failure
            finally:
                del failure

    async def append_out_of_band(self, session: Session, data: Any, trigger: Any) -> Event:
        """Append a plugin's event from outside the loop: into the open turn, or into a turn of its own, then flushed.

        Args:
            session: A live session.
            data: An event class that says ``out_of_band = True``.
            trigger: What opens the turn, if none is open.

        Raises:
            HarnessError: ``SESSION_NOT_LIVE``, ``NOT_OUT_OF_BAND``.
            Exception: Why the event was refused, or the flush failed; the turn is closed in any case.
        """
        live = self._live.get(session.id)
        if live is None or live.session is not session:
            raise _not_live(session)
        async with live.lock:
            if not session.live:
                raise _not_live(session)
            return await in_some_turn(session, data, trigger, lambda: self.flush(session))

    # -- ending ----------------------------------------------------------------------------------------------------

    async def dispose(self, session: Session) -> None:
        """End a session: nothing more can be appended, what was is written, its claim is given back.

        Does nothing for one that is disposed; a private one is just closed.

        Raises:
            Exception: What could not be written; the session is disposed nevertheless.
        """
        if self._private.pop(session, None) is not None:
            session.live = False
        live = self._live.get(session.id)
        if live is None or live.session is not session:
            return
        with anyio.CancelScope(shield=True):
            async with live.lock:
                if session.live:
                    await self._remove(live)

    async def _remove(self, live: _Live, *, drain: bool = True) -> None:
        session = live.session
        session.live = False
        try:
            if drain:
                await self._writer.flush(session.id)
        finally:
            self._writer.forget(session.id)
            self.journal.forget(session.id)
            del self._live[session.id]
            await observe(self.hooks.plan("session_disposed", session.agent), (session,))
            await self.store.release(session.id)

    async def aclose(self) -> None:
        """Dispose every session and let go of the store's files.

        Raises:
            Exception: The failure, or a group of them.
        """
        failures: list[Exception] = []
        for session in self.list():
            try:
                await self.dispose(session)
            except Exception as exc:  # noqa: BLE001 - raised below
                failures.append(exc)
        await self.store.aclose()
        if len(failures) == 1:
            raise failures[0]
        if failures:
            raise ExceptionGroup("several sessions could not be written", failures)


def _taken(session_id: str) -> HarnessError:
    return HarnessError(
        f"there already is a session {session_id!r}; use the one that is there, or choose another id",
        "SESSION_ALREADY_EXISTS",
    )


def _not_live(session: Session) -> HarnessError:
    return HarnessError(f"session {session.id!r}: this object is no live session of this host", "SESSION_NOT_LIVE")
