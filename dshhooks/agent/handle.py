"""The agent's handle: what plugins and hosts hold (spec/core.md 4.1 to 4.5, 4.12, 4.13)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Literal

import anyio
from attrs import evolve, frozen

from dshhooks.agent.causes import CancelCause, DisposedCause, ParentCause, UserCause
from dshhooks.agent.context import AgentContext
from dshhooks.agent.driver import Driver
from dshhooks.agent.inbox import Inbox, Item, ResolvedInput, seal_input
from dshhooks.agent.record import record_context
from dshhooks.engine.faults import is_fault
from dshhooks.engine.observe import described, observe_now
from dshhooks.engine.scope import tied_scope
from dshhooks.session.event import APPEND
from dshhooks.session.events import CompletedEnd, HookDecision, InjectionTrigger, TurnEnd, TurnStart, UserMessage
from dshhooks.session.log import Session
from dshhooks.tools.outcome import seal_content
from hookspecs.errors import HarnessError, NotLosslessError
from hookspecs.json import MISSING
from hookspecs.model import LlmCallConfig
from hookspecs.signal import NEVER, CancelSignal, CancelSource
from hookspecs.values import HookContext, Message, MessageId, MessageSource, PluginSource, UserSource

if TYPE_CHECKING:
    from dshhooks.agent.spawn import SubagentResult
    from dshhooks.harness import Harness

__all__ = ["Agent", "AgentOptions"]

log = logging.getLogger("dshhooks.agent")

Status = Literal["idle", "running", "disposed"]

# Seconds a hook has left to end by itself once its turn was cancelled; then it is cancelled, too.
GRACE = 5.0

# Seconds the last flush has left once the agent is being disposed: its hooks may talk to a network.
FLUSH_GRACE = 30.0


@frozen
class AgentOptions:
    """What an agent asks for unless a plugin says otherwise."""

    provider: str | None = None
    model: str | None = None


class Agent:
    """One agent: an inbox, a driver, and a session log. Made by ``harness.create_agent``."""

    def __init__(
        self, harness: Harness, session: Session, options: AgentOptions, *, owner: Agent | None = None
    ) -> None:
        self.harness, self.session, self.options, self.parent = harness, session, options, owner
        self.operations = harness.operations
        self.ctx = AgentContext(self)
        self.inbox = Inbox(lambda hook, payload: self.tell(hook, self, payload))
        self.children: list[Agent] = []
        self.driver = Driver(self)
        self.status: Status = "idle"
        self.agent_type = ""  # what it was spawned as; operations are called after it
        self.requested = False  # this instance has made a request
        self.shown: tuple[Message, ...] = ()  # the conversation of its last request, as observers saw it
        self.batching = False  # a tool batch of the running turn is executing
        self.late: list[HookContext] = []  # contexts and injections waiting for the batch to settle
        self.published = False
        self.on_chunk: Callable[[Any], None] = _ignore
        self._owner: CancelSource | None = None
        self._beside: list[CancelSource] = []  # work beside the turn: compactions, subagents
        self._prefix: tuple[Message, ...] | None = None
        self._flushes = 0
        self._flushed = anyio.Event()
        self._gone = CancelSource()  # aborts when the agent's end begins
        self._disposal: anyio.Event | None = None

    @property
    def id(self) -> str:
        """The agent's id; its session's too."""
        return self.session.id

    @property
    def disposed(self) -> bool:
        """Whether its end has begun."""
        return self.status == "disposed"

    def __repr__(self) -> str:
        return f"<Agent {self.id!r} {self.status}>"

    # -- sending ---------------------------------------------------------------------------------------------------

    def followup(
        self,
        content: Any,
        *,
        source: MessageSource | None = None,
        contexts: Sequence[HookContext] = (),
        meta: Any = MISSING,
    ) -> MessageId:
        """Send a prompt that gets a turn of its own, and wake the agent.

        Args:
            content: A ``str`` or blocks.
            source: Who says it; ``UserSource()`` by default, so label what no person said.
            contexts: Said beside it, if prompt policy lets them.
            meta: JSON kept on the durable event, hidden from the model.

        Raises:
            TypeError: A part is not what it should be, or not lossless JSON; nothing was sent.
            HarnessError: ``AGENT_DISPOSED``.
        """
        return self.send(ResolvedInput(content, source or UserSource(), contexts, meta))

    def queue(
        self,
        content: Any,
        *,
        source: MessageSource | None = None,
        contexts: Sequence[HookContext] = (),
        meta: Any = MISSING,
    ) -> MessageId:
        """Like :meth:`followup`, without waking an idle agent."""
        return self.send(ResolvedInput(content, source or UserSource(), contexts, meta, wakeup=False))

    def steer(
        self,
        content: Any,
        *,
        source: MessageSource | None = None,
        contexts: Sequence[HookContext] = (),
        meta: Any = MISSING,
    ) -> MessageId:
        """Send something into the running turn, at its next step; to an idle agent it is a prompt."""
        return self.send(ResolvedInput(content, source or UserSource(), contexts, meta, "next-step"))

    def inject(self, content: Any, *, source: MessageSource | None = None, meta: Any = MISSING) -> MessageId:
        """Put a message into the conversation without running the model (spec/core.md 4.4)."""
        return self.send(ResolvedInput(content, source or PluginSource(""), (), meta, "next-step", wakeup=False))

    def send(self, given: ResolvedInput) -> MessageId:
        """Send a fully specified input; no defaults are applied."""
        if self.disposed:
            raise HarnessError(f"agent {self.id!r} is disposed", "AGENT_DISPOSED")
        if given.target == "next-step" and not given.wakeup:
            if given.contexts:
                raise TypeError("an injection carries no contexts")
            return self._inject(seal_input(given, steering=False))
        item = seal_input(given, steering=given.target == "next-step" and self.status == "running")
        self.inbox.put(item)
        if item.message.wakeup:
            self.driver.wake()
        return item.message.id

    def _inject(self, item: Item) -> MessageId:
        message, session = item.message, self.session
        context = HookContext(message.content, message.source, meta=item.meta)
        if session.open_turn is None:
            self._inject_idle(item)
        elif self.batching:
            self.late.append(context)
        else:
            record_context(session, context)
        return message.id

    def _inject_idle(self, item: Item) -> None:
        message, session = item.message, self.session
        turn = session.last_turn + 1
        session.append(TurnStart(turn, InjectionTrigger(message.source)))
        try:
            session.append(UserMessage(message.content, message.source, meta=item.meta), surface_op=APPEND)
        finally:
            session.append(TurnEnd(turn, CompletedEnd()))
        self._flushes += 1
        self.harness.spawn(self._flush_later(turn))

    async def _flush_later(self, turn: int) -> None:
        try:
            await self.flush(turn, 0)
        finally:
            self._flushes -= 1
            if not self._flushes:
                self._flushed.set()
                self._flushed = anyio.Event()

    # -- stopping --------------------------------------------------------------------------------------------------

    def cancel(self, cause: CancelCause | None = None, *, keep_inbox: bool = False) -> None:
        """Cancel the running turn and drop what is pending; nothing happens to an idle agent with an empty inbox.

        Args:
            cause: ``UserCause()`` by default, or ``ParentCause()``.
            keep_inbox: Leave pending inputs where they are.
        """
        cause = cause if cause is not None else UserCause()
        if not isinstance(cause, (UserCause, ParentCause)):
            raise TypeError(f"cancel takes UserCause() or ParentCause(), not {cause!r}")
        working = self._owner is not None or bool(self._beside)
        if not working and (keep_inbox or not self.inbox):
            return
        self.tell("agent_cancel_requested", self, cause)
        if not keep_inbox:
            pending = bool(self.inbox)
            self.inbox.discard()
            if self._owner is None and pending:
                self.driver.cancelled_before_run = True
                self.driver.wake()
        self._abort(cause)

    def _abort(self, cause: CancelCause) -> None:
        for source in (*((self._owner,) if self._owner is not None else ()), *self._beside):
            source.abort(cause)

    async def when_idle(self) -> None:
        """Wait until no turn runs and nothing that wakes is pending."""
        await self.driver.when_idle()

    async def dispose(self) -> None:
        """Stop for good: close the running turn as disposed, drop what is pending, and take everything back.

        Returns when all of that is done; at once from inside the agent's own work (a hook, a tool, a subagent of it),
        which is stopped and would wait for itself.
        """
        first = self._disposal is None
        if self._disposal is None:
            self._disposal = anyio.Event()
            self._begin_disposal()
        if self.driver.is_waiting_for_us():
            if first:
                self.harness.spawn(self.driver.apart(self._end_disposal))
        elif first:
            await self._end_disposal()
        else:
            await self._disposal.wait()

    def _begin_disposal(self) -> None:
        self.status = "disposed"
        self.inbox.discard()
        self.driver.release()
        self._abort(DisposedCause())
        self._gone.abort(DisposedCause())
        if self.published:
            self.tell("agent_status", self, "disposed")
        else:
            self.driver.done.set()  # it will never run
        self.driver.wake()

    async def _end_disposal(self) -> None:
        assert self._disposal is not None
        with anyio.CancelScope(shield=True):
            try:
                for child in tuple(self.children):
                    await child.dispose()
                await self.driver.done.wait()
                while self._flushes:
                    await self._flushed.wait()
                await self.harness.agents.remove(self)
            finally:
                self._disposal.set()

    # -- the loop's side -------------------------------------------------------------------------------------------

    def new_owner(self) -> CancelSignal:
        """Install a fresh cancellation owner for the next turn."""
        self._owner = CancelSource()
        return self._owner.signal

    def owner_signal(self) -> CancelSignal:
        """The running turn's signal."""
        return self._owner.signal if self._owner is not None else NEVER

    def stop_turn(self, signal: CancelSignal, reason: Any) -> None:
        """Abort the signal of a turn, if that is the one that runs: an observer has cancelled it."""
        owner = self._owner
        if owner is not None and owner.signal is signal:
            owner.abort(reason)

    def drop_owner(self) -> None:
        """From here on there is no turn to cancel."""
        self._owner = None

    @contextmanager
    def beside(self) -> Iterator[CancelSignal]:
        """Do something beside the turn, or without one; the signal aborts when the agent is cancelled or disposed."""
        source = CancelSource()
        if self.owner_signal().aborted:
            source.abort(self.owner_signal().reason)
        self._beside.append(source)
        try:
            yield source.signal
        finally:
            self._beside.remove(source)

    def set_status(self, status: Status) -> None:
        """Change the status; ``agent_status`` fires on actual transitions."""
        self.set_status_before(status, _nothing)

    def set_status_before(self, status: Status, first: Callable[[], None]) -> None:
        """Change the status, call ``first``, then tell."""
        if self.status in (status, "disposed"):
            first()
            return
        self.status = status
        first()
        self.tell("agent_status", self, status)

    def tell(self, hook: str, *args: Any) -> None:
        """Dispatch an observe hook about this agent, contained."""
        plan = self.harness.hooks.plan(hook, self)
        if plan.active:
            observe_now(plan, args, self.harness.spawn)

    async def ask(self, hook: str, *args: Any) -> None:
        """Dispatch a checkpoint hook about this agent; an exception stops what was about to happen."""
        plan = self.harness.hooks.plan(hook, self)
        if plan.active:
            with self.patience():
                await plan.run(plan, args)

    def note_shadow(self, hook: str, plugin: str, outcome: str, detail: str) -> None:
        """Write down what a shadowed plugin would have decided; without an open turn, only a trace says it."""
        if self.session.open_turn is None:
            return
        try:
            self.session.append(HookDecision(hook, plugin, outcome, detail))
        except (HarnessError, NotLosslessError) as exc:
            log.warning("agent %r: a shadowed decision could not be recorded: %s", self.id, described(exc))

    async def decide(self, hook: str, default: Any, *args: Any) -> Any:
        """Dispatch a decide hook about this agent; ``default`` stands when everybody abstains."""
        plan = self.harness.hooks.plan(hook, self)
        if plan.active:
            with self.patience():
                return await plan.run(plan, args, default)
        return default

    @property
    def grace(self) -> float:
        """Seconds a hook has left once its turn was cancelled."""
        return GRACE

    def patience(self) -> AbstractContextManager[anyio.CancelScope]:
        """Run hooks inside: once the turn is cancelled they have ``grace`` seconds, then they are cancelled, too."""
        return tied_scope(self.owner_signal(), grace=self.grace)

    async def flush(self, turn: int, step: int) -> BaseException | None:
        """Flush the session; a failure is told, returned and goes nowhere, the turn stays committed."""
        try:
            # A hook that hangs here keeps no turn from being cancelled, but must not keep the agent, nor its host.
            with tied_scope(self._gone.signal, grace=FLUSH_GRACE) as scope:
                await self.harness.sessions.flush(self.session)
            if scope.cancelled_caught:
                raise TimeoutError(f"a session_flush hook did not end within {FLUSH_GRACE:g} s of the agent's disposal")
        except BaseException as exc:
            if not is_fault(exc):
                raise
            log.warning("agent %r: flushing the session failed: %s", self.id, described(exc))
            self.tell("agent_error", self, turn, step, exc)
            return exc
        return None

    def prompt_variables(self) -> dict[str, str]:
        """What ``{{name}}`` in the system prompt stands for."""
        seed = self.config_seed()
        variables = {"provider": seed.provider, "model": seed.model, "cwd": self.session.header.cwd or ""}
        return {name: value for name, value in variables.items() if value}

    def config_seed(self) -> LlmCallConfig:
        """The configuration the next request starts from: the last logged one, or this agent's own at first."""
        header = self.session.request_header
        if self.requested and header is not None:
            return header.config
        provider, model = self.options.provider or "", self.options.model or ""
        if header is not None and (header.config.provider, header.config.model) == (provider, model):
            return LlmCallConfig(provider, model, header.config.reasoning_effort)
        return LlmCallConfig(provider, model)

    async def session_prefix(self, signal: CancelSignal) -> tuple[Message, ...]:
        """Messages in front of the conversation, composed once for this instance; never part of its history."""
        if self._prefix is not None:
            return self._prefix
        answers = await self.decide("agent_session_prefix", (), self, signal)
        prefix = tuple(message for answer in answers for message in _messages(answer))
        if not signal.aborted:
            self._prefix = prefix
        return prefix

    # -- more ------------------------------------------------------------------------------------------------------

    async def compact(self) -> bool:
        """Replace the conversation by a summary the model writes; return whether anything was replaced."""
        from dshhooks.agent.compaction import compact

        return await compact(self)

    async def spawn(self, agent_type: str, prompt: Any) -> SubagentResult:
        """Run a prompt in a new agent with a session of its own, under the same policies, and return its answer."""
        from dshhooks.agent.spawn import spawn

        return await spawn(self, agent_type, prompt)


def _messages(answer: Any) -> Sequence[Message]:
    messages = [answer] if isinstance(answer, Message) else list(answer)
    for message in messages:
        if not isinstance(message, Message):
            raise TypeError(f"agent_session_prefix must return messages, not {type(message).__name__}")
    return [evolve(message, content=seal_content(message.content)) for message in messages]


def _ignore(_chunk: Any) -> None:
    return None


def _nothing() -> None:
    return None
