"""The embedded model: the local mock's rules without a server, under the provider name ``scripted``."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from dshhooks.llm.mock import MockRules
from dshhooks.llm.openai_wire import request_messages
from dshhooks.llm.scripted import CallTools, Say, ScriptedAdapter
from hookspecs.model import GenerateOptions, StreamChunk

__all__ = ["EmbeddedAdapter"]


class EmbeddedAdapter:
    """Answers by :class:`MockRules`, in process."""

    def __init__(self, rules: MockRules | None = None) -> None:
        self._rules = rules or MockRules()
        self._script = ScriptedAdapter()

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Yield the chunks of one answer."""
        tools = [{"function": {"name": tool.name}} for tool in options.tools]
        answer = self._rules.answer({"messages": request_messages(options), "tools": tools})
        for chunk in self._script.chunks(_step(answer)):
            yield chunk


def _step(answer: dict[str, Any]) -> Any:
    calls = [(call["function"]["name"], call["function"]["arguments"]) for call in answer.get("tool_calls") or ()]
    return CallTools(calls) if calls else Say(answer["content"])
