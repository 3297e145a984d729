"""The sealed execution: one identity, frozen arguments, a signal only wrappers may swap (spec/core.md 2)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pytest

from hookspecs.errors import HarnessError, HookUsageError, SealedError
from hookspecs.execution import ToolCall
from hookspecs.json import MISSING, FrozenDict
from hookspecs.signal import CancelSource
from tests.tools.kit import Plugin, aborted_source, code, execute, message, registry, text, tool, wrap

pytestmark = pytest.mark.anyio


class Everywhere:
    """Records the execution in every phase, under the phase's name."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []
        self.plugin = Plugin(
            tools_pre_execute=lambda execution: self.note("pre", execution),
            tools_guard=lambda execution: self.note("guard", execution),
            tools_execute=wrap(self.around),
            tools_post_execute=lambda execution, result: self.note("post", execution),
            tools_result=lambda execution, result: self.note("result", execution),
        )

    def note(self, phase: str, execution: Any) -> None:
        self.seen.append((phase, execution))

    async def around(self, execution: Any, *, call_next: Any) -> Any:
        self.note("around", execution)
        return await call_next()

    async def body(self, args: Any, exec: Any) -> Any:
        self.note("body", exec)
        return args

    @property
    def phases(self) -> list[str]:
        return [phase for phase, _ in self.seen]


async def test_the_body_sees_a_frozen_copy_of_the_arguments() -> None:
    """Case 37: equal to the caller's, which stays changeable and whose changes are not seen."""
    given: dict[str, Any] = {"list": [1]}
    seen = []

    async def body(args: Any, _exec: Any) -> None:
        given["list"].append(2)
        seen.append(args)

    await execute(registry(tools=[tool(execute=body)]), arguments=given)
    assert type(seen[0]) is FrozenDict
    assert seen[0] == {"list": [1]}
    assert given == {"list": [1, 2]}


async def test_frozen_arguments_are_passed_on_as_they_are() -> None:
    """Spec 0.3: a nested execution hands frozen arguments on, which need no second copy."""
    seen = []

    async def outer(args: Any, _exec: Any) -> Any:
        inner = await tools.execute(ToolCall("c2", "inner", args))
        return inner.value

    async def inner(args: Any, _exec: Any) -> Any:
        seen.append(args)
        return args

    tools = registry(tools=[tool("outer", outer), tool("inner", inner)])
    assert (await execute(tools, "outer", {"a": [1]})).value == {"a": [1]}
    assert type(seen[0]) is FrozenDict


async def test_one_execution_is_one_object_with_one_token_in_every_phase() -> None:
    """Case 38: and another execution has another token, under the same call id too."""
    everywhere = Everywhere()
    tools = registry(everywhere.plugin, tools=[tool(execute=everywhere.body)])
    await execute(tools)
    assert everywhere.phases == ["pre", "guard", "around", "body", "post", "result"]
    assert len({id(execution) for _, execution in everywhere.seen}) == 1
    first = everywhere.seen[0][1]
    await execute(tools)
    assert everywhere.seen[-1][1].token is not first.token


@pytest.mark.parametrize("arguments", [{"f": print}, (1, 2), {1: 2}, float("nan"), {"a": MISSING}])
async def test_arguments_that_are_not_json_fail_before_any_policy(arguments: Any) -> None:
    """Case 39: a failure without code, no phase but the last, arguments absent."""
    everywhere = Everywhere()
    result = await execute(registry(everywhere.plugin), arguments=arguments)
    assert code(result) is None
    assert "not lossless JSON" in message(result)
    assert everywhere.phases == ["result"]
    assert everywhere.seen[0][1].arguments is MISSING


async def test_bad_arguments_win_over_an_aborted_signal() -> None:
    """Case 41: the argument failure is reported although the call was cancelled before it began."""
    result = await execute(registry(), arguments={"f": print}, signal=aborted_source().signal)
    assert code(result) is None


class Drifting:
    """A caller's object whose attributes change with every read."""

    def __init__(self) -> None:
        object.__setattr__(self, "reads", [])

    def __getattribute__(self, name: str) -> Any:
        reads = object.__getattribute__(self, "reads")
        if name == "reads":
            return reads
        reads.append(name)
        first = reads.count(name) == 1
        return {
            "id": "c1" if first else "c2",
            "name": "echo" if first else "other",
            "arguments": {"first": first},
        }.get(name)


async def test_each_attribute_of_the_callers_object_is_read_once() -> None:
    """Case 42: the first values count; later drift is invisible."""
    everywhere, call = Everywhere(), Drifting()
    result = await registry(everywhere.plugin).execute(call)  # type: ignore[arg-type]
    assert sorted(call.reads) == sorted(set(call.reads))
    assert result.value == {"first": True}
    assert (everywhere.seen[0][1].call_id, everywhere.seen[0][1].name) == ("c1", "echo")


@pytest.mark.parametrize(
    ("raised", "expected"), [(ValueError("no"), None), (HarnessError("no", "MINE"), "MINE"), (SystemExit(1), None)]
)
async def test_arguments_that_cannot_be_read_fail_the_call(raised: BaseException, expected: str | None) -> None:
    """Spec 2.2: a raising accessor is the outcome, with the code of a coded error."""

    class Call:
        id, name, signal, agent, parent = "c1", "echo", None, None, None

        @property
        def arguments(self) -> Any:
            raise raised

    everywhere = Everywhere()
    assert code(await registry(everywhere.plugin).execute(Call())) == expected  # type: ignore[arg-type]
    assert everywhere.phases == ["result"]


async def test_a_signal_of_the_wrong_type_fails_the_call() -> None:
    """Spec 2.1: the signal is a CancelSignal or absent; nothing runs with something else."""
    everywhere = Everywhere()
    result = await execute(registry(everywhere.plugin), signal=object())
    assert "CancelSignal" in message(result)
    assert everywhere.phases == ["result"]


class Hostile:
    def __repr__(self) -> str:
        raise RuntimeError("cannot say")


@pytest.mark.parametrize(("call_id", "name"), [("", "echo"), (7, "echo"), ("c1", ""), ("c1", None), ("c1", Hostile())])
async def test_a_call_without_id_or_name_fails(call_id: Any, name: Any) -> None:
    """Spec 3.10: observers get a non-empty name and call id, whatever the caller said."""
    everywhere = Everywhere()
    result = await registry(everywhere.plugin).execute(ToolCall(call_id, name))
    assert "non-empty str" in message(result)
    execution = everywhere.seen[0][1]
    assert all(type(part) is str and part for part in (execution.call_id, execution.name))


async def test_a_name_may_be_a_member_of_an_enumeration() -> None:
    """Spec 2.1: what is a str is taken as the text it is."""

    class Tools(StrEnum):
        ECHO = "echo"

    everywhere = Everywhere()
    assert not (await registry(everywhere.plugin).execute(ToolCall(Tools.ECHO, Tools.ECHO))).is_error
    execution = everywhere.seen[0][1]
    assert (type(execution.name), type(execution.call_id)) == (str, str)


async def test_presentation_meta_is_for_top_level_calls() -> None:
    """Case 43: a call with a parent token has a value and no meta; without one it has both."""
    results = []

    async def outer(_args: Any, exec: Any) -> None:
        results.append(await tools.execute(ToolCall("c2", "inner", parent=exec.token)))
        results.append(await tools.execute(ToolCall("c3", "inner")))

    tools = registry(tools=[tool("outer", outer), tool("inner", meta=lambda args, value: {"shown": True})])
    await execute(tools, "outer")
    nested, top = results
    assert (nested.value, nested.meta) == ({}, MISSING)
    assert (top.value, top.meta) == ({}, {"shown": True})


async def test_observers_can_tie_a_nested_call_to_its_parent() -> None:
    """Spec 2.5: the nested execution carries the outer execution's token."""
    everywhere = Everywhere()

    async def outer(_args: Any, exec: Any) -> None:
        await tools.execute(ToolCall("c2", "inner", parent=exec.token))

    tools = registry(everywhere.plugin, tools=[tool("outer", outer), tool("inner")])
    await execute(tools, "outer")
    inner, outermost = (execution for phase, execution in everywhere.seen if phase == "result")
    assert inner.parent is outermost.token
    assert outermost.parent is None


async def test_a_wrapper_cannot_remove_the_signal() -> None:
    """Case 44: replace_signal(None) is a TypeError, so the wrapper fails and the outcome is final."""

    async def around(execution: Any, *, call_next: Any) -> Any:
        with execution.replace_signal(None):
            return await call_next()

    everywhere = Everywhere()
    result = await execute(registry(Plugin("bad", tools_execute=wrap(around)), everywhere.plugin))
    assert code(result) == "PLUGIN_FAILED"
    assert "'bad'" in message(result)
    assert "post" not in everywhere.phases


@pytest.mark.parametrize("attribute", ["signal", "arguments", "name", "call_id", "agent", "token", "parent", "extra"])
async def test_nobody_assigns_to_an_execution(attribute: str) -> None:
    """Case 45: every attribute is sealed in every phase; the error is raised at the assignment."""
    refused: list[str] = []
    seen: dict[str, Any] = {}

    def attempt(phase: str, execution: Any) -> None:
        with pytest.raises(SealedError, match=r"sealed|read-only"):
            setattr(execution, attribute, CancelSource().signal)
        with pytest.raises(SealedError):
            delattr(execution, attribute)
        refused.append(phase)
        seen[phase] = getattr(execution, attribute, None)

    everywhere = Everywhere()
    everywhere.note = attempt  # type: ignore[method-assign]
    await execute(registry(everywhere.plugin, tools=[tool(execute=everywhere.body)]))
    assert refused == ["pre", "guard", "around", "body", "post", "result"]
    assert len({id(value) for value in seen.values()}) == 1


@pytest.mark.parametrize("where", ["pre", "guard", "body", "post"])
async def test_the_signal_is_replaced_only_around_dispatch(where: str) -> None:
    """Case 45, decision 7.6: replace_signal in any other phase is a misuse with the code HOOK_USAGE."""

    def attempt(phase: str, execution: Any) -> None:
        if phase == where:
            with execution.replace_signal(CancelSource().signal):
                raise AssertionError("not reached")

    everywhere = Everywhere()
    everywhere.note = attempt  # type: ignore[method-assign]
    result = await execute(registry(everywhere.plugin, tools=[tool(execute=everywhere.body)]))
    assert code(result) == "HOOK_USAGE"


async def test_a_finished_execution_stays_sealed() -> None:
    """Spec 3.8: once the result was told, nothing about the execution changes any more."""
    everywhere = Everywhere()
    await execute(registry(everywhere.plugin))
    execution = everywhere.seen[-1][1]
    with pytest.raises(HookUsageError), execution.replace_signal(CancelSource().signal):
        raise AssertionError("not reached")


async def test_a_wrapper_that_lets_go_of_its_call_cannot_reopen_the_stage() -> None:
    """Decision 3.2: a dispatch that outlives its wrapper unwinds without touching the finished execution."""
    import anyio

    gone, let_go = anyio.Event(), anyio.Event()
    seen = []

    async def body(_args: Any, _exec: Any) -> None:
        let_go.set()
        await gone.wait()

    async with anyio.create_task_group() as tasks:

        async def around(execution: Any, *, call_next: Any) -> Any:
            async def run() -> None:
                await call_next()

            tasks.start_soon(run)
            await let_go.wait()
            raise ValueError("changed my mind")

        observer = Plugin("observer", tools_result=lambda execution, result: seen.append(execution))
        slow = tool(execute=body, cancellation="signal")
        result = await execute(registry(Plugin("bad", tools_execute=wrap(around)), observer, tools=[slow]))
        gone.set()
    assert code(result) == "PLUGIN_FAILED"
    with pytest.raises(HookUsageError), seen[0].replace_signal(CancelSource().signal):
        raise AssertionError("not reached")


async def test_an_execution_says_what_it_is_and_cannot_be_made_by_hand() -> None:
    """Api: only the registry makes executions; they show their name and id and know their definition."""
    everywhere = Everywhere()
    tools = registry(everywhere.plugin)
    assert text(await execute(tools)) == "{}"
    execution = everywhere.seen[0][1]
    assert repr(execution) == "<ToolRunContext 'echo' 'c1'>"
    assert execution.definition is tools.get("echo")
    with pytest.raises(TypeError, match="made by the registry"):
        type(execution)()
