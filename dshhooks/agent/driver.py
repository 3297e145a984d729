"""The driver: one task per agent, one turn at a time (spec/core.md 4.6)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING

import anyio

from dshhooks.agent.initiator import with_initiator
from dshhooks.agent.turn import Turn
from dshhooks.engine.faults import is_fault
from dshhooks.engine.observe import described
from dshhooks.operations.context import adopt, current_operation

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent

__all__ = ["Driver"]

log = logging.getLogger("dshhooks.agent")

# The drivers the running code is, or was begun by, a part of: a subagent's and its parent's.
_around: ContextVar[tuple[Driver, ...]] = ContextVar("dshhooks_drivers", default=())


class Driver:
    """Takes inputs out of an agent's inbox and runs their turns until the agent is disposed."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        # A subagent's work is a part of its spawner's; any other agent outlives what it happened to be created in.
        self.within = current_operation() if agent.parent is not None else None
        self._wake = anyio.Event()
        self._quiet: list[anyio.Event] = []
        self.done = anyio.Event()
        self.cancelled_before_run = False

    def wake(self) -> None:
        """Look at the inbox again."""
        self._wake.set()

    async def when_idle(self) -> None:
        """Wait until nothing runs and nothing that wakes is pending; after disposal, until the driver is done."""
        agent = self.agent
        if agent.status == "disposed" or self.done.is_set():  # or its task was cancelled, and nobody runs what pends
            await self.done.wait()
        elif agent.status == "running" or agent.inbox.waking or self.cancelled_before_run:
            event = anyio.Event()
            self._quiet.append(event)
            await event.wait()

    def release(self) -> None:
        """Let everybody who waits for quiet go on."""
        waiting, self._quiet = self._quiet, []
        for event in waiting:
            event.set()

    def is_waiting_for_us(self) -> bool:
        """Say whether the running code was begun by this driver, which may wait for it to end."""
        return self in _around.get()

    async def apart(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do something in a task of its own that no driver waits for."""
        _around.set(())
        await work()

    async def run(self) -> None:
        """Run until the agent is disposed."""
        _around.set((*_around.get(), self))
        adopt(self.within)
        try:
            with with_initiator(self.agent):
                await self._loop()
        finally:
            self.done.set()
            self.release()

    async def _loop(self) -> None:
        agent = self.agent
        while not agent.disposed:
            if self.cancelled_before_run:
                self.cancelled_before_run = False
            if not agent.inbox.waking:
                self._go_idle()
                await self._sleep()
                continue
            signal = agent.new_owner()
            agent.set_status("running")
            if agent.disposed:
                return
            if signal.aborted or not agent.inbox.waking:
                agent.drop_owner()
                agent.inbox.requeue_steering()  # of whoever steered the turn that was just cancelled
                continue
            await self._turn()

    async def _sleep(self) -> None:
        agent = self.agent
        # The marker counts as work: whoever cancelled before the wake is waiting for the quiet that follows.
        if agent.inbox.waking or self.cancelled_before_run or agent.disposed:
            return
        self._wake = anyio.Event()
        await self._wake.wait()

    def _go_idle(self) -> None:
        if self.agent.status == "running":
            self.agent.set_status_before("idle", self.release)
        else:
            self.release()

    async def _turn(self) -> None:
        agent = self.agent
        item = agent.inbox.take()
        signal = agent.owner_signal()
        turn = Turn(agent, agent.session.last_turn + 1, item, signal)
        try:
            await turn.run()
        except BaseException as exc:
            if not is_fault(exc):
                raise
            log.error("agent %r: turn %d broke, the next one runs: %s", agent.id, turn.number, described(exc))
        finally:
            agent.drop_owner()
        if turn.stopped:
            agent.inbox.discard(steering_only=True)
        else:
            agent.inbox.requeue_steering()
