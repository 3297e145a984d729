"""Where owners get their runner from: the host's own set and the plugins' hooks."""

from __future__ import annotations

from typing import Any

import pytest

import dshhooks.sync
from dshhooks import Harness, hookimpl
from dshhooks.config import AgentConfig, HarnessConfig, PluginsConfig
from dshhooks.llm.scripted import Say, ScriptedAdapter
from dshhooks.operations import Around, Guard, Operation, Operations, OperationSet, Outcome, classify, deny
from dshhooks.operations.errors import GuardError
from hookspecs.errors import OperationConfigError, PluginError
from tests.operations.kit import TOOL, call

pytestmark = pytest.mark.anyio


def hooks() -> Any:
    """An empty engine."""
    from dshhooks.engine.hooks import Hooks

    return Hooks()


class Watching:
    """An observer written as a generator."""

    def __init__(self, seen: list[str], name: str = "w") -> None:
        self.seen, self.name = seen, name

    @hookimpl
    def operation(self, call: Any) -> Any:
        self.seen.append(f"begin {self.name}")
        result = yield
        self.seen.append(f"finish {self.name} {result.outcome}")


class Refusing:
    """A guard that refuses every tool call."""

    policy_revision = "r1"

    @hookimpl
    def operation_guard(self, call: Any) -> Any:
        return deny("test.no", "not today") if call.operation == "tool_call" else None


def test_nobody_registered_means_no_runner() -> None:
    """Without observers and guards there is no runner at all."""
    assert Operations(hooks()).runner() is None


async def test_hooks_observe_and_guard() -> None:
    """A plugin's observer sees begin and finish of what another plugin's guard refuses."""
    engine, seen = hooks(), []
    operations = Operations(engine)
    engine.register(Watching(seen))
    engine.register(Refusing())
    scope = await operations.runner().start(call())  # type: ignore[union-attr]
    assert scope.refusal is not None
    assert (scope.refusal.code, scope.refusal.reason) == ("test.no", "not today")  # type: ignore[union-attr]
    scope.finish(classify(scope.refusal), scope.refusal)
    assert seen == ["begin w", "finish w denied"]


async def test_order_is_the_hosts_own_then_plugins_outermost_first() -> None:
    """The host's own observers begin first; plugins follow, outermost first; finishes run backwards."""
    engine, seen = hooks(), []
    operations = Operations(engine)
    engine.register(Watching(seen, "inner"))
    engine.register(Watching(seen, "outer"))

    def own(_call: Any) -> Any:
        seen.append("begin own")
        return lambda _result: seen.append("finish own")

    operations.adopt(OperationSet(around=[Around(TOOL, own)]))
    (await operations.runner().start(call())).finish(Outcome.COMPLETED)  # type: ignore[union-attr]
    assert seen == [
        "begin own", "begin outer", "begin inner", "finish inner completed", "finish outer completed", "finish own",
    ]  # fmt: skip


def test_a_guard_without_revision_is_no_plugin() -> None:
    """A plugin with operation guards and without a policy_revision is refused, saying how to mend it."""
    engine = hooks()
    operations = Operations(engine)
    with pytest.raises(PluginError, match="needs a policy_revision"):
        engine.register(type("Nameless", (Refusing,), {"policy_revision": ""})())
    assert operations.runner() is None


def yielding(self: Any, call: Any) -> Any:
    """A generator where none is run."""
    yield deny("test.no", "never said")


async def yielding_async(self: Any, call: Any) -> Any:
    """What no operation hook can be."""
    yield


@pytest.mark.parametrize(
    ("hook", "function"),
    [("operation", yielding_async), ("operation_guard", yielding), ("operation_guard", yielding_async)],
)
def test_a_form_nobody_could_call_is_no_plugin(hook: str, function: Any) -> None:
    """It is refused when it is registered: later, every operation of the host would break over it."""
    engine = hooks()
    operations = Operations(engine)
    with pytest.raises(PluginError, match=r"plain `def`|would never run"):
        engine.register(type("Odd", (), {"policy_revision": "1", hook: hookimpl(function)})())
    assert operations.runner() is None


async def test_a_guard_for_one_agent_needs_no_revision() -> None:
    """A guard added for one agent asks about that agent only, and is no part of the policy revision."""
    engine, agent = hooks(), object()
    operations = Operations(engine)
    engine.register(type("Dynamic", (Refusing,), {"policy_revision": ""})(), agent=agent)
    assert operations.runner() is None
    assert operations.policy_revision == ""
    scope = await operations.runner(agent).start(call())  # type: ignore[union-attr]
    assert scope.refusal is not None
    scope.finish(Outcome.DENIED, scope.refusal)


def test_revisions_are_composed() -> None:
    """One plugin's revision is taken verbatim; two make a digest that depends on their order."""
    engine = hooks()
    operations = Operations(engine)
    with engine.register(Refusing(), "a"):
        assert operations.policy_revision == "r1"
        with engine.register(Refusing(), "b"):
            both = operations.policy_revision
            assert both.startswith("sha256:")
    with engine.register(Refusing(), "b"), engine.register(Refusing(), "a"):
        assert operations.policy_revision.startswith("sha256:")
        assert operations.policy_revision != both
    assert operations.policy_revision == ""


async def test_a_failing_guard_is_named_and_its_text_is_not() -> None:
    """A plugin's failing guard blocks; the error names the plugin and holds nothing of what was raised."""

    class Broken:
        policy_revision = "1"

        @hookimpl
        def operation_guard(self, call: Any) -> Any:
            raise ValueError("secret")

    engine = hooks()
    operations = Operations(engine)
    engine.register(Broken(), "broken")
    scope = await operations.runner().start(call())  # type: ignore[union-attr]
    assert type(scope.refusal) is GuardError
    assert "'broken'" in str(scope.refusal)
    assert scope.refusal.code == "PLUGIN_FAILED"
    assert "secret" not in repr(scope.refusal) + str(scope.refusal)
    scope.finish(Outcome.FAILED, scope.refusal)


async def test_a_shadowed_guard_is_asked_and_not_obeyed(caplog: pytest.LogCaptureFixture) -> None:
    """A shadowed plugin's guard is asked, written down, and refuses nothing; nor is it part of the revision."""
    engine = hooks()
    operations = Operations(engine)
    engine.register(Refusing(), "maybe", shadow=True)
    with caplog.at_level("INFO", "dshhooks.shadow"):
        scope = await operations.runner().start(call())  # type: ignore[union-attr]
    assert scope.refusal is None
    scope.finish(Outcome.COMPLETED)
    assert "maybe" in caplog.text
    assert operations.policy_revision == ""


async def test_runners_follow_what_is_registered() -> None:
    """A runner is compiled once and again only when plugins change."""
    engine, seen = hooks(), []
    operations = Operations(engine)
    first = engine.register(Watching(seen))
    before = operations.runner()
    assert operations.runner() is before
    first.dispose()
    assert operations.runner() is None


def test_own_operations_are_taken_once() -> None:
    """Case 132: a second set of the host's own is refused as a duplicate option."""
    operations = Operations(hooks())
    operations.adopt(OperationSet())
    with pytest.raises(OperationConfigError) as caught:
        operations.adopt(OperationSet())
    assert caught.value.kind == "duplicate_option"


async def test_a_set_that_was_refused_takes_no_part() -> None:
    """Case 132: nothing of it is adopted, and it is no first use of the option."""
    operations = Operations(hooks())
    with pytest.raises(OperationConfigError):
        operations.adopt(OperationSet("v1", around=[Around(TOOL, lambda _call: None)]))
    assert operations.runner() is None
    assert not operations.attended
    operations.adopt(OperationSet())


async def test_an_invalid_set_stops_the_start() -> None:
    """Case 132, R6: a host with an invalid set does not start; the error wraps the set's own, and says the same."""
    bad = OperationSet("v1", guards=[Guard(Operation.STEP, lambda _call: None)])
    with pytest.raises(OperationConfigError, match=r"operations: guards\[0\]: step can be observed") as caught:
        async with Harness.open(operations=bad):
            raise AssertionError("it started")
    assert (caught.value.kind, caught.value.field) == ("invalid_hooks", "operations")
    cause = caught.value.__cause__
    assert isinstance(cause, OperationConfigError)
    assert (cause.kind, cause.field, cause.index, cause.operation) == (
        "operation_not_guardable", "guards", 0, Operation.STEP,
    )  # fmt: skip


@pytest.mark.parametrize("given", [{"guards": []}, [], object()])
async def test_what_is_no_set_stops_the_start(given: Any) -> None:
    """R6: it is said where it is given, and not when the first operation begins."""
    with pytest.raises(OperationConfigError) as caught:
        async with Harness.open(operations=given):
            raise AssertionError("it started")
    assert caught.value.kind == "invalid_hooks"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_callers_without_a_loop_have_the_same_operations(backend: str) -> None:
    """Decision 3.15: a set given to ``dshhooks.sync.open`` refuses and observes like any other."""
    seen: list[str] = []
    guard = Guard(Operation.TURN, lambda given: deny("test.no", "no") if "bad" in str(given.payload.input) else None)
    around = Around(Operation.TURN, lambda _call: lambda result: seen.append(str(result.outcome)))
    config = HarnessConfig(PluginsConfig(autoload=False), agent=AgentConfig("scripted", "m"))
    with dshhooks.sync.open(config, operations=OperationSet("v1", [guard], [around]), backend=backend) as harness:
        harness.llm.register_adapter(["scripted"], ScriptedAdapter([Say("fine")]))
        agent = harness.create_agent()
        agent.followup("bad")
        agent.followup("good")
        agent.when_idle()
        assert agent.session.manifest.hook_policy_rev == harness.operations.policy_revision == "v1"
    assert seen == ["denied", "completed"]
