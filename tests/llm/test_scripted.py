"""The scripted and the embedded model: they say what they were told, by the grammar."""

from __future__ import annotations

import pytest

from dshhooks.llm.embedded import EmbeddedAdapter
from dshhooks.llm.mock import MockRules
from dshhooks.llm.scripted import CallTools, Fail, Say, ScriptedAdapter
from hookspecs.errors import LlmError
from hookspecs.model import StopFinish, ToolCallsFinish, ToolSchema, UsageChunk
from hookspecs.values import Message, TextBlock, ToolCallBlock, ToolResultBlock
from tests.llm.kit import assembled, checked, options, prompt, read, text_of

pytestmark = pytest.mark.anyio


async def answer(adapter, *args, **kwargs):
    """The assembled answer to one request, whose stream must follow the grammar."""
    return assembled(await checked(adapter.stream(options(*args, **kwargs))))


class TestScripted:
    async def test_it_says_what_it_was_told(self):
        """One step a request, in order; then it says that it is over."""
        adapter = ScriptedAdapter([Say("one"), Say("two")])
        assert [text_of((await answer(adapter)).blocks()) for _ in range(3)] == ["one", "two", "(the script is over)"]

    async def test_it_asks_for_tools(self):
        """Each call has an id of its own, text comes first, and the finish says that it waits."""
        adapter = ScriptedAdapter(
            [CallTools([("a", {"x": 1}), ("b", "{garbled")], text="look:"), CallTools([("a", {})])]
        )
        first, second = await answer(adapter), await answer(adapter)
        assert first.blocks() == (
            TextBlock("look:"), ToolCallBlock("call-1", "a", '{"x":1}'), ToolCallBlock("call-2", "b", "{garbled"),
        )  # fmt: skip
        assert second.blocks() == (ToolCallBlock("call-3", "a", "{}"),)
        assert isinstance(first.finish, ToolCallsFinish)

    async def test_it_fails_as_told(self):
        """With code, message and what the provider would say; the next request has the next step."""
        adapter = ScriptedAdapter([Fail("RATE_LIMIT", "slow down", 2.0), Say("fine")])
        with pytest.raises(LlmError) as caught:
            await read(adapter.stream(options()))
        assert (caught.value.code, caught.value.message, caught.value.retry_after) == ("RATE_LIMIT", "slow down", 2.0)
        assert text_of((await answer(adapter)).blocks()) == "fine"

    async def test_a_function_decides(self):
        """It sees the request."""
        adapter = ScriptedAdapter([lambda options: Say(f"{options.model} it is")])
        assert text_of((await answer(adapter, model="x")).blocks()) == "x it is"

    async def test_it_remembers_its_requests(self):
        """For tests that ask what the model was told."""
        adapter, request = ScriptedAdapter(), options("hello")
        await read(adapter.stream(request))
        assert adapter.requests == [request]

    async def test_usage_comes_before_the_finish(self):
        """As the contract wants it."""
        *_, usage, finish = await read(ScriptedAdapter([Say("hello there")]).stream(options()))
        assert isinstance(usage, UsageChunk)
        assert isinstance(finish.reason, StopFinish)


class TestEmbedded:
    async def test_it_answers_by_the_mocks_rules(self):
        """The same rules, without a server."""
        assert text_of((await answer(EmbeddedAdapter(), "please DENY this")).blocks()) == (
            '{"ok":false,"reason":"mock denied"}'
        )
        assert text_of((await answer(EmbeddedAdapter(MockRules(raw="x")))).blocks()) == "x"

    async def test_it_calls_tools(self):
        """A line of the prompt asks for a call, if there is such a tool."""
        request = {"text": 'call add {"a": 1}', "tools": [ToolSchema("add", "adds", {"type": "object"})]}
        made = await answer(EmbeddedAdapter(), **request)
        assert [(block.name, block.arguments) for block in made.blocks()] == [("add", '{"a": 1}')]

    async def test_it_talks_about_results(self):
        """The last message of a request after a tool batch is a result."""
        history = [prompt("add"), Message("assistant", [ToolCallBlock("c", "add", "{}")]),
                   Message("user", [ToolResultBlock("c", "3")])]  # fmt: skip
        assert text_of((await answer(EmbeddedAdapter(), messages=history)).blocks()) == "The tool said:\n3"
