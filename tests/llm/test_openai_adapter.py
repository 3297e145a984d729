"""OpenAIAdapter: the real client against the real mock, and against servers that misbehave over real HTTP."""

from __future__ import annotations

import json
import sys
import threading
import time
from email.utils import formatdate

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.llm.openai_adapter import OpenAIAdapter
from dshhooks.llm.openai_errors import retry_after
from dshhooks.llm.openai_wire import Answer, EventStream, request_body, request_messages
from dshhooks.llm.service import failure_from
from hookspecs.errors import LlmError
from hookspecs.json import freeze
from hookspecs.model import (
    ErrorFinish,
    MaxTokensFinish,
    ReasoningDelta,
    StopFinish,
    TextDelta,
    TokenUsage,
    ToolCallsFinish,
    ToolSchema,
    UnknownFinish,
)
from hookspecs.signal import CancelSource
from hookspecs.values import Message, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock, UnknownBlock
from tests.llm.kit import PATIENCE, assembled, checked, mocked, options, prompt, read, service, serving, text_of

pytest.importorskip("openai")
pytestmark = pytest.mark.anyio


class Client:
    """An adapter for a test, closed at its end."""

    def __init__(self, base_url, **more):
        self.adapter = OpenAIAdapter(base_url, "key", **{"timeout": PATIENCE, **more})

    async def __aenter__(self):
        return self.adapter

    async def __aexit__(self, *_exc):
        with anyio.CancelScope(shield=True):
            await self.adapter.aclose()


def event(document):
    """A server-sent event."""
    return f"data: {document if isinstance(document, str) else json.dumps(document)}\n\n"


def part(delta=None, finish=None, **more):
    """A chunk of a streamed completion, as an event."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    head = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return event({**head, "choices": [choice], **more})


DONE = event("[DONE]")


def saying(*parts, **headers):
    """A server that streams these."""

    def behave(conversation):
        conversation.head(200, **headers)
        for text in parts:
            conversation.send(text)

    return behave


async def answered(behave, request=None, **more):
    """The assembled answer of a server, by the grammar."""
    with serving(behave) as base:
        async with Client(base, **more) as adapter:
            return assembled(await checked(adapter.stream(request or options())))


async def failed(behave, request=None, **more):
    """The failure a server causes."""
    with serving(behave) as base:
        async with Client(base, **more) as adapter:
            with pytest.raises(LlmError) as caught:
                await read(adapter.stream(request or options()))
    assert failure_from(caught.value) is caught.value.failure
    return caught.value


async def failures(behaviours):
    """The failures a server causes that behaves in one way after the other."""
    left = list(behaviours)
    with serving(lambda conversation: left.pop(0)(conversation)) as base:
        async with Client(base) as adapter:
            out = []
            while left:
                with pytest.raises(LlmError) as caught:
                    await read(adapter.stream(options()))
                out.append(caught.value.failure)
            return out


class TestAgainstTheMock:
    async def test_text(self):
        """Deltas, usage, and an ordinary end."""
        with mocked() as base:
            async with Client(base) as adapter:
                chunks = await checked(adapter.stream(options("please DENY this")))
        made = assembled(chunks)
        assert made.blocks() == (TextBlock('{"ok":false,"reason":"mock denied"}'),)
        assert isinstance(made.finish, StopFinish)
        assert made.usage.input_tokens > 0
        assert made.usage.output_tokens > 0

    async def test_tools_and_their_results(self):
        """A call with its raw arguments; the results of the last batch go back and are talked about."""
        tools = [ToolSchema("add", "adds", freeze({"type": "object", "properties": {"a": {"type": "number"}}}))]
        with mocked() as base:
            async with Client(base) as adapter:
                asked = options('call add {"a": 1.0}\ncall add {"a":2}', tools=tools)
                made = assembled(await checked(adapter.stream(asked)))
                calls = made.blocks()
                results = [Message("user", [ToolResultBlock(call.id, call.arguments)]) for call in calls]
                history = [*asked.messages, Message("assistant", calls), *results]
                after = assembled(await checked(adapter.stream(options(messages=history, tools=tools))))
        assert [(call.name, call.arguments) for call in calls] == [("add", '{"a": 1.0}'), ("add", '{"a":2}')]
        assert isinstance(made.finish, ToolCallsFinish)
        assert text_of(after.blocks()) == 'The tool said:\n{"a": 1.0}\n{"a":2}'

    async def test_many_at_once(self):
        """One adapter serves concurrent requests."""
        answers = {}
        with mocked() as base:
            async with Client(base) as adapter, anyio.create_task_group() as tasks:

                async def ask(number):
                    request = options(str(number), tools=[ToolSchema("t", "", freeze({}))])
                    answers[number] = text_of(assembled(await read(adapter.stream(request))).blocks())

                for number in range(10):
                    tasks.start_soon(ask, number)
        assert answers == {number: f"You said: {number}" for number in range(10)}

    async def test_an_empty_answer(self):
        """A stop without any block is an error finish, behind the usage: it was paid for."""
        with mocked(raw="") as base:
            async with Client(base) as adapter:
                made = assembled(await checked(adapter.stream(options())))
        assert isinstance(made.finish, ErrorFinish)
        assert made.finish.failure.code == "EMPTY_RESPONSE"
        assert made.usage is not None

    async def test_through_the_service(self):
        """A failing status is the adapter's own."""
        with mocked(status=503) as base:
            async with Client(base) as adapter:
                stream = await service(adapter).open(options())
                with pytest.raises(LlmError) as caught:
                    await read(stream)
                await stream.aclose()
        assert (caught.value.code, stream.is_adapter_failure(caught.value)) == ("SERVER", True)

    async def test_one_attempt(self):
        """A failed request is not sent again behind our back."""
        asked = []

        def behave(conversation):
            asked.append(conversation.body)
            conversation.answer(500, b"{}")

        await failed(behave)
        assert len(asked) == 1


def error(message="no", **fields):
    """The body of an error answer."""
    return json.dumps({"error": {"message": message, **fields}}).encode()


STATUSES = [
    (401, error("Incorrect API key provided"), "AUTH"),
    (403, error("no access"), "AUTH"),
    (400, error("bad"), "INVALID_REQUEST"),
    (404, error("no such model"), "INVALID_REQUEST"),
    (422, b"", "INVALID_REQUEST"),
    (400, error("too long", code="context_length_exceeded"), "CONTEXT_WINDOW_EXCEEDED"),
    (400, error("This model's maximum context length is 4096 tokens."), "CONTEXT_WINDOW_EXCEEDED"),
    (400, error("prompt is too long: 9 tokens > 8 maximum"), "CONTEXT_WINDOW_EXCEEDED"),
    (400, error("the request exceeds the available context size"), "CONTEXT_WINDOW_EXCEEDED"),
    (413, error("The input token count (9) exceeds the maximum"), "CONTEXT_WINDOW_EXCEEDED"),
    (500, error("context size exceeded"), "CONTEXT_WINDOW_EXCEEDED"),
    (429, error("slow down", code="rate_limit_exceeded"), "RATE_LIMIT"),
    (429, error("Limit reached for context length tier"), "RATE_LIMIT"),
    (429, b"<html>", "RATE_LIMIT"),
    (429, error("pay", code="insufficient_quota"), "QUOTA"),
    (429, error("pay", type="insufficient_quota"), "QUOTA"),
    (402, error("Insufficient Balance"), "QUOTA"),
    (408, b"", "TIMEOUT"),
    (504, b"", "TIMEOUT"),
    (500, b"oops", "SERVER"),
    (503, error("overloaded"), "SERVER"),
    (529, error("overloaded"), "SERVER"),
]
WAITS = [
    ({}, None),
    ({"retry_after": "7"}, 7.0),
    ({"retry_after": "0.5"}, 0.5),
    ({"retry_after": "7", "retry_after_ms": "250"}, 0.25),
    ({"retry_after": "0"}, None),
    ({"retry_after": "-3"}, None),
    ({"retry_after": "nan"}, None),
    ({"retry_after": "inf"}, None),
    ({"retry_after": "soon"}, None),
    ({"retry_after": "Thu, 01 Jan 1970 00:00:00 GMT"}, None),
]


def answering(status, body=b"", **headers):
    """A server that answers so."""
    return lambda conversation: conversation.answer(status, body, **{"content_type": "application/json", **headers})


class TestStatus:
    async def test_codes(self):
        """Statuses, codes and the words of the endpoints in use, in neutral codes; the status is kept."""
        got = await failures(answering(status, body) for status, body, _ in STATUSES)
        assert [(failure.status, failure.code) for failure in got] == [(status, code) for status, _, code in STATUSES]

    async def test_what_it_asks_to_wait(self):
        """Seconds, however it was said; nonsense is no wish."""
        got = await failures(answering(429, error(), x_request_id="req-1", **headers) for headers, _ in WAITS)
        assert [failure.retry_after for failure in got] == [wait for _, wait in WAITS]
        assert {failure.request_id for failure in got} == {"req-1"}

    async def test_a_date(self):
        """The other form HTTP knows."""
        got = retry_after({"retry-after": formatdate(time.time() + 60, usegmt=True)})
        assert 55 < got <= 60

    async def test_a_status_nobody_knows(self):
        """It is not kept, and breaks nothing."""
        got = await failed(lambda conversation: conversation.answer(999, b""))
        assert (got.code, got.status) == ("SERVER", None)


class TestBrokenStreams:
    async def test_it_just_ends(self):
        """Without a finish the answer is not one; what came is with the reader."""
        got, seen = None, []
        with serving(saying(part({"content": "hel"}), part({"content": "lo"}))) as base:
            async with Client(base) as adapter:
                try:
                    async for chunk in adapter.stream(options()):
                        seen.append(chunk)
                except LlmError as exc:
                    got = exc
        assert got.code == "STREAM_CLOSED"
        assert "".join(chunk.text for chunk in seen if isinstance(chunk, TextDelta)) == "hello"

    async def test_done_without_a_finish(self):
        """The same: the provider never said how it ended."""
        assert (await failed(saying(part({"content": "x"}), DONE))).code == "STREAM_CLOSED"

    async def test_it_breaks(self):
        """A chunked body that is cut, after a drip."""

        def behave(conversation):
            conversation.head(200, transfer_encoding="chunked")
            for word in ("a", "b"):
                text = part({"content": word})
                conversation.send(f"{len(text):x}\r\n{text}\r\n")

        assert (await failed(behave)).code == "TRANSPORT"

    @pytest.mark.parametrize("begun", [False, True])
    async def test_a_reset(self, begun):
        """The connection is gone, before or in the middle."""

        def behave(conversation):
            if begun:
                conversation.head(200)
                conversation.send(part({"content": "x"}))
            conversation.reset()

        assert (await failed(behave)).code == "TRANSPORT"

    async def test_nobody_there(self):
        """Nothing listens at that port any more."""
        with serving(lambda conversation: None) as base:
            pass
        async with Client(base) as adapter:
            with pytest.raises(LlmError) as caught:
                await read(adapter.stream(options()))
        assert caught.value.code == "TRANSPORT"

    async def test_garbage(self):
        """Valid events around it do not make it better; the fault is the endpoint's."""
        garbage = [
            event("{"), event("[]"), event("7"), event('"x"'), event("null"), b"data: \xff\xfe\n\n",
            event({"choices": 7}), event({"choices": [{"delta": "text"}]}), event({"choices": [], "usage": 7}),
            event({"choices": [{"delta": {"tool_calls": [7]}}]}),
        ]  # fmt: skip
        got = await failures(saying(part({"content": "x"}), odd, part(finish="stop"), DONE) for odd in garbage)
        assert [failure.code for failure in got] == ["SERVER"] * len(garbage)

    async def test_a_page(self):
        """A proxy's greeting in place of a stream."""
        got = await failed(lambda conversation: conversation.answer(200, b"<html>hello</html>"))
        assert got.code == "STREAM_CLOSED"

    async def test_an_error_inside_the_stream(self):
        """It is a failure like any other, whatever was said before."""
        table = [
            ({"message": "sorry", "type": "server_error"}, "SERVER", None),
            ({"message": "sorry", "code": "context_length_exceeded"}, "CONTEXT_WINDOW_EXCEEDED", None),
            ({"message": "sorry", "code": "insufficient_quota"}, "QUOTA", None),
            ({"message": "sorry", "code": "rate_limit_exceeded"}, "RATE_LIMIT", None),
            ({"message": "sorry", "code": 429}, "RATE_LIMIT", 429),
            ({"message": "sorry", "code": 502}, "SERVER", 502),
            ({"message": "sorry", "code": 7}, "SERVER", None),
            ({"message": "sorry", "type": "invalid_request_error"}, "INVALID_REQUEST", None),
            ("sorry", "SERVER", None),
        ]
        got = await failures(saying(part({"content": "x"}), event({"error": facts})) for facts, _, _ in table)
        assert [(failure.message, failure.code, failure.status) for failure in got] == [
            ("sorry", code, status) for _, code, status in table
        ]

    async def test_an_error_as_the_finish(self):
        """Some endpoints end an answer that way."""
        made = await answered(saying(part({"content": "x"}), part(finish="error"), DONE))
        assert isinstance(made.finish, ErrorFinish)


class TestWaiting:
    @pytest.mark.parametrize("begun", [False, True])
    async def test_a_stall(self, begun):
        """No chunk in time is a time-out, before the first or in the middle."""

        def behave(conversation):
            if begun:
                conversation.head(200)
                conversation.send(part({"content": "x"}))
            conversation.released.wait(PATIENCE)

        assert (await failed(behave, timeout=0.2)).code == "TIMEOUT"

    async def test_life_signs_are_no_chunks(self):
        """Comments keep the connection alive and not the request."""

        def behave(conversation):
            conversation.head(200)
            while not conversation.released.wait(0.02):
                conversation.send(": still here\n\n")

        assert (await failed(behave, timeout=0.3)).code == "TIMEOUT"

    async def test_a_slow_reader_is_no_stall(self):
        """The watchdog looks at the endpoint only while we wait for it."""
        with serving(saying(part({"content": "a"}), part({"content": "b"}), part(finish="stop"), DONE)) as base:
            async with Client(base, timeout=0.3) as adapter:
                chunks = adapter.stream(options())
                first = [await anext(chunks), await anext(chunks)]
                with anyio.move_on_after(0.5):  # the time itself is what is tested
                    await anyio.sleep_forever()
                rest = await read(chunks)
        assert text_of(assembled([*first, *rest]).blocks()) == "ab"

    async def test_a_server_that_never_hangs_up(self):
        """Once it said that it is done, nobody waits for the end of the connection."""

        def behave(conversation):
            conversation.head(200)
            conversation.send(part({"content": "x"}) + part(finish="stop") + DONE)
            conversation.released.wait(PATIENCE)

        assert text_of((await answered(behave)).blocks()) == "x"


async def happens(event):
    """Wait for something on the server's side."""
    assert await anyio.to_thread.run_sync(event.wait, PATIENCE)


class TestCancelling:
    async def test_a_signal_that_aborted_before(self):
        """Nothing is sent."""
        source, asked = CancelSource(), []
        source.abort()
        got = await failed(asked.append, options(signal=source.signal))
        assert (got.code, asked) == ("ABORTED", [])

    @pytest.mark.parametrize("begun", [False, True])
    async def test_a_signal_that_aborts(self, begun):
        """The request ends as aborted, and the server sees the connection close."""
        source, reached, closed = CancelSource(), threading.Event(), threading.Event()

        def behave(conversation):
            if begun:
                conversation.head(200)
                conversation.send(part({"content": "x"}))
            reached.set()
            if conversation.until_closed():
                closed.set()

        async def abort():
            await happens(reached)
            source.abort()

        with serving(behave) as base:
            async with Client(base) as adapter, anyio.create_task_group() as tasks:
                tasks.start_soon(abort)
                with pytest.raises(LlmError) as caught:
                    await read(adapter.stream(options(signal=source.signal)))
                await happens(closed)
        assert caught.value.code == "ABORTED"

    @pytest.mark.parametrize("how", ["cancelled", "left"])
    async def test_the_connection_is_closed(self, how):
        """When the reader's task is cancelled, and when it just leaves in the middle."""
        closed = threading.Event()

        def behave(conversation):
            conversation.head(200)
            conversation.send(part({"content": "x"}) + part({"content": "y"}))
            if conversation.until_closed():
                closed.set()

        with serving(behave) as base:
            async with Client(base) as adapter:
                stream = await service(adapter).open(options())
                with anyio.CancelScope() as scope:
                    async for chunk in stream:
                        if isinstance(chunk, TextDelta) and how == "left":
                            break
                        if isinstance(chunk, TextDelta) and chunk.text == "y":
                            scope.cancel()
                assert scope.cancelled_caught == (how == "cancelled")
                await stream.aclose()
                await happens(closed)


class TestAnswers:
    """What the endpoints in use send, in our words."""

    async def test_reasoning(self):
        """Under both its names, apart from the text, and counted."""
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
                 "prompt_tokens_details": {"cached_tokens": 4},
                 "completion_tokens_details": {"reasoning_tokens": 3}}  # fmt: skip
        made = await answered(saying(
            part({"role": "assistant", "content": ""}), part({"reasoning_content": "hm"}), part({"reasoning": "m"}),
            part({"content": "yes"}), part(finish="stop"), part(usage=usage), DONE,
        ))  # fmt: skip
        assert made.blocks() == (ReasoningBlock("hmm"), TextBlock("yes"))
        assert made.usage == TokenUsage(6, 5, 4, None, 3)

    @pytest.mark.parametrize(("reason", "finish"), [
        ("stop", StopFinish()), ("length", MaxTokensFinish()), ("tool_calls", ToolCallsFinish()),
        ("content_filter", UnknownFinish("content_filter", {"kind": "content_filter"})),
    ])  # fmt: skip
    async def test_how_it_ended(self, reason, finish):
        """Reasons nobody knows are kept."""
        assert (await answered(saying(part({"content": "x"}), part(finish=reason), DONE))).finish == finish

    async def test_a_refusal(self):
        """It is what the model said, not an empty answer."""
        made = await answered(saying(part({"refusal": "I will not"}), part(finish="stop"), DONE))
        assert made.blocks() == (TextBlock("I will not"),)

    async def test_no_usage(self):
        """An endpoint need not count."""
        assert (await answered(saying(part({"content": "x"}), part(finish="stop"), DONE))).usage is None

    @pytest.mark.parametrize("numbers", [(0, 1), (0, 0), (None, None)])
    async def test_calls_however_they_are_numbered(self, numbers):
        """Properly, all the same, or not at all: another id with a name is another call."""
        parts = []
        for number, call_id in zip(numbers, ("one", "two"), strict=True):
            head = {"index": number, "id": call_id, "function": {"name": "add", "arguments": "{"}}
            tail = {"index": number, "function": {"arguments": "}"}}
            parts += [part({"tool_calls": [head]}), part({"tool_calls": [tail]})]
        made = await answered(saying(*parts, part(finish="tool_calls"), DONE))
        assert made.blocks() == (ToolCallBlock("one", "add", "{}"), ToolCallBlock("two", "add", "{}"))

    async def test_a_call_whose_name_and_id_are_repeated(self):
        """It stays one call."""
        piece = part({"tool_calls": [{"index": 0, "id": "one", "function": {"name": "add", "arguments": "1"}}]})
        made = await answered(saying(piece, piece, part(finish="stop"), DONE))
        assert made.blocks() == (ToolCallBlock("one", "add", "11"),)

    async def test_a_call_without_an_id_whose_arguments_are_an_object(self):
        """Some endpoints are that free."""
        piece = {"index": 0, "function": {"name": "add", "arguments": {"a": 1}}}
        made = await answered(saying(part({"tool_calls": [piece]}), part(finish="tool_calls"), DONE))
        assert made.blocks() == (ToolCallBlock("call-0", "add", '{"a":1}'),)

    async def test_parts_that_say_nothing(self):
        """No choices, a null delta, an empty finish: all of it occurs."""
        made = await answered(saying(
            event({"choices": []}), event({"choices": None}),
            event({"choices": [{"delta": None, "finish_reason": ""}]}),
            part({"content": "x", "tool_calls": None}), part(finish="stop"), DONE,
        ))  # fmt: skip
        assert made.blocks() == (TextBlock("x"),)

    async def test_other_choices(self):
        """Only the first is the answer."""
        both = event({"choices": [{"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "b"}}]})
        assert (await answered(saying(both, part(finish="stop"), DONE))).blocks() == (TextBlock("a"),)

    async def test_deltas_arrive_as_they_are_sent(self):
        """Reading is streaming: the first chunk is there before the second was sent."""

        def behave(conversation):
            conversation.head(200)
            conversation.send(part({"reasoning_content": "x"}))
            conversation.released.wait(PATIENCE)

        with serving(behave) as base:
            async with Client(base) as adapter:
                chunks = adapter.stream(options())
                await anext(chunks)
                assert await anext(chunks) == ReasoningDelta(0, "x")
                await chunks.aclose()


class TestRequests:
    async def sent(self, request):
        """What the endpoint receives for a request."""
        bodies = []

        def behave(conversation):
            bodies.append((json.loads(conversation.body), conversation.headers))
            saying(part({"content": "x"}), part(finish="stop"), DONE)(conversation)

        await answered(behave, request)
        return bodies[0]

    async def test_a_plain_one(self):
        """What is left open is left out."""
        body, headers = await self.sent(options("hi", system="be nice"))
        assert body == {
            "model": "m", "stream": True, "stream_options": {"include_usage": True},
            "messages": [{"role": "system", "content": "be nice"}, {"role": "user", "content": "hi"}],
        }  # fmt: skip
        assert headers["authorization"] == "Bearer key"

    async def test_everything(self):
        """Sampling, effort, and tools with plain JSON schemas."""
        tools = [ToolSchema("t", "does", freeze({"type": "object", "required": ["a"]}))]
        body, _ = await self.sent(
            options(temperature=0.0, max_tokens=5, stop=["x"], reasoning_effort="low", tools=tools)
        )
        function = {"name": "t", "description": "does", "parameters": {"type": "object", "required": ["a"]}}
        assert body["tools"] == [{"type": "function", "function": function}]
        assert (body["temperature"], body["max_tokens"], body["stop"], body["reasoning_effort"]) == (
            0.0,
            5,
            ["x"],
            "low",
        )

    async def test_a_conversation(self):
        """Results become messages of their own, reasoning stays here, blocks nobody knows are named."""
        history = [
            prompt("look"),
            Message("assistant", [ReasoningBlock("hm"), TextBlock("ok"), ToolCallBlock("c", "ls", "")]),
            Message("user", [ToolResultBlock("c", "a\nb"), TextBlock("go on")]),
            Message("assistant", [ReasoningBlock("only thinking")]),
            Message("user", [TextBlock("see"), UnknownBlock("image", {})]),
        ]
        assert request_messages(options(messages=history)) == [
            {"role": "user", "content": "look"},
            {"role": "assistant", "content": "ok", "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c", "content": "a\nb"},
            {"role": "user", "content": "go on"},
            {"role": "user", "content": "see\n[image content]"},
        ]  # fmt: skip

    async def test_text_that_cannot_be_sent(self):
        """A lone surrogate is legal in a log; it is replaced on the way, wherever it stands."""
        odd = "a\ud800b"
        history = [
            prompt(odd),
            Message("assistant", [ToolCallBlock("c", "t", odd)]),
            Message("user", [ToolResultBlock("c", odd)]),
        ]
        body, _ = await self.sent(options(messages=history, system=odd, tools=[ToolSchema("t", odd, freeze({}))]))
        assert "\ud800" not in json.dumps(body, ensure_ascii=False)
        assert body["messages"][1]["content"] == "a?b"

    async def test_the_body_is_plain(self):
        """Nothing frozen reaches the client."""
        body = request_body(options(tools=[ToolSchema("t", "", freeze({"a": [{}]}))]))
        assert type(body["tools"][0]["function"]["parameters"]) is dict


class TestMaking:
    def test_without_the_extra(self, monkeypatch):
        """The error says what to install."""
        monkeypatch.setitem(sys.modules, "openai", None)
        with pytest.raises(LlmError, match=r"dshhooks\[openai\]") as caught:
            OpenAIAdapter("http://127.0.0.1:1/v1")
        assert caught.value.code == "MISSING_EXTRA"

    def test_without_a_key(self, monkeypatch):
        """The default endpoint needs one; any other may not."""
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
        with pytest.raises(LlmError) as caught:
            OpenAIAdapter()
        assert caught.value.code == "AUTH"
        OpenAIAdapter("http://127.0.0.1:1/v1")

    def test_importing_it_is_light(self):
        """The client is loaded when an adapter is made."""
        import subprocess

        script = "import sys, dshhooks.llm.openai_adapter; sys.exit('openai' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


class TestEvents:
    """EventStream: bytes in, the data of events out."""

    @given(
        st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"])), max_size=5), st.data()
    )
    def test_any_data_however_it_is_cut(self, data, choices):
        """Line ends of all three kinds, comments and other fields in between, pieces of any size."""
        end = choices.draw(st.sampled_from(["\r\n", "\n", "\r"]))
        noise = choices.draw(st.lists(st.sampled_from([": alive", "event: x", "id: 7", "retry: 5"]), max_size=2))
        raw = "".join(end.join([*noise, f"data: {text}", "", ""]) for text in data).encode()
        events, got = EventStream(), []
        while raw:
            size = choices.draw(st.integers(1, len(raw)))
            got += events.feed(raw[:size])
            raw = raw[size:]
        assert got + events.end() == data

    def test_several_lines_are_one_text(self):
        """As the format has it; the end of the stream completes the last event."""
        events = EventStream()
        assert events.feed(b"data:a\ndata: b\n\ndata:c") == ["a\nb"]
        assert events.end() == ["c"]
        assert events.end() == []


def test_an_answer_without_a_finish_ends_as_a_stop():
    """``end()`` alone makes a complete stream of what came."""
    assert len(Answer().end()) == 1
