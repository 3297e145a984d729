"""The driver: one task per agent, one turn at a time (spec/core.md 4.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from dshhooks.agent.initiator import with_initiator
from dshhooks.agent.turn import Turn

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent

__all__ = ["Driver"]


class Driver:
    """Takes inputs out of an agent's inbox and runs their turns until the agent is disposed."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
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
        if agent.status == "disposed":
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

    async def run(self) -> None:
        """Run until the agent is disposed."""
        try:
            with with_initiator(self.agent):
                await self._loop()
        finally:
            self.done.set()
            self.release()

    async def _loop(self) -> None:
        agent = self.agent
        while agent.status != "disposed":
            if self.cancelled_before_run:
                self.cancelled_before_run = False
            if not agent.inbox.waking:
                self._go_idle()
                await self._sleep()
                continue
            signal = agent.new_owner()
            agent.set_status("running")
            if agent.status == "disposed":
                return
            if signal.aborted or not agent.inbox.waking:
                agent.drop_owner()
                continue
            await self._turn()

    async def _sleep(self) -> None:
        agent = self.agent
        # The marker counts as work: whoever cancelled before the wake is waiting for the quiet that follows.
        if agent.inbox.waking or self.cancelled_before_run or agent.status == "disposed":
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
        finally:
            agent.drop_owner()
        if turn.stopped:
            agent.inbox.discard(steering_only=True)
        else:
            agent.inbox.requeue_steering()
