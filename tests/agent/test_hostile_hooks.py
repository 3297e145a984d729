"""A hostile plugin at every hook of the loop: the turn stays balanced, and the driver lives on."""

from __future__ import annotations

import logging
import sys
from typing import Any

import anyio
import pytest

from dshhooks.agent import handle
from dshhooks.agent.turn import Turn
from hookspecs.errors import HarnessError, PluginFailedError
from tests.agent.kit import CallTools, Fail, Plugin, Say, data, host, reasons, said, tool, wrap

pytestmark = pytest.mark.anyio

# hooks whose failure ends the turn in error, and hooks that can only be told
DECIDE = ["agent_prompt_submit", "system_prompt_assemble", "agent_session_prefix", "agent_request", "agent_step_result",
          "agent_turn_continuation", "agent_turn_stop", "llm_stream"]  # fmt: skip
CHECKPOINT = ["agent_pre_step", "agent_post_step", "agent_turn_stopping"]
OBSERVE = ["agent_session_start", "agent_status", "agent_inbox_enqueue", "agent_inbox_dequeue", "agent_disposed",
           "session_event", "session_disposed", "tools_result"]  # fmt: skip
TOOLS = ["tools_pre_execute", "tools_execute", "tools_post_execute"]


class Unprintable(Exception):
    """An exception that cannot be shown."""

    def __str__(self) -> str:
        raise ValueError("no")


# What a hook may raise; each is the plugin's fault and nobody else's.
FAULTS = {
    "plain": ValueError("no"),
    "exit": SystemExit(3),
    "stop": StopIteration(),
    "async-stop": StopAsyncIteration(),
    "code-that-is-no-text": HarnessError("odd", object()),  # type: ignore[arg-type]
    "never-initialized": HarnessError.__new__(HarnessError),
    "unprintable": Unprintable(),
    "group": ExceptionGroup("several", [ValueError("a"), KeyError("b")]),
}
FEW = ["plain", "exit", "unprintable"]


def steps() -> list[Any]:
    """A first turn with a tool call, and a second one."""
    return [CallTools([("echo", {})]), Say("a"), Say("b")]


def once(do: Any, *, wait: bool = False) -> Any:
    """A hook that misbehaves the first time, then abstains."""
    left = [1]

    def plain() -> Any:
        return do() if left and left.pop() else None

    async def waits() -> Any:
        await anyio.lowlevel.checkpoint()
        return plain()

    return waits if wait else plain


def throw(fault: BaseException) -> Any:
    """Raise it."""
    raise fault


@pytest.mark.parametrize("wait", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("fault", FEW)
@pytest.mark.parametrize("hook", [*DECIDE, *CHECKPOINT])
async def test_a_raising_hook_ends_its_turn_in_error(hook: str, fault: str, wait: bool) -> None:
    """Whichever it is, that turn ends in error, told of once, and the next turn runs."""
    plugin = Plugin("odd", **{hook: once(lambda: throw(FAULTS[fault]), wait=wait)})
    async with host(plugin, steps=steps(), tools=[tool()]) as h:
        agent = await h.run("one", "two")
        assert reasons(agent.session) == ["error", "completed"]
        assert len(h.recorder.errors) == 1
        [end, _] = data(agent.session, "turn/end")
        assert isinstance(end.reason.message, str)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("hook", ["agent_pre_step", "agent_step_result"])
async def test_whatever_a_hook_raises(hook: str, fault: str) -> None:
    """Odd exceptions end in a readable record, too."""
    async with host(Plugin("odd", **{hook: once(lambda: throw(FAULTS[fault]))}), steps=steps(), tools=[tool()]) as h:
        agent = await h.run("one", "two")
        assert reasons(agent.session) == ["error", "completed"]
        [end, _] = data(agent.session, "turn/end")
        assert isinstance(end.reason.message, str)


@pytest.mark.parametrize("wait", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("fault", FEW)
@pytest.mark.parametrize("hook", OBSERVE)
async def test_a_raising_observer_changes_nothing(
    hook: str, fault: str, wait: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever an observer raises is logged, and goes nowhere."""
    plugin = Plugin("odd", **{hook: once(lambda: throw(FAULTS[fault]), wait=wait)})
    async with host(plugin, steps=steps(), tools=[tool()]) as h:
        agent = await h.run("one", "two")
        assert reasons(agent.session) == ["completed", "completed"]
        assert h.recorder.errors == []
        await agent.dispose()
        await anyio.wait_all_tasks_blocked()
    assert f"plugin 'odd' failed in hook {hook!r}" in caplog.text


@pytest.mark.parametrize("hook", ["agent_error", "agent_cancel_requested", "agent_inbox_discard"])
async def test_observers_of_failures_may_fail(hook: str) -> None:
    """Observers of errors, cancellations and discards are contained, too."""

    def cancel(agent: Any, turn: int) -> None:
        if turn == 2:
            agent.followup("three")
            agent.cancel()

    odd = Plugin("odd", **{hook: lambda: throw(ValueError("no"))})
    async with host(odd, Plugin(agent_pre_step=cancel), steps=[Fail("SERVER"), Say("a")]) as h:
        agent = await h.run("one", "two")
        assert reasons(agent.session) == ["error", "aborted"]
        assert len(h.recorder.errors) == 1


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("hook", TOOLS)
async def test_a_raising_tool_hook_fails_the_call_only(hook: str, fault: str) -> None:
    """A tool hook's fault is the call's result; the turn goes on."""
    plugin = Plugin("odd", **{hook: once(lambda: throw(FAULTS[fault]))})
    async with host(plugin, steps=steps(), tools=[tool()]) as h:
        agent = await h.run("one", "two")
        assert [result.is_error for result in data(agent.session, "tool/result")] == [True]
        assert reasons(agent.session) == ["completed", "completed"]


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_raising_flush_is_reported_and_the_turn_stays(fault: str) -> None:
    """A ``session_flush`` that raises is told as an error; the turn stays completed and the next one runs."""
    async with host(Plugin(session_flush=once(lambda: throw(FAULTS[fault]))), steps=[Say("a"), Say("b")]) as h:
        agent = await h.run("one", "two")
        assert reasons(agent.session) == ["completed", "completed"]
        assert len(h.recorder.errors) == 1


NONSENSE = [0, "text", object(), int]


@pytest.mark.parametrize("answer", NONSENSE, ids=["int", "str", "object", "class"])
@pytest.mark.parametrize("hook", [hook for hook in DECIDE if hook != "agent_session_prefix"])
async def test_nonsense_is_a_failure_of_the_turn(hook: str, answer: Any) -> None:
    """An answer that is no decision of that hook fails closed; the next turn runs."""
    plugin = Plugin("odd", **{hook: once(lambda: answer)})
    async with host(plugin, steps=steps(), tools=[tool()]) as h:
        agent = await h.run("one", "two")
        assert reasons(agent.session) == ["error", "completed"]


@pytest.mark.parametrize("answer", NONSENSE, ids=["int", "str", "object", "class"])
@pytest.mark.parametrize("hook", [*CHECKPOINT, *OBSERVE])
async def test_answers_nobody_looks_at_are_ignored(hook: str, answer: Any) -> None:
    """What checkpoints and observers return changes nothing."""
    plugin = Plugin("odd", **{hook: lambda: answer})
    async with host(plugin, steps=steps(), tools=[tool()]) as h:
        agent = await h.run("one", "two")
        assert reasons(agent.session) == ["completed", "completed"]


@pytest.mark.parametrize("answer", [None, 0, "text", object()], ids=["None", "int", "str", "object"])
@pytest.mark.parametrize("hook", ["agent_prompt_submit", "agent_request", "agent_step_result",
                                  "agent_turn_continuation"])  # fmt: skip
async def test_a_wrapper_that_returns_nonsense_fails_closed(hook: str, answer: Any) -> None:
    """decisions 7.2: a wrapper must return a decision."""
    left = [1]

    async def wrapper(*, call_next: Any) -> Any:
        decided = await call_next()
        return answer if left and left.pop() else decided

    async with host(Plugin("odd", **{hook: wrap(wrapper)}), steps=steps(), tools=[tool()]) as h:
        agent = await h.run("one", "two")
        assert reasons(agent.session) == ["error", "completed"]
        [end, _] = data(agent.session, "turn/end")
        assert end.reason.code == "INVALID_DECISION"
        assert "odd" in end.reason.message


HANGS = [*(hook for hook in DECIDE if hook != "llm_stream"), *CHECKPOINT]


@pytest.mark.parametrize("hook", HANGS)
async def test_dispose_is_not_kept_by_a_hanging_hook(hook: str, monkeypatch: Any) -> None:
    """A hook that hangs and ignores its signal cannot keep the agent, nor its host."""
    monkeypatch.setattr(handle, "GRACE", 0.01)
    waiting = anyio.Event()

    async def hang() -> None:
        waiting.set()
        await anyio.sleep_forever()

    async with host(Plugin(**{hook: hang}), steps=steps(), tools=[tool()]) as h:
        agent = await h.agent()
        agent.followup("one")
        await waiting.wait()
        await agent.dispose()
        assert reasons(agent.session) == ["disposed"]


@pytest.mark.parametrize("how", ["implementation", "wrapper"])
@pytest.mark.parametrize("hook", [*TOOLS, "tools_result"])
async def test_a_hook_that_hangs_around_a_call(hook: str, how: str, monkeypatch: Any) -> None:
    """Once the turn is cancelled it gets some time, then it is cancelled too; the call has a result, the next turn
    runs."""
    monkeypatch.setattr(handle, "GRACE", 0.01)
    waiting, left = anyio.Event(), [1]

    async def hang(**_more: Any) -> None:
        if left and left.pop():
            waiting.set()
            await anyio.sleep_forever()

    async def around(*, call_next: Any) -> Any:
        await hang()
        return await call_next()

    if (hook, how) == ("tools_result", "wrapper"):
        pytest.skip("an observer has no wrappers")
    plugin = Plugin("odd", **{hook: wrap(around) if how == "wrapper" else hang})
    async with host(plugin, steps=steps(), tools=[tool()]) as h:
        agent = await h.agent()
        agent.followup("one")
        await waiting.wait()
        agent.cancel()
        await h.run("two", agent=agent)
        assert reasons(agent.session) == ["aborted", "completed"]
        [result] = data(agent.session, "tool/result")
        before_the_body = hook in ("tools_pre_execute", "tools_execute")
        assert result.error.code == ("ABORTED_BEFORE_DISPATCH" if before_the_body else "TOOL_OUTCOME_UNKNOWN")


async def test_a_body_that_outlives_the_cancel_is_waited_for(monkeypatch: Any) -> None:
    """However little time hooks have: a tool that watches the signal itself ends as it says."""
    monkeypatch.setattr(handle, "GRACE", 0.001)
    waiting, let_go = anyio.Event(), anyio.Event()

    async def body(_args: Any, _exec: Any) -> str:
        waiting.set()
        await let_go.wait()
        ended.append("well")
        return "done"

    ended: list[str] = []
    async with host(steps=steps(), tools=[tool("echo", body, cancellation="signal")]) as h:
        agent = await h.agent()
        agent.followup("one")
        await waiting.wait()
        agent.cancel()
        for _ in range(20):
            await anyio.sleep(0.001)  # the time hooks would have had, many times over
        assert not ended
        let_go.set()
        await agent.when_idle()
        assert ended == ["well"]
        assert data(agent.session, "tool/result")[0].error.code == "ABORTED"


async def test_dispose_is_not_kept_by_a_flush_that_hangs(monkeypatch: Any) -> None:
    """A hanging ``session_flush`` holds up the next turn, as it may, but neither the agent's end nor the host's."""
    monkeypatch.setattr(handle, "FLUSH_GRACE", 0.01)
    waiting = anyio.Event()

    async def hang() -> None:
        waiting.set()
        await anyio.sleep_forever()

    async with host(Plugin(session_flush=hang), steps=steps()) as h:
        agent = await h.agent()
        agent.followup("one")
        await waiting.wait()
        await agent.dispose()
        assert reasons(agent.session) == ["completed"]
        [(turn, _, error)] = h.recorder.errors
        assert (turn, type(error)) == (1, TimeoutError)


@pytest.mark.parametrize("hook", ["agent_created", "session_created"])
async def test_sys_exit_while_an_agent_is_created(hook: str) -> None:
    """decisions 3.7: it is the plugin's failure, not the host's end; nothing stays published."""
    plugin = Plugin("odd", **{hook: once(lambda: sys.exit(3))})
    async with host(plugin, steps=[Say("a")]) as h:
        with pytest.raises(PluginFailedError, match=f"plugin 'odd' failed in hook '{hook}'") as caught:
            await h.agent(session_id="s")
        assert caught.value.code == "PLUGIN_FAILED"
        assert h.harness.agents.list() == []
        assert reasons((await h.run("one", agent=await h.agent(session_id="s"))).session) == ["completed"]


@pytest.mark.parametrize("hook", ["session_flush", "llm_stream"])
async def test_sys_exit_where_the_host_waits(hook: str) -> None:
    """decisions 3.7: what the host calls itself raises the plugin's failure, not its ``SystemExit``."""
    plugin = Plugin("odd")
    async with host(plugin, steps=[Say("a")]) as h:
        agent = await h.run("one")
        with h.harness.hooks.register(Plugin("exits", **{hook: lambda: sys.exit(3)})), pytest.raises(PluginFailedError):
            await (agent.compact() if hook == "llm_stream" else h.harness.sessions.flush(agent.session))


ACTS = [*DECIDE, *CHECKPOINT, "agent_status", "agent_inbox_dequeue", "session_event", "tools_result", *TOOLS]


@pytest.mark.parametrize("hook", ACTS)
async def test_a_hook_that_cancels_the_turn(hook: str) -> None:
    """Cancelled from inside any hook: the turn is aborted and balanced, and a later prompt runs."""
    agents: list[Any] = []
    plugin = Plugin("odd", **{hook: once(lambda: agents[0].cancel())})
    async with host(plugin, steps=steps(), tools=[tool()]) as h:
        agents.append(await h.agent())
        agent = await h.run("one", agent=agents[0])
        await h.run("two", agent=agent)
        ends = reasons(agent.session)
        # Whoever hears of the work before its turn begins, cancels it before there is one.
        assert ends in (["aborted", "completed"], ["completed"])
        assert h.recorder.errors == []


@pytest.mark.parametrize("hook", ACTS)
async def test_a_hook_that_sends_from_inside(hook: str) -> None:
    """A followup, steering and an injection from inside any hook are all taken in, none twice."""
    agents: list[Any] = []

    def send() -> None:
        agents[0].followup("sent")
        agents[0].steer("steered")
        if hook != "session_event":  # nothing can be appended while an event is published
            agents[0].inject("injected")

    plugin = Plugin("odd", **{hook: once(send)})
    async with host(plugin, steps=[*steps(), Say("c"), Say("d")], tools=[tool()]) as h:
        agents.append(await h.agent())
        agent = await h.run("one", agent=agents[0])
        texts = said(agent.session, "user/message", "steering/message")
        assert sorted(texts) == sorted(["one", "sent", "steered", *(["injected"] if hook != "session_event" else [])])
        assert set(reasons(agent.session)) == {"completed"}


@pytest.mark.parametrize("hook", ACTS)
async def test_a_hook_that_disposes_the_agent(hook: str) -> None:
    """``await agent.dispose()`` inside any hook: no deadlock, a balanced log, and the agent is gone."""
    agents: list[Any] = []
    left = [1]

    async def dispose() -> None:
        if left and left.pop():
            await agents[0].dispose()

    async with host(Plugin("odd", **{hook: dispose}), steps=steps(), tools=[tool()]) as h:
        agents.append(await h.agent())
        agents[0].followup("one")
        await agents[0].when_idle()
        await agents[0].dispose()
        assert reasons(agents[0].session) in (["disposed"], [])
        assert h.harness.agents.list() == []
        assert h.harness.sessions.list() == []


@pytest.mark.parametrize("kind", ["turn/start", "user/message", "step/start", "request/header", "assistant/chunk",
                                  "assistant/message", "tool/call", "tool/result", "step/end", "turn/end"])  # fmt: skip
async def test_a_validator_that_refuses_once(kind: str) -> None:
    """A pre-commit validator that refuses one event: the turn fails, the log stays balanced, the next turn runs."""
    left = [1]

    def refuse(event: Any) -> None:
        if event.type == kind and left and left.pop():
            raise ValueError(f"no {kind}")

    async with host(steps=steps(), tools=[tool()]) as h:
        agent = await h.agent()
        agent.session.add_validator(refuse)
        await h.run("one", "two", agent=agent)
        ends = reasons(agent.session)
        assert ends == (["completed"] if kind == "turn/start" else ["error", "completed"])
        assert not left


async def test_a_broken_turn_does_not_end_the_driver(monkeypatch: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Even a fault nobody foresaw costs one turn only."""
    left = [1]
    run = Turn.run

    async def broken(self: Any) -> None:
        await run(self)
        if left and left.pop():
            raise RuntimeError("a bug")

    monkeypatch.setattr(Turn, "run", broken)
    with caplog.at_level(logging.ERROR):
        async with host(steps=[Say("a"), Say("b")]) as h:
            agent = await h.run("one", "two")
            assert said(agent.session) == ["one", "two"]
    assert "a bug" in caplog.text
