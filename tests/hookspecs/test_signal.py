"""hookspecs.signal: first abort wins, listeners are contained, waiting works from every thread (spec/core.md 2.4)."""

from __future__ import annotations

import gc
import logging
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import pytest

from hookspecs.signal import NEVER, CancelSource, fuse


@pytest.fixture
def source() -> CancelSource:
    return CancelSource()


class TestAbort:
    def test_a_new_signal_is_live(self, source: CancelSource) -> None:
        """Nothing is aborted by itself."""
        assert not source.signal.aborted
        assert source.signal.reason is None
        assert repr(source.signal) == "<CancelSignal live>"

    def test_keeps_the_very_reason(self, source: CancelSource) -> None:
        """The reason is the object that was given."""
        reason = {"kind": "user"}
        assert source.abort(reason) is True
        assert source.signal.aborted
        assert source.signal.reason is reason
        assert "user" in repr(source.signal)

    def test_the_first_abort_wins(self, source: CancelSource) -> None:
        """A second abort changes nothing and says so."""
        source.abort("first")
        assert source.abort("second") is False
        assert source.signal.reason == "first"

    def test_none_is_a_reason(self, source: CancelSource) -> None:
        """An abort without a reason is an abort."""
        source.abort()
        assert source.abort("late") is False
        assert source.signal.aborted
        assert source.signal.reason is None

    @pytest.mark.parametrize("name", ["aborted", "reason"])
    def test_a_signal_is_read_only(self, source: CancelSource, name: str) -> None:
        """Who holds a signal can neither abort it nor take an abort back."""
        with pytest.raises(AttributeError):
            setattr(source.signal, name, True)
        assert not hasattr(source.signal, "abort")

    def test_one_of_many_threads_wins(self, source: CancelSource) -> None:
        """Of aborts that race exactly one is told that it was the one, and listeners hear once."""
        heard: list[Any] = []
        source.signal.add_listener(lambda: heard.append(source.signal.reason))
        start, won = threading.Barrier(8), []

        def race(number: int) -> None:
            start.wait()
            if source.abort(number):
                won.append(number)

        threads = [threading.Thread(target=race, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert won == heard == [source.signal.reason]


class TestListeners:
    def test_hear_in_order_and_once(self, source: CancelSource) -> None:
        """Listeners run in the order they came, when the signal is already aborted, one time."""
        heard: list[str] = []
        source.signal.add_listener(lambda: heard.append(f"a {source.signal.reason}"))
        source.signal.add_listener(lambda: heard.append("b"))
        source.abort("why")
        source.abort("again")
        assert heard == ["a why", "b"]

    def test_a_late_listener_hears_at_once(self, source: CancelSource) -> None:
        """After the abort a listener is called before add_listener returns."""
        source.abort()
        heard: list[int] = []
        remove = source.signal.add_listener(lambda: heard.append(1))
        assert heard == [1]
        remove()

    def test_a_removed_listener_is_silent(self, source: CancelSource) -> None:
        """Removing works, twice too, and leaves the others."""
        heard: list[str] = []
        remove = source.signal.add_listener(lambda: heard.append("a"))
        source.signal.add_listener(lambda: heard.append("b"))
        remove()
        remove()
        source.abort()
        remove()
        assert heard == ["b"]

    def test_the_same_function_may_listen_twice(self, source: CancelSource) -> None:
        """Each registration is its own."""
        heard: list[int] = []

        def listener() -> None:
            heard.append(1)

        remove = source.signal.add_listener(listener)
        source.signal.add_listener(listener)
        remove()
        source.abort()
        assert heard == [1]

    @pytest.mark.parametrize("fault", [ValueError("boom"), SystemExit(3)])
    def test_a_fault_is_contained(
        self, source: CancelSource, fault: BaseException, caplog: pytest.LogCaptureFixture
    ) -> None:
        """What a listener raises is logged; the others hear, and so does abort's caller."""
        heard: list[int] = []
        source.signal.add_listener(raising(fault))
        source.signal.add_listener(lambda: heard.append(1))
        with caplog.at_level(logging.WARNING, "dshhooks.signal"):
            assert source.abort() is True
        assert heard == [1]
        assert type(fault).__name__ in caplog.text

    def test_a_late_fault_is_contained_too(self, source: CancelSource) -> None:
        """The same holds for a listener that is called at once."""
        source.abort()
        source.signal.add_listener(raising(ValueError()))

    def test_an_interrupt_passes_after_everybody_heard(self, source: CancelSource) -> None:
        """KeyboardInterrupt is never swallowed, and never keeps an abort from the listeners behind it."""
        heard: list[int] = []
        source.signal.add_listener(raising(KeyboardInterrupt()))
        source.signal.add_listener(lambda: heard.append(1))
        with pytest.raises(KeyboardInterrupt):
            source.abort()
        assert heard == [1]

    def test_a_listener_may_use_the_signal(self, source: CancelSource) -> None:
        """Adding, removing and aborting from a listener does not lock up."""
        heard: list[str] = []

        def listener() -> None:
            source.abort("inner")
            source.signal.add_listener(lambda: heard.append("nested"))
            remove()

        remove = source.signal.add_listener(listener)
        source.abort("outer")
        assert heard == ["nested"]
        assert source.signal.reason == "outer"

    def test_are_let_go_after_the_abort(self, source: CancelSource) -> None:
        """An aborted signal keeps nobody alive."""

        class Owner:
            def hear(self) -> None: ...

        owner = Owner()
        gone = weakref.ref(owner)
        source.signal.add_listener(owner.hear)
        source.abort()
        del owner
        gc.collect()
        assert gone() is None


class TestWait:
    pytestmark = pytest.mark.anyio

    async def test_returns_the_reason(self, source: CancelSource) -> None:
        """wait() ends with the abort and gives its reason."""
        async with anyio.create_task_group() as group:
            reasons: list[Any] = []

            async def waiter() -> None:
                reasons.append(await source.signal.wait())

            group.start_soon(waiter)
            group.start_soon(waiter)
            await anyio.wait_all_tasks_blocked()
            assert reasons == []
            source.abort("why")
        assert reasons == ["why", "why"]

    async def test_returns_at_once_when_aborted(self, source: CancelSource) -> None:
        """Waiting for what has happened does not wait."""
        source.abort("why")
        with anyio.fail_after(5):
            assert await source.signal.wait() == "why"

    async def test_a_cancelled_wait_leaves_nothing_behind(self, source: CancelSource) -> None:
        """Giving up removes the listener."""
        with anyio.move_on_after(0):
            await source.signal.wait()
        assert not source.signal._listeners

    async def test_hears_a_worker_thread(self, source: CancelSource) -> None:
        """An abort from a worker thread wakes the waiter."""
        async with anyio.create_task_group() as group:
            group.start_soon(source.signal.wait)
            await anyio.wait_all_tasks_blocked()
            with anyio.fail_after(5):
                assert await anyio.to_thread.run_sync(source.abort, "thread") is True

    async def test_hears_a_foreign_thread(self, source: CancelSource) -> None:
        """An abort from a thread anyio does not know wakes the waiter, even while the loop waits for that thread."""
        async with anyio.create_task_group() as group:
            group.start_soon(source.signal.wait)
            await anyio.wait_all_tasks_blocked()
            thread = threading.Thread(target=source.abort, args=("thread",))
            thread.start()
            thread.join(5)
            assert not thread.is_alive()

    @pytest.mark.parametrize("other", ["asyncio", "trio"])
    async def test_hears_another_event_loop(self, source: CancelSource, other: Any) -> None:
        """An abort from a thread that runs a loop of its own wakes the waiter."""

        async def abort() -> None:
            source.abort("other loop")

        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(source.signal.wait)
                await anyio.wait_all_tasks_blocked()
                await anyio.to_thread.run_sync(lambda: anyio.run(abort, backend=other))

    async def test_never_waits_for_ever(self) -> None:
        """The signal that never aborts can be waited for, and given up."""
        with anyio.move_on_after(0) as scope:
            await NEVER.wait()
        assert scope.cancelled_caught


class TestNever:
    def test_cannot_be_aborted(self) -> None:
        """Not even through its private door; it keeps no listeners."""
        assert NEVER._abort("x") is False
        NEVER.add_listener(raising(AssertionError()))()
        assert not NEVER.aborted
        assert NEVER._listeners is None


class TestFuse:
    @pytest.mark.parametrize("which", [0, 1])
    def test_aborts_with_either(self, which: int) -> None:
        """The fused signal aborts with the first of the two, and with that one's reason."""
        sources = CancelSource(), CancelSource()
        both, _untie = fuse(sources[0].signal, sources[1].signal)
        assert not both.aborted
        sources[which].abort("one")
        sources[1 - which].abort("other")
        assert both.reason == "one"

    def test_flows_one_way(self) -> None:
        """Aborting one leaves the other alone."""
        first, second = CancelSource(), CancelSource()
        fuse(first.signal, second.signal)
        first.abort()
        assert not second.signal.aborted

    @pytest.mark.parametrize(("aborted", "reason"), [((0, 1), "r0"), ((0,), "r0"), ((1,), "r1")])
    def test_of_aborted_signals_is_aborted(self, aborted: tuple[int, ...], reason: str) -> None:
        """Fusing what is aborted gives an aborted signal; the first one's reason goes before."""
        sources = CancelSource(), CancelSource()
        for index in reversed(aborted):
            sources[index].abort(f"r{index}")
        both, _untie = fuse(sources[0].signal, sources[1].signal)
        assert both.reason == reason

    def test_untied_it_hears_no_more(self) -> None:
        """After untying neither signal reaches the fused one or keeps it alive."""
        first, second = CancelSource(), CancelSource()
        both, untie = fuse(first.signal, second.signal)
        untie()
        untie()
        first.abort()
        assert not both.aborted
        gone = weakref.ref(both)
        del both, untie
        gc.collect()
        assert gone() is None

    def test_needs_no_third_signal_where_one_is_enough(self) -> None:
        """The same signal, or one that never aborts, adds nothing."""
        signal = CancelSource().signal
        for pair in ((signal, signal), (signal, NEVER), (NEVER, signal)):
            both, untie = fuse(*pair)
            assert both is signal
            untie()
        assert fuse(NEVER, NEVER)[0] is NEVER

    def test_can_be_fused_again(self) -> None:
        """A reason travels through several fusions unchanged."""
        outer, inner, innermost = CancelSource(), CancelSource(), CancelSource()
        once, _ = fuse(outer.signal, inner.signal)
        twice, _ = fuse(once, innermost.signal)
        reason = object()
        outer.abort(reason)
        assert twice.reason is reason


def test_importing_needs_no_event_loop_library() -> None:
    """Only wait() needs anyio, when it is called: importing the contract must not."""
    code = "import sys, hookspecs.signal; sys.exit('anyio' in sys.modules or 'asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def raising(fault: BaseException) -> Callable[[], None]:
    def listener() -> None:
        raise fault

    return listener
