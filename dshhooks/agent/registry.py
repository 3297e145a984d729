"""The live agents: created, published, found by id, removed (spec/core.md 4.5)."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from inspect import isawaitable
from typing import TYPE_CHECKING, Any

import anyio

from dshhooks.agent.approvals import SessionApprovals
from dshhooks.agent.context import AgentContext
from dshhooks.agent.handle import Agent, AgentOptions
from dshhooks.agent.manifest import Governing, manifest_of
from dshhooks.engine.faults import for_host
from dshhooks.session.log import Session
from dshhooks.session.opening import Terms
from hookspecs.errors import HarnessError

if TYPE_CHECKING:
    from dshhooks.harness import Harness
    from dshhooks.operations.drift import Decider

__all__ = ["AgentRegistry"]

Setup = Callable[[AgentContext], object]  # an awaitable answer is awaited


class AgentRegistry:
    """The agents of one harness."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness
        self._agents: dict[str, Agent] = {}
        self._closed = False
        self._governing = Governing(harness.hooks)
        harness.tools.approvals.journal_of = self._journal

    def _journal(self, agent: Any) -> SessionApprovals | None:
        return SessionApprovals(agent.session) if isinstance(agent, Agent) else None

    def get(self, agent_id: str) -> Agent | None:
        """Return the live agent of that id, or ``None``."""
        return self._agents.get(agent_id)

    def list(self) -> builtins.list[Agent]:
        """Return the live agents, oldest first."""
        return list(self._agents.values())

    def roots(self) -> builtins.list[Agent]:
        """Return the live agents no other agent spawned."""
        return [agent for agent in self._agents.values() if agent.parent is None]

    def is_owned_by(self, agent: Agent, owner: Agent) -> bool:
        """Say whether ``owner`` spawned ``agent``, directly or not."""
        above = agent.parent
        while above is not None and above is not owner:
            above = above.parent
        return above is owner

    async def publish(
        self,
        session: Session,
        options: AgentOptions,
        source: str,
        *,
        setup: Setup | None = None,
        owner: Agent | None = None,
        allow_policy_drift: bool = False,
        drift_decider: Decider | None = None,
    ) -> Agent:
        """Make an agent for a private session, set it up, publish both, and start its driver.

        Raises:
            HarnessError: ``SESSION_ALREADY_EXISTS``.
            DriftRejectedError: A resumed session does not go on under what has changed.
            Exception: What ``setup``, ``session_created`` or ``agent_created`` raised; nothing stays published.
        """
        agent = session.agent = Agent(self._harness, session, options, owner=owner)
        try:
            if setup is not None:
                waiting = setup(agent.ctx)
                if isawaitable(waiting):
                    await waiting
            await self._enter(agent, allow_policy_drift, drift_decider)
        except BaseException as exc:  # noqa: BLE001 - raised on
            with anyio.CancelScope(shield=True):
                await agent.dispose()
            raise for_host(exc)  # noqa: B904 - the exception itself, or it is the cause
        agent.published = True
        agent.tell("agent_session_start", agent, source)
        self._harness.spawn(agent.driver.run())
        return agent

    async def _enter(self, agent: Agent, allow_policy_drift: bool, drift_decider: Decider | None) -> None:
        manifest = manifest_of(agent, self._governing, self._harness.operations)
        await self._harness.sessions.enter(agent.session, Terms(manifest, allow_policy_drift, drift_decider))
        self._agents[agent.id] = agent
        if agent.parent is not None:
            agent.parent.children.append(agent)
        self._refuse_gone(agent)
        await agent.ask("agent_created", agent)
        self._refuse_gone(agent)

    def _refuse_gone(self, agent: Agent) -> None:
        if self._closed or (agent.parent is not None and agent.parent.disposed):
            raise HarnessError(f"agent {agent.id!r}: who it was created for is gone", "AGENT_DISPOSED")
        if agent.disposed:
            raise HarnessError(f"agent {agent.id!r} was disposed while it was created", "AGENT_DISPOSED")

    async def remove(self, agent: Agent) -> None:
        """Take out an agent whose driver is done: announce, unregister, dispose its session, take back what it had."""
        try:
            if self._agents.get(agent.id) is agent:
                agent.tell("agent_disposed", agent)
                del self._agents[agent.id]
            await self._harness.sessions.dispose(agent.session)
        finally:
            if agent.parent is not None and agent in agent.parent.children:
                agent.parent.children.remove(agent)
            agent.ctx.unwind()

    async def aclose(self) -> None:
        """Dispose every agent; no more are created.

        Raises:
            Exception: The failure, or a group of them.
        """
        self._closed = True
        failures: builtins.list[Exception] = []
        for agent in (*self.roots(), *self.list()):
            try:
                await agent.dispose()
            except Exception as exc:  # noqa: BLE001 - raised below, once the others are disposed too
                failures.append(exc)
        if len(failures) == 1:
            raise failures[0]
        if failures:
            raise ExceptionGroup("several agents could not be disposed", failures)
