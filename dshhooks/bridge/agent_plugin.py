"""Hook files inside an agent: what hooks answer becomes typed decisions (spec/external-hooks.md B).

An ordinary plugin for each dialect: a subclass says which, and everything else is here.
"""

from __future__ import annotations

import logging
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final
from weakref import WeakKeyDictionary

import anyio
from attrs import evolve

from dshhooks.bridge import agent_payloads as told
from dshhooks.bridge import journal
from dshhooks.bridge.agent_options import HookPluginOptions
from dshhooks.bridge.dialects import Dialect
from dshhooks.bridge.events import resolve
from dshhooks.bridge.lives import Life
from dshhooks.bridge.pairing import pairing
from dshhooks.bridge.workspaces import Workspaces
from dshhooks.engine.scope import tied_scope
from hookspecs.decisions import AllowPrompt, Ask, Block, BlockPrompt, Deny, PostToolDecision
from hookspecs.execution import ToolExecution, ToolResult, ToolToken
from hookspecs.markers import hookimpl
from hookspecs.signal import NEVER, CancelSignal
from hookspecs.values import Content, HookContext, PluginSource, TextBlock, content_text

if TYPE_CHECKING:
    from dshhooks.bridge.outcomes import Dispatch, FoldedOutcome

__all__ = ["HookPlugin"]

log = logging.getLogger("dshhooks.bridge")

_DEFAULTS: Final = HookPluginOptions()

# Where a hook decides about something that has not happened yet: one that fails decides, too.
_GATES: Final = frozenset({"UserPromptSubmit", "PreToolUse"})

# Points whose runs stand in the log; the others are outside turns, or beside them.
_LOGGED: Final = frozenset({"UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"})

# The runtime's words for exit 2 without any; the default texts here say more.
_WORDLESS: Final = (None, "", "blocked by hook")


class HookPlugin:
    """Runs the hook files of one dialect for the agents of a host.

    Files of the user and of each agent's working directory are read when they first concern a call or a prompt. Where
    there are none, nothing is asked, run or said.

    Args:
        options: The plugin's table in the configuration.
    """

    dialect: ClassVar[Dialect]
    name: ClassVar[str]

    def __init__(self, options: HookPluginOptions = _DEFAULTS) -> None:
        self._options = options
        self._workspaces = Workspaces(options, self.dialect, self.name)
        self._source = PluginSource(self.name)
        self._lives: dict[Any, Life] = {}
        self._before: WeakKeyDictionary[ToolToken, Sequence[str]] = WeakKeyDictionary()

    def reload(self) -> None:
        """Read the files again."""
        self._workspaces.reload()

    def close(self) -> None:
        """End every hook that still runs."""
        for life in self._lives.values():
            life.end()
        self._workspaces.close()

    @hookimpl
    def register_tools(self, registry: Any) -> None:
        """Remember whose plugins may bring kinds of handlers; no tool is added."""
        self._workspaces.hooks = getattr(registry, "hooks", None)

    @hookimpl
    def register_variants(self, variants: Any) -> None:
        """Add the events of the log."""
        journal.register(variants)

    @hookimpl
    def session_created(self, session: Any) -> None:
        """Let no event of a hook into the log that has no turn, or no run, to belong to."""
        session.add_validator(pairing(session))

    # -- calls -----------------------------------------------------------------------------------------------------

    # No wrapper: an allow is no opinion here, and others decide.
    @hookimpl
    async def tools_pre_execute(self, execution: ToolExecution) -> Deny | Ask | None:
        """``PreToolUse``: deny, ask, or leave it to the others."""
        self._workspaces.called(told.folder_of(execution.agent), execution.name)
        outcome = await self._ask("PreToolUse", execution.agent, lambda: told.members_of_call(execution),
                                  execution.signal)  # fmt: skip
        if outcome is None:
            return None
        if outcome.contexts:
            self._before[execution.token] = outcome.contexts
        if outcome.decision == "deny":
            return Deny(_reason(outcome.reason, "PreToolUse"))
        return Ask(outcome.reason) if outcome.decision == "ask" else None

    @hookimpl(wrapper=True)
    async def tools_post_execute(
        self, execution: ToolExecution, result: ToolResult, *, call_next: Any
    ) -> PostToolDecision:
        """``PostToolUse``, or ``PostToolUseFailure`` after an error: feedback instead of the result, and contexts."""
        point = "PostToolUseFailure" if result.is_error else "PostToolUse"
        outcome = await self._ask(point, execution.agent, lambda: self._result(execution, result), execution.signal)
        contexts = self._contexts([*self._before.pop(execution.token, ()), *(outcome.contexts if outcome else ())])
        decision: PostToolDecision = await call_next()
        if outcome is not None and "deny" in (outcome.decision, outcome.raw_decision):
            reason = _reason(outcome.raw_reason or outcome.reason, "PostToolUse")
            return Block(reason, (*contexts, *decision.contexts))
        return evolve(decision, contexts=(*contexts, *decision.contexts)) if contexts else decision

    def _result(self, execution: ToolExecution, result: ToolResult) -> dict[str, Any]:
        return {**told.members_of_call(execution), **told.members_of_result(result, self._options.profile)}

    # -- prompts and turns -----------------------------------------------------------------------------------------

    @hookimpl(wrapper=True)
    async def agent_prompt_submit(
        self, agent: Any, content: Content, signal: CancelSignal, *, call_next: Any
    ) -> AllowPrompt | BlockPrompt:
        """``UserPromptSubmit``: block, or add contexts behind those of the others. What starts the session is first."""
        await self._started(agent, signal)
        outcome = None
        if _is_root(agent):
            outcome = await self._ask("UserPromptSubmit", agent, lambda: {"prompt": content_text(content)}, signal)
        if outcome is not None and outcome.decision == "deny":
            return BlockPrompt(_reason(outcome.reason, "UserPromptSubmit"))
        decision: AllowPrompt | BlockPrompt = await call_next()
        if outcome is None or not outcome.contexts or not isinstance(decision, AllowPrompt):
            return decision
        return evolve(decision, contexts=(*decision.contexts, *self._contexts(outcome.contexts)))

    async def _started(self, agent: Any, signal: CancelSignal) -> None:
        """Wait for hooks of the session's start, so that what they say is part of the first request."""
        life = self._lives.get(agent)
        if life is not None and life.starting:
            with tied_scope(signal):
                await life.started()

    # Asked where nothing else would make the turn go on; a continuation decision comes before that is known.
    @hookimpl
    async def agent_turn_stopping(self, agent: Any, turn: int, signal: CancelSignal) -> None:
        """``Stop``: a block steers the turn on, so often and no oftener."""
        if not _is_root(agent):
            return
        life = self._life(agent)
        life.enter(turn, agent.session.events)
        outcome = await self._ask("Stop", agent, lambda: {
            "stop_hook_active": life.active, "last_assistant_message": told.last_answer(agent.session),
        }, signal)  # fmt: skip
        # `continue: false` beats a block, in the products as well.
        if outcome is None or outcome.decision != "deny" or outcome.stop or signal.aborted:
            return
        if life.forced >= self._options.stop_cap:
            log.warning("plugin %r: agent %r: Stop hooks made turn %d go on %d times in a row; it ends now",
                        self.name, agent.id, turn, life.forced)  # fmt: skip
            return
        life.force(agent.session.events)
        agent.steer(_reason(outcome.reason, "Stop", "continue: blocked by {} hook"), source=self._source)

    # -- sessions and subagents ------------------------------------------------------------------------------------

    @hookimpl
    def agent_session_start(self, agent: Any, source: str) -> Coroutine[Any, Any, None] | None:
        """``SessionStart``: contexts for the first request. Subagents have an event of their own."""
        return self._start("SessionStart", agent, agent, {"source": source}) if _is_root(agent) else None

    @hookimpl
    def subagent_start(self, parent: Any, agent: Any, agent_type: str) -> Coroutine[Any, Any, None] | None:
        """``SubagentStart``: contexts for the child's first request."""
        return self._start("SubagentStart", parent, agent, {"agent_id": agent.id, "agent_type": agent_type})

    def _start(self, point: str, asked: Any, agent: Any, members: dict[str, Any]) -> Coroutine[Any, Any, None] | None:
        """Begin at once, so that the first prompt knows what it has to wait for; the rest runs in the background."""
        if not self._hears(point, agent):
            return None
        life = self._life(agent)
        return self._inject(point, asked, agent, members, life, life.start())

    async def _inject(
        self, point: str, asked: Any, agent: Any, members: dict[str, Any], life: Life, done: anyio.Event
    ) -> None:
        try:
            outcome = await self._ask(point, asked, lambda: members, life.signal, folder=told.folder_of(agent))
            if outcome is not None and outcome.contexts and not agent.disposed:
                agent.inject(_blocks(outcome.contexts), source=self._source)
        finally:
            done.set()

    @hookimpl
    async def subagent_end(self, parent: Any, agent: Any, agent_type: str) -> None:
        """``SubagentStop``: told and not listened to."""
        members = {"agent_id": agent.id, "agent_type": agent_type, "stop_hook_active": False}
        await self._ask("SubagentStop", parent, lambda: members, self._life(parent).signal,
                        folder=told.folder_of(agent))  # fmt: skip

    @hookimpl
    def agent_disposed(self, agent: Any) -> None:
        """End what runs for the agent beside its turns."""
        life = self._lives.pop(agent, None)
        if life is not None:
            life.end()

    # Not `agent_disposed`: this one is waited for, so the host does not end before the hook has.
    @hookimpl
    async def session_disposed(self, session: Any) -> None:
        """``SessionEnd``: told and not listened to."""
        agent = session.agent
        if agent is not None and _is_root(agent):
            await self._ask("SessionEnd", agent, lambda: {"reason": "other"}, NEVER, always=True)

    # -- asking ----------------------------------------------------------------------------------------------------

    def _life(self, agent: Any) -> Life:
        life = self._lives.get(agent)
        if life is None:
            life = Life()
            if not agent.disposed:
                self._lives[agent] = life
        return life

    def _hears(self, point: str, agent: Any) -> bool:
        runtime = self._workspaces.of(told.folder_of(agent))
        return runtime is not None and resolve(point).name in runtime.configuration.by_event

    async def _ask(
        self, point: str, agent: Any, members: Any, signal: CancelSignal, *, folder: str = "", always: bool = False
    ) -> FoldedOutcome | None:
        """Run the hooks of an event; ``None`` when there are none."""
        folder = folder or told.folder_of(agent)
        runtime = self._workspaces.of(folder)
        if runtime is None or not (always or resolve(point).name in runtime.configuration.by_event):
            return None
        payload = {**told.members_of_agent(agent, folder, self.dialect), **members()}
        watch = self._journal(point, agent) if point in _LOGGED else None
        dispatch = await runtime.dispatch(point, payload, cwd=folder, signal=signal, watch=watch)
        for text in dispatch.outcome.messages:
            log.warning("plugin %r: a hook of %s says: %s", self.name, point, text)
        return self._heeded(point, dispatch)

    def _journal(self, point: str, agent: Any) -> journal.Journal | None:
        session = told.session_of(agent)
        if session is None:
            return None
        return journal.Journal(session, point, self.dialect, cap=self._options.stderr_cap)

    def _heeded(self, point: str, dispatch: Dispatch) -> FoldedOutcome:
        """Leave out what failing hooks are taken to say about what has happened already."""
        runs = dispatch.runs
        if point in _GATES or self._options.on_error != "closed" or all(run.outcome.failure is None for run in runs):
            return dispatch.outcome
        from dshhooks.bridge.folding import fold

        kept = [run.outcome for run in runs if run.outcome.failure is None or run.hook.on_error == "block"]
        return fold(kept, dispatch.canonical)

    def _contexts(self, texts: Sequence[str]) -> tuple[HookContext, ...]:
        """One context with a block for each hook that said something."""
        return (HookContext(_blocks(texts), self._source),) if texts else ()


def _blocks(texts: Sequence[str]) -> tuple[TextBlock, ...]:
    return tuple(TextBlock(text) for text in texts)


def _is_root(agent: Any) -> bool:
    return getattr(agent, "parent", None) is None


def _reason(reason: str | None, point: str, default: str = "blocked by {} hook") -> str:
    return default.format(point) if reason in _WORDLESS or reason is None else reason
