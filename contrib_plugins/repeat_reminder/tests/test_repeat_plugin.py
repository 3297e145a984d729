"""What counts as a repetition, what is said about it, and what is left of an agent that is gone."""

from __future__ import annotations

import gc

import pytest
from dshhooks_repeat_reminder import RepeatReminder, RepeatReminderOptions, chains
from hypothesis import given, settings
from hypothesis import strategies as st

from dshhooks import (
    Accept,
    AllowPrompt,
    Block,
    CancelSignal,
    Deny,
    HookContext,
    PluginSource,
    TextBlock,
    ToolDefinition,
    ToolOutput,
    ToolRegistry,
    UserSource,
    hookimpl,
)

pytestmark = pytest.mark.anyio


class Agent:
    """Any object may be an agent."""


async def done(_args, _exec):
    return "done"


def registry_of(*plugins, names=("search", "note")):
    """A registry with a few tools; the first plugin is outermost."""
    registry = ToolRegistry()
    for name in names:
        output = ToolOutput({"type": "string"}, lambda _args, value: value)
        registry.register(ToolDefinition(name, "works", {"type": "object"}, output, done))
    for plugin in reversed(plugins):
        registry.hooks.register(plugin)
    return registry


def reminders(result):
    """The texts this plugin added."""
    return [context.content[0].text for context in result.contexts if context.source == PluginSource("repeat-reminder")]


async def repeat(registry, times, arguments=None, *, agent, name="search"):
    """Make the same call several times; return what was said after each."""
    return [reminders(await registry.call(name, arguments or {"q": "x"}, agent=agent)) for _ in range(times)]


def said(texts):
    """At which calls something was said, counted from 1."""
    return [number for number, text in enumerate(texts, 1) if text]


async def prompt(registry, agent, content="hello"):
    return await registry.hooks.call(
        "agent_prompt_submit", agent=agent, content=(TextBlock(content),), source=UserSource(), signal=CancelSignal()
    )


# -- what is said ------------------------------------------------------------------------------------------------------


async def test_nudge_and_detail(anyio_backend):
    """Case 214: of five identical calls the third brings a nudge and the fifth a detailed text, after the results."""
    texts = await repeat(registry_of(RepeatReminder()), 5, {"q": "x"}, agent=Agent())
    assert said(texts) == [3, 5]
    (nudge,), (detailed,) = texts[2], texts[4]
    assert ("search" in nudge, "3 times" in nudge, '"q"' in nudge) == (True, True, False)
    assert ("search" in detailed, "5 times" in detailed, '{"q":"x"}' in detailed) == (True, True, True)
    assert len(nudge) < len(detailed)


async def test_order_of_keys(anyio_backend):
    """Case 214: the order of keys is irrelevant, at every depth."""
    agent, registry = Agent(), registry_of(RepeatReminder())
    await registry.call("search", {"a": 1, "b": {"c": [1], "d": 2}}, agent=agent)
    await registry.call("search", {"b": {"d": 2, "c": [1]}, "a": 1}, agent=agent)
    result = await registry.call("search", {"a": 1, "b": {"c": [1], "d": 2}}, agent=agent)
    assert len(reminders(result)) == 1


@pytest.mark.parametrize("other", [{"q": "y"}, {}, {"q": ["x"]}, {"q": "x", "p": None}])
async def test_other_arguments(anyio_backend, other):
    """Other arguments are another call."""
    agent, registry = Agent(), registry_of(RepeatReminder())
    await repeat(registry, 2, {"q": "x"}, agent=agent)
    await registry.call("search", other, agent=agent)
    assert said(await repeat(registry, 2, {"q": "x"}, agent=agent)) == []


async def test_numbers_that_are_equal_in_python(anyio_backend):
    """``1``, ``1.0`` and ``true`` are different arguments."""
    agent, registry = Agent(), registry_of(RepeatReminder())
    for value in (1, 1.0, True):
        assert reminders(await registry.call("search", {"n": value}, agent=agent)) == []


async def test_other_tool(anyio_backend):
    """Another tool with the same arguments breaks the chain."""
    agent, registry = Agent(), registry_of(RepeatReminder())
    await repeat(registry, 2, agent=agent)
    await repeat(registry, 1, agent=agent, name="note")
    assert said(await repeat(registry, 3, agent=agent)) == [3]


async def test_beyond_the_highest(anyio_backend):
    """Between thresholds and beyond the highest nothing is said."""
    assert said(await repeat(registry_of(RepeatReminder()), 20, agent=Agent())) == [3, 5, 8]


async def test_own_thresholds(anyio_backend):
    """Thresholds may be given in any order; the lowest is the nudge."""
    plugin = RepeatReminder(RepeatReminderOptions(thresholds=[4, 2]))
    texts = await repeat(registry_of(plugin), 6, {"q": "needle"}, agent=Agent())
    assert said(texts) == [2, 4]
    assert ("needle" in texts[1][0], "needle" in texts[3][0]) == (False, True)


@pytest.mark.parametrize(
    ("limit", "shown"),
    [(9, '{"q":"x"}'), (8, '{"q":"x"… (characters left out: 1)'), (1, "{… (characters left out: 8)")],
)
async def test_preview(anyio_backend, limit, shown):
    """A detailed text quotes so many characters of the arguments and says how many it left out."""
    plugin = RepeatReminder(RepeatReminderOptions(thresholds=[2, 3], arguments_preview_chars=limit))
    texts = await repeat(registry_of(plugin), 3, {"q": "x"}, agent=Agent())
    assert f"Arguments: {shown}\n" in texts[2][0]


# -- which calls count -------------------------------------------------------------------------------------------------


async def test_denied_calls(anyio_backend):
    """Case 215: denied repeats are counted."""

    class Policy:
        @hookimpl
        def tools_pre_execute(self):
            return Deny("no")

    texts = await repeat(registry_of(RepeatReminder(), Policy()), 3, agent=Agent())
    assert said(texts) == [3]


async def test_unknown_tool(anyio_backend):
    """A call of a tool that does not exist is counted, too."""
    assert said(await repeat(registry_of(RepeatReminder()), 3, agent=Agent(), name="serach")) == [3]


async def test_excluded_interleavings(anyio_backend):
    """Case 215: calls of excluded tools are transparent: they neither count nor break the chain."""
    agent = Agent()
    registry = registry_of(RepeatReminder(RepeatReminderOptions(exclude=["no*"])))
    texts = []
    for _ in range(3):
        texts += await repeat(registry, 1, agent=agent)
        assert said(await repeat(registry, 4, agent=agent, name="note")) == []
    assert said(texts) == [3]


async def test_included_tools_only(anyio_backend):
    """With ``include`` only those are tracked, and ``exclude`` stands above it."""
    agent = Agent()
    plugin = RepeatReminder(RepeatReminderOptions(include=["se*", "note"], exclude=["note"]))
    registry = registry_of(plugin, names=("search", "note", "add"))
    assert [said(await repeat(registry, 3, agent=agent, name=name)) for name in ("search", "note", "add")] == [
        [3], [], [],
    ]  # fmt: skip


async def test_other_agent(anyio_backend):
    """Case 215: agents are isolated, even equal ones."""

    class Same:
        def __eq__(self, _other):
            return True

        __hash__ = None

    one, other = Same(), Same()
    registry = registry_of(RepeatReminder())
    await repeat(registry, 2, agent=one)
    assert said(await repeat(registry, 2, agent=other)) == []
    assert said(await repeat(registry, 1, agent=one)) == [1]


async def test_new_prompt(anyio_backend):
    """Case 215: a prompt resets its agent's chain and no other's."""
    agent, other = Agent(), Agent()
    registry = registry_of(RepeatReminder())
    await repeat(registry, 2, agent=agent)
    await repeat(registry, 2, agent=other)
    assert await prompt(registry, agent) is None
    assert said(await repeat(registry, 3, agent=agent)) == [3]
    assert said(await repeat(registry, 1, agent=other)) == [1]


@pytest.mark.parametrize("outermost", [True, False])
async def test_prompt_somebody_else_answers(anyio_backend, outermost):
    """A prompt resets the chain though another plugin, before or after, answers; its answer stays."""
    answer = AllowPrompt(content="other words")

    class Rewriter:
        @hookimpl
        def agent_prompt_submit(self):
            return answer

    agent = Agent()
    plugins = (RepeatReminder(), Rewriter()) if outermost else (Rewriter(), RepeatReminder())
    registry = registry_of(*plugins)
    await repeat(registry, 2, agent=agent)
    assert await prompt(registry, agent) is answer
    assert said(await repeat(registry, 2, agent=agent)) == []


async def test_no_agent(anyio_backend):
    """Calls without an agent are ignored."""
    plugin = RepeatReminder()
    assert said(await repeat(registry_of(plugin), 9, agent=None)) == []
    assert len(plugin._chains) == 0


async def test_call_that_ends_in_an_error(anyio_backend):
    """A call counts though a plugin further in raises; only its reminder is lost with its other contexts."""
    broken = []

    class Broken:
        @hookimpl
        def tools_post_execute(self):
            if broken:
                raise RuntimeError("oops")

    agent, registry = Agent(), registry_of(RepeatReminder(), Broken())
    broken.append(1)
    await repeat(registry, 2, agent=agent)
    broken.clear()
    assert said(await repeat(registry, 1, agent=agent)) == [1]


async def test_arguments_without_a_text(anyio_backend):
    """An integer no text is made of does no harm: such calls are never the same."""
    huge = {"n": 10**5000}
    assert said(await repeat(registry_of(RepeatReminder()), 5, huge, agent=Agent())) == []


async def test_deep_arguments(anyio_backend):
    """Arguments nested deeper than Python's stack are compared like others."""
    deep = []
    for _ in range(50_000):
        deep = [deep]
    assert said(await repeat(registry_of(RepeatReminder()), 3, {"deep": deep}, agent=Agent())) == [3]


async def test_surrogates(anyio_backend):
    """Lone surrogates in a name or in arguments do no harm."""
    texts = await repeat(registry_of(RepeatReminder()), 3, {"q": "\ud800"}, agent=Agent(), name="sea\udfffrch")
    assert said(texts) == [3]


# -- the decision of the others ----------------------------------------------------------------------------------------


def deciding(decision):
    class Decider:
        @hookimpl
        def tools_post_execute(self):
            return decision

    return Decider()


THEIRS = HookContext("theirs", PluginSource("other"))
AT_ONCE = RepeatReminderOptions(thresholds=[2])


async def second(decision):
    registry, agent = registry_of(RepeatReminder(AT_ONCE), deciding(decision)), Agent()
    await registry.call("search", agent=agent)
    return await registry.call("search", agent=agent)


async def test_accepted_value(anyio_backend):
    """An accepted value stays, and the reminder goes in front of the decision's contexts."""
    result = await second(Accept(value="other", contexts=(THEIRS,)))
    assert (result.value, len(reminders(result)), result.contexts[1]) == ("other", 1, THEIRS)


async def test_accepted_content(anyio_backend):
    """Accepted content stays."""
    result = await second(Accept(content="other words", contexts=(THEIRS,)))
    assert (result.value, result.content[0].text, result.contexts[1]) == ("done", "other words", THEIRS)


async def test_block(anyio_backend):
    """A block stays a block."""
    result = await second(Block("not that", contexts=(THEIRS,)))
    assert (result.is_error, result.content[0].text) == (True, "not that")
    assert (len(reminders(result)), result.contexts[1]) == (1, THEIRS)


async def test_silent_call(anyio_backend):
    """A call without a reminder is the very result it would be without this plugin."""
    observed = []

    class Observer:
        @hookimpl
        def tools_result(self, result):
            observed.append(result)

    result = await registry_of(RepeatReminder(), Observer()).call("search", agent=Agent())
    assert result is observed[0]
    assert result.contexts == ()


# -- agents that are gone ----------------------------------------------------------------------------------------------


async def test_disposed_agent(anyio_backend):
    """The chain goes when the agent is disposed."""
    plugin, agent = RepeatReminder(), Agent()
    registry = registry_of(plugin)
    await repeat(registry, 2, agent=agent)
    await registry.hooks.call("agent_disposed", agent=agent)
    assert len(plugin._chains) == 0
    assert said(await repeat(registry, 2, agent=agent)) == []


async def test_forgotten_agent(anyio_backend):
    """An agent nobody holds any more is not held here, and its chain goes with it."""
    plugin, agent = RepeatReminder(), Agent()
    await repeat(registry_of(plugin), 2, agent=agent)
    assert len(plugin._chains) == 1
    del agent
    gc.collect()
    assert len(plugin._chains) == 0


async def test_agent_that_cannot_be_referenced_weakly(anyio_backend):
    """An agent without weak references, a str for instance, has its chain like any other."""
    plugin, agent = RepeatReminder(), "agent-1"
    registry = registry_of(plugin)
    assert said(await repeat(registry, 3, agent=agent)) == [3]
    await registry.hooks.call("agent_disposed", agent=agent)
    assert len(plugin._chains) == 0


def test_many_agents_that_cannot_be_referenced_weakly(monkeypatch):
    """Of those only so many are remembered; the one unseen for longest goes first."""
    monkeypatch.setattr(chains, "STRONG", 3)
    found, agents = chains.Chains(), [[number] for number in range(5)]
    for agent in agents[:3]:
        found.count(agent, "key")
    found.count(agents[0], "key")
    found.count(agents[3], "key")
    assert len(found) == 3
    assert [found.count(agent, "key") for agent in (agents[0], agents[2], agents[3])] == [3, 2, 2]
    assert found.count(agents[1], "key") == 1


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"))))
def test_chains_count_what_a_list_says(calls):
    """A chain is as long as the run of equal keys at the end of that agent's calls."""
    found, agents = chains.Chains(), [Agent() for _ in range(3)]
    history = {0: [], 1: [], 2: []}
    for number, key in calls:
        history[number].append(key)
        mine = history[number]
        run = next((n for n, earlier in enumerate(reversed(mine)) if earlier != key), len(mine))
        assert found.count(agents[number], key) == run
