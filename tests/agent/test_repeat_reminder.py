"""A contrib plugin through the real loop: where its reminders land (spec/core.md 9)."""

from __future__ import annotations

from typing import Any

import pytest

from hookspecs.decisions import Deny
from hookspecs.values import PluginSource
from tests.agent.kit import CallTools, Host, Plugin, Say, data, host, kinds, tool

reminder = pytest.importorskip("dshhooks_repeat_reminder")
pytestmark = pytest.mark.anyio


def repeats(times: int, name: str = "echo", arguments: Any = None) -> list[CallTools]:
    """Answers that make the same call again and again."""
    return [CallTools([(name, {"q": "x"} if arguments is None else arguments)])] * times


def reminders(h: Host, agent: Any = None) -> list[tuple[int, str]]:
    """Step and text of every reminder in the log."""
    session = agent.session if agent is not None else h.recorder.sessions[0]
    found, step = [], 0
    for event in session.events:
        if event.type == "step/start":
            step = event.data.step
        elif event.type == "user/message" and event.data.source == PluginSource("repeat-reminder"):
            found.append((step, event.data.content[0].text))
    return found


async def test_reminders_follow_the_results_they_are_about() -> None:
    """Case 214: a nudge at the third call, details at the fifth, as messages behind the results."""
    async with host(reminder.RepeatReminder(), steps=[*repeats(5), Say("x")], tools=[tool()]) as h:
        agent = await h.run("go")
        (third, nudge), (fifth, details) = reminders(h)
        assert (third, fifth) == (3, 5)
        assert "echo 3 times" in nudge
        assert "5 times" in details
        assert '{"q":"x"}' in details.replace(" ", "")
        assert kinds(agent.session, "tool/result", "user/message")[1:5] == ["tool/result"] * 3 + ["user/message"]
        assert any(nudge in str(message.content) for message in h.requests[3].messages)


async def test_key_order_makes_no_difference() -> None:
    """Case 214: the same arguments in another order are the same call."""
    answers = [CallTools([("echo", raw)]) for raw in ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', '{"a":1,"b":2}')]
    async with host(reminder.RepeatReminder(), steps=[*answers, Say("x")], tools=[tool()]) as h:
        await h.run("go")
        assert [step for step, _ in reminders(h)] == [3]


async def test_calls_in_one_batch_count_one_by_one() -> None:
    """Case 214: three equal calls in one answer: the nudge stands behind all three results."""
    answer = CallTools([("echo", {"q": 1})] * 3)
    async with host(reminder.RepeatReminder(), steps=[answer, Say("x")], tools=[tool()]) as h:
        agent = await h.run("go")
        assert len(reminders(h)) == 1
        assert kinds(agent.session, "tool/result", "user/message") == ["user/message"] + ["tool/result"] * 3 + [
            "user/message"
        ]


async def test_denied_calls_count() -> None:
    """Case 215: a policy's no does not hide that the agent repeats itself."""
    plugins = (reminder.RepeatReminder(), Plugin("policy", tools_pre_execute=lambda: Deny("no")))
    async with host(*plugins, steps=[*repeats(3), Say("x")], tools=[tool()]) as h:
        await h.run("go")
        assert [step for step, _ in reminders(h)] == [3]
        assert all(result.is_error for result in data(h.recorder.sessions[0], "tool/result"))


async def test_excluded_calls_are_transparent() -> None:
    """Case 215: a call that is not tracked neither counts nor breaks the chain."""
    options = reminder.RepeatReminderOptions(exclude=("note*",))
    steps = [step for _ in range(3) for step in (*repeats(1), *repeats(1, "note_it", {"n": 1}))]
    async with host(reminder.RepeatReminder(options), steps=[*steps, Say("x")], tools=[tool(), tool("note_it")]) as h:
        await h.run("go")
        assert [step for step, _ in reminders(h)] == [5]


async def test_agents_have_chains_of_their_own() -> None:
    """Case 215: two calls each are no three."""
    steps = [step for _ in range(2) for step in (*repeats(2), Say("x"))]
    async with host(reminder.RepeatReminder(), steps=steps, tools=[tool()]) as h:
        for agent in (await h.agent(), await h.agent()):
            await h.run("go", agent=agent)
            assert reminders(h, agent) == []


async def test_a_new_prompt_starts_over() -> None:
    """Case 215: with a new prompt the same call may make sense."""
    async with host(reminder.RepeatReminder(), steps=[*repeats(2), Say("x")] * 2, tools=[tool()]) as h:
        await h.run("one", "two")
        assert reminders(h) == []
