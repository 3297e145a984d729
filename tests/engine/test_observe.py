"""Containment: observers are told, and can change nothing (decision 3.5, spec/core.md 0.2)."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from dshhooks.engine.hooks import Hooks
from dshhooks.engine.observe import described, observe_now
from hookspecs.errors import PluginError
from tests.tools.kit import Plugin, wrap

pytestmark = pytest.mark.anyio


def observing(*functions: Any) -> Hooks:
    """Hooks with one observer a function, the first told first."""
    hooks = Hooks()
    for number, function in reversed(list(enumerate(functions))):
        hooks.register(Plugin(f"p{number}", agent_status=function))
    return hooks


async def tell(hooks: Hooks) -> Any:
    return await hooks.call("agent_status", agent=None, status="idle")


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot say")

    __repr__ = __str__


def raising(exc: BaseException) -> Any:
    def observe() -> None:
        raise exc

    return observe


def raising_later(exc: BaseException) -> Any:
    async def observe() -> None:
        await checkpoint()
        raise exc

    return observe


@pytest.mark.parametrize("form", [raising, raising_later], ids=["sync", "async"])
@pytest.mark.parametrize(
    "exc",
    [ValueError("v"), UnprintableError(), SystemExit(2), StopIteration("s"), ExceptionGroup("g", [ValueError("v")])],
    ids=lambda exc: type(exc).__name__,
)
async def test_a_fault_is_logged_and_goes_nowhere(exc: Any, form: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Spec 0.2: the others are told; the warning names plugin and hook."""
    told: list[str] = []
    hooks = observing(lambda: told.append("before"), form(exc), lambda: told.append("after"))
    assert await tell(hooks) is None
    assert told == ["before", "after"]
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("dshhooks.observe", logging.WARNING)
    assert "plugin 'p1'" in record.getMessage()
    assert "hook 'agent_status'" in record.getMessage()


async def test_observers_are_awaited_one_after_the_other() -> None:
    """Spec 0.2: in order; a slow one delays the next and nobody is left running."""
    told: list[str] = []

    async def slow() -> None:
        for _ in range(3):
            await checkpoint()
        told.append("slow")

    await tell(observing(slow, lambda: told.append("quick")))
    assert told == ["slow", "quick"]


async def test_a_promise_of_a_plain_function_is_kept_or_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Spec 0.2: a returned awaitable is awaited, and its failure contained."""
    await tell(observing(lambda: raising_later(ValueError("later"))()))
    assert "ValueError: later" in caplog.text


async def test_an_answer_is_ignored() -> None:
    """Decision 3.5: whatever an observer returns."""
    assert await tell(observing(lambda: "answer", lambda: 1)) is None


async def test_a_keyboard_interrupt_passes_through() -> None:
    """Decision 3.7: containment is for faults."""
    told: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        await tell(observing(raising(KeyboardInterrupt()), lambda: told.append("after")))
    assert told == []


async def test_a_cancellation_passes_through(caplog: pytest.LogCaptureFixture) -> None:
    """Decision 3.7: a cancelled observer is no fault to log."""

    async def wait() -> None:
        scope.cancel()
        await anyio.sleep_forever()

    with anyio.CancelScope() as scope:
        await tell(observing(wait))
        raise AssertionError("not reached")
    assert scope.cancelled_caught
    assert caplog.records == []


def generator_wrapper(agent: Any) -> Any:
    return (yield)


async def async_wrapper(agent: Any, *, call_next: Any) -> Any:
    return await call_next()


@pytest.mark.parametrize("wrapper", [generator_wrapper, async_wrapper])
@pytest.mark.parametrize("hook", ["agent_status", "tools_result", "session_event", "tools_guard", "operation_guard"])
def test_nobody_stands_in_front_of_an_observer_or_a_guard(hook: str, wrapper: Any) -> None:
    """Decision 3.5: wrappers on observe and refuse hooks are refused when registered."""
    with pytest.raises(PluginError, match=r"'w'.*takes no wrappers|'w'.*synchronously"):
        Hooks().register(Plugin("w", **{hook: wrap(wrapper)}))


def yielding() -> Any:
    yield


async def yielding_async() -> Any:
    yield


@pytest.mark.parametrize("function", [yielding, yielding_async])
@pytest.mark.parametrize("hook", ["tools_result", "session_flush", "agent_created", "tools_change"])
def test_a_generator_that_would_never_run_is_refused(hook: str, function: Any) -> None:
    """Decision 3.5: a `yield` in an observer or checkpoint makes a generator nobody runs; it is not ignored."""
    with pytest.raises(PluginError, match=r"'p'.*`yield`"):
        Hooks().register(Plugin("p", **{hook: function}))


def test_an_operation_observer_is_a_generator() -> None:
    """Decision 5.2: the one observe hook written around a yield, with or without the marker."""
    for function in (yielding, wrap(yielding)):
        assert Hooks().register(Plugin("p", operation=function))


def test_a_description_has_type_text_and_causes() -> None:
    """Spec 0.3: what a log line says about an exception; total."""
    error = ValueError("outer")
    error.__cause__ = KeyError("inner")
    assert described(error) == "ValueError: outer: 'inner'"
    assert described(UnprintableError()).startswith("UnprintableError: ")


# -- from code that cannot await ---------------------------------------------------------------------------------------


def tell_now(hooks: Hooks, spawn: Any = None) -> None:
    observe_now(hooks.plan("agent_status"), (None, "idle"), spawn)


def test_observers_can_be_told_without_waiting(caplog: pytest.LogCaptureFixture) -> None:
    """Spec 0.2: the synchronous fan-out contains each of them the same way."""
    told: list[str] = []
    tell_now(observing(lambda: told.append("before"), raising(SystemExit(1)), lambda: told.append("after")))
    assert told == ["before", "after"]
    assert "plugin 'p1' failed in hook 'agent_status'" in caplog.text


def test_an_interrupt_passes_through_the_synchronous_fan_out() -> None:
    """Decision 3.7: containment is for faults here too."""
    with pytest.raises(KeyboardInterrupt):
        tell_now(observing(raising(KeyboardInterrupt())))


async def test_what_has_to_wait_is_handed_over_contained(caplog: pytest.LogCaptureFixture) -> None:
    """Spec 0.2: plain functions have run; the rest runs when it is awaited, and its fault goes nowhere."""
    told: list[str] = []

    async def later() -> None:
        await checkpoint()
        told.append("later")

    waiting: list[Any] = []
    tell_now(observing(later, raising_later(ValueError("late")), lambda: told.append("now")), waiting.append)
    assert told == ["now"]
    for coroutine in waiting:
        await coroutine
    assert told == ["now", "later"]
    assert "ValueError: late" in caplog.text


async def test_what_cannot_be_handed_over_is_closed_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Spec 0.2: without anybody to wait, or when they refuse, no coroutine is left unawaited."""

    def refuse(coroutine: Any) -> None:
        raise RuntimeError("closed")

    tell_now(observing(raising_later(ValueError())))
    tell_now(observing(raising_later(ValueError())), refuse)
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert "nobody can wait" in caplog.text
    assert "RuntimeError: closed" in caplog.text


async def test_a_cancellation_of_what_was_handed_over_passes_through() -> None:
    """Decision 3.7: whoever runs it may cancel it."""
    waiting: list[Any] = []
    tell_now(observing(anyio.sleep_forever), waiting.append)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await waiting[0]
        raise AssertionError("not reached")
    assert scope.cancelled_caught
