"""External hooks: what the bridge adds to the processes it starts.

* Everything of a dispatch but the process: matching, the payload, reading the answer, folding. At most 60 microseconds.
* Loading a file with 500 hooks, beside ``json.loads`` of the same text.
* One dispatch to a shell hook that does nothing, beside a bare ``posix_spawn`` and ``waitpid`` of its command, at most
  1.5 times that; ``subprocess.run`` with the same stdin and ``anyio.run_process`` without one are in the table as well.
* Four hooks at once, beside one: at most 1.3 times that where hooks wait for something; where they only start and end,
  beside four bare processes at once, since starting a process is work for a processor.

Processes are timed by the clock, since most of it is spent in the kernel; all others in CPU time.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from attrs import evolve

from benchmarks.harness_kit import Contender, Row, Timing, compare, main, ratio_row
from dshhooks.bridge import BridgeOptions, HookRuntime, RawResult, decode_response, fold
from dshhooks.bridge.events import resolve
from dshhooks.bridge.merge import load
from dshhooks.bridge.payloads import Payloads, check_payload
from dshhooks.bridge.selection import matching

BENCH = "bridge"
HOOKS = 500
ROUNDS = 100
COMMAND = "true"
WAITING = "sleep 0.1"
PAYLOAD = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "git status --short"}, "tool_use_id": "t"}
ANSWER = RawResult(0, b'{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}')


def document(hooks: int, command: str = COMMAND) -> dict[str, Any]:
    """A Claude file: groups of five hooks, one group in fifty for Bash."""
    groups = [
        {"matcher": "Bash|Edit" if number % 50 == 0 else f"mcp__server{number}__.*",
         "hooks": [{"type": "command", "command": f"{command} # {number} {hook}", "timeout": 30} for hook in range(5)]}
        for number in range(max(1, hooks // 5))
    ]  # fmt: skip
    return {"hooks": {"PreToolUse": groups}}


def options(folder: Path, data: Any, name: str) -> BridgeOptions:
    """Options for a pinned file with this document."""
    file = folder / name / "settings.json"
    file.parent.mkdir()
    file.write_text(json.dumps(data, indent=2), encoding="utf-8")
    return BridgeOptions(config_path=file, cwd=folder)


def same_hooks(command: str, number: int = 1) -> dict[str, Any]:
    """A file with a hook, or several of it."""
    hooks = [{"type": "command", "command": command}] * number
    return {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": hooks}], "Stop": [{"hooks": hooks}]}}


def pure_rows(folder: Path) -> list[Row]:
    """A dispatch without its process."""
    given = options(folder, same_hooks(COMMAND), "pure")
    configuration = load(given)

    def dispatch() -> Any:
        event, payload = resolve("PreToolUse"), check_payload(PAYLOAD)
        payloads = Payloads(event, payload, dispatched="PreToolUse", cwd="/w")
        outcomes = []
        for verdict in matching(configuration, "PreToolUse", payload, options=given):
            payloads.stdin(verdict.hook)
            outcomes.append(decode_response(ANSWER, event, hook=verdict.hook, dispatched="PreToolUse"))
        return fold(outcomes, "PreToolUse")

    timings = compare([Contender("dshhooks", dispatch)])
    case = "match, payload, read the answer, fold"
    return [Row(BENCH, case, "dshhooks", timings["dshhooks"].median, target=60.0)]


def loading_rows(folder: Path) -> list[Row]:
    """Read a large file."""
    given = options(folder, document(HOOKS), "load")
    assert given.config_path is not None
    text = given.config_path.read_text(encoding="utf-8")
    timings = compare([Contender("dshhooks", lambda: load(given)), Contender("json.loads", lambda: json.loads(text))])
    return [ratio_row(BENCH, f"load a file of {HOOKS} hooks", timings, name, "json.loads", 20.0) for name in timings]


def process_rows(folder: Path) -> list[Row]:
    """Run one hook, beside running its command by hand."""
    ours = dispatching(options(folder, same_hooks(COMMAND), "process"))
    stdin, argv = json.dumps(PAYLOAD).encode(), ["/bin/sh", "-c", COMMAND]

    async def anyios() -> None:
        # Nothing on stdin: it fails where a process does not read.
        await anyio.run_process(argv, stdin=subprocess.DEVNULL, cwd=folder, start_new_session=True)

    # These two in the loop's own thread: the least there is, and nothing else runs meanwhile.
    async def by_hand() -> None:
        subprocess.run(argv, input=stdin, capture_output=True, cwd=folder, check=True)  # noqa: ASYNC221

    async def bare() -> None:
        spawn_bare(1)

    case, against = "one shell hook, start to end", "posix_spawn + waitpid"
    timings = _wall({"dshhooks": ours, against: bare, "anyio.run_process": anyios, "subprocess.run": by_hand})
    return [ratio_row(BENCH, case, timings, name, against, 1.5 if name == "dshhooks" else None) for name in timings]


def parallel_rows(folder: Path) -> list[Row]:
    """Run four hooks at once: those that wait beside one of them, those that do nothing beside four bare processes."""
    one = dispatching(options(folder, same_hooks(WAITING), "waits"))
    four = dispatching(evolve(options(folder, same_hooks(WAITING, 4), "four-wait"), parallel=True))
    quick = dispatching(evolve(options(folder, same_hooks(COMMAND, 4), "four"), parallel=True))

    async def bare() -> None:
        spawn_bare(4)

    waits, starts = "hooks that wait 0.1 s, at once", "hooks that do nothing, at once"
    waiting = _wall({"four": four, "one": one}, ROUNDS // 4)
    starting = _wall({"four": quick, "four posix_spawn + waitpid": bare})
    return [
        *(ratio_row(BENCH, waits, waiting, name, "one", 1.3) for name in waiting),
        *(ratio_row(BENCH, starts, starting, name, "four posix_spawn + waitpid", None) for name in starting),
    ]


def dispatching(given: BridgeOptions) -> Callable[[], Awaitable[None]]:
    """One dispatch to the hooks of a file."""
    runtime = HookRuntime(given)

    async def dispatch() -> None:
        await runtime.dispatch("PreToolUse", PAYLOAD)

    return dispatch


def spawn_bare(number: int) -> None:
    """Run the command so often at once, with nothing around it."""
    argv = ["/bin/sh", "-c", COMMAND]
    for pid in [os.posix_spawn(argv[0], argv, os.environ) for _ in range(number)]:
        os.waitpid(pid, 0)


def _wall(contenders: dict[str, Callable[[], Awaitable[None]]], rounds: int = ROUNDS) -> dict[str, Timing]:
    """Wall time of each, taken in turns."""

    async def run() -> dict[str, list[float]]:
        taken: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(rounds):
            for name, work in contenders.items():
                started = time.perf_counter()
                await work()
                taken[name].append((time.perf_counter() - started) * 1e6)
        return taken

    return {name: Timing(name, tuple(times)) for name, times in asyncio.run(run()).items()}


def rows() -> list[Row]:
    """Measure everything here."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        return pure_rows(place) + loading_rows(place) + process_rows(place) + parallel_rows(place)


if __name__ == "__main__":
    sys.exit(main(BENCH, rows))
