"""dshhooks.operations.call, .payloads, .snapshot: descriptions and their snapshots (spec/operations.md 1.5, 1.6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest

import hookspecs.model
import hookspecs.values
from dshhooks.operations import (
    PAYLOADS,
    Around,
    Call,
    CallError,
    Cause,
    CompactionData,
    CompactionInput,
    Coordinates,
    Denial,
    GateWaitData,
    InferenceData,
    Operation,
    OperationSet,
    Outcome,
    SnapshotError,
    StepData,
    ToolCallData,
    TurnData,
    check_call,
    compile_set,
    freeze,
    handles,
    start,
)
from dshhooks.operations.snapshot import freeze_with
from hookspecs.errors import ConfigError
from hookspecs.json import MISSING, FrozenDict
from hookspecs.model import GenerateOptions, ToolSchema
from hookspecs.record import Record
from hookspecs.signal import CancelSource
from hookspecs.values import AssistantProvenance, Message, TextBlock, ToolCallBlock, ToolResultBlock, UnknownBlock
from tests.operations.kit import TOOL, call, results, runner

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("operation", Operation)
async def test_each_with_its_own_payload(operation):
    """Case 28: all pass."""
    check_call(call(operation))


class MyStep(StepData):
    pass


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (Call(TOOL), "invalid_payload"),
        (Call(TOOL, StepData(0)), "invalid_payload"),
        (Call(Operation.STEP, MyStep(0)), "invalid_payload"),
        (Call(Operation.STEP, (StepData(0), TurnData(0))), "invalid_payload"),
        (Call("nonsense", StepData(0)), "unknown_operation"),
        (Call("step", StepData(0)), "unknown_operation"),
        (Call(None, None), "unknown_operation"),
        (call(started_at=datetime(2026, 1, 1)), "invalid_payload"),
        (call(started_at=0.0), "invalid_payload"),
        ("turn", "invalid_payload"),
    ],
)
async def test_a_malformed_call(bad, kind):
    """Cases 29 and 30: an error of its own, no callback, no scope; also when nobody listens."""
    seen: list[Any] = []
    everywhere = [Around(each, seen.append) for each in Operation]
    for declared in (OperationSet("", [], everywhere), OperationSet()):
        with pytest.raises(CallError) as caught:
            await compile_set(declared).start(bad)
        assert caught.value.kind == kind
        assert not isinstance(caught.value, ConfigError)
    assert seen == []


async def test_no_runner_at_all():
    """Cases 32 and 41: nothing is looked at; a scope whose finish does nothing."""
    scope = await start(None, "meaningless")
    assert scope.refusal is None
    assert await scope.run(lambda: 5) == 5
    scope.finish("nonsense", None, what=1)
    assert not handles(None, Operation.TURN)


PLAIN = Message("user", (TextBlock("a"),))
MESSAGE = Message("user", [TextBlock("hi"), UnknownBlock("x", {"a": [1]})])


async def test_nobody_can_change_what_others_see():
    """Case 33, C1: an attempt is that observer's failure."""
    request = {"messages": [{"text": "original"}]}
    seen: list[Any] = []

    def vandal(given):
        seen.append("ran")
        given.payload.request["messages"][0]["text"] = "changed"

    def other_vandal(given):
        given.payload.request = None

    made = runner(
        [lambda given: seen.append(given.payload.request["messages"][0]["text"])],
        [vandal, other_vandal, lambda given: seen.append(given.payload.request["messages"][0]["text"])],
        Operation.INFERENCE,
    )
    scope = await made.start(call(Operation.INFERENCE, payload=InferenceData(request)))
    scope.finish(Outcome.COMPLETED)
    assert seen == ["ran", "original", "original"]
    assert request == {"messages": [{"text": "original"}]}


async def test_what_the_owner_changes_afterwards_is_not_seen():
    """C6: the payload at the finish is the one at the start."""
    request = {"messages": ["a"]}
    seen: list[Any] = []
    scope = await runner([], [results(seen)], Operation.INFERENCE).start(
        call(Operation.INFERENCE, payload=InferenceData(request))
    )
    request["messages"].append("b")
    scope.finish(Outcome.COMPLETED, ai_message=MESSAGE)
    assert seen[0].payload.request == {"messages": ["a"]}
    assert seen[0].payload.ai_message == MESSAGE


async def test_the_begin_s_snapshot_stays():
    """Case 34: terminal fields are empty in it for ever."""
    begun: list[Any] = []
    seen: list[Any] = []

    def observer(given):
        begun.append(given)
        return seen.append

    scope = await runner([], [observer]).start(call())
    scope.finish(Outcome.COMPLETED, result={"out": [1]}, preview="1", is_error=False, permission_effect="approve")
    payload = begun[0].payload
    assert (payload.result, payload.preview, payload.is_error, payload.permission_effect) == (None, "", None, "")
    assert (seen[0].payload.result, seen[0].payload.is_error) == ({"out": [1]}, False)
    with pytest.raises(TypeError, match="frozen"):
        seen[0].payload.result["out"].append(2)


@pytest.mark.parametrize("value", [MISSING, None, "", "{}", (), {}, [], 0, False, b""])
async def test_absent_and_empty_stay_different(value):
    """Case 35, C2."""
    frozen = freeze(ToolCallData("e", "c", "t", value)).arguments
    assert type(frozen) is type(value) or frozen == value
    assert frozen == value
    assert (frozen is MISSING) == (value is MISSING)


@attrs.define
class MutableBlock:
    kind = "mutable"
    text: str = ""


class Plain:
    pass


@attrs.define
class MutableMessage:
    role: str
    text: str


def holding(*content: Any) -> Message:
    """A message with blocks its constructor would refuse."""
    message = Message("user", (TextBlock("x"),))
    object.__setattr__(message, "content", content)
    return message


def result_holding(*content: Any) -> ToolResultBlock:
    """A block with blocks in it."""
    block = ToolResultBlock("1", "x")
    object.__setattr__(block, "content", content)
    return block


@pytest.mark.parametrize(
    ("operation", "payload", "kind"),
    [
        (Operation.TURN, TurnData(0, holding(MutableBlock("secret"))), "unknown_block"),
        (Operation.TURN, TurnData(0, holding(Plain())), "unknown_block"),
        (Operation.TURN, TurnData(0, holding(result_holding(Plain()))), "unknown_block"),
        (Operation.GATE_WAIT, GateWaitData("g", blocks=(Plain(),)), "unknown_block"),
        (Operation.TURN, TurnData(0, (MutableBlock("secret"),)), "unknown_block"),
        (Operation.TURN, TurnData(0, Plain()), "unknown_conversation"),
        (Operation.INFERENCE, InferenceData((MutableMessage("user", "secret"),)), "unknown_conversation"),
        (Operation.COMPACTION, CompactionData("a", CompactionInput(transcript=(Plain(),))), "unknown_conversation"),
    ],
)
async def test_unknown_content(operation, payload, kind):
    """Case 36, C3: an error before any callback, which says block or conversation, names the type and nothing else."""
    seen: list[Any] = []
    guards = [seen.append] if operation.guardable else []
    with pytest.raises(SnapshotError) as caught:
        await runner(guards, [seen.append], operation).start(call(operation, payload=payload))
    assert (caught.value.kind, seen) == (kind, [])
    assert any(name in str(caught.value) for name in ("MutableBlock", "MutableMessage", "Plain"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("value", [{1: 2}, {"a": object()}, [float("nan")], {"a": (1,)}, ValueError("x"), {1}])
async def test_what_cannot_be_frozen(value):
    """C3: no lossless JSON, exceptions, sets."""
    with pytest.raises(SnapshotError):
        freeze(ToolCallData("e", "c", "t", result=value))


async def test_a_payload_that_contains_itself():
    """C3: is refused, not followed for ever."""
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(SnapshotError):
        freeze((loop,))
    inner: Any = ()
    for _ in range(5000):
        inner = (inner,)
    with pytest.raises(SnapshotError, match="nested too deep"):
        freeze(inner)


def variants() -> list[type]:
    """Every frozen class of the conversation and of the payloads."""
    modules = [vars(hookspecs.values), vars(hookspecs.model)]
    classes = {each for module in modules for each in module.values() if isinstance(each, type) and attrs.has(each)}
    ours = {Call, Cause, Coordinates, CompactionInput, *PAYLOADS.values()}
    return sorted((classes | ours) - {Record}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", variants())
async def test_no_field_is_lost(kind):
    """Case 37: every field of every variant, filled by reflection, comes through frozen."""
    filled = object.__new__(kind)
    names = [attribute.name for attribute in attrs.fields(kind)]
    for at, name in enumerate(names):
        object.__setattr__(filled, name, {"field": [at, None, ""], "name": name})
    frozen = freeze(filled)
    assert type(frozen) is kind
    for at, name in enumerate(names):
        value = getattr(frozen, name)
        assert value == {"field": [at, None, ""], "name": name}
        assert type(value) is FrozenDict
        assert type(getattr(filled, name)) is dict


async def test_what_is_immutable_is_shared():
    """C5 and D5: freezing copies nothing that cannot change."""
    source = CancelSource()
    request = GenerateOptions("p", "m", (MESSAGE,), "s", (ToolSchema("t", "d", None),), signal=source.signal)
    whole = call(Operation.INFERENCE, payload=InferenceData(request))
    assert freeze(whole).payload.request.signal is source.signal
    blocks = (TextBlock("a"), ToolCallBlock("1", "t", "{}"), ToolResultBlock("1", "x"))
    message = Message("assistant", blocks, AssistantProvenance("p", "m"))
    assert freeze(message) is message


@pytest.mark.parametrize("known", [0, 1, 2])
async def test_a_conversation_that_grew(known):
    """C1: what was frozen before is kept, and what is new is frozen; whoever was shown nothing before gets the same."""
    said = (PLAIN, Message("user", (TextBlock("b"),)), Message("user", (UnknownBlock("x", {"y": [1]}),)))
    request = GenerateOptions("p", "m", said)
    frozen = freeze_with(request, request.messages, said[:known])
    assert frozen == freeze(request)
    assert frozen.messages[:2] == said[:2]
    assert type(frozen.messages[2].content[0].data) is FrozenDict


async def test_a_conversation_that_did_not_grow():
    """C1: another beginning, even an equal one, or a shorter one than before vouches for nothing."""
    changeable = Message("user", (UnknownBlock("x", {}),))
    for before in ((attrs.evolve(changeable), PLAIN), (changeable, PLAIN, PLAIN)):
        request = GenerateOptions("p", "m", (changeable, PLAIN))
        frozen = freeze_with(request, request.messages, before)
        assert type(frozen.messages[0].content[0].data) is FrozenDict


async def test_a_conversation_that_only_grew_is_not_copied():
    """D5: the provider's request and the observers' are one."""
    request = GenerateOptions("p", "m", (PLAIN, Message("user", (TextBlock("b"),))))
    assert freeze_with(request, request.messages, (PLAIN,)) is request


async def test_nobody_listens_nobody_freezes():
    """C5: an operation nobody registered for may hold anything."""
    scope = await runner([], [lambda _call: None], Operation.TURN).start(call(payload=ToolCallData("e", "c", "t", {1})))
    scope.finish(Outcome.COMPLETED)


async def test_the_exception_on_a_result():
    """Case 38, C4: the same object, the call's own times and identity."""
    seen: list[Any] = []
    began = datetime.now(UTC) - timedelta(seconds=5)
    where, why = Coordinates("s", "l", "t", "p"), Cause("cmd", human=True)
    error = ValueError("x")
    given = call(started_at=began, coordinates=where, agent_name="a", cause=why)
    scope = await runner([], [results(seen), results(seen)]).start(given)
    scope.finish(Outcome.FAILED, error)
    one, two = seen
    assert one is two
    assert one.error is error
    assert (one.outcome, one.started_at, one.coordinates, one.agent_name, one.cause) == (
        Outcome.FAILED, began, where, "a", why,
    )  # fmt: skip
    assert one.ended_at >= began + timedelta(seconds=5)
    assert 0 <= one.elapsed < 5


async def test_what_may_be_logged():
    """1.6: an allow-list; texts, arguments and errors are in neither describe() nor repr()."""
    seen: list[Any] = []
    given = call(payload=ToolCallData("e1", "c1", "bash", "secret"), coordinates=Coordinates("s1"))
    scope = await runner([], [results(seen)]).start(given)
    scope.finish(Outcome.FAILED, Denial("a", "secret"), result="secret", permission_reason="secret", is_error=True)
    facts = seen[0].describe()
    assert facts == {
        "operation": "tool_call", "started_at": given.started_at.isoformat(), "session": "s1", "execution_id": "e1",
        "call_id": "c1", "tool_name": "bash", "is_error": True, "ended_at": facts["ended_at"],
        "elapsed": seen[0].elapsed, "outcome": "failed",
    }  # fmt: skip
    shown = [repr(each) for each in (given, given.payload, seen[0], seen[0].payload, scope, given.describe(), facts)]
    assert not [text for text in shown if "secret" in text]
