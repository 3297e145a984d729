"""One list of guards, at two positions (spec/operations.md 2, decisions.md 2.4)."""

from __future__ import annotations

from typing import Any

import pytest

from dshhooks.operations import Guard, Operation, OperationSet
from hookspecs.markers import hookimpl
from tests.tools.kit import Agent, Plugin, execute, registry

pytestmark = pytest.mark.anyio


class Admission:
    """A plugin with an admission guard that has no objection."""

    policy_revision = "r1"

    def __init__(self, name: str, asked: list[str]) -> None:
        self.name, self._asked = name, asked

    @hookimpl
    def operation_guard(self, call: Any) -> None:
        self._asked.append(self.name)


async def test_guards_are_listed_in_the_order_they_are_asked() -> None:
    """Spec 2: admission guards, then the final ones: global, plugins', the agent's; dynamic ones are marked."""
    asked: list[str] = []

    def noting(word: str) -> Any:
        return lambda _subject: asked.append(word)

    agent = Agent()
    last = Plugin("last", tools_guard=lambda execution: asked.append("last"))
    tools = registry(last, Admission("first", asked))
    tools.hooks.register(Admission("mine", asked), agent=agent)
    tools.operations.adopt(OperationSet("v1", [Guard(Operation.TOOL_CALL, noting("own"))]))
    tools.guard(noting("global"))
    tools.guard(noting("agent's"), agent=agent)
    listed = [(entry.position, entry.provider, entry.dynamic) for entry in tools.guards(agent)]
    assert listed == [
        ("admission", "", False),
        ("admission", "mine", True),
        ("admission", "first", False),
        ("final", "", False),
        ("final", "last", False),
        ("final", "", True),
    ]
    await execute(tools, agent=agent)
    assert asked == ["own", "mine", "first", "global", "last", "agent's"]


def test_guards_of_other_operations_are_not_listed() -> None:
    """Spec 2: the list is of what tool calls meet."""
    tools = registry()
    tools.operations.adopt(OperationSet("v1", [Guard(Operation.TURN, lambda _call: None)]))
    assert tools.guards() == []
