"""Order: what a dispatch will run, and in which order (decisions 3.3, 7.1, 7.15)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.engine.hooks import Hooks
from dshhooks.engine.plan import ChainLink
from hookspecs.decisions import Deny
from hookspecs.errors import HookUsageError
from hookspecs.markers import hookimpl
from tests.tools.kit import Agent, Plugin, wrap

pytestmark = pytest.mark.anyio

HOOK = "tools_pre_execute"


def registered(*plugins: Any) -> Hooks:
    """Hooks with these plugins, in the order they are registered."""
    hooks = Hooks()
    for plugin in plugins:
        hooks.register(plugin)
    return hooks


def order(hooks: Hooks, agent: object = None) -> str:
    return " ".join(link.plugin for link in hooks.chain(HOOK, agent))


def implementation(name: str, **options: Any) -> Plugin:
    return Plugin(name, **{HOOK: hookimpl(**options)(lambda execution: None)})


def generator(name: str, **options: Any) -> Plugin:
    def wrapper(execution: Any) -> Any:
        return (yield)

    return Plugin(name, **{HOOK: hookimpl(wrapper=True, **options)(wrapper)})


def asynchronous(name: str, **options: Any) -> Plugin:
    async def wrapper(execution: Any, *, call_next: Any) -> Any:
        return await call_next()

    return Plugin(name, **{HOOK: hookimpl(wrapper=True, **options)(wrapper)})


def test_the_last_registered_is_asked_first() -> None:
    """Decision 3.3: pluggy's order, read from the outside in."""
    assert order(registered(*map(implementation, "abc"))) == "c b a"


def test_tryfirst_and_trylast_stand_at_the_ends() -> None:
    """Decision 3.3: tryfirst, then last registered first, then trylast."""
    ends = (implementation("first", tryfirst=True), implementation("last", trylast=True))
    hooks = registered(implementation("a"), *ends, implementation("b"))
    assert order(hooks) == "first b a last"


def test_wrappers_stand_outside_implementations() -> None:
    """Decision 3.3: whatever was registered when; both forms in one order of their own."""
    hooks = registered(generator("g"), implementation("i", tryfirst=True), asynchronous("a"), implementation("j"))
    assert order(hooks) == "a g i j"


def test_wrappers_have_ends_too() -> None:
    """Decision 3.3: tryfirst is outermost, trylast innermost among wrappers."""
    ends = (generator("in", trylast=True), asynchronous("out", tryfirst=True))
    hooks = registered(ends[0], generator("a"), ends[1], asynchronous("b"))
    assert order(hooks) == "out b a in"


def test_a_chain_says_who_and_how() -> None:
    """Decision 7.15: the kinds are wrapper, async-wrapper and implementation."""
    assert registered(implementation("i"), generator("g"), asynchronous("a")).chain(HOOK) == [
        ChainLink("a", "async-wrapper"),
        ChainLink("g", "wrapper"),
        ChainLink("i", "implementation"),
    ]


def test_the_chain_of_an_unknown_hook_is_a_misuse() -> None:
    """Decision 7.15: the error suggests the nearest name."""
    with pytest.raises(HookUsageError, match="did you mean 'tools_pre_execute'"):
        Hooks().chain("tool_pre_execute")


def test_a_shadowed_plugin_is_not_part_of_the_chain() -> None:
    """Decision 3.13: the chain is what is obeyed."""
    hooks = registered(implementation("a"))
    hooks.register(Plugin("shadow", tools_pre_execute=lambda: Deny("x"), tools_result=lambda: None), shadow=True)
    assert order(hooks) == "a"
    assert hooks.chain("tools_result") == [ChainLink("shadow", "implementation")]


def test_a_shadowed_plugins_checkpoints_stop_nothing() -> None:
    """Decision 3.13: a checkpoint can stop what is about to happen, so it is not obeyed either."""
    hooks = Hooks()
    hooks.register(Plugin("shadow", session_flush=lambda: None), shadow=True)
    assert hooks.chain("session_flush") == []


def test_an_agents_plugin_is_in_that_agents_chain_only() -> None:
    """Spec 0.2: a scoped registration takes part in dispatches about its agent."""
    hooks, agent, other = registered(implementation("a")), Agent(), Agent()
    with hooks.register(implementation("scoped"), agent=agent):
        assert (order(hooks, agent), order(hooks, other), order(hooks)) == ("scoped a", "a", "a")
    assert order(hooks, agent) == "a"


def test_two_plugins_of_one_agent_are_counted() -> None:
    """Spec 0.2: disposing one leaves the other."""
    hooks, agent = Hooks(), Agent()
    first = hooks.register(implementation("first"), agent=agent)
    hooks.register(implementation("second"), agent=agent)
    first.dispose()
    assert (order(hooks, agent), order(hooks)) == ("second", "")


def test_registering_changes_the_chain_at_once() -> None:
    """Decision 7.1: a plugin registered at run time goes outermost; a disposed one is gone."""
    hooks = registered(implementation("a"))
    assert order(hooks) == "a"
    with hooks.register(implementation("b")):
        assert order(hooks) == "b a"
    assert order(hooks) == "a"


def test_a_plan_is_compiled_once() -> None:
    """A dispatch does not pay for compiling what has not changed."""
    hooks = registered(implementation("a"))
    assert hooks.plan(HOOK) is hooks.plan(HOOK)
    assert hooks.plan(HOOK, Agent()) is hooks.plan(HOOK)


async def test_an_implementation_takes_the_arguments_it_names() -> None:
    """Decision 3.1: any subset, in any order, positional or with a default, in every form."""
    seen: list[Any] = []

    class Methods:
        @hookimpl
        def agent_post_step(self, step: int, agent: str) -> None:
            seen.append((step, agent))

        @staticmethod
        @hookimpl(specname="agent_post_step")
        def static(signal: str) -> None:
            seen.append(signal)

        @classmethod
        @hookimpl(specname="agent_post_step")
        def of_class(cls, turn: int) -> None:
            seen.append((cls.__name__, turn))

        @hookimpl(specname="agent_post_step")
        def nothing(self) -> None:
            seen.append(())

        @hookimpl(wrapper=True, specname="agent_post_step")
        async def around(self, turn: int, agent: str, *, call_next: Any) -> Any:
            seen.append((turn, agent, "around"))
            return await call_next()

        @hookimpl(wrapper=True, specname="agent_post_step")
        def generator(self, signal: str, turn: int) -> Any:
            seen.append((signal, turn, "generator"))
            return (yield)

    hooks = registered(Methods())
    await hooks.call("agent_post_step", agent="A", turn=1, step=2, signal="S")
    assert sorted(map(str, seen)) == sorted(
        map(str, [(2, "A"), "S", ("Methods", 1), (), (1, "A", "around"), ("S", 1, "generator")])
    )


async def test_a_function_with_defaults_gets_the_arguments() -> None:
    """Decision 3.1: a parameter with a default is filled in when the hookspec has it."""
    seen: list[Any] = []
    plugin = Plugin("p", agent_status=lambda agent, status="unknown": seen.append((agent, status)))
    await registered(plugin).call("agent_status", agent="A", status="idle")
    assert seen == [("A", "idle")]


async def test_bound_methods_of_two_instances_do_not_mix() -> None:
    """Decision 3.2: an async wrapper keeps its own self behind the shim."""

    class Tagging:
        def __init__(self, tag: str) -> None:
            self.tag = tag

        @hookimpl(wrapper=True)
        async def system_prompt_assemble(self, assembly: Any, *, call_next: Any) -> Any:
            return [self.tag, await call_next()]

    hooks = registered(Tagging("inner"), Tagging("outer"))
    assert await hooks.call("system_prompt_assemble", assembly=None, context=None) == ["outer", ["inner", None]]


async def test_a_dispatch_keeps_the_chain_it_started_with() -> None:
    """Spec 0.2: what is registered or disposed during a dispatch counts from the next one on."""
    log: list[str] = []
    hooks = Hooks()
    doomed = hooks.register(Plugin("doomed", agent_post_step=lambda: log.append("doomed")))

    def change() -> None:
        log.append("change")
        doomed.dispose()
        hooks.register(Plugin("new", agent_post_step=lambda: log.append("new")))

    changing = hooks.register(Plugin("changing", agent_post_step=change))
    arguments = {"agent": None, "turn": 1, "step": 1, "signal": None}
    await hooks.call("agent_post_step", **arguments)
    assert log == ["change", "doomed"]
    changing.dispose()
    log.clear()
    await hooks.call("agent_post_step", **arguments)
    assert log == ["new"]


async def test_a_retry_runs_the_chain_it_started_with() -> None:
    """Spec 0.2: call_next() again is the same dispatch."""
    log: list[str] = []
    hooks = Hooks()
    hooks.register(Plugin("a", system_prompt_assemble=lambda assembly: log.append("a")))

    async def twice(assembly: Any, *, call_next: Any) -> Any:
        await call_next()
        hooks.register(Plugin("late", system_prompt_assemble=lambda assembly: log.append("late")))
        return await call_next()

    hooks.register(Plugin("twice", system_prompt_assemble=wrap(twice)))
    await hooks.call("system_prompt_assemble", assembly=None, context=None)
    assert log == ["a", "a"]


placements = st.sampled_from(["", "tryfirst", "trylast"])


@given(st.lists(st.tuples(st.sampled_from([implementation, generator, asynchronous]), placements), max_size=8))
def test_any_registration_order_gives_plugins_order_wrappers_outside(made: list[Any]) -> None:
    """Decision 3.3, for any mix: a stable sort by place, last registered first inside a place."""
    plugins = [(str(n), kind is not implementation, place, kind) for n, (kind, place) in enumerate(made)]
    hooks = registered(*(kind(name, **({place: True} if place else {})) for name, _, place, kind in plugins))
    rank = {"tryfirst": 0, "": 1, "trylast": 2}

    # pluggy puts a later tryfirst before an earlier one, and a later trylast behind an earlier one.
    def key(item: tuple[int, Any]) -> tuple[bool, int, int]:
        number, (_, wrapper, place, _) = item
        return (not wrapper, rank[place], number if place == "trylast" else -number)

    expected = [plugin[0] for _, plugin in sorted(enumerate(plugins), key=key)]
    assert order(hooks).split() == expected
