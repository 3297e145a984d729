"""A scripted turn through the whole loop, beside the same turn in other frameworks; many agents; an idle agent's size.

One policy and one wrapper, a tool that adds. Figures are per tool call: a turn's time over its calls. Ours streams the
model's chunks, keeps the log and writes it to a store (in memory); the peers' scripted models do none of these.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from benchmarks.agent_peers import DISTRIBUTIONS, TURNS
from benchmarks.harness_kit import Contender, Row, Timing, compare_here, main, missing_row, ratio_row
from benchmarks.memory import resident_mb
from benchmarks.pipeline import Metrics, Policy, raw_tool
from dshhooks.config import AgentConfig, HarnessConfig, PluginsConfig
from dshhooks.harness import Harness
from dshhooks.llm.scripted import CallTools, Say, ScriptedAdapter
from dshhooks.session.memory import MemoryStore

BENCH = "agent"
CALLS = 50
ROUNDS = 9
AGENTS = 1_000
IDLE_KB = 60.0
# Answers, calls in each, and what a call of ours may cost over a peer's. With all calls in one answer the request,
# where the peers spend most, hardly counts; what we log and stream for every call does.
CASES = ((CALLS, 1, 0.5), (1, CALLS, 0.5))
# Many agents at once must not cost more than one after the other, by more than this.
CROWD = 1.3
ADD = ("add", {"a": 1, "b": 2})


class Script(ScriptedAdapter):
    """Answers by what it is asked, so that any number of agents can play at the same time."""

    def __init__(self, steps: int, calls: int) -> None:
        super().__init__()
        self._answers, self._call = steps, CallTools([ADD] * calls)

    async def stream(self, options: Any) -> AsyncIterator[Any]:
        """Yield the chunks of the next step of this conversation."""
        answered = sum(message.role == "assistant" for message in options.messages)
        for chunk in self.chunks(self._call if answered < self._answers else Say("done")):
            yield chunk


@asynccontextmanager
async def host(steps: int, calls: int) -> AsyncIterator[Harness]:
    """Open a host with the script, the tool, the policy and the wrapper."""
    config = HarnessConfig(PluginsConfig(autoload=False), agent=AgentConfig("scripted", "m"))
    async with Harness.open(config, plugins=(Policy(), Metrics()), store=MemoryStore()) as harness:
        harness.llm.register_adapter(["scripted"], Script(steps, calls))
        harness.tools.register(raw_tool())
        yield harness


def turn_of(harness: Harness) -> Callable[[], Any]:
    """Return one whole turn: a fresh agent, its prompt, and its end."""

    async def turn() -> str:
        agent = await harness.create_agent()
        agent.followup("go")
        await agent.when_idle()
        text: str = agent.session.messages()[-1].content[0].text  # type: ignore[attr-defined]
        await agent.dispose()
        return text

    return turn


async def measure(steps: int, calls: int, target: float) -> list[Row]:
    """Measure turns of ``steps`` answers with ``calls`` calls each; whoever cannot take part gets a row."""
    case = f"one turn, {steps} x {calls} calls, 1 policy, 1 wrapper; a call"
    rows: list[Row] = []
    async with AsyncExitStack() as stack:
        contenders = [Contender("dshhooks", turn_of(await stack.enter_async_context(host(steps, calls))))]
        for name, build in TURNS.items():
            try:
                turn = build(steps, calls)
                await _check(turn)
            except Exception as exc:
                rows.append(missing_row(BENCH, case, name, exc))
            else:
                contenders.append(Contender(name, turn))
        await _check(contenders[0].one)
        timings = await compare_here(contenders, ROUNDS)
    per_call = {
        name: Timing(name, tuple(sample / (steps * calls) for sample in timing.samples))
        for name, timing in timings.items()
    }
    peers = [name for name in per_call if name != "dshhooks"]
    ours = [ratio_row(BENCH, case, per_call, "dshhooks", peer, target) for peer in peers]
    return [*ours, *(ratio_row(BENCH, case, per_call, peer, peer, None) for peer in peers), *rows]


async def _check(turn: Callable[[], Any]) -> None:
    answer = await turn()
    if answer != "done":
        raise RuntimeError(f"expected 'done', got {answer!r}")


async def crowd() -> list[Row]:
    """Measure 1,000 agents with a turn of five calls each: at the same time, and one after the other."""
    async with host(5, 1) as harness:
        turn = turn_of(harness)
        for _ in range(20):
            await turn()
        started = time.process_time()
        for _ in range(AGENTS):
            await turn()
        alone = time.process_time() - started
        started = time.process_time()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(AGENTS):
                tasks.create_task(turn())
        together = time.process_time() - started
    case = f"{AGENTS:,} agents, 5 calls each; an agent"
    return [
        Row(BENCH, case, "one after the other", alone / AGENTS * 1e6),
        Row(BENCH, case, "at the same time", together / AGENTS * 1e6, "us", "alone", together / alone, CROWD),
    ]


async def idle() -> list[Row]:
    """Measure what an idle agent takes up that has answered nothing yet."""
    case = f"an idle agent, of {AGENTS:,}"
    async with host(1, 1) as harness:
        await turn_of(harness)()
        before = resident_mb()
        agents = [await harness.create_agent() for _ in range(AGENTS)]
        size = (resident_mb() - before) * 1024 / len(agents)
    return [Row(BENCH, case, "dshhooks", size, "kB", target=IDLE_KB)]


def rows() -> list[Row]:
    """Measure everything."""
    found: list[Row] = []
    # First, as long as the process is small and its heap without holes.
    try:
        found += asyncio.run(idle())
    except OSError as exc:
        found.append(missing_row(BENCH, "an idle agent", "dshhooks", exc))
    for steps, calls, target in CASES:
        found += asyncio.run(measure(steps, calls, target))
    return [*found, *asyncio.run(crowd())]


if __name__ == "__main__":
    sys.exit(main(BENCH, rows, DISTRIBUTIONS))
