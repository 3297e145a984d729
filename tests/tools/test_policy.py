"""Pre-execute and shadow mode: what policy makes of a call (spec/core.md 3.2, decisions 3.4, 3.13)."""

from __future__ import annotations

from typing import Any

import pytest
from attrs.exceptions import FrozenInstanceError

from hookspecs.decisions import Accept, Allow, Ask, Deny
from hookspecs.errors import HarnessError
from hookspecs.execution import ToolSuccess
from hookspecs.signal import CancelSource
from tests.tools.kit import Agent, Phases, Plugin, code, execute, message, never, registry, saying, text, tool, wrap

pytestmark = pytest.mark.anyio


def pre(answer: Any, name: str = "policy") -> Plugin:
    return Plugin(name, tools_pre_execute=lambda execution: answer)


# -- pre-execute -------------------------------------------------------------------------------------------------------


async def test_listed_first_is_outermost_and_asked_first() -> None:
    """Case 47 under decision 7.1: the listed order is the order; a plugin registered later goes outermost."""
    log: list[str] = []
    tools = registry(*(Plugin(name, tools_pre_execute=saying(log, name)) for name in ("a", "b")))
    tools.hooks.register(Plugin("late", tools_pre_execute=saying(log, "late")))
    await execute(tools)
    assert log == ["late", "a", "b"]


async def test_listed_first_wraps_the_others() -> None:
    """Case 47: the first listed wrapper is outermost, around implementations whatever their order."""
    log: list[str] = []

    def around(name: str) -> Any:
        def wrapper(execution: Any) -> Any:
            log.append(f"{name} in")
            decision = yield
            log.append(f"{name} out")
            return decision

        return wrap(wrapper)

    inside = Plugin("c", tools_pre_execute=saying(log, "asked"))
    wrappers = [Plugin(name, tools_pre_execute=around(name)) for name in ("a", "b")]
    await execute(registry(inside, *wrappers))
    assert log == ["a in", "b in", "asked", "b out", "a out"]


async def test_a_denied_call_never_reaches_its_tool() -> None:
    """Case 48: neither guards nor execute are entered; the model reads the reason; post sees a frozen failure."""
    phases, seen = Phases(), []

    def post(execution: Any, result: Any) -> None:
        with pytest.raises(FrozenInstanceError):
            result.error = None
        seen.append(result)

    tools = registry(pre(Deny("not on Fridays")), phases.plugin, Plugin("post", tools_post_execute=post))
    result = await execute(tools)
    assert (text(result), message(result), code(result)) == ("Error: not on Fridays", "not on Fridays", None)
    assert phases.reached == ["post", "result"]
    assert len(seen) == 1


async def test_a_wrapper_that_does_not_call_next_decides_alone() -> None:
    """Case 49 under decision 7.2: a wrapper that answers allow hides an inner denial."""

    async def allow(execution: Any, *, call_next: Any) -> Any:
        return Allow()

    asked: list[str] = []
    inner = Plugin("inner", tools_pre_execute=saying(asked, "inner", Deny("no")))
    result = await execute(registry(Plugin("outer", tools_pre_execute=wrap(allow)), inner))
    assert not result.is_error
    assert asked == []


async def test_a_wrapper_may_turn_a_denial_into_permission() -> None:
    """Decision 3.4: wrappers replace decisions in both directions."""

    def overrule(execution: Any) -> Any:
        assert (yield) == Deny("no")
        return Allow()

    assert not (await execute(registry(Plugin(tools_pre_execute=wrap(overrule)), pre(Deny("no"))))).is_error


async def test_a_wrapper_sees_the_default_when_nobody_has_an_opinion() -> None:
    """Decision 7.18: everybody abstaining is Allow(), never None."""
    seen = []

    def look(execution: Any) -> Any:
        decision = yield
        seen.append(decision)
        return decision

    assert not (await execute(registry(Plugin(tools_pre_execute=wrap(look)), pre(None)))).is_error
    assert seen == [Allow()]


@pytest.mark.parametrize(
    ("raised", "expected"),
    [(ValueError("no"), "PLUGIN_FAILED"), (HarnessError("no", "MINE"), "MINE"), (SystemExit(2), "PLUGIN_FAILED")],
    ids=["plain", "coded", "exit"],
)
async def test_a_raising_policy_is_final(raised: BaseException, expected: str) -> None:
    """Case 50 under decision 3.7: a coded error keeps its code, another is PLUGIN_FAILED; post is skipped."""

    def policy(execution: Any) -> Any:
        raise raised

    phases = Phases()
    result = await execute(registry(Plugin("strict", tools_pre_execute=policy), phases.plugin))
    assert code(result) == expected
    assert phases.reached == ["result"]


async def test_a_failed_plugin_is_named_with_its_hook() -> None:
    """Decision 3.7: "the policy said no" and "the policy broke" are tellable apart, and so is whose policy it was."""

    async def policy(execution: Any) -> Any:
        raise KeyError("rules")

    result = await execute(registry(Plugin("strict", tools_pre_execute=policy)))
    assert message(result) == "plugin 'strict' failed in hook 'tools_pre_execute': KeyError: 'rules'"
    assert (result.error.info.name, result.error.info.code) == ("PluginFailedError", "PLUGIN_FAILED")


async def test_none_abstains() -> None:
    """Case 51 under decision 7.2: an implementation's None is no opinion, and the next one is asked."""
    assert message(await execute(registry(pre(None, "a"), pre(Deny("second"), "b")))) == "second"


@pytest.mark.parametrize("answer", [True, False, "no", {"kind": "deny"}, Deny, Accept()])
async def test_an_unknown_decision_is_never_permission(answer: Any) -> None:
    """Spec 3.2, decision 7.2: the call fails closed with INVALID_DECISION, naming the plugin; post is skipped."""
    phases = Phases()
    result = await execute(registry(pre(answer, "odd"), phases.plugin))
    assert code(result) == "INVALID_DECISION"
    assert "'odd'" in message(result)
    assert "'tools_pre_execute'" in message(result)
    assert phases.reached == ["result"]


@pytest.mark.parametrize("answer", [None, True, "allow"])
@pytest.mark.parametrize("form", ["generator", "async"])
async def test_a_wrapper_must_answer_with_a_decision(form: str, answer: Any) -> None:
    """Decision 7.2: None from a wrapper is a failure too; it cannot abstain after the fact."""

    def generator(execution: Any) -> Any:
        yield
        return answer

    async def asynchronous(execution: Any, *, call_next: Any) -> Any:
        await call_next()
        return answer

    wrapper = wrap(generator if form == "generator" else asynchronous)
    result = await execute(registry(Plugin("forgetful", tools_pre_execute=wrapper)))
    assert code(result) == "INVALID_DECISION"
    assert "'forgetful'" in message(result)


async def test_a_denial_is_not_hidden_by_an_earlier_permission() -> None:
    """Decision 3.4: Deny stops the chain, Ask beats Allow, an explicit Allow does not stop the others."""
    assert message(await execute(registry(pre(Allow(), "a"), pre(Ask("sure?"), "b"), pre(Deny("no"), "c")))) == "no"
    asked = await execute(registry(pre(Allow(), "a"), pre(Ask("sure?"), "b"), pre(Allow(), "c")))
    assert message(asked) == "sure?"  # nobody can be asked here, so the ask's reason is the denial


async def test_the_first_denial_ends_the_questioning() -> None:
    """Decision 3.4: implementations behind a denial are not asked."""
    log: list[str] = []
    later = Plugin("later", tools_pre_execute=saying(log, "later"))
    await execute(registry(pre(Deny("no")), later))
    assert log == []


async def test_the_first_answer_wins_when_configured_so() -> None:
    """Decision 3.4: policy_combination = "first" is the literal firstresult."""
    tools = registry(pre(Allow(), "a"), pre(Deny("no"), "b"))
    assert code(await execute(tools)) is None
    tools.hooks.set_policy_combination("first")
    assert not (await execute(tools)).is_error


async def test_a_plugin_of_an_agent_gates_only_that_agent() -> None:
    """Case 52: other agents and calls without an agent are not asked about."""
    agent, tools = Agent(), registry()
    tools.hooks.register(pre(Deny("mine"), "scoped"), agent=agent)
    results = [await execute(tools, agent=who) for who in (agent, Agent(), None)]
    assert [result.is_error for result in results] == [True, False, False]


async def test_an_agents_plugin_stands_in_the_common_order() -> None:
    """Case 52: an agent-scoped plugin takes its place among the global ones by when it was registered."""
    log: list[str] = []
    agent, tools = Agent(), registry(Plugin("global", tools_pre_execute=saying(log, "global")))
    scoped = tools.hooks.register(Plugin("scoped", tools_pre_execute=saying(log, "scoped")), agent=agent)
    await execute(tools, agent=agent)
    scoped.dispose()
    await execute(tools, agent=agent)
    assert log == ["scoped", "global", "global"]


async def _later() -> str:
    return "no"


# -- cancellation on the way -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decision", [Deny("no"), ValueError("broken"), None], ids=["denies", "raises", "allows"])
async def test_an_abort_during_policy(decision: Any) -> None:
    """Cases 80, 81: a denial or failure is kept; permission becomes ABORTED_BEFORE_DISPATCH, which post sees."""
    source, phases = CancelSource(), Phases()

    def policy(execution: Any) -> Any:
        source.abort("user")
        if isinstance(decision, Exception):
            raise decision
        return decision

    tools = registry(Plugin("p", tools_pre_execute=policy), phases.plugin, tools=[tool(execute=never)])
    result = await execute(tools, signal=source.signal)
    expected = {"Deny": None, "ValueError": "PLUGIN_FAILED", "NoneType": "ABORTED_BEFORE_DISPATCH"}
    assert code(result) == expected[type(decision).__name__]
    assert ("post" in phases.reached) == (type(decision) is not ValueError)
    assert "execute" not in phases.reached


async def test_a_guard_denies_an_aborted_call_too() -> None:
    """Spec 3.5: abort during pre-execute and a guard's denial: the denial is reported."""
    source = CancelSource()
    tools = registry(Plugin(tools_pre_execute=lambda execution: source.abort("user") and None))
    tools.guard(lambda execution: "guarded")
    assert message(await execute(tools, signal=source.signal)) == "guarded"


# -- shadow mode -------------------------------------------------------------------------------------------------------


async def test_a_shadowed_plugin_is_asked_recorded_and_not_obeyed() -> None:
    """Decision 3.13: its decide and refuse hooks run on the same execution; their answers are in the trace."""
    log: list[str] = []
    shadow = Plugin("new", tools_pre_execute=saying(log, "pre", Deny("pre")), tools_guard=saying(log, "guard", "guard"))
    tools = registry()
    tools.hooks.register(shadow, shadow=True)
    with tools.hooks.trace() as trace:
        assert not (await execute(tools)).is_error
    assert log == ["pre", "guard"]
    recorded = [(record.hook, record.outcome, record.detail) for record in trace.records if record.kind == "shadow"]
    assert recorded == [("tools_pre_execute", "deny", "pre"), ("tools_guard", "deny", "guard")]


async def test_a_shadowed_plugins_failure_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Decision 3.13: failures of a shadowed plugin are recorded, not raised, a guard that waits included."""

    def broken(*_args: Any) -> Any:
        raise ValueError("broken")

    tools = registry()
    tools.hooks.register(Plugin("new", tools_pre_execute=broken, tools_guard=broken), shadow=True)
    tools.hooks.register(Plugin("late", tools_guard=lambda execution: _later()), shadow=True)
    assert not (await execute(tools)).is_error
    assert [record.args[0] for record in caplog.records if record.levelname == "WARNING"] == ["new", "late", "new"]


async def test_a_shadowed_plugins_wrappers_are_not_entered() -> None:
    """Decisions 3.13, 7.20: on no hook; what it implements for execute is not obeyed either."""
    log: list[str] = []

    def around(execution: Any) -> Any:
        log.append("entered")
        return (yield)

    tools = registry()
    wrapping = Plugin("wrapping", tools_execute=wrap(around), tools_pre_execute=wrap(around))
    answering = Plugin("answering", tools_execute=saying(log, "answered", ToolSuccess("cached")))
    for plugin in (wrapping, answering):
        tools.hooks.register(plugin, shadow=True)
    assert (await execute(tools)).value == {}
    assert log == ["answered"]
