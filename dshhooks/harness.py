"""The composition root: configuration, plugins, tools, model, sessions, agents."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio

from dshhooks.bridge.handlers.table import Handlers
from dshhooks.config import HarnessConfig, load_config
from dshhooks.engine.faults import is_fault
from dshhooks.engine.hooks import Hooks
from dshhooks.engine.observe import described
from dshhooks.engine.scope import current_loop, is_in_task_of, run_soon
from dshhooks.plugins.manager import Plugins, load_plugins
from dshhooks.tools.registry import ToolRegistry

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent
    from dshhooks.agent.prompt import PromptService
    from dshhooks.agent.registry import AgentRegistry, Setup
    from dshhooks.llm.service import LlmService
    from dshhooks.operations.declare import OperationSet
    from dshhooks.operations.drift import Decider
    from dshhooks.operations.host import Operations
    from dshhooks.session.manager import Sessions

__all__ = ["Harness", "build"]

log = logging.getLogger("dshhooks.harness")


class Harness:
    """A host: its hooks, the plugins it loaded, the tools; models, sessions and agents.

    Made by :meth:`open`. Attributes: ``config``, ``hooks``, ``plugins``, ``tools``, ``llm``, ``sessions``, ``prompts``,
    ``agents``, ``operations``.
    """

    llm: LlmService
    sessions: Sessions
    prompts: PromptService
    agents: AgentRegistry

    def __init__(self, config: HarnessConfig, hooks: Hooks, plugins: Plugins, tools: ToolRegistry) -> None:
        self.config, self.hooks, self.plugins, self.tools = config, hooks, plugins, tools
        self._tasks: Any = None
        self._loop: Any = None

    @property
    def operations(self) -> Operations:
        """Whom this host's operations tell and ask."""
        return self.tools.operations

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        config: str | os.PathLike[str] | HarnessConfig | None = None,
        *,
        plugins: Sequence[Any] = (),
        store: Any = None,
        operations: OperationSet | None = None,
    ) -> AsyncIterator[Harness]:
        """Start a host, and stop it when the block ends: agents are disposed, sessions flushed, plugins taken out.

        Args:
            config: A file, a configuration, or ``None`` for the nearest file (api.md "Configuration").
            plugins: Plugin objects or classes that take part beside the installed ones, the first one outermost.
            store: A session store instead of the configured one.
            operations: Guards and observers of the host's own, before every plugin's.

        Raises:
            OperationConfigError: ``operations`` is malformed; nothing was started.
            ConfigError: The configuration is wrong.
            StartError: The configured plugins do not allow a start; fail closed.
        """
        harness = build(config, plugins, operations)
        if harness.plugins.problems:
            harness.hooks.close()
            harness.plugins.raise_problems()
        failure: BaseException | None = None
        async with anyio.create_task_group() as tasks:
            harness._tasks, harness._loop = tasks, current_loop()
            try:
                harness._furnish(store)
                yield harness
            except (Exception, KeyboardInterrupt, SystemExit) as exc:  # noqa: BLE001 - see the next line
                failure = exc  # raised below, outside the task group: nobody asked for an exception group
            finally:
                with anyio.CancelScope(shield=True):
                    closing = await harness._close()
                failure = closing if failure is None else failure
                tasks.cancel_scope.cancel()
        if failure is not None:
            try:
                raise failure
            finally:
                del failure

    def _furnish(self, store: Any) -> None:
        """Add models, sessions and agents. Imported here: a host that only runs tools does not pay for them earlier."""
        from dshhooks.agent.prompt import PromptService
        from dshhooks.agent.registry import AgentRegistry
        from dshhooks.llm.service import LlmService
        from dshhooks.session.manager import Sessions
        from dshhooks.session.store import open_store

        self.llm = LlmService(self.hooks)
        store = store if store is not None else open_store(self.config.store.url)
        self.sessions = Sessions(self.hooks, store, self.spawn, operations=self.operations)
        self.prompts = PromptService(self.hooks, self.tools)
        self.agents = AgentRegistry(self)

    async def _close(self) -> Exception | None:
        """Close everything, whatever fails, and return the failure."""
        steps: list[tuple[str, Callable[[], Any]]] = []
        if hasattr(self, "agents"):
            steps = [("agents", self.agents.aclose), ("sessions", self.sessions.aclose), ("models", self.llm.aclose)]
        failures: list[Exception] = []
        for what, close in steps:
            try:
                await close()
            except Exception as exc:  # noqa: BLE001 - returned, once the others are closed too
                log.error("closing %s failed: %s", what, described(exc))
                failures.append(exc)
        self.hooks.close()
        if len(failures) > 1:
            return ExceptionGroup("the host could not be closed properly", failures)
        return failures[0] if failures else None

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the background until it is done or the host closes; its failure is logged.

        From anywhere: who cancels an agent may be a signal handler, or another thread.
        """
        if is_in_task_of(self._loop):
            self._tasks.start_soon(self._contained, work)
        else:
            run_soon(self._loop, lambda: self._tasks.start_soon(self._contained, work))

    async def _contained(self, work: Coroutine[Any, Any, Any]) -> None:
        from dshhooks.operations.context import adopt

        adopt(None)  # it may outlive the operation it was begun in, whose end must not cancel it
        try:
            await work
        except BaseException as exc:
            if not is_fault(exc):
                raise
            # A background task that fails must not take the host down.
            log.error("a background task failed: %s", described(exc))

    async def create_agent(
        self,
        *,
        provider: str | None = None,
        model: str | None = None,
        session_id: str | None = None,
        setup: Setup | None = None,
        cwd: str | None = None,
        seed: Sequence[Any] = (),
    ) -> Agent:
        """Create an agent with a new session.

        Args:
            provider: The model's provider; the configured one by default.
            model: The model; the configured one by default.
            session_id: Its id; a free ``session-<n>`` by default.
            setup: ``setup(ctx)``, sync or async, registers what belongs to this agent before anybody can find it.
            cwd: Absolute working directory recorded in the session's header.
            seed: Events the session begins with.

        Raises:
            HarnessError: ``SESSION_ALREADY_EXISTS``.
            Exception: What ``setup``, ``session_created`` or ``agent_created`` raised; nothing stays published.
        """
        session = self.sessions.create(session_id, seed=seed, cwd=cwd)
        return await self.agents.publish(session, self._options(provider, model), "startup", setup=setup)

    async def resume_agent(
        self,
        session_id: str,
        *,
        provider: str | None = None,
        model: str | None = None,
        setup: Setup | None = None,
        allow_policy_drift: bool = False,
        drift_decider: Decider | None = None,
    ) -> Agent:
        """Continue a stored session, repaired if its process died.

        Args:
            session_id: The session.
            provider: The model's provider; the one it used last by default.
            model: The model; the one it used last by default.
            setup: As for :meth:`create_agent`.
            allow_policy_drift: Go on although the policy revision of the operation guards is another one than the
                session was last accepted under; that one is recorded, and from then on counts.
            drift_decider: Gets everything that has changed and answers ``True`` to go on; instead of the default rule,
                by which only another policy revision is refused.

        Raises:
            HarnessError: ``SESSION_NOT_FOUND``, ``SESSION_LOCKED``, or there is no store that keeps sessions.
            DriftRejectedError: It does not go on under what has changed, ``.assessment``; the session stays as it was.
        """
        session = await self.sessions.resume(session_id)
        options = self._options(provider, model, session)
        return await self.agents.publish(
            session,
            options,
            "resume",
            setup=setup,
            allow_policy_drift=allow_policy_drift,
            drift_decider=drift_decider,
        )

    def _options(self, provider: str | None, model: str | None, session: Any = None) -> Any:
        from dshhooks.agent.handle import AgentOptions

        header = session.request_header if session is not None else None
        last = header.config if header is not None else None
        configured = self.config.agent
        return AgentOptions(
            provider or (last.provider if last is not None else configured.provider),
            model or (last.model if last is not None else configured.model),
        )


def build(
    config: str | os.PathLike[str] | HarnessConfig | None = None,
    plugins: Sequence[Any] = (),
    operations: OperationSet | None = None,
) -> Harness:
    """Compose hooks, plugins and tools without refusing to start, so that the load report can be shown.

    Raises:
        ConfigError: The configuration is wrong.
        OperationConfigError: ``operations`` is malformed.
        PluginError: A plugin object passed in does not fit.
    """
    if not isinstance(config, HarnessConfig):
        config = load_config(config)
    hooks = Hooks()
    hooks.set_policy_combination(config.tools.policy_combination)
    tools = ToolRegistry(hooks)
    tools.approvals.policy = config.approval.policy
    Handlers.of(hooks)  # from now on every plugin is asked for kinds of external hooks
    if operations is not None:
        tools.operations.adopt(operations)
    try:
        return Harness(config, hooks, load_plugins(hooks, config, plugins), tools)
    except BaseException:
        hooks.close()  # those that were registered by then may hold something
        raise
