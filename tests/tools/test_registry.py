"""The registry: registering, layers, views, restrictions, scheduling hints (spec/core.md 1)."""

from __future__ import annotations

import math
from typing import Any

import attrs
import pytest

from dshhooks.engine.hooks import Hooks
from dshhooks.tools.definition import ToolDefinition
from dshhooks.tools.registry import ToolRegistry
from dshhooks.tools.schema import compile_schema
from hookspecs.errors import HarnessError, JsonSchemaError, NotLosslessError, PluginError
from hookspecs.execution import ToolCall
from tests.tools.kit import Agent, Plugin, code, execute, message, registry, tool

pytestmark = pytest.mark.anyio


def names(tools: ToolRegistry, agent: object = None) -> list[str]:
    return [schema["name"] for schema in tools.schemas(agent)]


def mode(tools: ToolRegistry, name: str = "echo") -> str:
    return tools.execution_mode(ToolCall("c1", name, {}))


def saying(value: Any) -> Any:
    """A body that answers with ``value``."""

    async def body(_args: Any, _exec: Any) -> Any:
        return value

    return body


# -- registering -------------------------------------------------------------------------------------------------------


def test_a_model_is_told_name_description_and_parameters_and_nothing_else() -> None:
    """Case 14: the projection is an allow-list."""
    tools = registry(tools=[tool(timeout=3, idempotent=True, is_concurrency_safe=lambda args: True)])
    assert [set(schema) for schema in tools.schemas()] == [{"name", "description", "parameters"}]


def test_changing_the_schemas_changes_nothing() -> None:
    """Case 15: every call of schemas() gives fresh copies."""
    tools = registry(tools=[tool(parameters={"type": "object", "properties": {"a": {"type": "string"}}})])
    before = tools.schemas()
    tools.schemas()[0]["parameters"]["properties"].clear()
    assert tools.schemas() == before


def test_a_global_name_is_taken_once() -> None:
    """Case 16: the error points at per-agent registration and the first tool stays."""
    tools, first = ToolRegistry(), tool()
    tools.register(first)
    with pytest.raises(HarnessError, match="per-agent registration") as caught:
        tools.register(tool())
    assert caught.value.code == "DUPLICATE_TOOL"
    assert tools.get("echo") is first


def test_an_agents_name_is_taken_once_per_agent() -> None:
    """Case 17: the same name twice in one scope is an error; another agent may have it."""
    tools, agent, other = ToolRegistry(), Agent(), Agent()
    tools.register(tool(), agent=agent)
    with pytest.raises(HarnessError, match="already has a tool 'echo'"):
        tools.register(tool(), agent=agent)
    tools.register(tool(), agent=other)
    assert names(tools, other) == ["echo"]


@pytest.mark.parametrize("scoped_first", [True, False])
async def test_an_agents_tool_shadows_the_global_one_for_that_agent_only(scoped_first: bool) -> None:
    """Case 18: whichever was registered first, the agent runs its own and everybody else the global one."""
    tools, agent, other = ToolRegistry(), Agent(), Agent()
    layers = [(tool("bash", saying("global")), None), (tool("bash", saying("own")), agent)]
    for definition, owner in reversed(layers) if scoped_first else layers:
        tools.register(definition, agent=owner)
    ran = [(await execute(tools, "bash", agent=who)).value for who in (agent, other, None)]
    assert ran == ["own", "global", "global"]
    assert names(tools, agent) == ["bash"]


def test_a_shadow_keeps_the_place_of_the_global_tool() -> None:
    """Spec 1.3: a shadow stands where the shadowed tool stood; other scoped tools come last."""
    tools, agent = registry(tools=[tool("a"), tool("b"), tool("c")]), Agent()
    tools.register(tool("own"), agent=agent)
    tools.register(tool("b"), agent=agent)
    assert names(tools, agent) == ["a", "b", "c", "own"]


async def test_another_agents_tool_does_not_exist() -> None:
    """Case 19: a scoped tool of somebody else looks exactly like one that was never registered."""
    tools = ToolRegistry()
    tools.register(tool("secret"), agent=Agent())
    hidden = await execute(tools, "secret", agent=Agent())
    unknown = await execute(tools, "nobody", agent=Agent())
    assert code(hidden) == code(unknown) == "UNKNOWN_TOOL"
    assert message(hidden).replace("secret", "nobody") == message(unknown)
    assert mode(tools, "secret") == mode(tools, "nobody")


def test_disposing_removes_exactly_that_tool_and_may_be_repeated() -> None:
    """Case 20: the disposer removes its own entry, not a later one of the same name."""
    tools = registry(tools=[tool("keep")])
    first = tools.register(tool())
    first.dispose()
    assert names(tools) == ["keep"]
    second = tool()
    tools.register(second)
    first.dispose()
    assert tools.get("echo") is second


def test_a_registration_is_a_context_manager() -> None:
    """Api: leaving the block disposes."""
    tools = ToolRegistry()
    with tools.register(tool()):
        assert names(tools) == ["echo"]
    assert names(tools) == []


def test_an_objection_to_a_change_rolls_the_registration_back() -> None:
    """Case 21: the error propagates, the tool is absent and its name free again."""
    objections = [ValueError("not now")]

    def tools_change() -> None:
        if objections:
            raise objections.pop()

    tools = registry(Plugin(tools_change=tools_change), tools=())
    with pytest.raises(ValueError, match="not now"):
        tools.register(tool())
    assert names(tools) == []
    tools.register(tool())
    assert names(tools) == ["echo"]


def test_a_script_that_exits_on_a_change_fails_as_a_plugin() -> None:
    """Decision 3.7: a plugin's SystemExit is its failure and not the end of the host."""

    def tools_change() -> None:
        raise SystemExit(3)

    tools = registry(Plugin("script", tools_change=tools_change), tools=())
    with pytest.raises(HarnessError, match=r"'script'.*'tools_change'") as caught:
        tools.register(tool())
    assert caught.value.code == "PLUGIN_FAILED"
    assert names(tools) == []


@pytest.mark.parametrize("objection", [ValueError("no"), SystemExit(3)], ids=["exception", "exit"])
def test_an_objection_to_a_removal_is_only_logged(objection: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    """Spec 1.2: what was lifted stays lifted, whatever a tools_change hook says."""
    tools = registry()
    registered = tools.register(tool("gone"))

    def tools_change() -> None:
        raise objection

    tools.hooks.register(Plugin(tools_change=tools_change))
    registered.dispose()
    assert names(tools) == ["echo"]
    assert "tools_change" in caplog.text


def test_every_change_of_the_set_of_tools_is_announced_and_guards_are_not() -> None:
    """Spec 1.2, 1.4, 1.5: register, restrict and their disposers fire tools_change; guard does not."""
    seen: list[str] = []
    tools, agent = registry(Plugin(tools_change=lambda: seen.append("change"))), Agent()
    for made in (tools.register(tool("other")), tools.restrict(agent, deny=["echo"])):
        made.dispose()
    assert len(seen) == 4
    tools.guard(lambda execution: None).dispose()
    assert len(seen) == 4


@pytest.mark.parametrize("output", [None, object(), {"schema": {}}], ids=["none", "object", "dict"])
def test_a_tool_needs_an_output_that_renders(output: Any) -> None:
    """Case 22: no output, or an output without render, is a TypeError."""
    with pytest.raises(TypeError, match="render"):
        ToolRegistry().register(ToolDefinition("x", "d", {}, output, saying(1)))


def test_a_projector_must_be_callable() -> None:
    """Spec 1.2: presentation_meta, when given, is a function."""
    with pytest.raises(TypeError, match="presentation_meta"):
        ToolRegistry().register(tool(meta="meta"))  # type: ignore[arg-type]


@pytest.mark.parametrize("timeout", [0, -1, math.inf, math.nan, True, "3"])
def test_a_timeout_is_a_positive_finite_number(timeout: Any) -> None:
    """Case 23: anything else is refused when the tool is registered."""
    with pytest.raises(TypeError, match="timeout"):
        ToolRegistry().register(tool(timeout=timeout))


def test_a_schema_outside_the_subset_lists_every_violation() -> None:
    """Spec 1.2: UNSUPPORTED_SCHEMA names all violations, not only the first."""
    schema = {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"type": "string", "pattern": "x"}}}
    with pytest.raises(JsonSchemaError) as caught:
        ToolRegistry().register(tool(schema=schema))
    assert caught.value.code == "UNSUPPORTED_SCHEMA"
    assert len(caught.value.violations) == 2


@pytest.mark.parametrize("definition", [None, "echo", object(), {"name": "x"}])
def test_only_a_definition_is_registered(definition: Any) -> None:
    """Spec 1.2: something else is a TypeError, and nothing is registered."""
    tools = ToolRegistry()
    with pytest.raises(TypeError, match="ToolDefinition"):
        tools.register(definition)
    assert names(tools) == []


@pytest.mark.parametrize(
    "part",
    [{"description": None}, {"parameters": "object"}, {"parameters": None}, {"present_call": 5},
     {"present_result": "x"}],
    ids=lambda part: next(iter(part)),
)  # fmt: skip
def test_every_part_of_a_definition_has_its_type(part: dict[str, Any]) -> None:
    """Spec 1.1: what a model reads is text and schema, and presenters are called."""
    tools = registry(tools=[])
    with pytest.raises(TypeError, match=rf"'echo': {next(iter(part))} must be"):
        tools.register(attrs.evolve(tool(), **part))
    assert names(tools) == []


# -- restricting -------------------------------------------------------------------------------------------------------


def test_allow_hides_every_other_global_tool_from_one_agent() -> None:
    """Case 25: only the listed and the agent's own tools stay; other agents see everything."""
    tools, agent = registry(tools=[tool("read"), tool("write")]), Agent()
    tools.register(tool("own"), agent=agent)
    tools.restrict(agent, allow=["read"])
    assert names(tools, agent) == ["read", "own"]
    assert names(tools, Agent()) == names(tools) == ["read", "write"]


def test_deny_is_open_to_later_tools_and_allow_is_not() -> None:
    """Case 26: a restriction is live."""
    tools, denied, allowed = registry(tools=[tool("bash"), tool("read")]), Agent(), Agent()
    tools.restrict(denied, deny=["bash"])
    tools.restrict(allowed, allow=["read"])
    tools.register(tool("later"))
    assert names(tools, denied) == ["read", "later"]
    assert names(tools, allowed) == ["read"]


def test_lifting_one_restriction_leaves_the_other() -> None:
    """Case 27: several restrictions intersect and each disposer lifts its own."""
    tools, agent = registry(tools=[tool("a"), tool("b"), tool("c")]), Agent()
    first = tools.restrict(agent, allow=["a", "b"])
    tools.restrict(agent, deny=["a"])
    assert names(tools, agent) == ["b"]
    first.dispose()
    first.dispose()
    assert names(tools, agent) == ["b", "c"]


def test_a_filter_is_copied() -> None:
    """Case 28: changing the caller's list afterwards changes nothing."""
    tools, agent, allow = registry(tools=[tool("a"), tool("b")]), Agent(), ["a"]
    tools.restrict(agent, allow=allow)
    allow.append("b")
    assert names(tools, agent) == ["a"]


def test_a_restriction_needs_an_agent_a_filter_and_global_names() -> None:
    """Case 29: each misuse raises; unknown names are listed beside the known ones."""
    tools, agent = registry(tools=[tool("a")]), Agent()
    tools.register(tool("own"), agent=agent)
    with pytest.raises(HarnessError, match="needs an agent"):
        tools.restrict(None, deny=["a"])
    with pytest.raises(HarnessError, match=r"allow=.*or deny="):
        tools.restrict(agent)
    with pytest.raises(HarnessError, match="no global tool: own; there are: a"):
        tools.restrict(agent, deny=["own"])
    with pytest.raises(HarnessError, match="no global tool: x, y; there are: a"):
        tools.restrict(agent, allow=["a", "y"], deny=["x"])
    with pytest.raises(TypeError, match="not one str"):
        tools.restrict(agent, allow="a")
    for wrong in ([1], [["a"]], ["a", None]):
        with pytest.raises(TypeError, match="tool names"):
            tools.restrict(agent, deny=wrong)  # type: ignore[arg-type]
    assert names(tools, agent) == ["a", "own"]


def test_an_empty_allow_hides_every_global_tool() -> None:
    """Case 30: an empty list is a filter; the agent's own tools stay."""
    tools, agent = registry(tools=[tool("a"), tool("b")]), Agent()
    tools.register(tool("own"), agent=agent)
    tools.restrict(agent, allow=[])
    assert names(tools, agent) == ["own"]


async def test_a_hidden_tool_cannot_be_called() -> None:
    """Spec 1.3: an invisible tool does not exist for execution either."""
    tools, agent = registry(), Agent()
    tools.restrict(agent, deny=["echo"])
    assert code(await execute(tools, agent=agent)) == "UNKNOWN_TOOL"
    assert tools.get("echo", agent) is None


def test_an_objection_rolls_a_restriction_back() -> None:
    """Decision 3.5: tools_change is a checkpoint, so raising undoes the restriction too."""
    tools, agent = registry(), Agent()

    def tools_change() -> None:
        raise ValueError("not now")

    with tools.hooks.register(Plugin(tools_change=tools_change)), pytest.raises(ValueError, match="not now"):
        tools.restrict(agent, deny=["echo"])
    assert names(tools, agent) == ["echo"]


def test_an_agents_layer_goes_with_its_contents() -> None:
    """Spec 1.3: a layer is reclaimed when it is empty, also after a refused registration."""
    tools, agent = registry(), Agent()
    tools.register(tool(), agent=agent).dispose()
    tools.guard(lambda execution: None, agent=agent).dispose()
    tools.restrict(agent, deny=["echo"]).dispose()
    with pytest.raises(JsonSchemaError):
        tools.register(tool(schema={"type": "nonsense"}), agent=agent)
    assert tools._layers.of(agent) is None


# -- scheduling and schemas --------------------------------------------------------------------------------------------


def _raising(_args: Any) -> bool:
    raise ValueError("cannot say")


async def _promising(_args: Any) -> bool:
    return True


@pytest.mark.parametrize(
    ("classifier", "expected"),
    [
        (lambda args: True, "parallel"),
        (lambda args: False, "exclusive"),
        (lambda args: "yes", "exclusive"),
        (lambda args: 1, "exclusive"),
        (_raising, "exclusive"),
        (_promising, "exclusive"),
        (None, "exclusive"),
    ],
    ids=["true", "false", "truthy", "one", "raising", "async", "missing"],
)
def test_only_exactly_true_is_parallel(classifier: Any, expected: str) -> None:
    """Case 31: everything but True is exclusive, a coroutine included."""
    assert mode(registry(tools=[tool(is_concurrency_safe=classifier)])) == expected


def test_an_unknown_tool_is_exclusive() -> None:
    """Case 31: what nobody knows must not overlap anything."""
    assert mode(ToolRegistry()) == "exclusive"


def test_parameters_that_are_not_json_name_the_tool() -> None:
    """Case 33: a raw definition with NaN makes schemas() raise, saying whose parameters they are."""
    tools = registry(tools=[tool("odd", parameters={"type": "object", "default": math.nan})])
    with pytest.raises(NotLosslessError, match="'odd'"):
        tools.schemas()


def test_two_matching_branches_are_one_violation() -> None:
    """Case 34: oneOf wants exactly one."""
    validate = compile_schema({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "value")
    assert len(validate(1)) == 1
    assert validate(1.5) == ()


def test_a_missing_key_is_named_by_its_path() -> None:
    """Case 34: dotted and indexed."""
    host = {"type": "object", "properties": {"host": {"type": "string"}}, "required": ["host"]}
    schema = {"type": "object", "properties": {"config": host, "servers": {"type": "array", "items": host}}}
    found = compile_schema(schema, "arguments")({"config": {}, "servers": [{"host": "a"}, {}]})
    assert len(found) == 2
    assert "config.host" in found[0]
    assert "servers[1].host" in found[1]


async def test_a_raw_tool_is_called_with_what_it_is_given() -> None:
    """Case 36: the registry does not validate a raw definition's arguments."""
    parameters = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    result = await execute(registry(tools=[tool(parameters=parameters)]), arguments={})
    assert result.value == {}


async def test_call_is_execute_with_a_fresh_id() -> None:
    """Api: registry.call() makes the ToolCall itself."""
    seen: list[str] = []
    tools = registry(Plugin(tools_result=lambda execution, result: seen.append(execution.call_id)))
    assert (await tools.call("echo", {"a": 1})).value == {"a": 1}
    assert (await tools.call("echo")).value == {}
    assert len(set(seen)) == 2


# -- tools that plugins bring ------------------------------------------------------------------------------------------


def bringing(*definitions: Any, name: str = "bringer") -> Plugin:
    def register_tools(registry: Any) -> None:
        for definition in definitions:
            registry.register(definition)

    return Plugin(name, register_tools=register_tools)


def test_a_plugins_tools_come_and_go_with_it() -> None:
    """Case 20: registered when the plugin arrives, gone when it is disposed, announced both times."""
    seen: list[str] = []
    tools = registry(Plugin(tools_change=lambda: seen.append("change")), tools=())
    registered = tools.hooks.register(bringing(tool("a"), tool("b")))
    assert names(tools) == ["a", "b"]
    registered.dispose()
    registered.dispose()
    assert names(tools) == []
    assert len(seen) == 4


def test_plugins_that_were_there_first_bring_their_tools_too() -> None:
    """Hookspec: once for every plugin, when the registry comes and when the plugin does."""
    hooks = Hooks()
    hooks.register(bringing(tool("early")))
    assert names(ToolRegistry(hooks)) == ["early"]


async def test_an_agents_plugin_brings_tools_for_that_agent() -> None:
    """Spec 1.3: what is registered through an agent's plugin is that agent's, guards included."""
    agent, tools = Agent(), registry(tools=())

    def register_tools(registry: Any) -> None:
        registry.register(tool("own"))
        registry.guard(lambda execution: "guarded")

    with tools.hooks.register(Plugin("scoped", register_tools=register_tools), agent=agent):
        assert (names(tools, agent), names(tools)) == (["own"], [])
        assert message(await execute(tools, "own", agent=agent)) == "guarded"
    assert names(tools, agent) == []


def test_a_plugin_brings_restrictions_that_go_with_it() -> None:
    """Spec 0.2: everything it registered is its own, and the rest of the registry can be read through it."""
    agent, tools = Agent(), registry()

    def register_tools(registry: Any) -> None:
        assert registry.get("echo") is not None
        registry.restrict(agent, deny=["echo"])

    with tools.hooks.register(Plugin("strict", register_tools=register_tools)):
        assert names(tools, agent) == []
    assert names(tools, agent) == ["echo"]


async def later(registry: Any = None) -> None:
    """A coroutine function."""


@pytest.mark.parametrize("failure", ["taken", "exit", "raise", "later"])
def test_a_plugin_that_cannot_bring_its_tools_is_not_registered(failure: str) -> None:
    """Hookspec: PLUGIN_FAILED or the error's own code, naming the plugin; what it had registered is taken back."""

    def register_tools(registry: Any) -> Any:
        registry.register(tool("mine"))
        if failure == "taken":
            registry.register(tool("echo"))
        if failure == "exit":
            raise SystemExit(1)
        if failure == "raise":
            raise ValueError("no")
        return later()

    tools = registry()
    with pytest.raises(PluginError, match=r"'p'.*'register_tools'") as caught:
        tools.hooks.register(Plugin("p", register_tools=register_tools))
    assert caught.value.code == ("DUPLICATE_TOOL" if failure == "taken" else "PLUGIN_FAILED")
    assert names(tools) == ["echo"]
    assert tools.hooks.plugins == ()


def test_tools_are_registered_at_once_or_not_at_all() -> None:
    """Hookspec: an async function or a generator would register nothing, so it is refused."""

    def yielding(registry: Any) -> Any:
        yield

    for function in (later, yielding):
        with pytest.raises(PluginError, match="'p'"):
            registry().hooks.register(Plugin("p", register_tools=function))


def test_an_agent_may_look_like_nothing() -> None:
    """Spec 1.3: an agent that is falsy is an agent."""

    class Empty(Agent):
        def __len__(self) -> int:
            return 0

    agent, tools = Empty(), registry(tools=())
    tools.hooks.register(bringing(tool("own")), agent=agent)
    assert (names(tools, agent), names(tools)) == (["own"], [])


@pytest.mark.parametrize("method", ["register", "guard", "restrict"])
def test_a_plugin_that_has_gone_registers_nothing(method: str) -> None:
    """Spec 0.2: registering through a disposed context is INACTIVE_EFFECT."""
    held: list[Any] = []
    tools = registry()
    tools.hooks.register(Plugin("p", register_tools=lambda registry: held.append(registry))).dispose()
    given = {"register": (tool("late"),), "guard": (lambda execution: None,), "restrict": (Agent(),)}[method]
    more = {"allow": ["echo"]} if method == "restrict" else {}
    with pytest.raises(HarnessError, match="has gone") as caught:
        getattr(held[0], method)(*given, **more)
    assert caught.value.code == "INACTIVE_EFFECT"
    assert names(tools) == ["echo"]


def test_what_a_plugin_disposes_itself_is_forgotten() -> None:
    """A plugin that registers a tool for every task does not grow the host."""
    held: list[Any] = []
    tools = registry()
    with tools.hooks.register(Plugin("p", register_tools=lambda registry: held.append(registry))):
        kept = held[0].register(tool("kept"))
        for _ in range(5):
            held[0].register(tool("short")).dispose()
        assert names(tools) == ["echo", "kept"]
        assert len(held[0]._registrations) == 1
        kept.dispose()
        held[0].register(tool("kept"))
    assert names(tools) == ["echo"]
