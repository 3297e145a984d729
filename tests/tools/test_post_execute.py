"""Output canonicalisation and post-execute (spec/core.md 3.4, 3.6, 3.7)."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import pytest

from hookspecs.decisions import Accept, Block
from hookspecs.errors import HarnessError
from hookspecs.execution import ToolResult, ToolSuccess
from hookspecs.json import MISSING, FrozenDict
from hookspecs.signal import CancelSource
from hookspecs.values import HookContext, PluginSource, ReasoningBlock, TextBlock, ToolResultBlock, UnknownBlock
from tests.tools.kit import Plugin, code, context, execute, message, registry, text, tool, wrap

pytestmark = pytest.mark.anyio


def post(function: Any, name: str = "post") -> Plugin:
    return Plugin(name, tools_post_execute=function)


def deciding(decision: Any) -> Plugin:
    return post(lambda execution, result: decision)


def answering(value: Any) -> Any:
    async def body(_args: Any, _exec: Any) -> Any:
        return value

    return body


def raising(exc: BaseException) -> Any:
    def function(*_args: Any) -> Any:
        raise exc

    return function


async def later() -> str:
    return "later"


def notes(result: ToolResult) -> list[str]:
    return [item.content[0].text for item in result.contexts]


# -- canonicalisation --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [print, {"a": (1,)}, 1.5, None, float("nan"), MISSING, object()])
async def test_a_value_must_be_json_and_fit(value: Any) -> None:
    """Case 94: otherwise it is INVALID_TOOL_OUTPUT before post sees the result."""
    seen: list[Any] = []
    definition = tool(schema={"type": "string"}, execute=answering(value))
    result = await execute(registry(post(lambda execution, result: seen.append(result)), tools=[definition]))
    assert code(result) == "INVALID_TOOL_OUTPUT"
    assert "'echo'" in message(result)
    assert [code(each) for each in seen] == ["INVALID_TOOL_OUTPUT"]


async def test_a_value_outside_its_schema_says_where() -> None:
    """Case 94: the message joins the violations with their paths."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["b"]}
    result = await execute(registry(tools=[tool(schema=schema)]), arguments={"a": 1})
    assert "a must be" in message(result)
    assert "b is required" in message(result) or "b" in message(result)


@pytest.mark.parametrize(
    "part",
    [
        {"render": raising(ValueError("no"))},
        {"render": raising(SystemExit(1))},
        {"render": raising(StopIteration())},
        {"render": lambda args, value: 7},
        {"render": lambda args, value: ["text"]},
        {"render": lambda args, value: [UnknownBlock("odd", object())]},
        {"render": lambda args, value: later()},
        {"meta": raising(ValueError("no"))},
        {"meta": lambda args, value: {"a": print}},
        {"meta": lambda args, value: later()},
    ],
    ids=lambda part: next(iter(part)),
)
async def test_rendering_that_fails_is_invalid_output(part: Any) -> None:
    """Case 95: render or presentation_meta raising, or answering with something that is not JSON; no value is left."""
    result = await execute(registry(tools=[tool(**part)]))
    assert code(result) == "INVALID_TOOL_OUTPUT"
    assert not hasattr(result, "value")


async def test_a_body_that_promises_a_promise_is_invalid_output() -> None:
    """Case 94: a coroutine is no value, and it is not left unawaited either."""
    assert code(await execute(registry(tools=[tool(execute=answering(later()))]))) == "INVALID_TOOL_OUTPUT"


async def test_a_success_is_frozen_through_and_through() -> None:
    """Spec 3.1: value, content and meta are immutable in every phase."""
    seen: list[Any] = []
    value: dict[str, Any] = {"list": [1]}
    definition = tool(execute=answering(value), meta=lambda args, value: {"shown": [1]})
    await execute(registry(post(lambda execution, result: seen.append(result)), tools=[definition]))
    result = seen[0]
    value["list"].append(2)
    assert result.value == {"list": [1]}
    assert type(result.value) is type(result.meta) is FrozenDict
    for attempt in (lambda: result.value["list"].append(3), lambda: result.meta.update(a=1)):
        with pytest.raises(TypeError, match="frozen"):
            attempt()
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        result.value = 1


async def test_null_is_a_value() -> None:
    """Spec 0.3: None is JSON null, not absence."""
    result = await execute(registry(tools=[tool(execute=answering(None), schema={"type": "null"})]))
    assert result.value is None
    assert not result.is_error


# -- accept ------------------------------------------------------------------------------------------------------------


async def test_nobody_deciding_accepts() -> None:
    """Spec 3.6: the default is accept, which changes nothing: the result is the minted one."""
    seen: list[Any] = []
    result = await execute(registry(post(lambda execution, result: seen.append(result))))
    assert seen[0] is result


@pytest.mark.parametrize("content", ["other", [TextBlock("other")]], ids=["str", "blocks"])
async def test_accepted_content_replaces_what_the_model_reads(content: Any) -> None:
    """Case 96: value and meta stay as they were."""
    definition = tool(meta=lambda args, value: "meta")
    result = await execute(registry(deciding(Accept(content=content)), tools=[definition]), arguments={"a": 1})
    assert (text(result), result.value, result.meta) == ("other", {"a": 1}, "meta")


async def test_accepted_content_replaces_a_failures_content() -> None:
    """Case 101: is_error and info are kept."""
    definition = tool(execute=raising(HarnessError("disk full", "DISK")))
    result = await execute(registry(deciding(Accept(content="sorry")), tools=[definition]))
    assert (code(result), message(result), text(result)) == ("DISK", "disk full", "sorry")


async def test_an_accepted_value_is_made_canonical() -> None:
    """Case 97: content and meta are computed from it, contexts attached."""
    decision = Accept(value={"b": 2}, contexts=(context("note"),))
    definition = tool(meta=lambda args, value: sorted(value))
    result = await execute(registry(deciding(decision), tools=[definition]), arguments={"a": 1})
    assert (result.value, text(result), result.meta, notes(result)) == ({"b": 2}, "{'b': 2}", ["b"], ["note"])


async def test_null_replaces_a_value() -> None:
    """Spec 3.6: value=None is a real replacement."""
    assert (await execute(registry(deciding(Accept(value=None))))).value is None


async def test_content_and_value_together_are_refused() -> None:
    """Case 99: presence counts, not truthiness."""
    for decision in (Accept(content="x", value=1), Accept(content=(), value=None)):
        result = await execute(registry(deciding(decision)))
        assert code(result) is None
        assert "not both" in message(result)


async def test_an_accepted_value_must_fit() -> None:
    """Case 100: INVALID_TOOL_OUTPUT, and every context is lost."""
    for value in (1, print):
        decision = Accept(value=value, contexts=(context("note"),))
        result = await execute(registry(deciding(decision), tools=[tool(schema={"type": "object"})]))
        assert code(result) == "INVALID_TOOL_OUTPUT"
        assert result.contexts == ()


async def test_a_failure_cannot_be_given_a_value() -> None:
    """Case 101: the misuse is named."""
    definition = tool(execute=raising(HarnessError("disk full", "DISK")))
    result = await execute(registry(deciding(Accept(value=1)), tools=[definition]))
    assert code(result) is None
    assert "Accept(value=...)" in message(result)


async def test_a_value_for_a_vanished_tool_is_refused() -> None:
    """Spec 3.6: the definition visible now counts."""
    tools = registry(tools=())
    registered = tools.register(tool())

    def replace(execution: Any, result: Any) -> Accept:
        registered.dispose()
        return Accept(value=1)

    tools.hooks.register(post(replace))
    assert code(await execute(tools)) == "UNKNOWN_TOOL"


# -- block -------------------------------------------------------------------------------------------------------------


async def test_blocked_feedback_is_all_that_is_left() -> None:
    """Case 103: exactly the feedback, the message from its text, no value, meta or info."""
    feedback = [TextBlock("one"), ReasoningBlock("hidden"), TextBlock("two")]
    definition = tool(meta=lambda args, value: "meta")
    result = await execute(registry(deciding(Block(feedback)), tools=[definition]))
    assert result.content == tuple(feedback)
    assert message(result) == "one\n[reasoning content]\ntwo"
    assert (code(result), result.meta) == (None, MISSING)
    assert not hasattr(result, "value")


async def test_an_empty_block_says_something() -> None:
    """Case 103: a fixed message when the feedback has no text."""
    result = await execute(registry(deciding(Block([]))))
    assert result.content == ()
    assert message(result)


async def test_a_blocked_failure_loses_its_code() -> None:
    """Spec 3.6: a block is the policy's word, not the tool's."""
    definition = tool(execute=raising(HarnessError("disk full", "DISK")))
    result = await execute(registry(deciding(Block("withheld")), tools=[definition]))
    assert (code(result), message(result)) == (None, "withheld")


# -- contexts ----------------------------------------------------------------------------------------------------------


async def deferring_two(_args: Any, exec: Any) -> str:
    exec.defer_context(context("first", n=1))
    exec.defer_context(context("second", n=2))
    return "done"


async def adding(execution: Any, *, call_next: Any) -> Any:
    result = await call_next()
    return attrs.evolve(result, contexts=(context("wrapper", n=3),))


async def test_contexts_are_in_the_order_of_the_pipeline() -> None:
    """Case 105: deferred, wrapper, decision, with their metas."""
    plugins = (Plugin(tools_execute=wrap(adding)), deciding(Accept(contexts=(context("post", n=4),))))
    result = await execute(registry(*plugins, tools=[tool(execute=deferring_two)]))
    assert notes(result) == ["first", "second", "wrapper", "post"]
    assert [item.meta for item in result.contexts] == [{"n": n} for n in (1, 2, 3, 4)]


async def test_a_raising_body_keeps_what_it_deferred() -> None:
    """Case 106: contexts survive on the failure."""

    async def body(_args: Any, exec: Any) -> None:
        exec.defer_context(context("tried"))
        raise ValueError("failed")

    result = await execute(registry(deciding(Accept()), tools=[tool(execute=body)]))
    assert message(result) == "failed"
    assert notes(result) == ["tried"]


async def test_a_block_keeps_only_its_own_contexts() -> None:
    """Case 107: what was deferred or wrapped is discarded."""
    plugins = (Plugin(tools_execute=wrap(adding)), deciding(Block("no", contexts=(context("mine"),))))
    assert notes(await execute(registry(*plugins, tools=[tool(execute=deferring_two)]))) == ["mine"]


@pytest.mark.parametrize("decision", ["raise", "nonsense"])
async def test_a_failing_post_loses_every_context(decision: str) -> None:
    """Case 108: the failure is final and has none."""

    def broken(execution: Any, result: Any) -> Any:
        if decision == "raise":
            raise ValueError("broken")
        return "accept"

    result = await execute(registry(post(broken, "broken"), tools=[tool(execute=deferring_two)]))
    assert code(result) == {"raise": "PLUGIN_FAILED", "nonsense": "INVALID_DECISION"}[decision]
    assert "'broken'" in message(result)
    assert result.contexts == ()


@pytest.mark.parametrize(
    ("inner", "expected"),
    [(Block("no", contexts=(context("inner"),)), "no"), (Accept(value="v", contexts=(context("inner"),)), "v"),
     (Accept(content="c", contexts=(context("inner"),)), "c")],
    ids=["block", "value", "content"],
)  # fmt: skip
async def test_an_annotating_wrapper_keeps_the_inner_decision(inner: Any, expected: str) -> None:
    """Case 111: it puts its context before the inner ones; value, content and feedback survive."""

    def annotate(execution: Any, result: Any) -> Any:
        decision = yield
        return attrs.evolve(decision, contexts=(context("outer"), *decision.contexts))

    plugins = (Plugin("annotate", tools_post_execute=wrap(annotate)), deciding(inner))
    result = await execute(registry(*plugins))
    assert text(result) == expected
    assert notes(result) == ["outer", "inner"]
    assert result.is_error == isinstance(inner, Block)


async def test_contexts_are_told_apart_by_identity_and_not_by_equality() -> None:
    """Spec 3.7: a context is never taken for another one that only compares equal, however deep it is."""
    deep: list[Any] = []
    for _ in range(3_000):
        deep = [deep]
    first, second = context("same", deep=deep), context("same", deep=deep)

    async def body(_args: Any, exec: Any) -> str:
        exec.defer_context(first)
        return "done"

    async def wrapper(execution: Any, *, call_next: Any) -> Any:
        return ToolSuccess((await call_next()).value, contexts=(second,))

    result = await execute(registry(Plugin(tools_execute=wrap(wrapper)), tools=[tool(execute=body)]))
    assert len(result.contexts) == 2


# -- deciding ----------------------------------------------------------------------------------------------------------


async def test_the_first_decision_wins() -> None:
    """Decision 3.4: post-execute is firstresult; None leaves it to the next."""
    plugins = (deciding(None), deciding(Accept(content="second")), deciding(Block("third")))
    assert text(await execute(registry(*plugins))) == "second"


async def test_post_sees_the_result_so_far() -> None:
    """Spec 3.6: with the deferred contexts, and not what another plugin decides."""
    seen: list[Any] = []

    def look(execution: Any, result: Any) -> Any:
        seen.append(result)
        return (yield)

    plugins = (Plugin("look", tools_post_execute=wrap(look)), deciding(Accept(content="other")))
    await execute(registry(*plugins, tools=[tool(execute=deferring_two)]))
    assert (seen[0].value, notes(seen[0])) == ("done", ["first", "second"])


@pytest.mark.parametrize(
    ("decision", "expected"), [(Accept(), "ABORTED"), (Block("withheld"), None), (ValueError("x"), "PLUGIN_FAILED")]
)
async def test_an_abort_during_post(decision: Any, expected: str | None) -> None:
    """Spec 3.5: an accepted success is superseded, its contexts and the decision's kept; anything else stands."""
    source = CancelSource()

    def decide(execution: Any, result: Any) -> Any:
        source.abort("user")
        if isinstance(decision, Exception):
            raise decision
        return attrs.evolve(decision, contexts=(context("post"),))

    result = await execute(registry(post(decide), tools=[tool(execute=deferring_two)]), signal=source.signal)
    assert code(result) == expected
    assert notes(result) == {"ABORTED": ["first", "second", "post"], None: ["post"], "PLUGIN_FAILED": []}[expected]


async def test_an_abort_during_post_of_a_short_circuit() -> None:
    """Spec 3.5: by the body flag it is ABORTED_BEFORE_DISPATCH."""
    source = CancelSource()

    def decide(execution: Any, result: Any) -> None:
        source.abort("user")

    plugin = Plugin(tools_execute=lambda execution: ToolSuccess(1), tools_post_execute=decide)
    assert code(await execute(registry(plugin), signal=source.signal)) == "ABORTED_BEFORE_DISPATCH"


@pytest.mark.parametrize(
    "decision",
    [
        Accept(content=[UnknownBlock("odd", object())]),
        Accept(content=[UnknownBlock("odd", (1, 2))]),
        Block([TextBlock(7)]),  # type: ignore[arg-type]
        Accept(contexts=(context("x", f=print),)),
        Accept(contexts=(HookContext("x", PluginSource("p"), meta=(1, 2)),)),
    ],
    ids=["content", "tuple in content", "feedback", "context", "tuple as meta"],
)
async def test_what_is_not_json_surfaces_without_a_code(decision: Any) -> None:
    """Decision 7.5: constructors check types; bad JSON inside fails the call when it is materialized."""
    result = await execute(registry(deciding(decision)))
    assert code(result) is None
    assert result.contexts == ()


async def test_content_of_every_kind_is_frozen_where_it_is_json() -> None:
    """Decision 3.10: blocks of plugins and blocks in blocks are sealed field by field; the rest stays as it was."""

    @attrs.frozen
    class Table:
        kind: ClassVar[str] = "table"
        rows: Any
        columns: tuple[str, ...] = ()

    table = Table([[1, 2]], ("a", "b"))
    result = await execute(registry(deciding(Accept(content=[ToolResultBlock("c0", [table])]))))
    (block,) = result.content
    (sealed,) = block.content
    assert sealed == table
    assert sealed.columns == ("a", "b")
    with pytest.raises(TypeError, match="frozen"):
        sealed.rows[0].append(3)
