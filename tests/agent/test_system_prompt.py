"""The system prompt and the tools of a request: sections, variables, strictness, the hook (spec/core.md 8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from dshhooks.agent.prompt import PromptAssembly, PromptContext, PromptSection
from hookspecs.errors import HarnessError
from hookspecs.json import MISSING, FrozenDict
from tests.agent.kit import CallTools, Host, Plugin, Say, data, host, reasons, said, tool, wrap

pytestmark = pytest.mark.anyio


def rewriting(change: Any) -> Plugin:
    """A plugin whose wrapper changes what was assembled."""

    @wrap
    def system_prompt_assemble() -> Iterator[None]:
        assembly = yield
        return change(assembly)

    return Plugin("rewriter", system_prompt_assemble=system_prompt_assemble)


async def system_of(h: Host, *sections: PromptSection, **options: Any) -> str | None:
    """The system prompt of one request with these sections."""
    for section in sections:
        h.harness.prompts.section(section)
    await h.run("go", agent=await h.agent(**options))
    return h.requests[-1].system


# -- sections ----------------------------------------------------------------------------------------------------------


async def test_without_sections_there_is_no_system_prompt() -> None:
    """Spec 8: nothing to say is absent, in the request and in the header."""
    async with host() as h:
        assert await system_of(h) is None
        assert data(h.recorder.sessions[0], "request/header")[0].header.system is MISSING


async def test_sections_stand_in_their_order() -> None:
    """Spec 8: ascending by order, whoever came first; equal orders as they were registered."""
    async with host() as h:
        sections = [PromptSection(name, name, order) for name, order in (("c", 100), ("a", -100), ("b", 0), ("b2", 0))]
        assert await system_of(h, *sections) == "a\n\nb\n\nb2\n\nc"


async def test_the_header_keeps_what_was_sent() -> None:
    """Spec 5.5: the rendered prompt and the tools are in ``request/header``."""
    async with host(tools=[tool("b"), tool("a")]) as h:
        system = await system_of(h, PromptSection("one", "be kind"))
        header = data(h.recorder.sessions[0], "request/header")[0].header
        assert header.system == system == "be kind"
        assert [schema.name for schema in header.tools] == [schema.name for schema in h.requests[0].tools] == ["a", "b"]


async def test_a_section_may_be_computed_for_each_request() -> None:
    """Spec 8: text is static or made per assembly, for whom it is made; an empty one leaves no gap."""
    asked: list[PromptContext] = []

    def text(context: PromptContext) -> str:
        asked.append(context)
        return f"request {len(asked)}"

    async with host(steps=[CallTools([("echo", {})]), Say("x")], tools=[tool()]) as h:
        sections = [PromptSection("empty", "", -1), PromptSection("count", text), PromptSection("last", "end", 1)]
        assert await system_of(h, *sections) == "request 2\n\nend"
        assert asked[0].agent is h.recorder.agents[0]
        assert asked[0].signal is h.requests[0].signal
        assert [event.reason for event in data(h.recorder.sessions[0], "request/header")] == ["initial", "change"]


async def test_an_agents_section_shadows_a_global_one() -> None:
    """Spec 8: by name, for that agent only, and no longer than the agent lives."""
    async with host() as h:
        h.harness.prompts.section(PromptSection("persona", "you are plain"))
        special = await h.agent(setup=lambda ctx: ctx.section(PromptSection("persona", "you are special")) and None)
        await h.run("a", agent=special)
        await h.run("b")
        assert [request.system for request in h.requests] == ["you are special", "you are plain"]
        await special.dispose()
        assert len(h.harness.prompts._sections) == 1


@pytest.mark.parametrize("order", [float("nan"), float("inf"), -float("inf")])
async def test_an_order_that_orders_nothing_is_refused(order: float) -> None:
    """Spec 8: order is finite."""
    async with host() as h:
        with pytest.raises(HarnessError) as caught:
            h.harness.prompts.section(PromptSection("x", "x", order))
        assert caught.value.code == "INVALID_PROMPT"


async def test_names_are_unique_in_their_layer() -> None:
    """Spec 8: a second section or variable of a name is refused; a disposed one makes room."""
    async with host() as h:
        prompts = h.harness.prompts
        registration = prompts.section(PromptSection("x", "one"))
        variable = prompts.variable("v", "1")
        for again in (lambda: prompts.section(PromptSection("x", "two")), lambda: prompts.variable("v", "2")):
            with pytest.raises(HarnessError, match="already") as caught:
                again()
            assert caught.value.code == "INVALID_PROMPT"
        registration.dispose()
        variable.dispose()
        prompts.variable("v", "2")
        assert await system_of(h, PromptSection("x", "two {{v}}")) == "two 2"


# -- variables ---------------------------------------------------------------------------------------------------------


async def test_the_loop_offers_provider_model_and_cwd() -> None:
    """Spec 8: of the agent the prompt is for."""
    async with host() as h:
        section = PromptSection("x", "{{provider}} {{ model }} in {{cwd}}")
        assert await system_of(h, section, model="big", cwd="/tmp") == "scripted big in /tmp"


async def test_a_registered_variable_has_a_value_for_each_agent() -> None:
    """Spec 8: static or computed; an agent's own shadows the global one; the loop's cannot be replaced."""
    async with host() as h:
        prompts = h.harness.prompts
        prompts.section(PromptSection("x", "{{who}} uses {{model}} as {{id}}"))
        prompts.variable("who", "everybody")
        prompts.variable("id", lambda context: context.agent.id)
        prompts.variable("model", "something else")
        await h.run("a", agent=await h.agent(session_id="s1", setup=lambda ctx: ctx.variable("who", "I") and None))
        await h.run("b", agent=await h.agent(session_id="s2"))
        assert [request.system for request in h.requests] == ["I uses m as s1", "everybody uses m as s2"]


@pytest.mark.parametrize(
    "text",
    ["{{nobody}}", "{{cwd}}", "{{}}", "{{ two words }}", "{{model", "a {{ b", "{{1}}", "{{{{model}}}}", "{{empty}}",
     "{{none}}"],
)  # fmt: skip
async def test_a_reference_that_says_nothing_fails_the_turn(text: str) -> None:
    """Spec 8: malformed, unknown, valueless: the turn fails at its step, nothing is sent, the next turn can work."""
    async with host(steps=[Say("1")]) as h:
        h.harness.prompts.variable("empty", "")
        h.harness.prompts.variable("none", lambda _context: None)
        registration = h.harness.prompts.section(PromptSection("x", text))
        agent = await h.run("a")
        (end,) = data(agent.session, "turn/end")
        assert (end.reason.kind, end.reason.step, end.reason.code) == ("error", 1, "INVALID_PROMPT")
        assert data(agent.session, "step/start") == []
        assert h.requests == []
        registration.dispose()
        await h.run("b", agent=agent)
        assert reasons(agent.session) == ["error", "completed"]


async def test_braces_that_refer_to_nothing_are_text() -> None:
    """Spec 8: single braces and closing ones alone stand for themselves."""
    async with host() as h:
        assert await system_of(h, PromptSection("x", '{"a": {"b": 1}} {model} }}')) == '{"a": {"b": 1}} {model} }}'


async def test_a_value_is_never_read_as_a_reference() -> None:
    """Spec 8: what a variable holds is text; nobody can make the prompt refer to something through it."""
    async with host() as h:
        h.harness.prompts.variable("v", "{{model}} {{ \\1 \\g<0>")
        assert await system_of(h, PromptSection("x", "<{{v}}>")) == "<{{model}} {{ \\1 \\g<0>>"


@pytest.mark.parametrize("name", ["", "two words", "1st", "a}}", None, 7])
async def test_a_name_nobody_could_refer_to_is_refused(name: Any) -> None:
    """Spec 8: when it is registered, not when it is missed."""
    async with host() as h:
        with pytest.raises(HarnessError) as caught:
            h.harness.prompts.variable(name, "x")
        assert caught.value.code == "INVALID_PROMPT"


async def test_a_section_that_raises_fails_the_turn() -> None:
    """Spec 4.8: assembly failure is a turn error at this step; the driver lives."""

    def text(_context: PromptContext) -> str:
        raise ValueError("no text")

    async with host() as h:
        h.harness.prompts.section(PromptSection("x", text))
        agent = await h.run("a", "b")
        assert reasons(agent.session) == ["error", "error"]
        assert [(turn, step, str(error)) for turn, step, error in h.recorder.errors] == [
            (1, 1, "no text"), (2, 1, "no text"),
        ]  # fmt: skip
        assert said(agent.session) == ["a", "b"]


# -- the hook ----------------------------------------------------------------------------------------------------------


async def test_the_assembly_a_hook_returns_is_the_whole_truth() -> None:
    """Spec 8: emptied, it sends no system prompt and no tools."""
    async with host(rewriting(lambda _assembly: PromptAssembly()), tools=[tool()]) as h:
        assert await system_of(h, PromptSection("x", "{{nobody}}")) is None
        assert h.requests[0].tools == ()
        header = data(h.recorder.sessions[0], "request/header")[0].header
        assert (header.system, header.tools) == (MISSING, MISSING)


async def test_a_hook_may_hide_tools_and_give_variables() -> None:
    """Spec 8: what it returns is rendered and sent."""

    def change(assembly: PromptAssembly) -> PromptAssembly:
        tools = [schema for schema in assembly.tools if schema.name != "hidden"]
        return attrs.evolve(assembly, tools=tools, variables={**assembly.variables, "v": "1"})

    async with host(rewriting(change), tools=[tool("hidden"), tool("shown")]) as h:
        assert await system_of(h, PromptSection("x", "{{v}} {{model}}")) == "1 m"
        assert [schema.name for schema in h.requests[0].tools] == ["shown"]


async def test_a_tool_is_described_once() -> None:
    """Decision 3.8: its schema is frozen once and shared by the requests, as long as it stays what it is."""
    async with host(steps=[Say("x")] * 3, tools=[tool()]) as h:
        agent = await h.agent()
        for _ in range(2):
            await h.run("go", agent=agent)
        parameters = h.harness.tools.entries()[0].definition.parameters
        parameters["description"] = "changed"
        await h.run("go", agent=agent)
        first, second, third = [request.tools[0] for request in h.requests]
        assert first is second
        assert (type(first.parameters), third.parameters) == (FrozenDict, parameters)
        assert "description" not in first.parameters


async def test_a_wrapper_may_give_the_others_another_assembly() -> None:
    """Decision 7.3: ``call_next(assembly=...)`` is legal here."""

    @wrap
    async def system_prompt_assemble(assembly: Any, *, call_next: Any) -> Any:
        return await call_next(assembly=attrs.evolve(assembly, sections=[*assembly.sections, PromptSection("y", "y")]))

    seen: list[list[str]] = []

    def look(assembly: PromptAssembly, context: PromptContext) -> None:
        seen.append([section.name for section in assembly.sections])
        assert context.agent is h.recorder.agents[0]

    plugins = (
        Plugin("giver", system_prompt_assemble=system_prompt_assemble),
        Plugin("looker", system_prompt_assemble=look),
    )
    async with host(*plugins) as h:
        assert await system_of(h, PromptSection("x", "x")) == "x\n\ny"
        assert seen == [["x", "y"]]


async def test_an_assembly_is_frozen() -> None:
    """Spec 8: a hook cannot change it in place."""
    errors: list[type[BaseException]] = []

    def look(assembly: Any) -> None:
        for change in (lambda: setattr(assembly, "sections", ()), lambda: assembly.variables.update(v="1")):
            try:
                change()
            except Exception as exc:
                errors.append(type(exc))

    async with host(Plugin(system_prompt_assemble=look)) as h:
        await system_of(h, PromptSection("x", "x"))
        assert len(errors) == 2


@pytest.mark.parametrize("answer", ["be kind", 7, [], None], ids=repr)
async def test_a_wrapper_that_returns_no_assembly_fails_the_turn(answer: Any) -> None:
    """Decision 7.2: closed, saying what came."""
    async with host(rewriting(lambda _assembly: answer)) as h:
        agent = await h.run("go")
        assert data(agent.session, "turn/end")[0].reason.code == "INVALID_DECISION"
        assert h.requests == []


@pytest.mark.parametrize("variables", [{"v": 1}, {1: "v"}, {"v": None}])
def test_a_variable_is_text(variables: Any) -> None:
    """Spec 8: an assembly whose variables are no text is refused where it is made."""
    with pytest.raises(TypeError, match="prompt variable"):
        PromptAssembly(variables=variables)


async def test_restricted_tools_are_not_offered() -> None:
    """Spec 1.3: the request shows the agent's own view, shadows included."""
    async with host(tools=[tool("a"), tool("b")]) as h:

        def setup(ctx: Any) -> None:
            ctx.restrict(allow=["a"])
            ctx.tool(tool("mine"))

        await h.run("go", agent=await h.agent(setup=setup))
        await h.run("go")
        assert [[schema.name for schema in request.tools] for request in h.requests] == [["a", "mine"], ["a", "b"]]
