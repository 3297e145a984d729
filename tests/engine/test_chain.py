"""How a chain runs: both wrapper forms, call_next, the three ways answers combine (decisions 3.2 to 3.4)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from hookspecs.decisions import Allow, Ask, Deny, StopTurn
from hookspecs.errors import HookUsageError, InvalidDecisionError
from hookspecs.values import Message
from tests.engine.kit import PROMPT, answer, around, ask, assembling, hooks, notes
from tests.tools.kit import Plugin, wrap

pytestmark = pytest.mark.anyio


# -- how answers combine -----------------------------------------------------------------------------------------------


async def test_the_first_answer_that_is_not_none_wins() -> None:
    """Decision 3.4: firstresult; those behind it are not asked, and a falsy answer is an answer."""
    asked: list[str] = []

    def late(assembly: Any, context: Any) -> None:
        asked.append("late")

    assert await ask(answer(None, "a"), answer("", "b"), assembling(late, "c")) == ""
    assert asked == []


async def test_everybody_abstaining_is_none() -> None:
    """Decision 7.19: hooks.call applies no default."""
    assert await ask(answer(None)) is None
    assert await ask() is None
    assert await hooks(Plugin(tools_pre_execute=lambda: None)).call("tools_pre_execute", execution=None) is None


async def test_an_awaitable_answer_is_awaited_whatever_made_it() -> None:
    """Decision 3.1: async functions, and plain ones that hand back a coroutine."""

    async def later(value: Any) -> Any:
        await checkpoint()
        return value

    async def asynchronous(assembly: Any, context: Any) -> Any:
        return await later("async")

    assert await ask(assembling(lambda assembly, context: later(None)), assembling(asynchronous)) == "async"


async def test_strictest_is_deny_then_ask_then_allow() -> None:
    """Decision 3.4: the first deny stops the chain; the first ask is kept; an allow stops nobody."""

    async def policy(*decisions: Any) -> Any:
        made = [Plugin(tools_pre_execute=lambda decision=decision: decision) for decision in decisions]
        return await hooks(*made).call("tools_pre_execute", execution=None)

    assert await policy(Allow(), Ask("1"), None, Deny("2"), Deny("3")) == Deny("2")
    assert await policy(Allow(), Ask("1"), Ask("2"), Allow()) == Ask("1")
    assert await policy(None, Allow(), None) == Allow()


class UntrueAsk(Ask):
    def __bool__(self) -> bool:
        return False


async def test_an_ask_that_calls_itself_false_still_asks() -> None:
    """Decision 3.4: the kind of an answer counts, not its truth; otherwise nobody would be asked."""
    made = hooks(Plugin(tools_pre_execute=lambda: Allow()), Plugin(tools_pre_execute=lambda: UntrueAsk("1")))
    assert await made.call("tools_pre_execute", execution=None) == UntrueAsk("1")


async def test_first_takes_the_first_decision_literally() -> None:
    """Decision 3.4: policy_combination = "first"."""
    made = hooks(*(Plugin(tools_pre_execute=lambda d=d: d) for d in (None, Allow(), Deny("no"))))
    made.set_policy_combination("first")
    assert await made.call("tools_pre_execute", execution=None) == Allow()


async def test_contributions_are_collected_in_plugin_order() -> None:
    """Api: contribute hooks give every answer that is not None."""
    plugins = [Plugin(agent_session_prefix=lambda value=value: value) for value in (["a"], None, [], ["c"])]
    assert await hooks(*plugins).call("agent_session_prefix", agent=None, signal=None) == [["a"], [], ["c"]]


async def test_a_checkpoint_stops_at_the_first_exception() -> None:
    """Decision 3.5: called in plugin order; an exception stops what was about to happen."""
    log: list[str] = []

    def stop() -> None:
        raise ValueError("stop")

    plugins = (Plugin(session_flush=lambda: log.append("a")), Plugin("b", session_flush=stop),
               Plugin(session_flush=lambda: log.append("c")))  # fmt: skip
    with pytest.raises(ValueError, match="stop") as caught:
        await hooks(*plugins).call("session_flush", session=None)
    assert log == ["a"]
    assert notes(caught.value) == [("session_flush", "b")]


@pytest.mark.parametrize("wrong", ["text", 1, Allow, Message("assistant", "x")])
async def test_an_answer_must_be_one_of_the_hooks(wrong: Any) -> None:
    """Decision 7.2: anything else is INVALID_DECISION naming plugin and hook; None abstains."""
    plugin = Plugin("odd", agent_turn_stop=lambda: wrong)
    with pytest.raises(InvalidDecisionError, match=r"'odd'.*'agent_turn_stop'.*StopTurn"):
        await hooks(plugin).call("agent_turn_stop", agent=None, turn=1, signal=None)


async def test_none_is_a_wrappers_answer_only_where_there_is_no_default() -> None:
    """Decisions 7.2, 7.19: without default and body, None from a wrapper is what hooks.call would say itself."""

    def wrapper(agent: Any) -> Any:
        return (yield)

    assert await hooks(Plugin(agent_turn_stop=wrap(wrapper))).call("agent_turn_stop", agent=0, turn=1, signal=0) is None
    assert (
        await hooks(Plugin(agent_turn_stop=wrap(wrapper)), Plugin(agent_turn_stop=StopTurn_now)).call(
            "agent_turn_stop", agent=0, turn=1, signal=0
        )
        == StopTurn()
    )


def StopTurn_now() -> StopTurn:
    return StopTurn()


@pytest.mark.parametrize("form", ["generator", "async"])
async def test_a_wrapper_of_an_open_hook_may_not_answer_with_a_coroutine(form: str) -> None:
    """Decision 7.2: `return call_next()` forgot its await; nothing is left unawaited."""

    async def later() -> str:
        return "later"

    def generator(assembly: Any) -> Any:
        yield
        return later()

    async def asynchronous(assembly: Any, *, call_next: Any) -> Any:
        return call_next()

    with pytest.raises(InvalidDecisionError, match="awaitable"):
        await ask(around(generator if form == "generator" else asynchronous), answer("x"))


# -- misuse ------------------------------------------------------------------------------------------------------------


async def test_a_generator_that_does_not_yield_is_a_misuse() -> None:
    """Decision 3.2: exactly one yield; what is inside never runs."""

    def wrapper(assembly: Any) -> Any:
        if False:
            yield
        return "no"

    def never(assembly: Any) -> None:
        raise AssertionError("ran")

    with pytest.raises(HookUsageError, match=r"'w'.*did not yield"):
        await ask(around(wrapper, "w"), assembling(never))


async def test_a_generator_that_yields_twice_is_a_misuse() -> None:
    """Decision 3.2: on the way out of a result and of an exception; it is closed, and outer wrappers see the error."""
    closed: list[str] = []
    seen: list[str] = []

    def wrapper(assembly: Any) -> Any:
        try:
            try:
                yield
            except ValueError:
                pass
            yield
        finally:
            closed.append("closed")

    def outer(assembly: Any) -> Any:
        try:
            return (yield)
        except HookUsageError as exc:
            seen.append(str(exc))
            raise

    def fail(assembly: Any) -> None:
        raise ValueError("x")

    for inner in (answer("x"), assembling(fail)):
        with pytest.raises(HookUsageError, match=r"'w'.*yielded twice"):
            await ask(around(outer), around(wrapper, "w"), inner)
    assert closed == ["closed"] * 2
    assert len(seen) == 2


async def test_a_generator_that_refuses_to_close_is_an_error() -> None:
    """Decision 3.2: going on through GeneratorExit cannot hang the chain."""

    def wrapper(assembly: Any) -> Any:
        for _ in range(3):
            try:
                yield
            except GeneratorExit:
                pass

    with pytest.raises(RuntimeError, match="GeneratorExit") as caught:
        await ask(around(wrapper, "w"), answer("x"))
    assert notes(caught.value) == [(PROMPT, "w")]


async def test_call_next_is_dead_once_the_wrapper_has_returned() -> None:
    """Decision 3.2: calling it late is a misuse naming the wrapper."""
    kept: list[Any] = []

    async def wrapper(assembly: Any, *, call_next: Any) -> Any:
        kept.append(call_next)
        return await call_next()

    await ask(around(wrapper, "w"), answer("x"))
    with pytest.raises(HookUsageError, match=r"'w'.*after it had returned"):
        await kept[0]()


async def test_call_next_is_dead_once_the_wrapper_has_raised() -> None:
    """Decision 3.2: the same after a failure."""
    kept: list[Any] = []

    async def wrapper(assembly: Any, *, call_next: Any) -> Any:
        kept.append(call_next)
        raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        await ask(around(wrapper), answer("x"))
    with pytest.raises(HookUsageError):
        await kept[0]()


async def test_call_next_twice_at_once_is_a_misuse() -> None:
    """Decision 3.2: one call at a time; the second is refused, and the chain ran once."""
    ran: list[str] = []

    async def slow(assembly: Any) -> str:
        ran.append("slow")
        await checkpoint()
        await checkpoint()
        return "x"

    async def wrapper(assembly: Any, *, call_next: Any) -> Any:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call_next)
            tasks.start_soon(call_next)

    with pytest.raises(BaseExceptionGroup) as caught:
        await ask(around(wrapper, "w"), assembling(slow))
    assert caught.group_contains(HookUsageError, match="twice at once")
    assert notes(caught.value) == [(PROMPT, "w")]
    assert ran == ["slow"]


async def test_call_next_may_run_in_a_task_of_the_wrapper() -> None:
    """Decision 3.2: one at a time also means one after the other in child tasks that the wrapper awaits."""

    async def wrapper(assembly: Any, *, call_next: Any) -> Any:
        results = []

        async def run() -> None:
            results.append(await call_next())

        for _ in range(2):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run)
        return results

    assert await ask(around(wrapper), answer("x")) == ["x", "x"]


async def test_a_wrapper_may_not_return_before_its_call() -> None:
    """Decision 3.2: a call_next() left running is a misuse."""
    release, started = anyio.Event(), anyio.Event()

    async def slow(assembly: Any) -> str:
        started.set()
        await release.wait()
        return "x"

    async with anyio.create_task_group() as tasks:

        async def wrapper(assembly: Any, *, call_next: Any) -> Any:
            tasks.start_soon(call_next)
            await started.wait()
            return "too early"

        with pytest.raises(HookUsageError, match="still running"):
            await ask(around(wrapper), assembling(slow))
        release.set()


async def test_changes_reach_everything_inside() -> None:
    """Decision 7.3: an argument the hookspec declares changeable, for inner wrappers of both forms and the rest."""
    seen: list[Any] = []

    async def outer(assembly: Any, *, call_next: Any) -> Any:
        return [await call_next(assembly=assembly + "!"), await call_next()]

    def generator(assembly: Any) -> Any:
        seen.append(assembly)
        return (yield)

    async def inner(assembly: Any, *, call_next: Any) -> Any:
        seen.append(assembly)
        return await call_next()

    made = (around(outer), around(generator), around(inner), assembling(lambda assembly: assembly))
    assert await ask(*made, assembly="p") == ["p!", "p"]
    assert seen == ["p!", "p!", "p", "p"]


async def test_nothing_else_can_be_changed() -> None:
    """Decision 7.3: above all not a sealed execution; the error says what can be."""

    async def change_context(assembly: Any, *, call_next: Any) -> Any:
        return await call_next(context=1)

    async def change_execution(execution: Any, *, call_next: Any) -> Any:
        return await call_next(execution=None)

    with pytest.raises(HookUsageError, match=r"passed context=.*only assembly"):
        await ask(around(change_context), answer("x"))
    with pytest.raises(HookUsageError, match=r"passed execution=.*nothing can be changed"):
        await hooks(Plugin(tools_execute=wrap(change_execution))).call("tools_execute", execution=None)


# -- cancellation and context ------------------------------------------------------------------------------------------


async def test_a_cancelled_chain_unwinds_every_wrapper() -> None:
    """Decision 3.6: generators are thrown the cancellation, async wrappers get it where they wait; in order."""
    log: list[str] = []

    def generator(name: str) -> Any:
        def wrapper(assembly: Any) -> Any:
            try:
                return (yield)
            finally:
                log.append(name)

        return around(wrapper, name)

    async def asynchronous(assembly: Any, *, call_next: Any) -> Any:
        try:
            return await call_next()
        except anyio.get_cancelled_exc_class():
            log.append("async")
            raise

    async def wait(assembly: Any) -> None:
        scope.cancel()
        await anyio.sleep_forever()

    with anyio.CancelScope() as scope:
        await ask(generator("a"), around(asynchronous), generator("b"), generator("c"), assembling(wait))
        raise AssertionError("not reached")
    assert scope.cancelled_caught
    assert log == ["c", "b", "async", "a"]


async def test_a_cancellation_takes_no_notes() -> None:
    """Decision 3.7: it is nobody's fault."""
    caught: list[BaseException] = []

    async def wait(assembly: Any) -> None:
        scope.cancel()
        try:
            await anyio.sleep_forever()
        except BaseException as exc:
            caught.append(exc)
            raise

    with anyio.CancelScope() as scope:
        await ask(assembling(wait))
    assert notes(caught[0]) == []


async def test_wrappers_and_implementations_share_the_callers_context() -> None:
    """Decision 3.2: all layers run in one task, so context variables set outside are seen inside, and back."""
    from contextvars import ContextVar

    variable: ContextVar[str] = ContextVar("variable", default="unset")

    def generator(assembly: Any) -> Any:
        token = variable.set("generator")
        result = yield
        variable.reset(token)
        return result

    async def asynchronous(assembly: Any, *, call_next: Any) -> Any:
        token = variable.set(variable.get() + "+async")
        try:
            return await call_next()
        finally:
            variable.reset(token)

    assert await ask(around(generator), around(asynchronous), assembling(lambda: variable.get())) == "generator+async"
    assert variable.get() == "unset"


async def test_a_chain_of_hundreds_of_wrappers_runs() -> None:
    """Decision 3.2: the depth of Python's stack is not used up by a few hundred layers."""

    async def asynchronous(assembly: Any, *, call_next: Any) -> Any:
        return await call_next()

    def generator(assembly: Any) -> Any:
        return (yield)

    assert await ask(*(around(generator) for _ in range(400)), answer("x")) == "x"
    assert await ask(*(around(asynchronous) for _ in range(200)), answer("x")) == "x"
