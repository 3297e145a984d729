"""Whatever is sent, steered, injected and cancelled in whichever order: inboxes add up and logs are balanced."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from itertools import pairwise
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from attrs import field, frozen
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from dshhooks.agent.handle import Agent
from hookspecs.decisions import BlockPrompt, ContinueTurn, StopTurn
from hookspecs.errors import HarnessError
from hookspecs.model import GenerateOptions, StreamChunk
from hookspecs.values import content_text
from tests.agent.kit import CallTools, Fail, Host, Model, Plugin, Say, data, host, reasons, safe_tool, said, tool

PROMPTS = ("followup", "queue", "steer", "block")
VERBS = (*PROMPTS, "inject", "cancel", "cancel keeping")
HOOKS = ("agent_prompt_submit", "agent_pre_step", "agent_request", "agent_step_result", "agent_post_step",
         "agent_turn_continuation", "agent_turn_stopping", "agent_turn_stop", "agent_request_error",
         "agent_inbox_enqueue", "agent_inbox_dequeue", "agent_inbox_discard", "agent_status",
         "agent_cancel_requested", "agent_error", "session_event", "session_flush", "tools_pre_execute",
         "tools_post_execute", "tools_result")  # fmt: skip


@frozen
class Program:
    """What a test run does: from outside, from inside hooks and tools, and what the model answers."""

    outside: list[str]
    inside: dict[str, list[tuple[int, str]]]  # hook -> (at which call, what)
    answers: list[str]
    stops: set[int]  # at which calls agent_turn_stop says so
    admission: str = "recorded"
    pace: int = field(default=0)  # how many checkpoints each chunk and tool takes


programs = st.builds(
    Program,
    # What leads to more is listed more than once: a program that starts nothing tells nothing.
    outside=st.lists(st.sampled_from([*VERBS, *["followup"] * 4, "steer", "pass", "settle", "idle"]), max_size=12).map(
        lambda verbs: ["followup", *verbs]
    ),
    inside=st.dictionaries(
        st.sampled_from([*HOOKS, "tool", "tools_pre_execute", "agent_post_step"]),
        st.lists(st.tuples(st.integers(1, 3), st.sampled_from(VERBS)), min_size=1, max_size=4),
        max_size=5,
    ),
    answers=st.lists(st.sampled_from(["say", "call", "calls", "calls", "fail"]), max_size=8),
    stops=st.sets(st.integers(1, 5), max_size=2),
    admission=st.sampled_from(["recorded", "unrecorded"]),
    pace=st.integers(0, 3),
)


class Slow(Model):
    """A scripted model that lets others run between its chunks."""

    def __init__(self, program: Program) -> None:
        super().__init__([_answer(kind) for kind in program.answers])
        self._pace = program.pace

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Yield the chunks of the next step."""
        async with aclosing(super().stream(options)) as chunks:
            async for chunk in chunks:
                for _ in range(self._pace):
                    await checkpoint()
                yield chunk


def _answer(kind: str) -> Any:
    calls = {"call": [("alone", {})], "calls": [("safe", {}), ("safe", {}), ("alone", {}), ("nobody", {})]}
    if kind in calls:
        return CallTools(calls[kind])
    return Say("said") if kind == "say" else Fail("SERVER")


class Run:
    """One run of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.agent: Agent | None = None
        self.calls: dict[str, int] = defaultdict(int)
        self.accepted: dict[str, str] = {}  # text -> verb
        self.unopened = 0  # prompts that were blocked, or cancelled while they were judged
        self._texts = 0

    def do(self, verb: str) -> None:
        """Do one thing to the agent; what it refuses was not accepted."""
        agent = self.agent
        if agent is None:
            return
        if verb.startswith("cancel"):
            agent.cancel(keep_inbox=verb.endswith("keeping"))
            return
        self._texts += 1
        text = f"{verb} {self._texts}"
        # Noted first: whoever hears of it may be quick.
        self.accepted[text] = verb
        try:
            getattr(agent, "followup" if verb == "block" else verb)(text)
        except HarnessError as exc:
            if exc.code not in ("REENTRANT_APPEND", "AGENT_DISPOSED"):
                raise
            del self.accepted[text]

    def at(self, place: str) -> None:
        """Do what the program wants done at a hook or in a tool."""
        self.calls[place] += 1
        for number, verb in self.program.inside.get(place, ()):
            if number == self.calls[place]:
                self.do(verb)

    def plugin(self) -> Plugin:
        """Every hook, with its answer where it has one."""
        hooks = {name: partial(self._hook, name) for name in HOOKS}
        hooks |= {"agent_prompt_submit": self._prompt, "agent_turn_stop": self._stop}
        hooks |= {"agent_turn_continuation": self._continuation}
        return Plugin("program", **{name: _plain(function) for name, function in hooks.items()})

    def _hook(self, name: str) -> None:
        self.at(name)

    def _prompt(self, content: Any, signal: Any) -> BlockPrompt | None:
        self.at("agent_prompt_submit")
        blocked = content_text(content).startswith("block")
        self.unopened += blocked or signal.aborted
        return BlockPrompt("no") if blocked else None

    def _stop(self) -> StopTurn | None:
        self.at("agent_turn_stop")
        return StopTurn() if self.calls["agent_turn_stop"] in self.program.stops else None

    def _continuation(self) -> ContinueTurn | None:
        self.at("agent_turn_continuation")
        return None

    async def tool(self, _args: Any, _exec: Any) -> str:
        """A tool's body."""
        self.at("tool")
        for _ in range(self.program.pace):
            await checkpoint()
        return "ok"

    async def play(self, h: Host) -> Agent:
        """Run the program to its end."""
        self.agent = agent = await h.agent()
        for verb in self.program.outside:
            if verb == "pass":
                await checkpoint()
            elif verb == "settle":
                await anyio.wait_all_tasks_blocked()
            elif verb == "idle":
                await agent.when_idle()
            else:
                self.do(verb)
        await agent.when_idle()
        # Sent by somebody who heard of the idleness that was just waited for, and perhaps taken up by now.
        while agent.inbox.waking or agent.status == "running":
            await agent.when_idle()
        assert not agent.inbox.steering, "steering was left to an idle agent"
        return agent


def _plain(function: Any) -> Any:
    """A function that takes what the hook gives it: pluggy looks at the signature."""
    if getattr(function, "__name__", "") == "_prompt":
        return lambda content, signal: function(content, signal)
    return lambda: function()


async def play(program: Program) -> tuple[Host, Agent, Run]:
    """Run a program in a host of its own; the host checks ledger and balance when it closes."""
    run = Run(program)
    tools = [safe_tool("safe", run.tool), tool("alone", run.tool)]
    options = {"prompt_admission": program.admission, "max_parallel_tool_calls": 2}
    with anyio.fail_after(30):
        async with host(run.plugin(), model=Slow(program), tools=tools, **options) as h:
            agent = await run.play(h)
    return h, agent, run


# An observer of "running" cancels the turn before it began and steers what is no more; another one prompts again.
CANCELLED_THEN_STEERED = Program(
    outside=["followup"],
    inside={"agent_cancel_requested": [(1, "followup")], "agent_status": [(1, "cancel"), (1, "steer")]},
    answers=[],
    stops=set(),
    admission="recorded",
    pace=0,
)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example(program=CANCELLED_THEN_STEERED)
@given(program=programs)
def test_any_interleaving_keeps_ledger_and_log(backend: str, program: Program) -> None:
    """Spec 4.2, 4.7, 5.3: every id ends once, every turn is closed, every accepted word is where it belongs."""
    h, agent, run = anyio.run(play, program, backend=backend)
    check_order(h)
    check_turns(h, agent, run)
    check_words(h, agent, run)
    check_statuses(h)
    check_batches(agent)


def check_order(h: Host) -> None:
    """Ordinary messages are taken in the order they came, and so is steering."""
    place = {message.id: index for index, (what, message) in enumerate(h.recorder.inbox) if what == "enqueue"}
    steered = {message.id for what, message in h.recorder.inbox if what == "enqueue" and message.steering}
    for came, went in ((True, True), (True, False), (False, False)):
        taken = [
            place[message.id]
            for what, message in h.recorder.inbox
            if what == "dequeue" and ((message.id in steered), message.steering) == (came, went)
        ]
        assert taken == sorted(taken)


def check_turns(h: Host, agent: Agent, run: Run) -> None:
    """Every prompt that was taken had one turn, unless it left nothing behind on purpose."""
    prompts = [m for what, m in h.recorder.inbox if what == "dequeue" and not m.steering]
    starts = [start for start in data(agent.session, "turn/start") if start.trigger.kind == "message"]
    if run.program.admission == "recorded":
        assert len(starts) == len(prompts)
        assert len(data(agent.session, "prompt/blocked")) == reasons(agent.session).count("rejected")
    else:
        assert len(starts) == len(prompts) - run.unopened
        assert data(agent.session, "prompt/blocked") == []
    told = sum(1 for turn, step, _ in h.recorder.errors if step)
    assert told == reasons(agent.session).count("error")


def check_words(h: Host, agent: Agent, run: Run) -> None:
    """Injections are in the log once; of messages, what was taken at most once and what was dropped never."""
    log = said(agent.session, "user/message", "steering/message")
    for text, verb in run.accepted.items():
        assert log.count(text) == 1 if verb == "inject" else log.count(text) <= 1
    dropped = {content_text(message.content) for what, message in h.recorder.inbox if what == "discard"}
    assert not dropped & set(log)
    assert not [text for text in log if text.startswith("block") and run.accepted[text] == "block" and text in
                said(agent.session, "user/message")]  # fmt: skip
    steered = {content_text(m.content) for what, m in h.recorder.inbox if what == "dequeue" and m.steering}
    assert steered == set(said(agent.session, "steering/message"))


def check_statuses(h: Host) -> None:
    """Statuses alternate and end with disposed."""
    statuses = h.recorder.statuses
    assert all(before != after for before, after in pairwise(statuses))
    assert statuses[-1] == "disposed"


def check_batches(agent: Agent) -> None:
    """Nothing is said between the calls of a step and their results."""
    types = [event.type for event in agent.session.events]
    for before, after in pairwise(types):
        assert after != "tool/result" or before in ("tool/call", "tool/result")


async def test_quiet_items_that_never_ran_are_discarded_at_the_end() -> None:
    """Spec 4.13: disposal settles what is left in the inbox."""
    async with host() as h:
        agent = await h.agent()
        first, second = agent.queue("a"), agent.queue("b")
        await agent.dispose()
        assert h.recorder.ids("discard") == [first, second]
        assert h.recorder.heard == ["enqueue", "enqueue", "discard", "discard", "disposed"]


test_quiet_items_that_never_ran_are_discarded_at_the_end = pytest.mark.anyio(
    test_quiet_items_that_never_ran_are_discarded_at_the_end
)
