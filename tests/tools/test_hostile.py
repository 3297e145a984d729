"""Hostile tools and plugins, and values at the limits: a call always ends in a result, and leaves nothing behind."""

from __future__ import annotations

import dataclasses
import gc
import tracemalloc
from typing import Any
from unittest.mock import Mock

import anyio
import pytest
from anyio.lowlevel import checkpoint

from hookspecs.decisions import Accept, Allow, Ask, Block, Deny
from hookspecs.errors import HarnessError
from hookspecs.execution import ErrorInfo, ToolError, ToolFailure, ToolSuccess
from hookspecs.signal import CancelSource
from tests.tools.kit import Agent, Plugin, code, context, execute, message, registry, text, tool, wrap

pytestmark = pytest.mark.anyio


# -- exceptions --------------------------------------------------------------------------------------------------------


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot say")

    __repr__ = __str__


class SlottedError(Exception):
    __slots__ = ("extra",)


class NotelessError(Exception):
    def add_note(self, note: str) -> None:
        raise RuntimeError("no notes")

    __notes__ = property(lambda self: 1 / 0)  # type: ignore[assignment]


@dataclasses.dataclass(frozen=True)
class FrozenError(Exception):
    reason: str = "frozen"


class SilentError(HarnessError):
    def __init__(self) -> None:
        """Never calls super().__init__, so it has no code."""


class OddCodeError(HarnessError):
    def __init__(self) -> None:
        super().__init__("odd", 7)  # type: ignore[arg-type]


HOSTILE = [UnprintableError(), SlottedError("s"), NotelessError("n"), FrozenError(),
           BaseExceptionGroup("g", [ValueError("v")])]  # fmt: skip


def raising(exc: BaseException) -> Any:
    async def body(*_args: Any) -> Any:
        raise exc

    return body


@pytest.mark.parametrize("exc", HOSTILE, ids=lambda exc: type(exc).__name__)
async def test_a_tool_may_raise_anything(exc: BaseException) -> None:
    """Spec 3.4: any fault of the body is a failure without code."""
    result = await execute(registry(tools=[tool(execute=raising(exc))]))
    assert code(result) is None
    assert message(result)


@pytest.mark.parametrize("exc", HOSTILE, ids=lambda exc: type(exc).__name__)
@pytest.mark.parametrize("hook", ["tools_pre_execute", "tools_execute", "tools_guard"])
async def test_a_plugin_that_raises_anything_is_named(hook: str, exc: BaseException) -> None:
    """Decision 3.7: PLUGIN_FAILED naming hook and plugin, even when the exception does not take notes."""

    def fail(execution: Any) -> Any:
        raise exc

    result = await execute(registry(Plugin("hostile", **{hook: fail})))
    assert code(result) == "PLUGIN_FAILED"
    assert f"plugin 'hostile' failed in hook '{hook}'" in message(result)


@pytest.mark.parametrize(("exc", "expected"), [(SilentError(), "HARNESS_ERROR"), (OddCodeError(), "7")])
async def test_a_malformed_coded_error_still_makes_a_result(exc: HarnessError, expected: str) -> None:
    """Spec 3.9: whatever a subclass of HarnessError did to itself."""
    result = await execute(registry(tools=[tool(execute=raising(exc))]))
    assert code(result) == expected
    assert result.error.info.name == type(exc).__name__


async def test_a_group_is_described() -> None:
    """Decision 3.7: a task group's failure inside a body is that body's failure."""

    async def body(_args: Any, _exec: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(raising(ValueError("inner")))

    assert "1 sub-exception" in message(await execute(registry(tools=[tool(execute=body)])))


async def test_a_group_holding_an_interrupt_passes_through() -> None:
    """Decision 3.7: KeyboardInterrupt is not normalized in company either."""
    group = BaseExceptionGroup("g", [ValueError("v"), KeyboardInterrupt()])
    with pytest.raises(BaseExceptionGroup):
        await execute(registry(tools=[tool(execute=raising(group))]))


@pytest.mark.parametrize("where", ["body", "pre", "guard", "wrapper", "observer", "finalizer", "render", "post"])
async def test_a_stray_cancelled_error_is_a_fault(where: str, caplog: pytest.LogCaptureFixture) -> None:
    """Decision 3.7: a CancelledError nobody asked this task for does not end the caller's task."""
    import asyncio

    def stray(*_args: Any) -> Any:
        raise asyncio.CancelledError

    async def body(*_args: Any) -> Any:
        stray()

    def wrapper(execution: Any) -> Any:
        yield
        stray()

    plugins = {
        "pre": Plugin(tools_pre_execute=lambda execution: stray()),
        "guard": Plugin(tools_guard=lambda execution: stray()),
        "wrapper": Plugin(tools_execute=wrap(wrapper)),
        "observer": Plugin(tools_result=lambda execution, result: stray()),
        "post": Plugin(tools_post_execute=lambda execution, result: stray()),
    }
    parts = {"body": {"execute": body}, "finalizer": {"finalize_content": stray}, "render": {"render": stray}}
    tools = registry(plugins.get(where, Plugin()), tools=[tool(**parts.get(where, {}))])
    result = await execute(tools)
    assert result.is_error == (where != "observer")
    assert ("CancelledError" in caplog.text) == (where == "observer")
    blamed = {"pre": "PLUGIN_FAILED", "guard": "PLUGIN_FAILED", "wrapper": "PLUGIN_FAILED", "post": "PLUGIN_FAILED",
              "render": "INVALID_TOOL_OUTPUT"}  # fmt: skip
    assert where == "observer" or code(result) == blamed.get(where)


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_awaiting_a_task_somebody_cancelled_is_a_fault() -> None:
    """Decision 3.7: the everyday form of a stray CancelledError."""
    import asyncio

    async def body(_args: Any, _exec: Any) -> None:
        task = asyncio.ensure_future(asyncio.sleep(3600))
        await checkpoint()
        task.cancel()
        await task

    result = await execute(registry(tools=[tool(execute=body)]), signal=CancelSource().signal)
    assert code(result) is None
    assert message(result) == "CancelledError"


# -- answers -----------------------------------------------------------------------------------------------------------


async def later() -> Deny:
    return Deny("later")


async def test_a_plain_function_may_answer_with_an_awaitable() -> None:
    """Decision 3.1: the answer decides, not the kind of function."""
    assert message(await execute(registry(Plugin(tools_pre_execute=lambda execution: later())))) == "later"


class Liar:
    """Claims to be another class by raising when asked."""

    @property
    def __class__(self) -> Any:
        raise RuntimeError("none of your business")


@pytest.mark.parametrize("hook", ["tools_pre_execute", "tools_execute"])
@pytest.mark.parametrize("traced", [False, True], ids=["untraced", "traced"])
async def test_an_answer_that_fights_back_fails_closed(hook: str, traced: bool) -> None:
    """Spec 3.2: an answer nobody can look at is no permission, with or without a trace."""
    tools = registry(Plugin("liar", **{hook: lambda execution: Liar()}))
    if traced:
        with tools.hooks.trace():
            result = await execute(tools)
    else:
        result = await execute(tools)
    assert result.is_error
    assert code(result) in ("PLUGIN_FAILED", "INVALID_DECISION")


async def test_every_generator_is_torn_down_when_an_inner_answer_fights_back() -> None:
    """Decision 3.2: a hostile answer of an inner wrapper does not leave an outer one hanging."""
    seen: list[str] = []

    def outer(execution: Any) -> Any:
        try:
            return (yield)
        except Exception as exc:
            seen.append(type(exc).__name__)
            raise

    def inner(execution: Any) -> Any:
        yield
        return Liar()

    result = await execute(registry(Plugin("o", tools_execute=wrap(outer)), Plugin("i", tools_execute=wrap(inner))))
    assert result.is_error
    assert seen == ["InvalidDecisionError"]


class StandIn:
    """Claims to be an object of another class, and has nothing of it."""

    def __init__(self, kind: type) -> None:
        self.kind = kind

    @property
    def __class__(self) -> Any:
        return object.__getattribute__(self, "kind")


@pytest.mark.parametrize("make", [StandIn, lambda kind: Mock(spec=kind)], ids=["class", "mock"])
@pytest.mark.parametrize("form", ["implementation", "wrapper"])
@pytest.mark.parametrize(
    ("hook", "kind"),
    [("tools_pre_execute", Allow), ("tools_pre_execute", Ask), ("tools_execute", ToolFailure),
     ("tools_execute", ToolSuccess), ("tools_post_execute", Accept), ("tools_post_execute", Block)],
)  # fmt: skip
async def test_what_only_claims_to_be_a_decision_is_none(hook: str, kind: type, form: str, make: Any) -> None:
    """Spec 3.2: a decision is known by its type, not by what it says of itself."""

    def implementation(execution: Any) -> Any:
        return make(kind)

    async def wrapper(execution: Any, *, call_next: Any) -> Any:
        await call_next()
        return make(kind)

    async def body(_args: Any, execution: Any) -> None:
        execution.defer_context(context("kept"))

    function = implementation if form == "implementation" else wrap(wrapper)
    assert code(await execute(registry(Plugin("p", **{hook: function}), tools=[tool(execute=body)]))) == (
        "INVALID_DECISION"
    )


async def test_a_guard_that_answers_with_a_stand_in_for_text_denies() -> None:
    """Decision 7.4: both kinds of guard; nobody tries to print what is no text."""
    tools = registry()
    tools.guard(lambda execution: StandIn(str))  # type: ignore[arg-type, return-value]
    assert code(await execute(tools)) == "GUARD_FAILED"
    assert code(await execute(registry(Plugin(tools_guard=lambda execution: StandIn(str))))) == "INVALID_DECISION"


class FaithlessFailure(ToolFailure):
    is_error = False  # type: ignore[misc]
    reads = 0

    @property
    def contexts(self) -> Any:
        type(self).reads += 1
        raise RuntimeError("not today")

    @contexts.setter
    def contexts(self, value: Any) -> None:
        pass


class FalseFailure(ToolFailure):
    is_error = False  # type: ignore[misc]


@pytest.mark.parametrize("deferred", [False, True])
@pytest.mark.parametrize("kind", [FalseFailure, FaithlessFailure])
async def test_a_subclass_of_a_failure_is_taken_as_a_failure(kind: Any, deferred: bool) -> None:
    """Spec 3.4: what a wrapper's own class does with its attributes reaches nobody else."""

    async def body(_args: Any, execution: Any) -> None:
        if deferred:
            execution.defer_context(context("kept"))

    async def wrapper(execution: Any, *, call_next: Any) -> Any:
        await call_next()
        return kind(ToolError("mine"))

    result = await execute(registry(Plugin("p", tools_execute=wrap(wrapper)), tools=[tool(execute=body)]))
    assert type(result) is ToolFailure
    assert len(result.contexts) == (deferred and kind is FalseFailure)


@pytest.mark.parametrize("call", [None, {}, "echo", object()], ids=lambda value: type(value).__name__)
async def test_what_is_no_call_is_a_type_error(call: Any) -> None:
    """Not a fault of a tool or plugin: the caller learns what is needed."""
    with pytest.raises(TypeError, match="a ToolCall is needed"):
        await registry().execute(call)


@pytest.mark.parametrize(
    "make",
    [lambda: ToolError(5), lambda: ToolError("m", "CODE"), lambda: ErrorInfo("Name", None), lambda: ErrorInfo(1, "C")],
)
def test_the_parts_of_an_error_have_types(make: Any) -> None:
    """Decision 7.5: constructors check types, so no result carries a message that is no text."""
    with pytest.raises(TypeError, match="must be"):
        make()


@pytest.mark.parametrize("hook", ["tools_pre_execute", "tools_execute", "tools_post_execute"])
async def test_a_wrapper_that_forgets_to_await_is_refused_quietly(hook: str) -> None:
    """Decision 7.2: `return call_next()` is no decision, and no coroutine is left unawaited."""

    async def forgetful(execution: Any, *, call_next: Any) -> Any:
        return call_next()

    async def forgetful_post(execution: Any, result: Any, *, call_next: Any) -> Any:
        return call_next()

    wrapper = wrap(forgetful_post if hook == "tools_post_execute" else forgetful)
    assert code(await execute(registry(Plugin("forgetful", **{hook: wrapper})))) == "INVALID_DECISION"


# -- limits ------------------------------------------------------------------------------------------------------------

DEPTH = 5_000


def nested(depth: int = DEPTH) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def depth_of(value: Any) -> int:
    depth = 0
    while value:
        value, depth = value[0], depth + 1
    return depth


@pytest.mark.parametrize("schema", [{}, {"type": "array"}, {"type": "array", "items": {"type": "array"}}])
async def test_five_thousand_levels_go_through_a_whole_call(schema: Any) -> None:
    """Spec 0.4: arguments, value, meta and contexts at any depth."""
    seen: list[int] = []

    async def body(args: Any, exec: Any) -> Any:
        exec.defer_context(context("deep", deep=nested()))
        return args["deep"]

    look = Plugin(tools_pre_execute=lambda execution: seen.append(depth_of(execution.arguments["deep"])))
    definition = tool(execute=body, schema=schema, render=lambda args, value: "deep", meta=lambda args, value: value)
    result = await execute(registry(look, tools=[definition]), arguments={"deep": nested()})
    assert not result.is_error
    assert seen == [depth_of(result.value)] == [depth_of(result.meta)] == [DEPTH]
    assert depth_of(result.contexts[0].meta["deep"]) == DEPTH


async def test_a_deep_value_outside_its_schema_is_a_violation() -> None:
    """Spec 1.7: validation never raises, however deep the value is."""
    definition = tool(execute=lambda args, exec: nested(), schema={"type": "string"}, render=lambda args, value: "")
    assert code(await execute(registry(tools=[definition]))) == "INVALID_TOOL_OUTPUT"


@pytest.mark.parametrize("schema", [{}, {"type": "object", "properties": {"\ud800": {"type": "string"}}}])
async def test_lone_surrogates_go_through_a_whole_call(schema: Any) -> None:
    """Decision 7.7: they are legal strings in arguments, value, content and validation."""
    result = await execute(registry(tools=[tool(schema=schema)]), arguments={"\ud800": "a\udfffb"})
    assert result.value == {"\ud800": "a\udfffb"}
    assert "\udfff" in text(result) or "\\udfff" in text(result)


async def test_surrogates_are_not_taken_for_each_other() -> None:
    """Decision 7.7: two different strings stay different under enum."""
    schema = {"type": "string", "enum": ["\ud800"]}
    for value, fits in (("\ud800", True), ("\ud801", False), ("\ufffd", False)):
        definition = tool(execute=lambda args, exec, value=value: value, schema=schema)
        assert (await execute(registry(tools=[definition]))).is_error != fits


async def test_a_surrogate_in_a_denial_reaches_the_model() -> None:
    """Decision 7.7: reasons are strings too."""
    denying = Plugin(tools_pre_execute=lambda execution: Deny("no \ud800"))
    assert text(await execute(registry(denying))) == "Error: no \ud800"


async def test_ten_megabytes_are_copied_once_and_shared() -> None:
    """Spec 0.4: big arguments are frozen at the door; body and observers see that very value."""
    blob, seen = "x" * 10_000_000, []

    async def body(args: Any, _exec: Any) -> Any:
        seen.append(args)
        return args

    look = Plugin(tools_result=lambda execution, result: seen.extend([execution.arguments, result.value]))
    definition = tool(execute=body, render=lambda args, value: "big", schema={"type": "object"})
    result = await execute(registry(look, tools=[definition]), arguments={"blob": blob, "list": ["y" * 1000] * 1000})
    assert not result.is_error
    assert seen[0] is seen[1] is seen[2]


async def test_a_big_integer_is_a_number() -> None:
    """Spec 0.4: integers have any magnitude."""
    result = await execute(registry(tools=[tool(execute=lambda args, exec: 10**4000, schema={"type": "integer"},
                                                render=lambda args, value: "big")]))  # fmt: skip
    assert result.value == 10**4000


# -- nothing is left behind --------------------------------------------------------------------------------------------


class Everything:
    """A plugin in every phase, in both wrapper forms."""

    def plugins(self) -> list[Plugin]:
        def generator(execution: Any) -> Any:
            return (yield)

        async def asynchronous(execution: Any, *, call_next: Any) -> Any:
            with execution.replace_signal(CancelSource().signal):
                return await call_next()

        async def pre(execution: Any) -> None:
            return None

        return [
            Plugin("async", tools_execute=wrap(asynchronous), tools_pre_execute=pre),
            Plugin("generator", tools_execute=wrap(generator), tools_pre_execute=wrap(generator)),
            Plugin("plain", tools_guard=lambda execution: None, tools_result=lambda execution, result: None,
                   tools_post_execute=lambda execution, result: Accept(contexts=(context("n"),))),
        ]  # fmt: skip


def failing(fail: bool) -> Any:
    async def body(args: Any, exec: Any) -> Any:
        exec.defer_context(context("d"))
        if fail:
            raise ValueError("failed")
        return args

    return body


@pytest.mark.parametrize("fail", [False, True], ids=["success", "failure"])
async def test_calls_leave_nothing_behind(fail: bool) -> None:
    """Nothing grows with the number of calls, on a signal and an agent that live through all of them."""
    source, agent = CancelSource(), Agent()
    tools = registry(*Everything().plugins(), tools=[tool(execute=failing(fail))])
    tools.hooks.register(Plugin("scoped", tools_result=lambda execution, result: None), agent=agent)

    async def run(calls: int) -> None:
        for _ in range(calls):
            await execute(tools, arguments={"a": [1]}, signal=source.signal, agent=agent)

    await run(200)
    gc.collect()
    tracemalloc.start()
    try:
        await run(50)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        await run(2_000)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 20_000, f"{grown / 2_000:.1f} bytes a call"


@pytest.mark.parametrize("how", ["body", "policy", "wrapper", "async wrapper", "guard"])
async def test_a_failed_call_is_freed_without_the_garbage_collector(how: str) -> None:
    """No exception keeps its frames alive through a cycle, whichever phase raised it."""
    import weakref

    class Marker:
        pass

    alive: list[Any] = []

    def fail(*_args: Any) -> Any:
        marker = Marker()
        alive.append(weakref.ref(marker))
        raise ValueError("failed")

    def generator(execution: Any) -> Any:
        yield
        fail()

    async def asynchronous(execution: Any, *, call_next: Any) -> Any:
        await call_next()
        fail()

    async def body(_args: Any, _exec: Any) -> Any:
        fail()

    plugins = {
        "policy": Plugin(tools_pre_execute=lambda execution: fail()),
        "wrapper": Plugin(tools_execute=wrap(generator)),
        "async wrapper": Plugin(tools_execute=wrap(asynchronous)),
        "guard": Plugin(tools_guard=lambda execution: fail()),
    }
    outer = Everything().plugins()[:2]
    tools = registry(*outer, plugins.get(how, Plugin()), tools=[tool(execute=body if how == "body" else None)])
    gc.collect()
    gc.disable()
    try:
        assert (await execute(tools)).is_error
        assert [reference() for reference in alive] == [None]
    finally:
        gc.enable()


async def test_an_agent_is_not_kept_by_its_calls() -> None:
    """Spec 0.2: disposing what was registered for an agent lets go of it."""
    import weakref

    tools, agent = registry(), Agent()
    with tools.hooks.register(Plugin("scoped"), agent=agent), tools.register(tool("own"), agent=agent):
        await execute(tools, "own", agent=agent)
    reference = weakref.ref(agent)
    del agent
    gc.collect()
    assert reference() is None


async def test_a_thousand_concurrent_calls_do_not_mix() -> None:
    """Spec 2.2: each has its own execution, signal and contexts."""

    async def body(args: Any, exec: Any) -> Any:
        await checkpoint()
        exec.defer_context(context("mine", n=args["n"]))
        return args["n"]

    tools = registry(*Everything().plugins(), tools=[tool(execute=body)])
    results: dict[int, Any] = {}

    async def run(number: int) -> None:
        results[number] = await execute(tools, arguments={"n": number})

    async with anyio.create_task_group() as tasks:
        for number in range(1_000):
            tasks.start_soon(run, number)
    assert all(result.value == number for number, result in results.items())
    assert all(result.contexts[0].meta == {"n": number} for number, result in results.items())
