"""Sessions of a host: private, live, flushed, forked, resumed, disposed (spec/core.md 5.6, 5.9)."""

from __future__ import annotations

import gc
import logging
from typing import Any, ClassVar

import anyio
import anyio.lowlevel
import pytest
from attrs import frozen

from dshhooks.session.event import Event
from dshhooks.session.events import ApprovalPolicyChanged, InjectionTrigger, StepEnd, TodoWrite
from dshhooks.session.log import Session
from dshhooks.session.manager import Sessions
from dshhooks.session.memory import MemoryStore
from hookspecs.errors import HarnessError, PluginError
from hookspecs.values import PluginSource
from tests.session.kit import (
    CODEC,
    Kept,
    Plugin,
    append,
    begin,
    calls,
    check_valid,
    header,
    kinds,
    moved,
    refused,
    say,
    sessions,
    stored,
    turns,
)
from tests.tools.kit import wrap

pytestmark = pytest.mark.anyio

TRIGGER = InjectionTrigger(PluginSource("p"))


async def live(made: Sessions, session_id: str | None = None, **options: Any) -> Session:
    """A new live session."""
    session = made.create(session_id, **options)
    await made.enter(session)
    return session


class Listener:
    """Writes down which session hooks it hears, in order."""

    def __init__(self, name: str = "listener") -> None:
        self.name = name
        self.heard: list[str] = []
        plugin = Plugin(
            name,
            session_created=lambda session: self.heard.append(f"created {session.id}"),
            session_event=lambda session, event: self.heard.append(event.type),
            session_flush=lambda session: self.heard.append("flush"),
            session_disposed=lambda session: self.heard.append(f"disposed {session.id}"),
        )
        self.__dict__.update({hook: value for hook, value in vars(plugin).items() if hook.startswith("session_")})


def failing(hook: str, what: str = "no", name: str = "failing") -> Plugin:
    """A plugin whose hook raises."""

    def fail(session: Any) -> None:
        raise ValueError(what)

    return Plugin(name, **{hook: fail})


class TestCreate:
    async def test_is_private(self, kept: Kept) -> None:
        """A session nobody entered cannot be found, is stored nowhere, and may be dropped."""
        async with sessions(kept.open()) as made:
            session = made.create("s")
            append(session)
            assert made.get("s") is None
            assert made.list() == []
            assert await made.store.list() == []
            del session
            gc.collect()
            await live(made, "s")

    async def test_ids_are_numbered_and_skip_taken_ones(self, kept: Kept) -> None:
        """Generated ids are session-1, session-2, …, whatever else is live or stored."""
        async with sessions(kept.open()) as made:
            await live(made, "session-2")
            await stored(made.store, turns(), "session-3")
            await stored(made.store, turns(), "session-4")
            assert [(await live(made)).id for _ in range(3)] == ["session-1", "session-5", "session-6"]

    async def test_two_private_sessions_may_draw_the_same_number(self) -> None:
        """The second one to enter gets another; nobody could have found it by the first."""
        async with sessions() as made:
            one, other = made.create(), made.create()
            made._number = 0
            third = made.create()
            for session in (one, other, third):
                await made.enter(session)
            assert len({one.id, other.id, third.id}) == 3
            assert {session.id for session in made.list()} == {one.id, other.id, third.id}

    async def test_two_hosts_draw_the_same_number(self, on_disk: Kept) -> None:
        """A number that another host took meanwhile is passed over."""
        async with sessions(on_disk.open()) as one, sessions(on_disk.open()) as other:
            mine, theirs = one.create(), other.create()
            assert mine.id == theirs.id == "session-1"
            await one.enter(mine)
            await other.enter(theirs)
            assert (mine.id, theirs.id) == ("session-1", "session-2")

    async def test_refuses_a_bad_header(self) -> None:
        """A relative folder is no working directory."""
        async with sessions() as made:
            with refused("INVALID_HEADER"):
                made.create(cwd="here")

    async def test_checks_its_seed(self) -> None:
        """A seed is validated like appended events, turns included."""
        async with sessions() as made:
            with refused("INVALID_SEED"):
                made.create(seed=turns()[2:])
            with refused("TURN_ENCLOSURE"):
                made.create(seed=[*turns(), *moved(turns(), len(turns()))])

    async def test_turns_may_go_unchecked(self) -> None:
        """A host can do without the turn rules."""
        async with sessions() as made:
            made.enclosure = False
            say(made.create())


class TestEnter:
    async def test_publishes(self) -> None:
        """An entered session is found by its id, and everybody has heard of it."""
        listener = Listener()
        async with sessions(None, listener) as made:
            session = await live(made, "s")
            assert made.get("s") is session
            assert made.list() == [session]
            assert listener.heard == ["created s"]

    async def test_refuses_a_taken_id(self, kept: Kept) -> None:
        """Live or stored: the id is taken, and the live session stays."""
        async with sessions(kept.open()) as made:
            first = await live(made, "s")
            await stored(made.store, turns(), "t")
            for name in ("s", "t"):
                with refused("SESSION_ALREADY_EXISTS", name):
                    await live(made, name)
            assert made.list() == [first]
            await made.store.claim("t")  # nothing stayed claimed

    async def test_once_only(self) -> None:
        """A session can be entered once in its life."""
        async with sessions() as made:
            session = await live(made)
            with refused("SESSION_ALREADY_EXISTS"):
                await made.enter(session)
            await made.dispose(session)
            with refused("SESSION_NOT_PRIVATE"):
                await made.enter(session)
            with refused("SESSION_NOT_PRIVATE"):
                await made.enter(Session(header(), CODEC))

    async def test_a_plugin_may_refuse(self, kept: Kept) -> None:
        """A raising session_created rolls back: pairs with session_disposed, frees the id, stores nothing."""
        listener = Listener()
        async with sessions(kept.open(), listener, failing("session_created", "not today")) as made:
            session = made.create("s", seed=turns())
            with pytest.raises(ValueError, match="not today") as caught:
                await made.enter(session)
            assert "failing" in str(caught.value.__notes__)
            assert listener.heard == ["created s", "disposed s"]
            assert made.list() == []
            assert await made.store.list() == []
            with refused("SESSION_NOT_LIVE"):
                say(session)
            made.hooks._unregister("failing", made.hooks.plugin("failing"))
            await live(made, "s")

    async def test_events_of_creation_are_kept(self, kept: Kept) -> None:
        """What a session_created hook appends is heard by everybody and stored."""
        listener = Listener()
        opener = Plugin("opener", session_created=lambda session: append(session))
        async with sessions(kept.open(), opener, listener) as made:
            session = await live(made, "s")
            await made.flush(session)
            assert (await made.store.load("s")).events == tuple(session.events)
        assert [heard for heard in listener.heard if "/" in heard] == kinds(turns())

    async def test_a_cancelled_entry_leaves_nothing(self, kept: Kept) -> None:
        """Cancelled while a plugin thinks about it: the id is free, the claim given back."""
        thinking = anyio.Event()

        async def think(session: Any) -> None:
            thinking.set()
            await anyio.sleep_forever()

        async with sessions(kept.open(), Plugin("thinker", session_created=think)) as made:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(made.enter, made.create("s"))
                await thinking.wait()
                tasks.cancel_scope.cancel()
            assert made.list() == []
            await made.store.claim("s")


class TestEvents:
    async def test_are_stored_and_heard(self, kept: Kept) -> None:
        """Every event is heard once, in order, and after a flush it is stored."""
        listener = Listener()
        async with sessions(kept.open(), listener) as made:
            session = await live(made, "s")
            append(session, 2)
            await made.flush(session)
            assert listener.heard == ["created s", *kinds(session.events), "flush"]
            assert (await kept.open().inspect("s")).events == tuple(session.events)

    async def test_are_written_without_a_flush(self, kept: Kept) -> None:
        """In the background, soon."""
        async with sessions(kept.open()) as made:
            session = await live(made, "s")
            append(session)
            with anyio.fail_after(20):
                while await made.store.length("s") != len(session.events):
                    await anyio.lowlevel.checkpoint()

    async def test_raising_observers_change_nothing(self, caplog: pytest.LogCaptureFixture) -> None:
        """Case 192: the event is committed, later observers hear of it, the failure is logged."""
        listener = Listener()

        def fail(session: Any, event: Any) -> None:
            raise ValueError("observer")

        async with sessions(None, Plugin("bad", session_event=fail), listener) as made:
            session = await live(made)
            append(session)
            assert listener.heard[1:] == kinds(session.events)
        assert "'bad'" in caplog.text

    async def test_async_observers_run_in_the_background(self) -> None:
        """append does not wait for them."""
        heard: list[int] = []
        done = anyio.Event()

        async def hear(session: Any, event: Any) -> None:
            await anyio.lowlevel.checkpoint()
            heard.append(event.seq)
            if len(heard) == len(turns()):
                done.set()

        async with sessions(None, Plugin("slow", session_event=hear)) as made:
            session = await live(made)
            append(session)
            assert heard == []
            await done.wait()
            assert sorted(heard) == list(range(len(turns())))

    async def test_nothing_can_be_appended_while_observers_hear(self, caplog: pytest.LogCaptureFixture) -> None:
        """Case 192: a nested append is refused inside the observer only."""
        async with sessions(None, Plugin("nest", session_event=lambda session, event: say(session))) as made:
            session = await live(made)
            append(session)
            assert kinds(session.events) == kinds(turns())
        assert "being published" in caplog.text

    async def test_reach_hooks_of_their_agent_only(self) -> None:
        """A plugin registered for one agent hears of that agent's session."""
        mine, other = object(), object()
        listener = Listener()
        async with sessions() as made:
            made.hooks.register(listener, agent=mine)
            for agent in (mine, other):
                session = made.create()
                session.agent = agent
                await made.enter(session)
                append(session)
            assert listener.heard == ["created session-1", *kinds(turns())]


class TestFlush:
    async def test_asks_everybody_then_raises_the_first(self, caplog: pytest.LogCaptureFixture) -> None:
        """All session_flush hooks run; the first failure is raised, the others are logged."""
        asked: list[str] = []
        plugins = [failing("session_flush", "one", "a"), failing("session_flush", "two", "b"),
                   Plugin("c", session_flush=lambda session: asked.append("c"))]  # fmt: skip
        async with sessions(None, *plugins) as made:
            session = await live(made)
            with pytest.raises(ValueError, match="one"):
                await made.flush(session)
            assert asked == ["c"]
        assert "'b'" in caplog.text

    async def test_wrappers_stand_around(self) -> None:
        """A wrapper sees the failure and may handle it."""

        @wrap
        async def swallow(session: Any, *, call_next: Any) -> Any:
            try:
                return await call_next()
            except ValueError:
                return []

        async with sessions(None, Plugin("w", session_flush=swallow), failing("session_flush")) as made:
            await made.flush(await live(made))

    async def test_of_a_session_that_is_not_live(self) -> None:
        """Private and disposed sessions cannot be flushed."""
        async with sessions() as made:
            session = made.create()
            with refused("SESSION_NOT_LIVE"):
                await made.flush(session)
            await made.enter(session)
            await made.dispose(session)
            with refused("SESSION_NOT_LIVE"):
                await made.flush(session)


class TestDispose:
    async def test_writes_what_is_left(self, kept: Kept) -> None:
        """Everything appended is stored, then the claim is given back and everybody hears."""
        listener = Listener()
        async with sessions(kept.open(), listener, background=False) as made:
            session = await live(made, "s")
            append(session)
            await made.dispose(session)
            await made.dispose(session)
            assert listener.heard[-1] == "disposed s"
            assert listener.heard.count("disposed s") == 1
            assert made.list() == []
            assert (await kept.open().load("s")).events == tuple(session.events)
            with refused("SESSION_NOT_LIVE"):
                say(session)
            await kept.open().claim("s")

    async def test_an_unwritten_session_leaves_nothing(self, kept: Kept) -> None:
        """A session without an event is gone when it is disposed; its id is free."""
        async with sessions(kept.open()) as made:
            await made.dispose(await live(made, "s"))
            assert await made.store.list() == []
            await live(made, "s")

    async def test_of_a_private_session(self) -> None:
        """It is closed; nobody hears."""
        listener = Listener()
        async with sessions(None, listener) as made:
            session = made.create()
            await made.dispose(session)
            assert listener.heard == []
            with refused("SESSION_NOT_PRIVATE"):
                await made.enter(session)

    async def test_closing_disposes_all(self, kept: Kept) -> None:
        """aclose writes every session; the store can be opened and used afterwards."""
        store = kept.open()
        async with sessions(store, background=False) as made:
            for name in "abc":
                append(await live(made, name))
        assert [found.id for found in await store.list()] == ["a", "b", "c"]
        await store.claim("a")


class TestResume:
    async def test_continues(self, kept: Kept) -> None:
        """Case 198: header, events, turn numbers and seqs go on where they stopped; only the new suffix is written."""
        async with sessions(kept.open()) as made:
            first = await live(made, "s", cwd="/w", delegation_depth=2)
            append(first)
        listener = Listener()
        async with sessions(kept.open(), listener) as made:
            session = await made.resume("s")
            assert made.list() == []
            assert session.header == first.header
            assert session.events == first.events
            await made.enter(session)
            append(session)
            await made.flush(session)
            assert listener.heard == ["created s", *kinds(turns()), "flush"]
        found = await kept.open().load("s")
        check_valid(found.events)
        assert [e.data.turn for e in found.events if e.type == "turn/start"] == [1, 2]

    async def test_repairs(self, kept: Kept) -> None:
        """Case 202: a crashed turn is closed before anybody sees the session."""
        session = Session(header(), CODEC)
        calls(session, begin(session), ["a"], ["a"])
        await stored(kept.open(), list(session.events))
        async with sessions(kept.open()) as made:
            resumed = await made.resume("s")
            assert resumed.open_turn is None
            await made.enter(resumed)
            append(resumed)
        check_valid((await kept.open().load("s")).events)

    async def test_of_nobody(self, kept: Kept) -> None:
        """Case 206: an unknown id is an error, and nothing is made."""
        async with sessions(kept.open()) as made:
            with refused("SESSION_NOT_FOUND", "'ghost'"):
                await made.resume("ghost")
            assert made.list() == []

    async def test_of_a_live_session(self) -> None:
        """The live one stays the only one."""
        async with sessions() as made:
            append(await live(made, "s"))
            with refused("SESSION_ALREADY_EXISTS"):
                await made.resume("s")

    async def test_twice_at_once(self, kept: Kept) -> None:
        """Case 206: of two private copies the first to enter wins; the other cannot enter even later."""
        await stored(kept.open(), turns())
        async with sessions(kept.open()) as made:
            one, other = await made.resume("s"), await made.resume("s")
            await made.enter(one)
            with refused("SESSION_ALREADY_EXISTS"):
                await made.enter(other)
            append(one)
            await made.dispose(one)
            with refused("SESSION_CHANGED"):
                await made.enter(other)
            retried = await made.resume("s")
            await made.enter(retried)
            assert len(retried.events) == 2 * len(turns())

    async def test_of_what_another_host_has(self, on_disk: Kept) -> None:
        """A session that is live elsewhere cannot be entered, and not even repaired, here."""
        async with sessions(on_disk.open()) as one, sessions(on_disk.open()) as other:
            session = await live(one, "s")
            append(session)
            await one.flush(session)
            mine = await other.resume("s")
            with refused("SESSION_LOCKED", "is being written by process"):
                await other.enter(mine)
            begin(session)
            await one.flush(session)
            with refused("SESSION_LOCKED"):
                await other.resume("s")
            assert session.open_turn == 2

    async def test_a_plugin_may_refuse(self, kept: Kept) -> None:
        """Case 206: a failing entry publishes nothing, and a retry works."""
        await stored(kept.open(), turns())
        async with sessions(kept.open(), failing("session_created")) as made:
            with pytest.raises(ValueError, match="no"):
                await made.enter(await made.resume("s"))
            made.hooks._unregister("failing", made.hooks.plugin("failing"))
            await made.enter(await made.resume("s"))


class TestFork:
    async def test_takes_whole_turns(self, kept: Kept) -> None:
        """The child begins with the parent's events up to the boundary, and goes on by itself."""
        async with sessions(kept.open()) as made:
            parent = await live(made, "p", cwd="/w")
            append(parent, 2)
            child = await made.fork(parent, len(turns()) - 1, "c")
            assert (child.header.parent_session, child.header.cwd) == ("p", "/w")
            assert child.header.seed_length == len(turns())
            assert child.events == parent.events[: len(turns())]
            await made.enter(child)
            append(child)
            append(parent)
            await made.flush(child)
            assert [e.data.turn for e in child.events if e.type == "turn/start"] == [1, 2]
            assert len(parent.events) == 3 * len(turns())
        assert (await kept.open().load("c")).header.parent_session == "p"

    async def test_of_a_stored_session(self, kept: Kept) -> None:
        """The source may be an id, live or not; it is only read."""
        store = kept.open()
        await stored(store, turns(2), "p")
        await store.aclose()  # a database changes its file when it is closed
        files = kept.files()
        async with sessions(kept.open()) as made:
            child = await made.fork("p")
            assert len(child.events) == 2 * len(turns())
            assert kept.files() == files

    async def test_of_an_empty_session(self) -> None:
        """An empty source gives an empty child."""
        async with sessions() as made:
            child = await made.fork(await live(made))
            assert (len(child.events), child.header.seed_length) == (0, 0)

    async def test_an_earlier_turn_while_one_is_open(self) -> None:
        """An open turn does not stand in the way of an earlier boundary."""
        async with sessions() as made:
            parent = await live(made)
            append(parent)
            begin(parent)
            assert len((await made.fork(parent, len(turns()) - 1)).events) == len(turns())

    async def test_refusals(self, kept: Kept) -> None:
        """Case 197: each misuse has its code; a taken child id is checked first."""
        async with sessions(kept.open()) as made:
            parent = await live(made, "p")
            append(parent)
            begin(parent)
            await stored(made.store, turns(), "t")
            with refused("OPEN_TURN"):
                await made.fork(parent)
            with refused("OPEN_TURN"):
                await made.fork(parent, 2)
            for boundary in (99, -1, True, 1.0):
                with refused("INVALID_BOUNDARY"):
                    await made.fork(parent, boundary)  # type: ignore[arg-type]
            for taken in ("p", "t"):
                with refused("SESSION_ALREADY_EXISTS"):
                    await made.fork("ghost", 99, taken)
            with refused("SESSION_NOT_FOUND"):
                await made.fork("ghost")
            for stranger in (made.create(), Session(parent.header, CODEC, seed=parent.events)):
                with refused("SESSION_NOT_LIVE"):
                    await made.fork(stranger)


@frozen
class Note:
    """A plugin's event that may come from outside the loop."""

    type: ClassVar[str] = "acme/note"
    out_of_band: ClassVar[bool] = True
    text: str


@frozen
class Remark:
    """A plugin's event, tagged as every variant may be."""

    kind: ClassVar[str] = "acme/remark"
    text: str


class TestOutOfBand:
    async def test_opens_a_turn_of_its_own(self, kept: Kept) -> None:
        """On a closed log: turn/start, event, turn/end(completed), flushed."""
        listener = Listener()
        async with sessions(kept.open(), listener) as made:
            session = await live(made, "s")
            event = await made.append_out_of_band(session, ApprovalPolicyChanged("never"), TRIGGER)
            assert kinds(session.events) == ["turn/start", "approval/policy", "turn/end"]
            assert session.events[1] is event
            assert session.events[0].data.trigger == TRIGGER
            assert session.events[2].data.reason.kind == "completed"
            assert listener.heard[-1] == "flush"
            assert await made.store.length("s") == 3

    async def test_joins_an_open_turn(self) -> None:
        """On an open turn: the event alone, not flushed."""
        listener = Listener()
        async with sessions(None, listener) as made:
            session = await live(made)
            begin(session)
            await made.append_out_of_band(session, Note("x"), TRIGGER)
            assert kinds(session.events)[-2:] == ["step/start", "acme/note"]
            assert "flush" not in listener.heard

    async def test_refuses_what_did_not_opt_in(self) -> None:
        """Core events and unknown ones stay inside the loop."""
        async with sessions() as made:
            session = await live(made)
            for data in (TodoWrite(()), StepEnd(1, 1)):
                with refused("NOT_OUT_OF_BAND"):
                    await made.append_out_of_band(session, data, TRIGGER)
            assert len(session.events) == 0

    async def test_closes_its_turn_whatever_happens(self) -> None:
        """A refused event leaves a closed turn, flushed; its own error is raised, not the flush's."""
        asked: list[str] = []

        def flush(session: Any) -> None:
            asked.append("flush")
            raise RuntimeError("flush")

        async with sessions(None, Plugin("flusher", session_flush=flush)) as made:
            session = await live(made)

            def refuse(event: Event) -> None:
                if event.type == "acme/note":
                    raise ValueError("refused")

            session.add_validator(refuse)
            with pytest.raises(ValueError, match="refused"):
                await made.append_out_of_band(session, Note("x"), TRIGGER)
            assert kinds(session.events) == ["turn/start", "turn/end"]
            assert asked == ["flush"]

    async def test_one_at_a_time_and_disposal_waits(self) -> None:
        """Two at once do not mix, and the session is not gone in between."""
        gate = anyio.Event()

        async def flush(session: Any) -> None:
            await gate.wait()

        async with sessions(None, Plugin("slow", session_flush=flush)) as made:
            session = await live(made)
            async with anyio.create_task_group() as tasks:
                for text in "ab":
                    tasks.start_soon(made.append_out_of_band, session, Note(text), TRIGGER)
                for _ in range(5):
                    await anyio.lowlevel.checkpoint()
                tasks.start_soon(made.dispose, session)
                for _ in range(5):
                    await anyio.lowlevel.checkpoint()
                assert made.is_live(session)
                assert kinds(session.events) == ["turn/start", "acme/note", "turn/end"]
                gate.set()
            assert kinds(session.events) == ["turn/start", "acme/note", "turn/end"] * 2
            assert not made.is_live(session)

    async def test_needs_a_live_session(self) -> None:
        """A private session has no outside."""
        async with sessions() as made:
            with refused("SESSION_NOT_LIVE"):
                await made.append_out_of_band(made.create(), Note("x"), TRIGGER)


def brings(event: Any) -> Plugin:
    """A plugin with an event class of its own."""
    return Plugin("noter", register_variants=lambda variants: variants.register("session-event", event))


class TestVariants:
    async def test_come_from_plugins(self, kept: Kept) -> None:
        """A plugin's event class is structured while the plugin is there, and kept verbatim without it."""
        async with sessions(kept.open(), brings(Note)) as made:
            session = await live(made, "s")
            begin(session)
            session.append(Note("hi"))
            assert session.events[-1].data == Note("hi")
        async with sessions(kept.open(), brings(Note)) as made:
            assert (await made.store.inspect("s")).events[3].data == Note("hi")
        async with sessions(kept.open()) as made:
            event = (await made.store.inspect("s")).events[3]
            assert (event.data.type, event.data.data) == ("acme/note", {"text": "hi"})

    async def test_may_be_tagged_by_kind(self, kept: Kept) -> None:
        """decisions.md 7.14: every variant may; the log's type is that tag."""
        async with sessions(kept.open(), brings(Remark)) as made:
            session = await live(made, "s")
            begin(session)
            session.append(Remark("hi"))
            assert (session.events[-1].type, session.events[-1].data) == ("acme/remark", Remark("hi"))

    async def test_a_failing_contribution_is_taken_back(self) -> None:
        """What a plugin had added before it failed goes with it."""

        def bring(variants: Any) -> None:
            variants.register("session-event", Note)
            raise ValueError("later")

        async with sessions() as made:
            with pytest.raises(PluginError, match="register_variants"):
                made.hooks.register(Plugin("noter", register_variants=bring))
            assert "acme/note" not in made.variants.unions["session-event"].members


async def test_a_failing_store_is_reported_and_nothing_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    """A background write that fails is logged and tried again; flush raises until it works."""

    class Broken(MemoryStore):
        broken = True

        def _write(self, *args: Any) -> None:
            if self.broken:
                raise OSError("disk full")
            super()._write(*args)

    store = Broken()
    with caplog.at_level(logging.WARNING):
        async with sessions(store) as made:
            session = await live(made, "s")
            append(session)
            for _ in range(2):
                with pytest.raises(OSError, match="disk full"):
                    await made.flush(session)
            store.broken = False
            await made.flush(session)
            assert (await store.load("s")).events == tuple(session.events)
    assert "tried again" in caplog.text


async def test_a_write_reported_as_failed_may_have_succeeded() -> None:
    """After an unclear failure nothing is written twice."""

    class Unclear(MemoryStore):
        unclear = 1

        def _write(self, *args: Any) -> None:
            super()._write(*args)
            if self.unclear:
                self.unclear -= 1
                raise OSError("connection lost")

    async with sessions(Unclear(), background=False) as made:
        session = await live(made, "s")
        append(session)
        with pytest.raises(OSError, match="lost"):
            await made.flush(session)
        append(session)
        await made.flush(session)
        assert (await made.store.load("s")).events == tuple(session.events)


async def test_disposal_reports_what_could_not_be_written() -> None:
    """The session is disposed nevertheless, and its claim given back."""

    class Full(MemoryStore):
        def _write(self, *args: Any) -> None:
            raise OSError("disk full")

    store, listener = Full(), Listener()
    async with sessions(store, listener, background=False) as made:
        session = await live(made, "s")
        append(session)
        with pytest.raises(OSError, match="disk full"):
            await made.dispose(session)
        assert listener.heard[-1] == "disposed s"
        assert made.list() == []
        await store.claim("s")


async def test_closing_reports_all_failures() -> None:
    """Several sessions that could not be written make a group."""

    class Full(MemoryStore):
        def _write(self, *args: Any) -> None:
            raise OSError("disk full")

    async with sessions(Full(), background=False) as made:
        for name in "ab":
            append(await live(made, name))
        with pytest.raises(ExceptionGroup) as caught:
            await made.aclose()
        assert [str(exc) for exc in caught.value.exceptions] == ["disk full"] * 2
        assert isinstance(caught.value.exceptions[0], OSError)
        assert not isinstance(caught.value, HarnessError)
