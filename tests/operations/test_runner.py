"""dshhooks.operations.runner: order, guards, observers that fail (spec/operations.md 1.7, 1.8, 1.11)."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import traceback
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import attrs
import pytest

from dshhooks.operations import (
    Around,
    Denial,
    Guard,
    GuardError,
    Operation,
    OperationCanceled,
    OperationConfigError,
    Outcome,
    as_denial,
    classify,
    current_operation,
    deny,
    handles,
)
from tests.operations.kit import PAYLOADS, TOOL, allow, call, results, runner, watch

pytestmark = pytest.mark.anyio

value: ContextVar[tuple[str, ...]] = ContextVar("value", default=())


async def refusal(guard: Any, **options: Any) -> Any:
    """What a guard's answer makes of an operation, which is then finished."""
    seen: list[Any] = []
    scope = await runner([guard], [results(seen)], **options).start(call())
    scope.finish(classify(scope.refusal), scope.refusal)
    assert seen[0].error is scope.refusal
    return scope.refusal


async def test_order():
    """Case 40: begins, guards, the work, finishes in reverse; whoever is not concerned does not run."""
    seen: list[Any] = []
    unrelated = Around(Operation.TURN, watch(seen, "unrelated"))
    guards = [lambda _call: seen.append("g1"), lambda _call: seen.append("g2")]
    scope = await runner(guards, [watch(seen, "a"), unrelated, watch(seen, "b")]).start(call())
    await scope.run(seen.append, "operation")
    scope.finish(Outcome.COMPLETED)
    assert seen == [
        "begin a", "begin b", "g1", "g2", "operation", "finish b completed", "finish a completed",
    ]  # fmt: skip


async def test_handles():
    """Case 41: what anybody is registered for."""
    only_around, only_guard = runner([], [allow], Operation.STEP), runner([allow], [], Operation.TURN)
    assert [each for each in Operation if only_around.handles(each)] == [Operation.STEP]
    assert [each for each in Operation if handles(only_guard, each)] == [Operation.TURN]
    assert only_guard.describe() == {"turn": {"around": 0, "guards": 1}}
    assert repr(only_guard) == "<Runner of turn>"


async def test_values_flow_inwards_only():
    """Cases 42 and 43: everybody behind sees what was set before; the caller sees nothing of it."""
    seen: list[Any] = []

    def setting(name):
        def begin(_call):
            seen.append((name, value.get()))
            value.set((*value.get(), name))

        return begin

    async def guard(_call):
        await anyio.lowlevel.checkpoint()
        seen.append(("guard", value.get()))

    async def body():
        await anyio.lowlevel.checkpoint()
        seen.append(("body", value.get()))
        async with anyio.create_task_group() as group:
            group.start_soon(child)

    async def child():
        seen.append(("child", value.get()))

    scope = await runner([guard], [setting("a"), setting("b")]).start(call())
    await scope.run(body)
    scope.finish(Outcome.COMPLETED)
    both = ("a", "b")
    assert seen == [("a", ()), ("b", ("a",)), ("guard", both), ("body", both), ("child", both)]
    assert value.get() == ()
    assert current_operation() is None


async def test_the_first_refusal_ends_it():
    """Case 45: nobody is asked after it, and the observers are told."""
    seen: list[Any] = []
    guards = [lambda _call: deny("a", "b"), lambda _call: seen.append("second")]
    scope = await runner(guards, [watch(seen)]).start(call())
    scope.finish(Outcome.DENIED, scope.refusal)
    assert seen == ["begin o", "finish o denied"]


class Wrapper(Exception):
    pass


def returns(answer):
    """A guard that answers."""
    return lambda _call: answer


def raises(error, cause=None):
    """A guard that raises."""

    def guard(_call):
        raise error from cause

    return guard


def waits(guard):
    """The same guard, async."""

    async def waiting(given):
        await anyio.lowlevel.checkpoint()
        return guard(given)

    return waiting


@pytest.mark.parametrize("form", [lambda guard: guard, waits], ids=["plain", "async"])
async def test_denials(form):
    """Cases 46 and 57: returned, raised, or through a wrapper; a fresh copy each time, told as `denied`."""
    original = deny("a", "b")
    for guard in (returns(original), raises(original), raises(Wrapper(), original)):
        found = await refusal(form(guard))
        assert type(found) is Denial
        assert found is not original
        assert (found.code, found.reason) == ("a", "b")
        assert classify(found) is Outcome.DENIED


FAULTS = [
    returns(False), returns(True), returns("no"), returns(0), returns(Denial("BAD CODE", "r")), returns(Denial),
    returns([deny("a", "b")]), raises(ValueError("x")), raises(Denial("a", "\n")), raises(SystemExit(1)),
    raises(StopIteration(deny("a", "b"))), lambda _call: deny("BAD", "r"), raises(TimeoutError()),
    raises(ExceptionGroup("g", [ValueError()])),
]  # fmt: skip


@pytest.mark.parametrize("form", [lambda guard: guard, waits], ids=["plain", "async"])
@pytest.mark.parametrize("guard", FAULTS)
async def test_failures_block(form, guard):
    """Cases 27, 46 and 51, D4: whatever is not None or a well-formed denial; told as `failed`."""
    found = await refusal(form(guard))
    assert type(found) is GuardError
    assert as_denial(found) is None
    assert classify(found) is Outcome.FAILED


async def test_a_wrong_code_is_the_guard_s_failure():
    """Case 27: the cause says what is wrong with it."""
    found = await refusal(lambda _call: deny("BAD", "r"))
    assert isinstance(found.cause, OperationConfigError)


@pytest.mark.parametrize("guarding", [True, False])
async def test_whoever_writes_into_a_call(guarding):
    """C1: what is frozen keeps nobody off who means it; it is finished all the same, with its own payload."""
    seen: list[Any] = []

    def write(given):
        for name in ("operation", "payload"):
            object.__setattr__(given, name, "nonsense")

    begins = [results(seen), *(() if guarding else (write,))]
    scope = await runner([write, allow] if guarding else [allow], begins).start(call())
    scope.finish(Outcome.COMPLETED, is_error=True)
    assert scope.refusal is None
    assert scope.finished
    [result] = seen
    assert result.payload == attrs.evolve(PAYLOADS[TOOL], is_error=True)


async def test_a_faked_cancellation_in_a_plain_guard():
    """1.11: sync code cannot be cancelled, so the class is one more exception."""

    def guard(_call):
        future: concurrent.futures.Future[None] = concurrent.futures.Future()
        future.cancel()
        future.result()

    assert type(await refusal(guard)) is GuardError
    assert type(await refusal(raises(asyncio.CancelledError()))) is GuardError


async def test_a_faked_cancellation_in_a_guard_that_waits():
    """decisions 3.7: where nobody cancelled anything it is the guard's failure, in a group of faults too."""

    async def guard(_call):
        await anyio.lowlevel.checkpoint()
        raise error

    for error in (asyncio.CancelledError("x"), BaseExceptionGroup("g", [asyncio.CancelledError("x"), ValueError()])):
        found = await refusal(guard)
        assert (type(found), found.cause) == (GuardError, error)


async def test_nothing_a_guard_said_gets_out(caplog):
    """Case 47, X1: not in text, repr, args, traceback or log."""

    def guard(_call):
        raise ValueError("hunter2")

    with caplog.at_level(logging.DEBUG):
        found = await refusal(guard)
        try:
            async with runner([guard], [watch([])]).operation(call()):
                raise AssertionError("the body ran")
        except GuardError as exc:
            shown = traceback.format_exc()
            assert exc.operation is TOOL  # noqa: PT017
    assert (found.operation, found.index) == (TOOL, 0)
    texts = [str(found), repr(found), repr(found.args), "".join(traceback.format_exception(found))]
    assert "hunter2" in str(found.cause)
    # The line of source that raised it is ours, above; nothing of it is in the traceback either.
    assert not [text for text in (*texts, shown, caplog.text) if "hunter2" in text]


async def test_the_index_counts_the_whole_list():
    """Case 49: not only the guards of that operation."""
    turn = Guard(Operation.TURN, allow)
    scope = await runner([turn, Guard(TOOL, allow), raises(ValueError()), turn]).start(call())
    scope.finish(Outcome.FAILED, scope.refusal)
    assert scope.refusal.index == 2


async def test_a_hanging_guard_lets_nothing_through():
    """A guard that never answers blocks; with a limit, it has failed."""

    async def guard(_call):
        await anyio.sleep_forever()

    with anyio.move_on_after(0.01) as limit:
        await runner([guard]).start(call())
    assert limit.cancelled_caught
    found = await refusal(guard, guard_timeout=0.01)
    assert type(found.cause) is TimeoutError


class Unusable:
    pass


async def test_begins_that_fail(caplog):
    """Cases 52 and 54: logged with their place only, no finish for them, everybody else goes on."""
    seen: list[Any] = []

    async def later():
        pass

    def nothing(_call):
        return
        yield

    begins = [
        raises(ValueError("secret")), watch(seen, "a"), returns(None), returns(Unusable()), lambda _call: later(),
        nothing, raises(SystemExit()), raises(asyncio.CancelledError("secret")), watch(seen, "b"),
    ]  # fmt: skip
    scope = await runner([lambda _call: seen.append("guard")], begins).start(call())
    scope.finish(Outcome.COMPLETED)
    assert seen == ["begin a", "begin b", "guard", "finish b completed", "finish a completed"]
    places = [(log.operation, log.phase, log.callback_index, log.levelname) for log in caplog.records]
    assert places == [("tool_call", "begin", index, "ERROR") for index in (0, 3, 4, 6, 7)]
    assert "secret" not in caplog.text
    assert not [log for log in caplog.records if log.exc_info or log.stack_info]


async def test_observers_that_deny_do_not():
    """1.11: a denial raised by an observer is its failure, nothing else."""
    scope = await runner([], [raises(deny("a", "b"))]).start(call())
    scope.finish(Outcome.COMPLETED)
    assert scope.refusal is None


async def test_finishes_that_fail(caplog):
    """Case 53: the others are told, and the log holds neither payload nor text."""
    seen: list[Any] = []
    bad = returns(raises(ValueError("secret")))
    scope = await runner([], [watch(seen, "a"), bad, watch(seen, "b")]).start(call())
    scope.finish(Outcome.COMPLETED, result="secret")
    assert seen == ["begin a", "begin b", "finish b completed", "finish a completed"]
    [log] = caplog.records
    assert (log.operation, log.phase, log.callback_index) == ("tool_call", "finish", 1)
    assert "secret" not in caplog.text


async def test_who_wants_to_know_is_told():
    """A trusted hook for tests; it cannot change anything either."""
    told: list[Any] = []

    def debug(exc, where):
        told.append((str(exc), where.phase, where.callback_index))
        raise exc

    scope = await runner([], [raises(ValueError("x"))], on_observer_error=debug).start(call())
    scope.finish(Outcome.COMPLETED)
    assert told == [("x", "begin", 0)]


async def test_observers_may_be_generators(caplog):
    """P4: begin up to the yield, finish behind it; a second yield is closed and logged."""
    seen: list[Any] = []

    def once(given):
        seen.append(given.operation)
        result = yield
        seen.append(result.outcome)

    def twice(_call):
        try:
            yield
            yield
        finally:
            seen.append("closed")

    scope = await runner([], [once, twice]).start(call())
    scope.finish(Outcome.CANCELED)
    assert seen == [TOOL, "closed", Outcome.CANCELED]
    assert [log.callback_index for log in caplog.records] == [1]


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("where", ["begin", "guard"])
async def test_interrupts_pass_through(interrupt, where):
    """E1: what had begun is finished as failed, then it is raised; nothing is left to the owner."""
    seen: list[Any] = []
    error = interrupt()
    begins = [watch(seen), *([raises(error)] if where == "begin" else []), results(seen)]
    made = runner([raises(error) if where == "guard" else allow], begins)
    try:
        await made.start(call())
    except interrupt as exc:
        caught = exc
    assert caught is error
    assert [each for each in seen if isinstance(each, str)] == ["begin o", "finish o failed"]


async def test_genuine_cancellation_in_a_guard():
    """E2: finished as canceled, and raised on."""
    seen: list[Any] = []

    async def guard(_call):
        scope.cancel()
        await anyio.sleep_forever()

    with anyio.CancelScope() as scope:
        await runner([guard], [watch(seen)]).start(call())
    assert scope.cancelled_caught
    assert seen == ["begin o", "finish o canceled"]


async def test_an_operation_cancelled_before_its_guards():
    """Case 62: a plain guard still runs, sees it and may allow; one that waits is interrupted."""
    seen: list[Any] = []

    def cancels(_call):
        value.set(("set",))
        current_operation().cancel("stop")

    def plain(_call):
        seen.append((current_operation().cancelled, value.get()))

    async def waiting(_call):
        await anyio.sleep_forever()

    scope = await runner([plain], [watch(seen), cancels]).start(call())
    assert (scope.refusal, scope.token.cancelled) == (None, True)
    scope.finish(Outcome.CANCELED)
    assert seen == ["begin o", (True, ("set",)), "finish o canceled"]
    found = await _interrupted(waiting, cancels)
    assert type(found) is OperationCanceled
    assert found.reason == "stop"


async def _interrupted(guard: Any, begin: Any) -> Any:
    scope = await runner([guard], [begin]).start(call())
    scope.finish(classify(scope.refusal), scope.refusal)
    return scope.refusal


async def test_a_guard_that_breaks_while_it_is_interrupted():
    """E1, E3: whatever comes out of its task group, starting does not raise and the operation is refused."""

    async def breaks():
        try:
            await anyio.sleep_forever()
        finally:
            raise ValueError("secret")

    async def guard(_call):
        async with anyio.create_task_group() as group:
            group.start_soon(breaks)
            await anyio.lowlevel.checkpoint()
            current_operation().cancel("stop")
            await anyio.sleep_forever()

    found = await _interrupted(guard, allow)
    assert type(found) in (GuardError, OperationCanceled)
    assert "secret" not in f"{found!r}"
