"""Writes a session until it is stopped the hard way, over and over; run by test_crash.py as a process of its own.

``crash_writer.py KIND PATH ROUNDS SEED`` forks one writer after the other. Each resumes the session, checks what it
finds, and appends turns, reporting every sequence number that a flush acknowledged, until it is killed at a random
moment. What went wrong, and how far it got, is printed as one JSON document.

This process itself never starts a thread or an event loop, so that forking is safe.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from dshhooks.engine.hooks import Hooks
from dshhooks.operations.manifest import Manifest
from dshhooks.session.event import Event
from dshhooks.session.events import CompletedEnd, StepEnd, TurnEnd
from dshhooks.session.manager import Sessions
from dshhooks.session.memory import MemoryStore
from dshhooks.session.opening import Terms
from tests.session.kit import Kept, begin, calls, check_valid, log
from tests.session.kit import append as append_turns

SESSION = "crashing"
TERMS = Terms(Manifest("writer", "scripted/demo", hook_policy_rev="v1"))


def report(pipe: int, **what: Any) -> None:
    """Write one line to the parent."""
    os.write(pipe, json.dumps(what).encode() + b"\n")


async def write(kept: Kept, acknowledged: int, pipe: int) -> None:
    """Check what the last writer left, then append until the end."""
    store = kept.open()
    before: tuple[Event, ...] = ()
    if store.has(SESSION) or acknowledged:
        before = (await store.inspect(SESSION)).events
    if len(before) < acknowledged:
        report(pipe, fault=f"{acknowledged} events were acknowledged, {len(before)} are there")
    async with anyio.create_task_group() as tasks:

        async def run(work: Any) -> None:
            await work

        made = Sessions(Hooks(), store, lambda work: tasks.start_soon(run, work))
        session = await made.resume(SESSION) if before else made.create(SESSION)
        check_valid(session.events)
        if session.events[: len(before)] != before:
            report(pipe, fault="repair changed events that were there")
        if before and (await store.load(SESSION)).repair:
            report(pipe, fault="a second repair found something to do")
        # Whatever the one before was doing, the terms it was started under are there, and so no drift is found.
        await made.enter(session, TERMS)
        report(pipe, opened=(await store.ledger(SESSION)).epoch, new=not before)
        while True:
            turn = begin(session)
            await made.flush(session)
            report(pipe, acknowledged=len(session.events))
            calls(session, turn, ["a", "b"], ["a"], ["a"])
            await anyio.lowlevel.checkpoint()
            await made.flush(session)
            report(pipe, acknowledged=len(session.events))
            session.append(StepEnd(turn, 1))
            session.append(TurnEnd(turn, CompletedEnd()))
            await made.flush(session)
            report(pipe, acknowledged=len(session.events))


def child(kept: Kept, acknowledged: int, pipe: int, backend: str) -> None:
    """Be a writer; never returns."""
    try:
        anyio.run(write, kept, acknowledged, pipe, backend=backend)
    except BaseException as exc:
        report(pipe, fault=f"{type(exc).__name__}: {exc}")
    os._exit(1)


def one_round(kept: Kept, acknowledged: int, epoch: int, chance: random.Random) -> tuple[int, int, list[str]]:
    """Fork a writer, kill it at a random moment; return what it acknowledged, in which epoch, and its faults."""
    reader, writer = os.pipe()
    backend = chance.choice(["asyncio", "trio"])
    process = os.fork()
    if process == 0:
        os.close(reader)
        child(kept, acknowledged, writer, backend)
    os.close(writer)
    # Some die while they open and repair, most while they write.
    if chance.random() < 0.7:
        select.select([reader], [], [], 30)
    time.sleep(chance.random() * 0.05)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    with os.fdopen(reader, "rb") as pipe:
        lines = [json.loads(line) for line in pipe.read().split(b"\n")[:-1]]
    last = max([acknowledged, *(line.get("acknowledged", 0) for line in lines)])
    faults = [line["fault"] for line in lines if "fault" in line]
    opened = next((line for line in lines if "opened" in line), {"opened": 0, "new": True})
    if not opened["new"] and opened["opened"] <= epoch:
        faults.append(f"opening {opened['opened']} came after opening {epoch}")
    return last, opened["opened"], faults


def main() -> None:
    """Run the rounds and print what came of them."""
    kind, path, rounds, seed = sys.argv[1:]
    chance = random.Random(int(seed))
    append_turns(log())  # imports and compiles what the writers need, before they are forked
    faults: list[str] = []
    acknowledged = epoch = opened = sessions = 0
    kept = Kept(kind, Path(path) / "0", MemoryStore())
    for number in range(int(rounds)):
        if number % 10 == 0:  # a new session now and then, so that the first write is interrupted, too
            kept, sessions = Kept(kind, Path(path) / str(number), MemoryStore()), sessions + 1
            acknowledged = epoch = 0
        acknowledged, opened_as, wrong = one_round(kept, acknowledged, epoch, chance)
        epoch = opened_as or epoch
        opened += opened_as > 0
        faults += [f"round {number}: {fault}" for fault in wrong]
    json.dump({"rounds": int(rounds), "opened": opened, "faults": faults, "acknowledged": acknowledged}, sys.stdout)


if __name__ == "__main__":
    main()
