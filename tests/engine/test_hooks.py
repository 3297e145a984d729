"""The registry of plugins: who may come in, under which name, and how hooks are called from outside."""

from __future__ import annotations

import types
from typing import Any

import attrs
import pytest
from anyio.lowlevel import checkpoint

from dshhooks.engine.hooks import Hooks, Registration
from hookspecs.decisions import Allow, Deny
from hookspecs.errors import ConfigError, HookUsageError, PluginError
from hookspecs.markers import hookimpl
from tests.tools.kit import Agent, Plugin, wrap

pytestmark = pytest.mark.anyio


def named(plugin: Any, name: str | None = None) -> str:
    """The name a plugin gets."""
    hooks = Hooks()
    hooks.register(plugin, name)
    return hooks.plugins[0]


class Policy:
    @hookimpl
    def tools_pre_execute(self, execution: Any) -> Deny:
        return Deny("no")


@pytest.mark.parametrize(
    "value", [None, "retry", 5, True, [Policy()], (Policy(),), {"a": 1}], ids=lambda value: type(value).__name__
)
def test_a_plain_value_is_no_plugin(value: Any) -> None:
    """A name or a list where a plugin belongs would be registered and never deny anything."""
    hooks = Hooks()
    with pytest.raises(PluginError, match="is no plugin"):
        hooks.register(value)
    assert hooks.plugins == ()


# -- some domains only -------------------------------------------------------------------------------------------------


async def test_hooks_of_some_domains_are_asked() -> None:
    """One event needs one domain; plugins that were taken in with all of them have hooks beside it."""

    class Both(Policy):
        @hookimpl
        def agent_created(self, agent: Any) -> None:
            raise AssertionError("asked")

    hooks = Hooks(("tools",))
    hooks.register(Both())
    assert await hooks.call("tools_pre_execute", execution=None) == Deny("no")
    with pytest.raises(HookUsageError, match="no hook 'agent_created'"):
        await hooks.call("agent_created", agent=None)


def test_hooks_of_a_known_domain_must_fit() -> None:
    """What is known is checked as ever."""

    class Waiting:
        @hookimpl
        async def tools_guard(self, execution: Any) -> None: ...

    with pytest.raises(PluginError, match="use a plain `def`"):
        Hooks(("tools",)).register(Waiting())


# -- names -------------------------------------------------------------------------------------------------------------


def test_a_plugin_without_a_name_is_called_after_its_class() -> None:
    """Decision 7.15."""
    assert named(Policy()) == "Policy"


def test_a_class_is_called_and_named_after_itself() -> None:
    """Api: a class is called; the name is the same as for the instance."""
    hooks = Hooks()
    hooks.register(Policy)
    assert isinstance(hooks.plugin("Policy"), Policy)


def test_a_module_has_its_own_name() -> None:
    """Api: modules are plugins too."""
    assert named(types.ModuleType("my_module")) == "my_module"


def test_a_plugin_may_say_its_name() -> None:
    """Decision 7.15: as a class attribute, an instance attribute, or a field with slots."""

    class Named:
        name = "class-name"

    @attrs.frozen
    class Slotted:
        name: str = "slot-name"

    assert [named(Named()), named(Plugin("own-name")), named(Slotted())] == ["class-name", "own-name", "slot-name"]


def test_a_name_that_is_computed_is_not_asked_for() -> None:
    """Registering reads a plugin; it runs none of its code."""

    class Computed:
        @property
        def name(self) -> str:
            raise AssertionError("ran")

    assert named(Computed()) == "Computed"


@pytest.mark.parametrize("name", ["", 7, None, ["x"]])
def test_a_name_that_is_no_text_is_not_a_name(name: Any) -> None:
    """Decision 7.15: the class is used instead."""
    assert named(Plugin(name)) == "Plugin"


def test_the_given_name_wins() -> None:
    """Api: register(plugin, name)."""
    assert named(Plugin("own"), "given") == "given"


@pytest.mark.parametrize("name", ["", 7, b"x"])
def test_a_given_name_must_be_text(name: Any) -> None:
    """Api: a non-empty str."""
    with pytest.raises(PluginError, match="non-empty str"):
        Hooks().register(Policy(), name)


def test_a_given_name_is_taken_once() -> None:
    """Api: the second is refused, saying what to do, and the first stays."""
    hooks, first = Hooks(), Policy()
    hooks.register(first, "policy")
    with pytest.raises(PluginError, match="already is a plugin 'policy'"):
        hooks.register(Policy(), "policy")
    assert hooks.plugin("policy") is first


def test_plugins_that_share_a_class_are_numbered() -> None:
    """Api: without a given name nobody is refused; they stay tellable apart."""
    hooks = Hooks()
    for _ in range(3):
        hooks.register(Policy())
    assert sorted(hooks.plugins) == ["Policy", "Policy-2", "Policy-3"]


def test_the_same_object_is_registered_once() -> None:
    """Api: under another name it would be called twice."""
    hooks, plugin = Hooks(), Policy()
    hooks.register(plugin)
    with pytest.raises(PluginError, match="already registered"):
        hooks.register(plugin, "other")
    assert hooks.plugins == ("Policy",)


@pytest.mark.parametrize("exc", [ValueError("no config"), SystemExit("no config")], ids=["raises", "exits"])
def test_a_class_that_cannot_be_called_is_a_plugin_error(exc: BaseException) -> None:
    """Decision 3.7: a plugin's SystemExit is its failure."""

    class Broken:
        def __init__(self) -> None:
            raise exc

    with pytest.raises(PluginError, match="Broken could not be called: no config"):
        Hooks().register(Broken)


# -- refusing ----------------------------------------------------------------------------------------------------------


def test_a_misspelt_hook_is_refused_with_a_suggestion() -> None:
    """Decision 7.15: naming the plugin, the hook and the likely one."""
    with pytest.raises(PluginError, match=r"'p'.*'tool_pre_execute'; did you mean 'tools_pre_execute'"):
        Hooks().register(Plugin("p", tool_pre_execute=lambda execution: None))


def test_a_policy_without_any_marker_is_refused() -> None:
    """It would never be asked, so it would let everything run; nothing stays registered."""

    class Unmarked:
        def tools_pre_execute(self, execution: Any) -> Deny:
            return Deny("no")

    hooks = Hooks()
    with pytest.raises(PluginError, match="'Unmarked' would never be called: put @hookimpl on tools_pre_execute"):
        hooks.register(Unmarked())
    assert hooks.plugins == ()


def test_a_function_called_like_a_hook_may_stand_beside_hooks() -> None:
    """A plugin that takes part may call its helpers what it likes."""

    class Helped:
        def operation(self) -> None: ...

        @hookimpl
        def tools_pre_execute(self) -> None: ...

    hooks = Hooks()
    hooks.register(Helped())
    assert hooks.plugins == ("Helped",)


def test_a_hook_like_no_other_is_refused_with_a_hint() -> None:
    """Decision 7.15: when nothing is near, where to look."""
    with pytest.raises(PluginError, match="'zzz'; `dshhooks hooks` lists them"):
        Hooks().register(Plugin("p", zzz=lambda: None))


def test_a_misspelt_specname_is_refused_too() -> None:
    """Decision 7.15: the hook is what counts, not what the function is called."""
    with pytest.raises(PluginError, match="did you mean 'tools_result'"):
        Hooks().register(Plugin("p", watch=hookimpl(specname="tools_results")(lambda: None)))


def test_an_optional_hook_may_be_unknown() -> None:
    """Api: optionalhook accepts that no such hook exists."""
    hooks = Hooks()
    hooks.register(Plugin("p", from_the_future=hookimpl(optionalhook=True)(lambda: None)))
    assert hooks.plugins == ("p",)


def test_an_argument_the_hook_does_not_have_is_refused() -> None:
    """Decision 3.1: pluggy's validation, as a PluginError naming the argument."""
    with pytest.raises(PluginError, match="exec"):
        Hooks().register(Plugin("p", tools_pre_execute=lambda exec: None))


@pytest.mark.parametrize(
    "fault",
    [{"tools_result": lambda nonsense: None}, {"tool_result": lambda: None}, {"tools_guard": wrap(lambda: (yield))}],
    ids=["argument", "hook", "wrapper"],
)
def test_a_refused_plugin_leaves_nothing_behind(fault: dict[str, Any]) -> None:
    """Api: none of its other hooks is called, and its name stays free."""
    hooks = Hooks()
    good = {"tools_pre_execute": lambda: Deny("no"), "zz": hookimpl(specname="tools_change")(lambda: None)}
    broken = Plugin("p", **good, **fault)
    with pytest.raises(PluginError):
        hooks.register(broken)
    assert hooks.plugins == ()
    assert all(hooks.chain(name) == [] for name in hooks.names)
    hooks.register(Plugin("p"))


@pytest.mark.parametrize("hook", ["tools_guard", "tools_change", "operation"])
def test_a_synchronous_hook_takes_no_async_function(hook: str) -> None:
    """Decisions 7.20, 5.2: refused at registration, as implementation and as wrapper."""

    async def implementation() -> None:
        return None

    async def wrapper(*, call_next: Any) -> Any:
        return await call_next()

    for function in (implementation, wrap(wrapper)):
        with pytest.raises(PluginError, match=r"'p'.*synchronously"):
            Hooks().register(Plugin("p", **{hook: function}))


def test_the_bound_methods_of_a_class_are_judged_too() -> None:
    """Decision 7.20: through self and the marker's shim."""

    class Guarding:
        @hookimpl
        async def tools_guard(self, execution: Any) -> str | None:
            return None

    with pytest.raises(PluginError, match="synchronously"):
        Hooks().register(Guarding())


# -- looking and leaving -----------------------------------------------------------------------------------------------


def test_plugins_are_listed_outermost_first() -> None:
    """Decision 7.1."""
    hooks = Hooks()
    for name in "abc":
        hooks.register(Plugin(name))
    assert hooks.plugins == ("c", "b", "a")


def test_a_plugins_hooks_are_known() -> None:
    """Api: what the report shows."""
    hooks = Hooks()
    hooks.register(Plugin("p", tools_result=lambda: None, tools_guard=lambda: None))
    assert hooks.hooks_of("p") == ("tools_guard", "tools_result")


def test_a_registration_is_taken_back_once() -> None:
    """Api: disposing again is harmless, also after the name was taken by another plugin."""
    hooks = Hooks()
    first = hooks.register(Policy(), "policy")
    first.dispose()
    second = Policy()
    hooks.register(second, "policy")
    first.dispose()
    assert hooks.plugin("policy") is second


def test_a_registration_is_a_context_manager() -> None:
    """Api: leaving the block disposes."""
    hooks = Hooks()
    with hooks.register(Policy()) as registration:
        assert isinstance(registration, Registration)
        assert hooks.plugins == ("Policy",)
    assert hooks.plugins == ()


def test_closing_lets_every_plugin_go_outermost_first() -> None:
    """Spec 1.2: what they contributed is taken back in reverse."""
    hooks, log = Hooks(), []
    hooks.on_arrival(lambda name: lambda: log.append(name))
    for name in "ab":
        hooks.register(Plugin(name))
    hooks.close()
    assert log == ["b", "a"]
    assert hooks.plugins == ()


def test_a_plugin_that_cannot_contribute_is_not_registered() -> None:
    """Api: what had been contributed by then is taken back."""
    hooks, log = Hooks(), []

    def refuse(name: str) -> Any:
        raise PluginError("taken")

    hooks.on_arrival(lambda name: lambda: log.append(name))
    hooks.on_arrival(refuse)
    with pytest.raises(PluginError, match="taken"):
        hooks.register(Plugin("p"))
    assert log == ["p"]
    assert hooks.plugins == ()


def test_a_policy_combination_is_one_of_two() -> None:
    """Decision 3.4: a typo does not silently mean the laxer one."""
    hooks = Hooks()
    with pytest.raises(ConfigError, match="'strictest' or 'first'"):
        hooks.set_policy_combination("strict")
    assert hooks.policy_combination == "strictest"


# -- calling -----------------------------------------------------------------------------------------------------------


async def test_calling_an_unknown_hook_is_a_misuse() -> None:
    """Decision 7.19: with the suggestion a plugin author gets."""
    with pytest.raises(HookUsageError, match="no hook 'tool_result'; did you mean 'tools_result'"):
        await Hooks().call("tool_result")


async def test_calling_with_the_wrong_arguments_is_a_misuse() -> None:
    """Decision 7.19: missing and surplus arguments are named, whether anybody is registered or not."""
    with pytest.raises(HookUsageError, match="'agent_status' needs the argument 'status'"):
        await Hooks().call("agent_status", agent=None)
    with pytest.raises(HookUsageError, match="has no argument extra, more; it takes agent, status"):
        await Hooks().call("agent_status", agent=None, status="idle", more=1, extra=2)
    with pytest.raises(HookUsageError, match="it takes none"):
        await Hooks().call("tools_change", extra=1)


async def test_arguments_may_come_in_any_order_and_have_any_name() -> None:
    """Decision 7.19: by keyword only, so a hook may have an argument called like call()'s own."""
    seen: list[Any] = []
    hooks = Hooks()
    hooks.register(Plugin(agent_status=lambda agent, status: seen.append((agent, status))))
    await hooks.call("agent_status", status="idle", agent="A")
    assert seen == [("A", "idle")]
    with pytest.raises(HookUsageError, match="no argument hook"):
        await hooks.call("tools_change", hook=1)


async def test_exceptions_come_through_with_their_notes() -> None:
    """Decision 7.19: nothing is normalized."""
    hooks = Hooks()

    def fail() -> None:
        raise KeyError("rules")

    hooks.register(Plugin("p", tools_pre_execute=fail))
    with pytest.raises(KeyError) as caught:
        await hooks.call("tools_pre_execute", execution=None)
    assert caught.value.__notes__ == ["raised in hook 'tools_pre_execute' of plugin 'p'"]


async def test_a_call_is_about_the_agent_it_names() -> None:
    """Spec 0.2: the agent argument, or the execution's or request's."""
    hooks, agent = Hooks(), Agent()
    hooks.register(Plugin("p", tools_pre_execute=lambda: Deny("x"), agent_turn_stop=lambda: None), agent=agent)

    class About:
        def __init__(self, agent: object) -> None:
            self.agent = agent

    assert await hooks.call("tools_pre_execute", execution=About(agent)) == Deny("x")
    assert await hooks.call("tools_pre_execute", execution=About(Agent())) is None
    assert await hooks.call("tools_pre_execute", execution=None) is None


def test_a_synchronous_hook_is_called_without_a_loop() -> None:
    """Decision 3.5: tools_change runs where nobody can await."""
    log: list[str] = []
    hooks = Hooks()
    hooks.register(Plugin(tools_change=lambda: log.append("change")))
    assert hooks.call_now("tools_change") == []
    assert log == ["change"]


def test_a_wrapper_stands_around_a_synchronous_hook() -> None:
    """Decision 3.2: the generator form works without a loop."""
    log: list[str] = []

    def wrapper() -> Any:
        log.append("in")
        result = yield
        log.append("out")
        return result

    hooks = Hooks()
    hooks.register(Plugin(tools_change=lambda: log.append("change")))
    hooks.register(Plugin(tools_change=wrap(wrapper)))
    hooks.call_now("tools_change")
    assert log == ["in", "change", "out"]


def test_an_implementation_of_a_synchronous_hook_cannot_wait() -> None:
    """Decision 3.1: a coroutine that has to wait is refused and closed; one that does not is run."""
    log: list[str] = []

    async def wait() -> None:
        try:
            await Suspends()
        finally:
            log.append("closed")

    async def run() -> None:
        log.append("ran")

    hooks = Hooks()
    hooks.register(Plugin(tools_change=lambda: run()))
    hooks.call_now("tools_change")
    hooks.register(Plugin("waiting", tools_change=lambda: wait()))
    with pytest.raises(HookUsageError, match="'tools_change' is called synchronously"):
        hooks.call_now("tools_change")
    assert log == ["ran", "closed"]


class Suspends:
    def __await__(self) -> Any:
        yield


async def test_a_sync_and_an_async_implementation_are_the_same_to_a_caller() -> None:
    """Decision 3.1: never an un-awaited coroutine as the winning answer."""

    async def allow() -> Allow:
        await checkpoint()
        return Allow()

    for function in (lambda: Allow(), allow):
        hooks = Hooks()
        hooks.register(Plugin("p", tools_pre_execute=function))
        assert await hooks.call("tools_pre_execute", execution=None) == Allow()
