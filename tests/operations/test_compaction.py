"""Compactions as operations: one attempt each, finished behind the record of the summary (spec/operations.md 1.16)."""

from __future__ import annotations

import traceback
from typing import Any

import anyio
import pytest

from dshhooks.operations import GuardError, Operation, Outcome, current_operation, deny
from hookspecs.errors import HarnessError, LlmError
from hookspecs.model import FinishChunk, StopFinish
from hookspecs.values import content_text
from tests.agent.kit import CallTools, Fail, Gate, Model, Plugin, Say, host, kinds, said, tool
from tests.operations.loop_kit import Beside, Chunks
from tests.operations.watch import VALUES, Guarding, Watch

pytestmark = pytest.mark.anyio

COMPACTION, INFERENCE, TURN = Operation.COMPACTION, Operation.INFERENCE, Operation.TURN
COMPLETED, DENIED, FAILED, CANCELED = Outcome.COMPLETED, Outcome.DENIED, Outcome.FAILED, Outcome.CANCELED


async def compacted(h: Any, agent: Any) -> BaseException | bool:
    """What compacting comes to."""
    try:
        done: bool = await agent.compact()
    except HarnessError as exc:
        return exc
    return done


async def test_success() -> None:
    """Case 106: begin, the model and the record inside with derived values, finish behind it with the output."""
    watch, seen = Watch(COMPACTION), []
    script = [Say("a"), lambda _options: seen.append(VALUES.get()) or Say("the gist")]
    async with host(watch, Beside(watch.log, "turn/end"), steps=script) as h:
        agent = await h.run("one")
        watch.log.clear()
        values = Plugin("values", session_event=lambda event: seen.append(VALUES.get()))
        with h.harness.hooks.register(values):
            assert await agent.compact() is True
    assert watch.log == ["begin compaction", "turn/end", "finish compaction completed"]
    assert set(seen) == {("compaction",)}
    result = watch.one(COMPACTION)
    given, output = result.payload.input, result.payload.output
    assert [content_text(message.content) for message in given.transcript] == ["one", "a"]
    assert (given.basis, given.model_key, len(given.fingerprint)) == ("1-9", "scripted/m", 64)
    assert (output.basis, output.model_key, output.fingerprint) == (given.basis, given.model_key, given.fingerprint)
    assert output.summary == "the gist"
    assert result.payload.attempt_id
    assert (result.coordinates.session, result.coordinates.turn, result.cause) == (agent.id, "", None)


async def test_it_ends_once_the_summary_is_durable() -> None:
    """1.16: finish happens after the durable terminal."""
    gate, watch = Gate(), Watch(COMPACTION)
    async with host(watch, steps=[Say("a"), Say("gist")]) as h:
        agent = await h.run("one")
        async with anyio.create_task_group() as tasks:
            with h.harness.hooks.register(Plugin("slow", session_flush=lambda: gate())):
                tasks.start_soon(agent.compact)
                await gate.reached.wait()
                assert kinds(agent.session)[-1] == "turn/end"
                assert watch.log == ["begin compaction"]
                gate.open()
        assert watch.outcomes(COMPACTION) == [COMPLETED]


async def test_it_ends_once_the_summary_is_durable_inside_a_turn_too() -> None:
    """Case 106, 1.16: the finish follows the committed record, wherever that stands."""
    gate, watch, flushes = Gate(), Watch(COMPACTION), []

    async def flush() -> None:
        flushes.append(list(watch.log))
        if len(flushes) == 1:
            await gate()

    async def compact(agent: Any) -> None:
        await agent.compact()

    plugins = (Plugin("hook", agent_turn_stopping=compact), Plugin("slow", session_flush=flush))
    async with host(watch, *plugins, steps=[Say("a"), Say("gist")]) as h:
        agent = await h.agent()
        agent.followup("one")
        await gate.reached.wait()
        assert agent.session.replace_generation == 1
        assert watch.log == ["begin compaction"]
        gate.open()
        await agent.when_idle()
    assert watch.outcomes(COMPACTION) == [COMPLETED]


@pytest.mark.parametrize("inside", [False, True])
async def test_a_summary_that_is_not_durable_has_failed(inside: bool) -> None:
    """Case 109, 1.16: the last word is the commit's; there is output of a success only. Who asked goes on with it."""
    watch, error, done = Watch(COMPACTION), OSError("disk full"), []
    broken = [error]

    def flush(session: Any) -> None:
        if session.replace_generation and broken:
            raise broken.pop()

    async def compact(agent: Any) -> None:
        done.append(await agent.compact())

    hooks = {"agent_turn_stopping": compact} if inside else {}
    async with host(watch, Plugin("broken", session_flush=flush, **hooks), steps=[Say("a"), Say("gist")]) as h:
        agent = await h.run("one")
        if not inside:
            await compact(agent)
        assert done == [True]
        assert [caught for _, _, caught in h.recorder.errors] == [error]
        h.recorder.errors.clear()
    result = watch.one(COMPACTION)
    assert (result.outcome, result.error, result.payload.output) == (FAILED, error, None)


async def test_its_request_is_no_inference() -> None:
    """Case 135, R7: one compaction, and no inference beside the turn's own."""
    watch = Watch()
    async with host(watch, steps=[Say("a"), Say("gist")]) as h:
        agent = await h.run("one")
        await agent.compact()
    assert (len(watch.of(COMPACTION)), len(watch.of(INFERENCE))) == (1, 1)


@pytest.mark.parametrize(
    ("answer", "code"),
    [(Say("  "), "EMPTY_RESPONSE"), (Fail("SERVER"), "SERVER")],
    ids=["invalid output", "compactor fails"],
)
async def test_an_attempt_that_fails(answer: Any, code: str) -> None:
    """Case 107: one failed finish without output; the conversation is unchanged."""
    watch = Watch(COMPACTION)
    async with host(watch, steps=[Say("a"), answer]) as h:
        agent = await h.run("one")
        before = kinds(agent.session)
        error = await compacted(h, agent)
        assert kinds(agent.session) == before
    result = watch.one(COMPACTION)
    assert (result.outcome, result.error, result.payload.output) == (FAILED, error, None)
    assert result.error.code == code


async def test_a_crash() -> None:
    """Case 107: a compactor that crashes."""
    watch, crash = Watch(COMPACTION), RuntimeError("crash")
    model = Chunks(FinishChunk(StopFinish()))
    async with host(watch, model=model) as h:
        agent = await h.run("one", "two")
        model.chunks = (crash,)
        with pytest.raises(RuntimeError):
            await agent.compact()
    assert (watch.one(COMPACTION).outcome, watch.one(COMPACTION).error) == (FAILED, crash)


async def test_interrupted() -> None:
    """Case 108: cancelled while the model writes; one canceled finish, nothing replaced."""
    gate, watch = Gate(), Watch(COMPACTION)
    async with host(watch, model=Model([Say("a"), gate])) as h:
        agent = await h.run("one")
        errors: list[Any] = []

        async def compact() -> None:
            errors.append(await compacted(h, agent))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(compact)
            await gate.reached.wait()
            agent.cancel()
        assert [error.code for error in errors] == ["COMPACTION_CANCELLED"]
        assert agent.session.replace_generation == 0
    result = watch.one(COMPACTION)
    assert (result.outcome, result.payload.output) == (CANCELED, None)


async def test_an_observer_cancels() -> None:
    """D2: whoever asked is told that it was cancelled; the agent goes on."""

    def cancel(_call: Any) -> None:
        operation = current_operation()
        assert operation is not None
        operation.cancel("enough")

    watch = Watch(COMPACTION, begin=cancel)
    async with host(watch, steps=[Say("a"), Say("b")]) as h:
        agent = await h.run("one")
        error = await compacted(h, agent)
        assert getattr(error, "code", None) == "COMPACTION_CANCELLED"
        assert len(h.requests) == 1
        await h.run("two", agent=agent)
    assert (watch.one(COMPACTION).outcome, watch.one(COMPACTION).error.reason) == (CANCELED, "enough")


async def test_a_summary_that_cannot_be_written_and_another_attempt() -> None:
    """Cases 109, 111: the last word is the record's; the failed attempt finishes once, a new one is a new operation."""
    watch, error = Watch(COMPACTION), LlmError("no room", "MINE")
    broken = [error]

    def refuse(event: Any) -> None:
        if event.surface_op not in (None, "append") and broken:
            raise broken.pop()

    async with host(watch, steps=[Say("a"), Say("gist"), Say("gist")]) as h:
        agent = await h.run("one")
        agent.session.add_validator(refuse)
        assert await compacted(h, agent) is error
        assert await agent.compact() is True
        assert len(said(agent.session)) == 2
    first, second = watch.of(COMPACTION)
    assert (first.outcome, first.error, first.payload.output) == (FAILED, error, None)
    assert second.outcome is COMPLETED
    assert first.payload.attempt_id != second.payload.attempt_id


async def test_a_summary_of_what_is_gone() -> None:
    """Somebody else was faster: nothing is replaced, and the attempt has no output."""
    gate, watch = Gate(), Watch(COMPACTION)
    done: list[bool] = []
    async with host(watch, model=Model([Say("a"), gate, Say("slow"), Say("fast")])) as h:
        agent = await h.run("one")

        async def compact() -> None:
            done.append(await agent.compact())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(compact)
            await gate.reached.wait()
            tasks.start_soon(compact)
            while not agent.session.replace_generation:
                await anyio.lowlevel.checkpoint()
            gate.open()
    assert sorted(done) == [False, True]
    assert sorted((result.outcome, bool(result.payload.output)) for result in watch.results) == [
        (COMPLETED, True), (FAILED, False),
    ]  # fmt: skip


async def test_denied() -> None:
    """Case 112: the model is not asked, nothing is written, and whoever asked is told it is unavailable."""
    watch = Watch(COMPACTION)
    guard = Guarding(lambda _call: deny("test.no", "hunter2"), operation=COMPACTION)
    async with host(watch, guard, steps=[Say("a")]) as h:
        agent = await h.run("one")
        before = kinds(agent.session)
        error: Any = await compacted(h, agent)
        assert error.code == "COMPACTION_UNAVAILABLE"
        assert "unavailable" in str(error)
        assert "hunter2" not in str(error)
        assert kinds(agent.session) == before
        assert len(h.requests) == 1
    assert watch.outcomes(COMPACTION) == [DENIED]


async def test_a_guard_that_breaks() -> None:
    """Case 113: whoever asked is told it is internal; the finish has the original."""
    watch = Watch(COMPACTION)

    def broken(_call: Any) -> None:
        secret = "hunter2"
        raise ValueError(secret)

    async with host(watch, Guarding(broken, operation=COMPACTION), steps=[Say("a")]) as h:
        agent = await h.run("one")
        error: Any = await compacted(h, agent)
        assert error.code == "PLUGIN_FAILED"
        assert str(error).startswith("internal: compaction was blocked")
        assert "hunter2" not in "".join(traceback.format_exception(error)) + repr(error) + repr(error.args)
    result = watch.one(COMPACTION)
    assert result.outcome is FAILED
    assert isinstance(result.error, GuardError)
    assert str(result.error.cause) == "hunter2"


async def test_inside_a_turn_and_behind_a_step_it_belongs_to_the_turn() -> None:
    """Case 114: its parent is the turn, and so is its cause."""
    parents: list[Any] = []

    def note(call: Any) -> None:
        if call.operation is COMPACTION:
            parents.append(VALUES.get())
        else:
            VALUES.set((*VALUES.get(), str(call.operation)))

    async def compact(agent: Any) -> None:
        await agent.compact()

    watch = Watch(TURN, Operation.STEP, COMPACTION, begin=note)
    async with host(watch, Plugin("hook", agent_turn_stopping=compact), steps=[Say("a"), Say("gist")]) as h:
        await h.run("one")
    assert parents == [("turn",)]
    [turn, compaction] = [call for call in watch.calls if call.operation is not Operation.STEP]
    assert (compaction.coordinates.turn, compaction.coordinates.step) == ("1", "")
    assert compaction.cause == turn.cause


async def test_nothing_to_compact_is_no_operation() -> None:
    """1.16: an attempt that is rejected before it starts has none."""
    watch = Watch(COMPACTION)
    async with host(watch) as h:
        agent = await h.agent()
        assert await agent.compact() is False
        agent.inject("one")
        assert await agent.compact() is False
    assert watch.log == []


async def test_from_a_tool() -> None:
    """A tool that compacts: inside its execution, and the calling step is left as it is."""
    watch = Watch(COMPACTION, Operation.TOOL_EXECUTION)

    async def body(_args: Any, run: Any) -> str:
        return str(await run.agent.compact())

    script = [Say("a"), CallTools([("compact", {})]), Say("gist"), Say("b")]
    async with host(watch, steps=script, tools=[tool("compact", body)]) as h:
        agent = await h.run("one")
        await h.run("two", agent=agent)
    assert watch.log == [
        "begin tool_execution", "begin compaction", "finish compaction completed", "finish tool_execution completed",
    ]  # fmt: skip
