"""External hooks: what the bridge adds to the processes it starts.

* Everything of a dispatch but the process: matching, the payload, reading the answer, folding. At most 60 microseconds.
* Loading a file with 500 hooks, beside ``json.loads`` of the same text.
* One dispatch to a shell hook, beside ``subprocess.run`` and ``anyio.run_process`` of the same command with the same
  stdin; wall time, since most of it is spent in the kernel.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from benchmarks.harness_kit import Contender, Row, Timing, compare, main, ratio_row
from dshhooks.bridge import BridgeOptions, HookRuntime, RawResult, decode_response, fold
from dshhooks.bridge.events import resolve
from dshhooks.bridge.merge import load
from dshhooks.bridge.payloads import Payloads, check_payload
from dshhooks.bridge.selection import matching

BENCH = "bridge"
HOOKS = 500
ROUNDS = 60
COMMAND = "cat >/dev/null; exit 0"
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


def one_hook(command: str) -> dict[str, Any]:
    """A file with one hook."""
    group = {"matcher": "Bash", "hooks": [{"type": "command", "command": command}]}
    return {"hooks": {"PreToolUse": [group], "Stop": [{"hooks": [{"type": "command", "command": command}]}]}}


def pure_rows(folder: Path) -> list[Row]:
    """A dispatch without its process."""
    given = options(folder, one_hook(COMMAND), "pure")
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
    runtime = HookRuntime(options(folder, one_hook(COMMAND), "process"))
    stdin = json.dumps(PAYLOAD).encode()
    argv = ["/bin/sh", "-c", COMMAND]

    async def ours() -> None:
        await runtime.dispatch("PreToolUse", PAYLOAD)

    async def anyios() -> None:
        await anyio.run_process(argv, input=stdin, cwd=folder, start_new_session=True)

    async def by_hand() -> None:
        # In the loop's own thread: the least there is, and nothing else runs meanwhile.
        subprocess.run(argv, input=stdin, capture_output=True, cwd=folder, check=True)  # noqa: ASYNC221

    timings = _wall({"dshhooks": ours, "anyio.run_process": anyios, "subprocess.run": by_hand})
    case, against = "one shell hook, start to end", "anyio.run_process"
    return [ratio_row(BENCH, case, timings, name, against, 1.5 if name == "dshhooks" else None) for name in timings]


def _wall(contenders: dict[str, Callable[[], Awaitable[None]]]) -> dict[str, Timing]:
    """Wall time of each, taken in turns."""

    async def run() -> dict[str, list[float]]:
        taken: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(ROUNDS):
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
        return pure_rows(place) + loading_rows(place) + process_rows(place)


if __name__ == "__main__":
    sys.exit(main(BENCH, rows))
