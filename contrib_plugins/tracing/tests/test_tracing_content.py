"""Content on spans: none unless asked for, in the conventions' forms, bounded, and whole JSON whatever is cut."""

from __future__ import annotations

import json

import pytest
from dshhooks_tracing.content import Content
from hypothesis import given
from hypothesis import strategies as st

from dshhooks import (
    GenerateOptions,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolError,
    ToolFailure,
    ToolResultBlock,
    ToolSchema,
    ToolSuccess,
    UnknownBlock,
)
from dshhooks.operations import (
    Call,
    CompactionData,
    CompactionInput,
    CompactionOutput,
    GateAnswer,
    GateWaitData,
    InferenceData,
    JournalAppendData,
    Operation,
    Outcome,
    StepData,
    ToolCallData,
    ToolExecutionData,
    TurnData,
)

pytestmark = pytest.mark.anyio

SECRET = "s3cret"
SAID = Message("assistant", SECRET)

# Every payload with a secret wherever it can hold one: operation, payload, terminal fields.
SECRETIVE = [
    ("turn", TurnData(0, Message("user", SECRET)), {}),
    ("step", StepData(0), {}),
    (
        "inference",
        InferenceData(GenerateOptions("p", "m", [SAID], SECRET, [ToolSchema("t", SECRET, {"x": SECRET})])),
        {"ai_message": SAID},
    ),
    (
        "compaction", CompactionData("x", CompactionInput(transcript=(SAID,))),
        {"output": CompactionOutput(summary=SAID)},
    ),
    (
        "tool_call", ToolCallData("e", "c", "t", SECRET),
        {"summary": SECRET, "permission_reason": SECRET, "result": SECRET, "preview": SECRET},
    ),
    ("gate_wait", GateWaitData("g", blocks=(TextBlock(SECRET),)), {"answer": GateAnswer("g", "allow", SECRET)}),
    ("tool_execution", ToolExecutionData("e", "c", "t", SECRET), {"result": SECRET, "preview": SECRET}),
    ("journal_append", JournalAppendData("event", "7"), {}),
]  # fmt: skip


async def run(recorder, plugin, *rows):
    """Start and finish operations."""
    runner = recorder.runner(plugin)
    for operation, payload, terminal in rows:
        (await runner.start(Call(Operation(operation), payload))).finish(Outcome.COMPLETED, **terminal)


async def captured(recorder, operation, payload, terminal, **options):
    """The attributes of an operation whose content is captured; what is JSON, parsed."""
    await run(recorder, recorder.all(capture_content=True, **options), (operation, payload, terminal))
    attributes = dict(recorder.spans[-1].attributes)
    for name in attributes.keys() & JSON:
        attributes[name] = json.loads(attributes[name])
    return attributes


JSON = {
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions",
    "gen_ai.tool.call.arguments", "gen_ai.tool.call.result",
}  # fmt: skip


async def test_nothing_that_was_said_by_default(anyio_backend, recorder):
    """Whatever payloads hold, no span has a word of it."""
    await run(recorder, recorder.all(), *SECRETIVE)
    assert len(recorder.spans) == 8
    assert [span.name for span in recorder.spans if SECRET in span.to_json()] == []


async def test_where_content_is_captured(anyio_backend, recorder):
    """When asked for, content is in the attributes the conventions have for it, and nowhere else."""
    await run(recorder, recorder.all(capture_content=True), *SECRETIVE)
    holding = {
        span.attributes["dshhooks.operation"]: sorted(
            name for name, value in span.attributes.items() if SECRET in str(value)
        )
        for span in recorder.spans
    }
    assert {operation: names for operation, names in holding.items() if names} == {
        "turn": ["gen_ai.input.messages"],
        "inference": ["gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions"],
        "tool_call": ["gen_ai.tool.call.arguments"],
        "tool_execution": ["gen_ai.tool.call.arguments", "gen_ai.tool.call.result"],
    }


async def test_messages(anyio_backend, recorder):
    """Messages have the conventions' form: role and parts; blocks they do not know keep their kind only."""
    messages = [
        Message("user", "Hi"),
        Message("assistant", [ReasoningBlock("hm"), TextBlock("ok"), ToolCallBlock("c1", "add", '{"a": 1}')]),
        Message("user", [ToolResultBlock("c1", "3"), UnknownBlock("image", {"bytes": "…"})]),
    ]
    request = GenerateOptions("p", "m", messages, "Be kind.", [ToolSchema("add", "Adds.", {"type": "object"})])
    attributes = await captured(
        recorder, "inference", InferenceData(request), {"ai_message": Message("assistant", "3")}
    )
    assert attributes["gen_ai.input.messages"] == [
        {"role": "user", "parts": [{"type": "text", "content": "Hi"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "hm"},
                {"type": "text", "content": "ok"},
                {"type": "tool_call", "id": "c1", "name": "add", "arguments": {"a": 1}},
            ],
        },
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "response": "3"}, {"type": "image"}]},
    ]
    assert attributes["gen_ai.output.messages"] == [{"role": "assistant", "parts": [{"type": "text", "content": "3"}]}]
    assert attributes["gen_ai.system_instructions"] == [{"type": "text", "content": "Be kind."}]
    assert attributes["gen_ai.tool.definitions"] == [{"type": "function", "name": "add"}]


@pytest.mark.parametrize(
    ("raw", "written"),
    [
        ('{"a": [1, null, true]}', {"a": [1, None, True]}),
        ('{"a": ', '{"a": '),
        ("", ""),
        ("[" * 100_000, "[" * 8192 + "…"),
        ("caf\u00e9 \ud800", "café ?"),
    ],
    ids=["json", "garbled", "empty", "deep", "surrogate"],
)
async def test_arguments(anyio_backend, recorder, raw, written):
    """Raw arguments are parsed where they are JSON; what a model garbled is kept as text."""
    attributes = await captured(recorder, "tool_call", ToolCallData("e", "c", "t", raw), {})
    assert attributes["gen_ai.tool.call.arguments"] == written


async def test_missing_arguments(anyio_backend, recorder):
    """A model that gave none gave none."""
    attributes = await captured(recorder, "tool_call", ToolCallData("e", "c", "t"), {})
    assert "gen_ai.tool.call.arguments" not in attributes


@pytest.mark.parametrize(
    ("result", "written"),
    [
        (ToolSuccess({"sum": 3}, "three"), {"sum": 3}),
        (ToolSuccess("three"), "three"),
        ({"sum": 3}, {"sum": 3}),
        ('{"sum": 3}', {"sum": 3}),
    ],
)
async def test_results(anyio_backend, recorder, result, written):
    """A result is the value programs read."""
    payload = ToolExecutionData("e", "c", "t")
    assert (await captured(recorder, "tool_execution", payload, {"result": result}))[
        "gen_ai.tool.call.result"
    ] == written


async def test_a_failed_tool_has_no_result(anyio_backend, recorder):
    """The conventions' result is that of a tool that worked."""
    terminal = {"result": ToolFailure(ToolError("boom")), "is_error": True}
    attributes = await captured(recorder, "tool_execution", ToolExecutionData("e", "c", "t"), terminal)
    assert "gen_ai.tool.call.result" not in attributes


async def test_the_newest_messages_are_kept(anyio_backend, recorder):
    """When a conversation is too long, its old messages go, the text in the middle is cut, and the span says so."""
    messages = [Message("user", letter * 100) for letter in "abc"]
    request = InferenceData(GenerateOptions("p", "m", messages))
    attributes = await captured(recorder, "inference", request, {}, max_content=200)
    texts = [message["parts"][0]["content"] for message in attributes["gen_ai.input.messages"]]
    assert texts == ["b" * 36 + "…", "c" * 100]
    assert attributes["dshhooks.content.cut"] is True


async def test_one_long_text_is_cut(anyio_backend, recorder):
    """A text that is too long by itself is cut, and the span says so."""
    attributes = await captured(recorder, "turn", TurnData(0, Message("user", "x" * 200)), {}, max_content=100)
    ((part,),) = [message["parts"] for message in attributes["gen_ai.input.messages"]]
    assert (part["content"], attributes["dshhooks.content.cut"]) == ("x" * 68 + "…", True)


async def test_deep_values_are_cut(anyio_backend, recorder):
    """Nobody reads a hundred levels; what is deeper than 32 is left out."""
    attributes = await captured(recorder, "tool_call", ToolCallData("e", "c", "t", "[" * 100 + "]" * 100), {})
    depth, value = 0, attributes["gen_ai.tool.call.arguments"]
    while isinstance(value, list):
        depth, (value,) = depth + 1, value
    assert (depth, value, attributes["dshhooks.content.cut"]) == (32, "…", True)


async def test_the_last_answer_there_was(anyio_backend, recorder):
    """A request without an answer leaves the turn with the answer before."""
    runner = recorder.runner(recorder.all(capture_content=True))

    async def body():
        for answer in (SAID, None):
            request = InferenceData(GenerateOptions("p", "m"))
            (await runner.start(Call(Operation.INFERENCE, request))).finish(Outcome.FAILED, ai_message=answer)

    async with runner.operation(Call(Operation.TURN, TurnData(0))) as op:
        await op.run(body)
    written = json.loads(recorder.named("invoke_agent").attributes["gen_ai.output.messages"])
    assert written == [{"role": "assistant", "parts": [{"type": "text", "content": SECRET}]}]


async def test_whole_content_is_not_called_cut(anyio_backend, recorder):
    """Without anything left out there is no mark."""
    assert "dshhooks.content.cut" not in await captured(recorder, *SECRETIVE[2])


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(values, st.integers(1, 200))
def test_any_value_is_bounded_json(value, limit):
    """Whatever a tool returns: JSON comes out, of bounded size, and all of it when nothing was cut."""
    content = Content(limit)
    written = content.value(value if not isinstance(value, str) else json.dumps(value))
    parsed = json.loads(written)
    if not content.cut:
        assert parsed == json.loads(json.dumps(value).encode("utf-8", "replace").decode())
    assert sum(len(text) for text in texts_of(parsed)) <= limit + len(list(texts_of(parsed)))


def texts_of(value):
    """Every string in JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from texts_of(item)


@given(st.lists(st.text(), max_size=20), st.integers(1, 100))
def test_any_conversation_is_bounded_json(said, limit):
    """However many messages there are, however empty: what is written has a bound."""
    content = Content(limit)
    written = json.loads(content.messages([Message("user", text) for text in said]))
    assert len(written) <= limit // 16 + 1
    assert content.cut or len(written) == len(said)
