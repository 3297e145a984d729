"""A host around a scripted model, whose logs and inboxes are checked when it closes."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import anyio

from dshhooks.agent.handle import Agent
from dshhooks.config import AgentConfig, ApprovalConfig, HarnessConfig, PluginsConfig
from dshhooks.harness import Harness
from dshhooks.llm.scripted import CallTools, Fail, Say, ScriptedAdapter
from dshhooks.session.enclosure import TurnEnclosure
from dshhooks.session.log import Session
from dshhooks.session.memory import MemoryStore
from hookspecs.markers import hookimpl
from hookspecs.model import GenerateOptions, StreamChunk
from hookspecs.values import content_text
from tests.agent.rebuild import Requests
from tests.tools.kit import Plugin, context, tool, wrap

__all__ = [
    "CallTools",
    "Fail",
    "Gate",
    "Host",
    "Model",
    "Plugin",
    "Recorder",
    "Say",
    "check_balanced",
    "check_ledger",
    "context",
    "data",
    "host",
    "kinds",
    "reasons",
    "safe_tool",
    "said",
    "sent",
    "tool",
    "wrap",
]  # fmt: skip


class Gate:
    """A place where code stops until the test lets it go on."""

    def __init__(self) -> None:
        self.reached, self._opened = anyio.Event(), anyio.Event()

    async def __call__(self, *_args: Any, **_kwargs: Any) -> None:
        self.reached.set()
        await self._opened.wait()

    def open(self) -> None:
        """Let everybody through, also who comes later."""
        self._opened.set()


class Model(ScriptedAdapter):
    """A scripted model; a ``Gate`` in its script holds the request that comes to it."""

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Yield the chunks of the next step."""
        while self._next < len(self._steps) and isinstance(self._steps[self._next], Gate):
            await self._steps.pop(self._next)()
        async with aclosing(super().stream(options)) as chunks:
            async for chunk in chunks:
                yield chunk


class Recorder:
    """A plugin that writes down what observers hear."""

    name = "recorder"

    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.agents: list[Agent] = []
        self.inbox: list[tuple[str, Any]] = []
        self.statuses: list[str] = []
        self.errors: list[tuple[int, int, BaseException]] = []
        self.cancels: list[Any] = []
        self.results: list[tuple[str, Any]] = []
        self.flushes = 0
        self.heard: list[str] = []  # everything, in order

    @hookimpl
    def session_created(self, session: Any) -> None:
        self.sessions.append(session)

    @hookimpl
    def agent_created(self, agent: Any) -> None:
        self.agents.append(agent)

    @hookimpl
    def session_event(self, event: Any) -> None:
        self.heard.append(event.type)

    @hookimpl
    def session_flush(self) -> None:
        self.flushes += 1
        self.heard.append("flush")

    @hookimpl
    def agent_inbox_enqueue(self, message: Any) -> None:
        self._inbox("enqueue", message)

    @hookimpl
    def agent_inbox_dequeue(self, message: Any) -> None:
        self._inbox("dequeue", message)

    @hookimpl
    def agent_inbox_discard(self, messages: Any) -> None:
        assert messages, "an empty discard was announced"
        for message in messages:
            self._inbox("discard", message)

    def _inbox(self, what: str, message: Any) -> None:
        self.inbox.append((what, message))
        self.heard.append(what)

    @hookimpl
    def agent_status(self, status: str) -> None:
        self.statuses.append(status)
        self.heard.append(status)

    @hookimpl
    def agent_error(self, turn: int, step: int, error: BaseException) -> None:
        self.errors.append((turn, step, error))
        self.heard.append("error")

    @hookimpl
    def agent_cancel_requested(self, cause: Any) -> None:
        self.cancels.append(cause)
        self.heard.append("cancel")

    @hookimpl
    def tools_result(self, execution: Any, result: Any) -> None:
        self.results.append((execution.name, result))

    def ids(self, what: str) -> list[str]:
        """The ids announced as enqueued, dequeued or discarded."""
        return [message.id for said, message in self.inbox if said == what]


class Host:
    """An open harness and what a test wants to know of it."""

    def __init__(self, harness: Harness, model: Any, recorder: Recorder) -> None:
        self.harness, self.model, self.recorder = harness, model, recorder

    async def agent(self, **options: Any) -> Agent:
        """Create an agent."""
        return await self.harness.create_agent(**options)

    async def run(self, *prompts: Any, agent: Agent | None = None) -> Agent:
        """Send prompts in one tick, wait until the agent is idle, and return it."""
        agent = agent or await self.agent()
        for prompt in prompts:
            agent.followup(prompt)
        await agent.when_idle()
        return agent

    @property
    def requests(self) -> list[GenerateOptions]:
        """What the model was asked."""
        requests: list[GenerateOptions] = self.model.requests
        return requests


@asynccontextmanager
async def host(
    *plugins: object,
    steps: Sequence[Any] = (),
    model: Any = None,
    tools: Sequence[Any] = (),
    store: Any = None,
    approval: ApprovalConfig | None = None,
    operations: Any = None,
    balanced: bool = True,
    **agent: Any,
) -> AsyncIterator[Host]:
    """Open a host; when the block ended and every agent is gone, its logs must be balanced and its inboxes settled.

    Case 196 is checked too: every request must be what its log says.

    Args:
        plugins: The first one is outermost.
        steps: What the model answers.
        model: An adapter instead of the scripted one.
        tools: Registered globally.
        store: A session store; memory by default.
        approval: ``[approval]``.
        operations: The host's own guards and observers of operations.
        balanced: False for a test that breaks its log on purpose.
        agent: More of ``[agent]``.
    """
    model = model or Model(steps)
    recorder, requests = Recorder(), Requests()
    options: dict[str, Any] = {"provider": "scripted", "model": "m", **agent}
    config = HarnessConfig(
        PluginsConfig(autoload=False), approval=approval or ApprovalConfig(), agent=AgentConfig(**options)
    )
    opening = Harness.open(
        config, plugins=(recorder, requests, *plugins), store=store or MemoryStore(), operations=operations
    )
    async with opening as harness:
        harness.llm.register_adapter(["scripted"], model)
        for definition in tools:
            harness.tools.register(definition)
        yield Host(harness, model, recorder)
    for session in recorder.sessions if balanced else ():
        check_balanced(session)
    check_ledger(recorder)
    requests.check()


def check_balanced(session: Session) -> None:
    """Every event of a log stands where it may, and its last turn is closed."""
    check = TurnEnclosure()
    for event in session.events:
        check(event)
    assert session.open_turn is None, f"turn {session.open_turn} was left open: {kinds(session)}"
    _check_answered(session)


def _check_answered(session: Session) -> None:
    """Every call in an answer that was not cut short has one result."""
    asked = Counter(
        block.id
        for event in session.events
        if event.type == "assistant/message"
        for block in event.data.content
        if block.kind == "tool-call"
    )
    answered = Counter(event.data.call_id for event in session.events if event.type == "tool/result")
    assert answered == asked, f"calls {asked} have results {answered}"


def check_ledger(recorder: Recorder) -> None:
    """Every enqueued id ended in exactly one dequeue or discard (spec/core.md 4.2)."""
    enqueued, gone = recorder.ids("enqueue"), recorder.ids("dequeue") + recorder.ids("discard")
    assert len(set(enqueued)) == len(enqueued), "an id was enqueued twice"
    assert sorted(gone) == sorted(enqueued), f"enqueued {enqueued}, gone {gone}"


def kinds(session: Session, *only: str) -> list[str]:
    """The types of the log's events, without chunks; or only those types."""
    return [event.type for event in session.events if event.type in only or (not only and "chunk" not in event.type)]


def data(session: Session, kind: str) -> list[Any]:
    """The data of every event of one type."""
    return [event.data for event in session.events if event.type == kind]


def reasons(session: Session) -> list[str]:
    """How the turns ended."""
    return [end.reason.kind for end in data(session, "turn/end")]


def said(session: Session, *kinds_: str) -> list[str]:
    """The texts of user messages, or of the given event types, in order."""
    wanted = kinds_ or ("user/message",)
    return [content_text(event.data.content) for event in session.events if event.type in wanted]


def sent(options: GenerateOptions) -> list[str]:
    """The texts of a request's messages; calls and results show as ``[kind content]``."""
    return [content_text(message.content) for message in options.messages]


def safe_tool(name: str = "echo", execute: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A tool whose calls may overlap."""
    return tool(name, execute, is_concurrency_safe=lambda _args: True, **options)
