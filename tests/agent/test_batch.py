"""One step's tool calls: overlap, order, contexts, cancellation (spec/core.md 4.9)."""

from __future__ import annotations

import itertools
from typing import Any

import anyio
import pytest

from dshhooks.config import parse_config
from hookspecs.decisions import Accept, Allow, Deny
from hookspecs.errors import ConfigError, HarnessError
from tests.agent.kit import (
    CallTools,
    Gate,
    Host,
    Plugin,
    Say,
    check_balanced,
    context,
    data,
    host,
    kinds,
    reasons,
    safe_tool,
    said,
    sent,
    tool,
)

pytestmark = pytest.mark.anyio


class Bodies:
    """Tools whose calls stop at a gate of their own, named by the argument ``n``; what they do is written down."""

    def __init__(self, count: int) -> None:
        self.gates = {n: Gate() for n in range(1, count + 1)}
        self.log: list[str] = []

    async def execute(self, args: Any, _exec: Any) -> Any:
        self.log.append(f"begin {args['n']}")
        await self.gates[args["n"]]()
        self.log.append(f"end {args['n']}")
        return args["n"]

    def safe(self, **options: Any) -> Any:
        """A tool whose calls may overlap."""
        return safe_tool("safe", self.execute, **options)

    def alone(self) -> Any:
        """A tool whose calls may not."""
        return tool("alone", self.execute)

    def open(self, *numbers: int) -> None:
        """Let these calls end; all by default."""
        for number in numbers or self.gates:
            self.gates[number].open()


def calls(*names: str) -> CallTools:
    """An answer that calls tools with ``{"n": 1}``, ``{"n": 2}``, …"""
    return CallTools([(name, {"n": number}) for number, name in enumerate(names, 1)])


def batch(h: Host) -> list[str]:
    """``call c1``, ``result c1``, …: calls and results of the only session, in the log's order."""
    (session,) = h.recorder.sessions
    kind = {"tool/call": "call", "tool/result": "result"}
    return [f"{kind[event.type]} {event.data.call_id[-1]}" for event in session.events if event.type in kind]


def outcomes(h: Host) -> list[str]:
    """The code of every result, or its text."""
    results = data(h.recorder.sessions[0], "tool/result")
    return [result.content[0].text if not result.error else result.error.code for result in results]


# -- overlap -----------------------------------------------------------------------------------------------------------


async def test_parallel_safe_calls_overlap() -> None:
    """Case 146: all three bodies start before any ends."""
    bodies = Bodies(3)
    async with host(steps=[calls("safe", "safe", "safe"), Say("x")], tools=[bodies.safe()]) as h:
        agent = await h.agent()
        agent.followup("go")
        for gate in bodies.gates.values():
            await gate.reached.wait()
        assert sorted(bodies.log) == ["begin 1", "begin 2", "begin 3"]
        bodies.open()
        await agent.when_idle()
        assert batch(h) == ["call 1", "call 2", "call 3", "result 1", "result 2", "result 3"]


async def test_an_exclusive_call_is_a_barrier() -> None:
    """Case 147: parallel, exclusive, parallel: nothing overlaps the exclusive one."""
    bodies = Bodies(4)
    answer = calls("safe", "safe", "alone", "safe")
    async with host(steps=[answer, Say("x")], tools=[bodies.safe(), bodies.alone()]) as h:
        agent = await h.agent()
        agent.followup("go")
        await bodies.gates[2].reached.wait()
        bodies.open(2)
        await anyio.wait_all_tasks_blocked()
        assert not bodies.gates[3].reached.is_set()
        bodies.open(1)
        await bodies.gates[3].reached.wait()
        await anyio.wait_all_tasks_blocked()
        assert not bodies.gates[4].reached.is_set()
        bodies.open()
        await agent.when_idle()
        assert bodies.log[2:] == ["end 2", "end 1", "begin 3", "end 3", "begin 4", "end 4"]
        assert batch(h)[4:] == ["call 3", "result 3", "call 4", "result 4"]


async def test_the_pool_is_refilled_as_calls_settle() -> None:
    """Case 148: with a cap of 2, the first settled call makes room for the third, whose call follows its result."""
    bodies = Bodies(4)
    async with host(steps=[calls(*["safe"] * 4), Say("x")], tools=[bodies.safe()], max_parallel_tool_calls=2) as h:
        agent = await h.agent()
        agent.followup("go")
        await bodies.gates[2].reached.wait()
        await anyio.wait_all_tasks_blocked()
        assert sorted(bodies.log) == ["begin 1", "begin 2"]
        bodies.open(1)
        await bodies.gates[3].reached.wait()
        assert batch(h) == ["call 1", "call 2", "result 1", "call 3"]
        bodies.open()
        await agent.when_idle()
        assert outcomes(h) == ["1", "2", "3", "4"]


async def test_a_later_call_that_settles_first_makes_room_too() -> None:
    """Spec 4.9: bodies in flight count, not results that wait for their turn."""
    bodies = Bodies(3)
    async with host(steps=[calls(*["safe"] * 3), Say("x")], tools=[bodies.safe()], max_parallel_tool_calls=2) as h:
        agent = await h.agent()
        agent.followup("go")
        await bodies.gates[2].reached.wait()
        bodies.open(2)
        await bodies.gates[3].reached.wait()
        assert batch(h) == ["call 1", "call 2", "call 3"]
        bodies.open()
        await agent.when_idle()


async def test_a_cap_of_one_is_serial() -> None:
    """Case 157: parallel-safe calls run one after the other."""
    bodies = Bodies(3)
    bodies.open()
    async with host(steps=[calls(*["safe"] * 3), Say("x")], tools=[bodies.safe()], max_parallel_tool_calls=1) as h:
        await h.run("go")
        assert bodies.log == ["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]
        assert batch(h) == ["call 1", "result 1", "call 2", "result 2", "call 3", "result 3"]


@pytest.mark.parametrize("cap", [0, -1, 1.5, True, "2"])
def test_a_cap_that_is_no_positive_whole_number_is_refused(cap: Any) -> None:
    """Case 157: the configuration says so, naming the key."""
    with pytest.raises(ConfigError, match="max_parallel_tool_calls"):
        parse_config({"agent": {"max_parallel_tool_calls": cap}})


async def test_calls_are_classified_when_their_turn_comes() -> None:
    """Spec 4.9: a change of the registry during the batch counts for the calls that were not started."""
    bodies = Bodies(3)

    async def swap(_args: Any, _exec: Any) -> str:
        registration.dispose()
        h.harness.tools.register(tool("safe", bodies.execute))
        return "swapped"

    answer = CallTools([("swap", {}), ("safe", {"n": 1}), ("safe", {"n": 2})])
    async with host(steps=[answer, Say("x")], tools=[tool("swap", swap)]) as h:
        registration = h.harness.tools.register(bodies.safe())
        agent = await h.agent()
        agent.followup("go")
        await bodies.gates[1].reached.wait()
        await anyio.wait_all_tasks_blocked()
        assert not bodies.gates[2].reached.is_set()
        bodies.open()
        await agent.when_idle()


async def test_a_classifier_that_changes_its_mind_cannot_stall_the_batch() -> None:
    """Spec 4.9: the first unstarted call is classified once and then runs."""
    answers = itertools.cycle([True, False])
    body = Bodies(1)
    body.open()
    moody = tool("moody", body.execute, is_concurrency_safe=lambda _args: next(answers))
    async with host(steps=[CallTools([("moody", {"n": 1})] * 4), Say("x")], tools=[moody]) as h:
        await h.run("go")
        assert outcomes(h) == ["1"] * 4


# -- order -------------------------------------------------------------------------------------------------------------


async def test_results_are_committed_in_the_models_order() -> None:
    """Case 149: c2 settles first and waits; post-execute, results and contexts come in model order."""
    bodies = Bodies(2)
    order: list[str] = []

    def tools_post_execute(execution: Any) -> Accept:
        order.append(execution.call_id)
        return Accept(contexts=[context(f"after {execution.call_id}")])

    async with host(
        Plugin(tools_post_execute=tools_post_execute),
        steps=[calls("safe", "safe"), Say("x")],
        tools=[bodies.safe()],
    ) as h:
        agent = await h.agent()
        agent.followup("go")
        await bodies.gates[2].reached.wait()
        bodies.open(2)
        await anyio.wait_all_tasks_blocked()
        assert bodies.log[-1] == "end 2"
        assert (batch(h), order, h.recorder.results) == (["call 1", "call 2"], [], [])
        bodies.open(1)
        await agent.when_idle()
        assert order == ["call-1", "call-2"]
        assert batch(h)[2:] == ["result 1", "result 2"]
        assert said(agent.session) == ["go", "after call-1", "after call-2"]


async def test_policy_is_asked_strictly_one_call_after_the_other() -> None:
    """Spec 4.9: the next call's prepare starts only after the one before, while bodies overlap."""
    bodies = Bodies(2)
    gate = Gate()
    asked: list[str] = []

    async def tools_pre_execute(execution: Any) -> Allow:
        asked.append(execution.call_id)
        if execution.call_id == "call-1":
            await gate()
        return Allow()

    async with host(
        Plugin(tools_pre_execute=tools_pre_execute), steps=[calls("safe", "safe"), Say("x")], tools=[bodies.safe()]
    ) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        await anyio.wait_all_tasks_blocked()
        assert (asked, batch(h)) == (["call-1"], ["call 1"])
        gate.open()
        bodies.open()
        await agent.when_idle()
        assert asked == ["call-1", "call-2"]


async def test_calls_that_need_no_dispatch_take_their_ordered_slot() -> None:
    """Case 151: c2 is denied, c3's policy raises while c1 runs; results in order, post-execute saw c1 and c2 only."""
    bodies = Bodies(3)
    post: list[str] = []

    def tools_pre_execute(execution: Any) -> Any:
        if execution.call_id == "call-2":
            return Deny("not this one")
        if execution.call_id == "call-3":
            raise HarnessError("policy is down", "POLICY_DOWN")
        return None

    def tools_post_execute(execution: Any) -> None:
        post.append(execution.call_id)

    async with host(
        Plugin(tools_pre_execute=tools_pre_execute, tools_post_execute=tools_post_execute),
        steps=[calls("safe", "safe", "safe"), Say("x")],
        tools=[bodies.safe()],
    ) as h:
        agent = await h.agent()
        agent.followup("go")
        await bodies.gates[1].reached.wait()
        await anyio.wait_all_tasks_blocked()
        assert batch(h) == ["call 1", "call 2", "call 3"]
        bodies.open()
        await agent.when_idle()
        assert batch(h)[3:] == ["result 1", "result 2", "result 3"]
        assert outcomes(h) == ["1", "Error: not this one", "POLICY_DOWN"]
        assert post == ["call-1", "call-2"]
        assert bodies.log == ["begin 1", "end 1"]


async def test_a_result_points_to_its_call() -> None:
    """Spec 4.9: provenance is the seq of its ``tool/call``; value and message are not persisted."""
    async with host(steps=[calls("echo", "nobody"), Say("x")], tools=[tool()]) as h:
        agent = await h.run("go")
        seqs = {e.data.call_id: e.seq for e in agent.session.events if e.type == "tool/call"}
        results = [event for event in agent.session.events if event.type == "tool/result"]
        assert [event.source_event_seqs for event in results] == [(seqs["call-1"],), (seqs["call-2"],)]
        assert set(results[0].wire) == {"turn", "step", "callId", "content", "isError"}
        assert results[1].wire["error"] == {"name": "ToolNotFoundError", "code": "UNKNOWN_TOOL"}


# -- contexts ----------------------------------------------------------------------------------------------------------


async def test_contexts_and_injections_wait_for_the_whole_batch() -> None:
    """Case 152: every result precedes every context; they stand in the order they were accepted, before steering."""
    bodies = Bodies(2)

    def tools_post_execute(execution: Any) -> Accept:
        return Accept(contexts=[context(f"after {execution.call_id}")])

    async with host(
        Plugin(tools_post_execute=tools_post_execute), steps=[calls("safe", "safe"), Say("x")], tools=[bodies.safe()]
    ) as h:
        agent = await h.agent()
        agent.followup("go")
        await bodies.gates[2].reached.wait()
        agent.steer("steering")
        agent.inject("first", meta={"k": 1})
        bodies.open(1)
        await anyio.wait_all_tasks_blocked()
        agent.inject("between")
        bodies.open(2)
        await agent.when_idle()
        late = [event for event in agent.session.events if event.seq > data_seq(agent, "tool/result")]
        assert [event.type for event in late][:5] == ["user/message"] * 4 + ["steering/message"]
        assert said(agent.session) == ["go", "first", "after call-1", "between", "after call-2"]
        assert data(agent.session, "user/message")[1].meta == {"k": 1}
        assert sent(h.requests[1])[-5:] == ["first", "after call-1", "between", "after call-2", "steering"]


async def test_an_observer_of_the_log_may_inject_during_a_batch() -> None:
    """Spec 4.4: the batch FIFO is no append, so it works from inside ``session_event`` too."""

    def session_event(event: Any) -> None:
        if event.type == "tool/call":
            h.recorder.agents[0].inject("seen")

    async with host(Plugin(session_event=session_event), steps=[calls("echo"), Say("x")], tools=[tool()]) as h:
        agent = await h.run("go")
        assert said(agent.session) == ["go", "seen"]
        assert kinds(agent.session, "tool/result", "user/message")[1:] == ["tool/result", "user/message"]


async def test_an_interrupted_batch_defers_nothing_of_the_next_turn() -> None:
    """Spec 4.4: after a batch that failed, an injection is appended at once again."""
    bodies = Bodies(1)
    gate = Gate()
    async with host(steps=[calls("safe"), gate, Say("x")], tools=[bodies.safe()]) as h:
        agent = await h.agent()
        agent.followup("go")
        await bodies.gates[1].reached.wait()
        agent.cancel()
        await agent.when_idle()
        agent.followup("again")
        await gate.reached.wait()
        agent.inject("now")
        assert said(agent.session)[-1] == "now"
        gate.open()
        await agent.when_idle()


# -- arguments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "given"),
    [
        ('{"x": ', '{"x": '),
        ("", {}),
        ('{"x": NaN}', '{"x": NaN}'),
        ('{"x": 1e400}', '{"x": 1e400}'),
        ('{"x": 1, "x": 2}', {"x": 2}),
        ("null", None),
        ("[1]", [1]),
    ],
)
async def test_arguments_reach_the_tool_as_strictly_parsed_as_the_log_keeps_them_raw(raw: str, given: Any) -> None:
    """Case 153: strict JSON is parsed, nothing is ``{}``, anything else is the raw text; the log keeps the text."""
    got: list[Any] = []

    async def execute(args: Any, _exec: Any) -> str:
        got.append(args)
        return "ok"

    async with host(steps=[CallTools([("take", raw)]), Say("x")], tools=[tool("take", execute)]) as h:
        agent = await h.run("go")
        assert got == [given]
        assert data(agent.session, "tool/call")[0].arguments == raw


# -- cancellation ------------------------------------------------------------------------------------------------------


async def test_a_batch_that_was_cancelled_before_it_began_is_synthetic() -> None:
    """Case 154: every call gets a call/result pair with BEFORE; no policy, no ``tools_result``."""
    asked: list[Any] = []

    def session_event(event: Any) -> None:
        if event.type == "assistant/message":
            h.recorder.agents[0].cancel()

    plugin = Plugin(session_event=session_event, tools_pre_execute=lambda execution: asked.append(execution))
    async with host(plugin, steps=[calls("echo", "echo", "nobody")], tools=[tool()]) as h:
        agent = await h.run("go")
        assert batch(h) == ["call 1", "result 1", "call 2", "result 2", "call 3", "result 3"]
        assert outcomes(h) == ["ABORTED_BEFORE_DISPATCH"] * 3
        assert (asked, h.recorder.results) == ([], [])
        assert reasons(agent.session) == ["aborted"]


@pytest.mark.parametrize("cancellation", ["scope", "signal"])
async def test_a_cancelled_batch_drains_what_runs(cancellation: Any) -> None:
    """Case 155: two real results, two synthetic ones, contexts behind all; post-step saw the aborted signal."""
    bodies = Bodies(4)
    seen: list[bool] = []

    def tools_post_execute(execution: Any) -> Accept:
        return Accept(contexts=[context(f"after {execution.call_id}")])

    def agent_post_step(signal: Any) -> None:
        seen.append(signal.aborted)

    async with host(
        Plugin(tools_post_execute=tools_post_execute, agent_post_step=agent_post_step),
        steps=[calls(*["safe"] * 4)],
        tools=[bodies.safe(cancellation=cancellation)],
        max_parallel_tool_calls=2,
    ) as h:
        agent = await h.agent()
        agent.followup("go")
        await bodies.gates[2].reached.wait()
        agent.cancel()
        bodies.open()
        await agent.when_idle()
        assert batch(h) == [
            "call 1", "call 2", "result 1", "result 2", "call 3", "result 3", "call 4", "result 4"
        ]  # fmt: skip
        assert outcomes(h) == ["ABORTED"] * 2 + ["ABORTED_BEFORE_DISPATCH"] * 2
        assert said(agent.session) == ["go", "after call-1", "after call-2"]
        assert kinds(agent.session)[-5:] == ["tool/result", "user/message", "user/message", "step/end", "turn/end"]
        assert len(h.recorder.results) == 2
        assert (reasons(agent.session), seen) == (["aborted"], [True])


async def test_cancelling_during_an_exclusive_call_starts_no_later_group() -> None:
    """Spec 4.9: later groups are synthetic likewise."""
    bodies = Bodies(3)
    answer = calls("alone", "safe", "alone")
    async with host(steps=[answer], tools=[bodies.safe(), bodies.alone()]) as h:
        agent = await h.agent()
        agent.followup("go")
        await bodies.gates[1].reached.wait()
        agent.cancel()
        await agent.when_idle()
        assert outcomes(h) == ["ABORTED"] + ["ABORTED_BEFORE_DISPATCH"] * 2
        assert bodies.log == ["begin 1"]


async def test_cancelling_while_policy_is_asked_runs_no_body() -> None:
    """Spec 4.9, 3.5: the call that was being judged is a real BEFORE, the rest synthetic."""
    gate = Gate()

    async def tools_pre_execute() -> None:
        await gate()

    async with host(Plugin(tools_pre_execute=tools_pre_execute), steps=[calls("echo", "echo")], tools=[tool()]) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        agent.cancel()
        gate.open()
        await agent.when_idle()
        assert outcomes(h) == ["ABORTED_BEFORE_DISPATCH"] * 2
        assert len(h.recorder.results) == 1


# -- the scheduler's own faults ----------------------------------------------------------------------------------------


async def test_a_fault_of_the_scheduler_drains_what_runs() -> None:
    """Spec 10.12: bodies that were started end by themselves; the turn fails with the exception itself, once."""
    bodies = Bodies(2)
    problem = RuntimeError("the log refuses")

    def refuse(event: Any) -> None:
        if event.type == "tool/call" and event.raw["callId"] == "call-3":
            raise problem

    async with host(steps=[calls("safe", "safe", "safe"), Say("x")], tools=[bodies.safe()], balanced=False) as h:
        agent = await h.agent()
        agent.session.add_validator(refuse)
        agent.followup("go")
        agent.followup("next")
        await bodies.gates[2].reached.wait()
        agent.inject("meanwhile")
        bodies.open()
        await agent.when_idle()
        assert sorted(bodies.log) == ["begin 1", "begin 2", "end 1", "end 2"]
        assert [error is problem for _, _, error in h.recorder.errors] == [True]
        assert reasons(agent.session) == ["error", "completed"]
        assert batch(h) == ["call 1", "call 2", "result 1", "result 2"]
        assert said(agent.session) == ["go", "meanwhile", "next"]


async def test_a_refused_result_leaves_no_other_call_without_one() -> None:
    """Spec 10.12: a call whose result could not be logged keeps none of the others from getting theirs."""

    def refuse(event: Any) -> None:
        if event.type == "tool/result" and event.raw["callId"] == "call-1" and not event.raw["isError"]:
            raise RuntimeError("not this result")

    async with host(steps=[calls("safe", "safe", "echo"), Say("x")], tools=[safe_tool("safe"), tool()]) as h:
        agent = await h.agent()
        agent.session.add_validator(refuse)
        await h.run("go", agent=agent)
        assert reasons(agent.session) == ["error"]
        answered = [result.call_id for result in data(agent.session, "tool/result")]
        assert sorted(answered) == ["call-1", "call-2", "call-3"]


async def test_a_host_that_is_cancelled_leaves_no_call_without_a_result() -> None:
    """Spec 5.8, 10.12: what ran is of unknown outcome, what never began says so; the turn is closed."""
    bodies = Bodies(3)
    with anyio.CancelScope() as scope:
        async with host(steps=[calls("safe", "safe", "safe")], tools=[bodies.safe()], max_parallel_tool_calls=2) as h:
            agent = await h.agent()
            agent.followup("go")
            await bodies.gates[2].reached.wait()
            scope.cancel()
            await anyio.sleep_forever()
    check_balanced(agent.session)
    assert batch(h) == ["call 1", "call 2", "result 1", "result 2", "call 3", "result 3"]
    assert outcomes(h) == ["TOOL_OUTCOME_UNKNOWN"] * 2 + ["ABORTED_BEFORE_DISPATCH"]
    assert reasons(agent.session) == ["disposed"]


def data_seq(agent: Any, kind: str) -> int:
    """The seq of the last event of a type."""
    return max(event.seq for event in agent.session.events if event.type == kind)
