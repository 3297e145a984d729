"""Guards of turns and requests: what a refusal leaves, and what nobody sees of a guard that breaks (1.13, X1, X2)."""

from __future__ import annotations

import logging
import traceback
from typing import Any

import anyio
import pytest

from dshhooks.operations import GuardError, Operation, Outcome, current_operation, deny
from dshhooks.session.enclosure import TurnEnclosure
from dshhooks.session.events import InputRejected
from dshhooks.session.memory import MemoryStore
from hookspecs.errors import HarnessError
from hookspecs.operations import Denial
from hookspecs.values import PluginSource, UserSource
from tests.agent.kit import CallTools, Gate, Plugin, Say, data, host, kinds, reasons, safe_tool
from tests.operations.loop_kit import LOOP, Beside
from tests.operations.watch import Guarding, Watch
from tests.tools.kit import never

pytestmark = pytest.mark.anyio

TURN, STEP, INFERENCE = LOOP
DENIED, FAILED, CANCELED = Outcome.DENIED, Outcome.FAILED, Outcome.CANCELED
SECRET = "hunter2"


def no(_call: Any) -> Any:
    """A guard that says no, and why."""
    return deny("test.no", f"because {SECRET}")


# -- turns -------------------------------------------------------------------------------------------------------------


async def test_a_refused_turn() -> None:
    """Cases 72, 73: begin, rejected event, finish; no turn-started, no request, one denied finish."""
    watch = Watch(*LOOP)
    async with host(watch, Guarding(no, operation=TURN), Beside(watch.log, "input/rejected", "turn/start")) as h:
        agent = await h.agent()
        sent = agent.followup("go")
        await agent.when_idle()
        assert kinds(agent.session) == ["input/rejected"]
        reason = "turn was denied by a guard"
        assert data(agent.session, "input/rejected") == [InputRejected(sent, UserSource(), "rejected", reason)]
        assert h.requests == []
        assert h.recorder.ids("dequeue") == [sent]
        assert h.recorder.statuses[:2] == ["running", "idle"]
    assert watch.log == ["begin turn", "input/rejected", "finish turn denied"]
    assert (watch.one(TURN).error.code, watch.one(TURN).error.reason) == ("test.no", f"because {SECRET}")


async def test_what_no_person_sent_is_cancelled() -> None:
    """1.13: a machine's input is resolved as cancelled."""
    async with host(Guarding(no, operation=TURN)) as h:
        agent = await h.agent()
        agent.followup("go", source=PluginSource("mailer"))
        await agent.when_idle()
        [event] = data(agent.session, "input/rejected")
        assert (event.source, event.outcome) == (PluginSource("mailer"), "cancelled")


async def test_only_the_refused_input_is_resolved() -> None:
    """FIX 4: the inputs behind it, and steering, have their turns."""
    guard = Guarding(lambda call: no(call) if "bad" in call.payload.input.content[0].text else None, operation=TURN)
    async with host(guard, steps=[Say("1"), Say("2")]) as h:
        agent = await h.agent()
        for text in ("one", "bad", "two"):
            agent.followup(text)
        await agent.when_idle()
        assert reasons(agent.session) == ["completed", "completed"]
        assert [kind for kind in kinds(agent.session) if kind in ("turn/start", "input/rejected", "turn/end")] == [
            "turn/start", "turn/end", "input/rejected", "turn/start", "turn/end",
        ]  # fmt: skip


async def test_the_record_of_a_refusal_is_durable_before_the_finish() -> None:
    """Spec 1.13: the input is resolved, then the turn finishes."""
    gate, watch = Gate(), Watch(TURN)
    async with host(watch, Guarding(no, operation=TURN), Plugin("slow", session_flush=lambda: gate())) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        assert watch.log == ["begin turn"]
        gate.open()
        await agent.when_idle()
    assert watch.log[-1] == "finish turn denied"


async def test_a_refusal_that_cannot_be_written_has_failed() -> None:
    """B8: the failure to resolve the input overrides the denial; the agent goes on."""
    watch, error = Watch(TURN), ValueError("no room")

    def refuse(event: Any) -> None:
        if event.type == "input/rejected":
            raise error

    guard = Guarding(lambda call: no(call) if call.payload.input.content[0].text == "bad" else None, operation=TURN)
    async with host(watch, guard, steps=[Say("1")]) as h:
        agent = await h.agent()
        agent.session.add_validator(refuse)
        await h.run("bad", "good", agent=agent)
        assert reasons(agent.session) == ["completed"]
    assert watch.results[0].error is error
    assert watch.outcomes(TURN) == [FAILED, Outcome.COMPLETED]


async def test_a_session_goes_on_behind_a_refusal() -> None:
    """The record stands between turns: a stored session is resumed, forked and continued."""
    store = MemoryStore()
    guard = Guarding(no, operation=TURN)
    async with host(guard, store=store) as h:
        agent = await h.run("go")
    async with host(store=store, steps=[Say("yes")]) as h:
        again = await h.harness.resume_agent(agent.id, allow_policy_drift=True)  # the guard is gone
        await h.run("on", agent=again)
        assert kinds(again.session, "input/rejected", "turn/start", "turn/end") == [
            "input/rejected", "turn/start", "turn/end",
        ]  # fmt: skip
        forked = await h.harness.sessions.fork(again.session, 0)
        assert kinds(forked) == ["input/rejected"]


def test_a_refusal_stands_outside_every_turn() -> None:
    """The one event that says there was no turn is refused inside one."""
    check = TurnEnclosure()
    check(_event("turn/start", {"turn": 1}))
    with pytest.raises(HarnessError, match="inside turn 1"):
        check(_event("input/rejected", {}))


def _event(kind: str, data_: Any) -> Any:
    return type("Event", (), {"type": kind, "raw": data_, "seq": 0, "surface_op": None})()


async def test_a_guard_that_is_asked_when_the_turn_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard that hangs keeps nobody: the cancelled turn never was, and its operation is canceled."""
    monkeypatch.setattr("dshhooks.agent.handle.GRACE", 0.001)
    gate, watch = Gate(), Watch(TURN)

    async def hang(_call: Any) -> None:
        await gate()

    async with host(watch, Guarding(hang, operation=TURN)) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        agent.cancel()
        await agent.when_idle()
        assert kinds(agent.session) == []
    assert watch.outcomes(TURN) == [CANCELED]


async def test_an_observer_that_cancels_while_a_guard_waits() -> None:
    """1.11: the guard is interrupted, the input resolved, and the turn canceled."""
    handles: list[Any] = []
    watch = Watch(TURN, begin=lambda _call: handles.append(current_operation()))

    async def hang(_call: Any) -> None:
        handles[0].cancel("enough")
        await anyio.sleep_forever()

    async with host(watch, Guarding(hang, operation=TURN)) as h:
        agent = await h.run("go")
        [event] = data(agent.session, "input/rejected")
        assert event.reason == "turn was canceled"
    assert watch.outcomes(TURN) == [CANCELED]


# -- requests ----------------------------------------------------------------------------------------------------------


async def test_a_refused_request() -> None:
    """Case 82, B4: never opened, one denied finish, step and turn failed, and the public error hides the reason."""
    watch, asked = Watch(*LOOP), []
    recovery = Plugin("recovery", agent_request_error=lambda error: asked.append(error))
    async with host(watch, recovery, Guarding(no, operation=INFERENCE), steps=[Say("never")]) as h:
        agent = await h.run("go")
        [end] = data(agent.session, "turn/end")
        assert (end.reason.kind, end.reason.code) == ("error", "OPERATION_DENIED")
        assert end.reason.message == "inference was denied by a guard"
        assert h.requests == []
        [(_, _, error)] = h.recorder.errors
        assert SECRET not in everything_of(error)
    assert watch.log[3:] == ["finish inference denied", "finish step failed", "finish turn failed"]
    assert asked == []
    assert isinstance(watch.one(INFERENCE).error, Denial)
    assert SECRET not in everything_of(watch.one(TURN).error)


# -- guards that break -------------------------------------------------------------------------------------------------


def raising(_call: Any) -> None:
    """Raises with something nobody should read."""
    password = SECRET
    raise ValueError(f"could not log in with {password}")


def leaving(_call: Any) -> None:
    """A script turned guard."""
    raise SystemExit(SECRET)


def chained(_call: Any) -> None:
    """Raises out of another exception, with a note."""
    try:
        raise KeyError(SECRET)
    except KeyError as exc:
        exc.add_note(SECRET)
        raise RuntimeError(SECRET) from exc


async def late(_call: Any) -> None:
    """Raises after a wait."""
    await anyio.lowlevel.checkpoint()
    raise TimeoutError(SECRET)


BROKEN = {
    "raises": raising,
    "chain": chained,
    "exits": leaving,
    "late": late,
    "false": lambda _call: False,
    "true": lambda _call: True,
    "string": lambda _call: SECRET,
    "malformed": lambda _call: Denial("NOT A CODE", SECRET),
    "blank": lambda _call: Denial("a", " "),
}


@pytest.mark.parametrize("operation", [TURN, INFERENCE])
@pytest.mark.parametrize("guard", BROKEN.values(), ids=BROKEN)
async def test_a_broken_guard_blocks(guard: Any, operation: Operation, caplog: pytest.LogCaptureFixture) -> None:
    """Case 74, X1: blocked and failed; what it held is in no log, record, repr or traceback, and on the result."""
    caplog.set_level(logging.DEBUG)
    watch = Watch(operation)
    async with host(watch, Guarding(guard, operation=operation), steps=[Say("never")]) as h:
        agent = await h.run("go")
        assert h.requests == []
        [(_, _, error)] = h.recorder.errors
        assert (error.code, "'guarding'" in str(error)) == ("PLUGIN_FAILED", True)  # type: ignore[attr-defined]
        written = "".join(str(event.document()) for event in agent.session.events)
    result = watch.one(operation)
    assert result.outcome is FAILED
    assert isinstance(result.error, GuardError)
    assert result.error.cause is not None
    shown = (everything_of(error), everything_of(result.error), caplog.text, written, repr(result), repr(result.error))
    assert [text for text in shown if SECRET in text] == []


@pytest.mark.parametrize("end", ["cancel", "dispose", "close"])
@pytest.mark.parametrize("operation", [TURN, INFERENCE, Operation.TOOL_CALL, Operation.COMPACTION])
async def test_a_guard_that_hangs_blocks(operation: Operation, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as it has not answered nothing runs; cancelling or disposing the agent ends it, and so does the host."""
    monkeypatch.setattr("dshhooks.agent.handle.GRACE", 0.001)
    gate, watch = Gate(), Watch(*LOOP, Operation.TOOL_CALL, Operation.COMPACTION)

    async def hang(_call: Any) -> None:
        await gate()

    async def compact(agent: Any) -> None:
        if operation is Operation.COMPACTION:
            await agent.compact()

    plugins = (watch, Guarding(hang, operation=operation), Plugin("compacts", agent_turn_stopping=compact))
    calls = [] if operation is Operation.COMPACTION else [CallTools([("echo", {}), ("echo", {})])]
    async with host(*plugins, steps=[*calls, Say("x"), Say("never")], tools=[safe_tool(execute=never)]) as h:
        agent = await h.agent()
        agent.followup("go")
        await gate.reached.wait()
        if end == "cancel":
            agent.cancel()
            await agent.when_idle()
        elif end == "dispose":
            await agent.dispose()
        asked = 1 if operation in (Operation.TOOL_CALL, Operation.COMPACTION) else 0
        assert len(h.requests) == asked
    assert set(watch.outcomes(operation)) == {CANCELED}
    ended = {"cancel": "aborted"}.get(end, "disposed")
    assert reasons(agent.session) == ([] if operation is TURN else [ended])


def everything_of(error: BaseException) -> str:
    """What is printed of an exception, by whoever prints it."""
    return "".join(traceback.format_exception(error)) + repr(error) + str(error.args) + str(error)
