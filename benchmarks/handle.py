"""The hook command inside other agents: what one tool call pays for being judged, whole processes, in one run.

A hook command is started for every tool call, so the yardstick is the least a Python hook can cost: an interpreter that
does nothing. Every figure is the wall time of a process from its start to its end, because that is what the agent waits
for; processes are started in turns. The six contrib plugins judge a harmless command of Claude Code.
"""

from __future__ import annotations

import compileall
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from benchmarks.harness_kit import Row, main, missing_row
from benchmarks.startup import ROOT

BENCH = "handle"
CASE = "one tool call, six plugins"
ROUNDS = 31
PLUGINS = ("timeout", "retry", "metrics", "repeat-reminder", "shell-policy", "workspace-tools")
LEAN = "LEAN"  # stands for the script's path, which is another one in each run
HANDLE = ("-P", "-c", "from dshhooks.cli.main import main; main()", "handle", "--client", "claude")
EVENT = {
    "session_id": "bench", "transcript_path": "/t", "cwd": "/w", "permission_mode": "default",
    "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls -la src"},
    "tool_use_id": "toolu_1",
}  # fmt: skip


@frozen
class Child:
    """A process to time.

    Args:
        name: For the table.
        arguments: For the interpreter.
        target: The largest good ratio to the empty interpreter.
        daemon: Whether a daemon may answer.
    """

    name: str
    arguments: tuple[str, ...]
    target: float | None = None
    daemon: bool = False


EMPTY = Child("python -I -S -c pass", ("-I", "-S", "-c", "pass"))
CHILDREN = (
    EMPTY,
    Child("through the daemon", ("-I", "-S", LEAN, "--client", "claude"), 2.0, daemon=True),
    Child("dshhooks handle, in process", HANDLE, 8.0),
    Child("lean client, no daemon", ("-I", "-S", LEAN, "--client", "claude")),
)


def rows() -> list[Row]:
    """Measure every child."""
    with tempfile.TemporaryDirectory(prefix="dsh-") as folder, _daemon(_workplace(Path(folder))) as environment:
        why = _refusal(environment)
        if why:
            return [missing_row(BENCH, CASE, child.name, why) for child in CHILDREN]
        samples: dict[str, list[tuple[float, float]]] = {child.name: [] for child in CHILDREN}
        for number in range(ROUNDS + 2):
            for child in CHILDREN:
                _timed(EMPTY, environment)  # not counted: what the child before leaves running is not this one's cost
                taken = _timed(child, environment)
                if number > 1:  # the first two rounds warm caches, the list of plugins among them
                    samples[child.name].append(taken)
        answered = _answered(environment)
    if answered != ROUNDS + 2:
        raise RuntimeError(f"the daemon answered {answered} of {ROUNDS + 2} calls; the rest were not through it")
    return _rows(samples)


def _rows(samples: dict[str, list[tuple[float, float]]]) -> list[Row]:
    medians = {name: statistics.median(wall for wall, _ in taken) for name, taken in samples.items()}
    found = []
    for child in CHILDREN:
        mine = medians[child.name]
        against, ratio = ("", None) if child is EMPTY else ("empty", mine / medians[EMPTY.name])
        # The mean: the system counts CPU time in steps that are larger than some of these.
        note = f"wall time; {statistics.mean(spent for _, spent in samples[child.name]):.1f} ms CPU, without a daemon's"
        found.append(
            Row(BENCH, "one tool call, six plugins", child.name, mine, "ms", against, ratio, child.target, note)
        )
    return found


def _workplace(folder: Path) -> dict[str, str]:
    """Make a project, install dshhooks and the six plugins as copies, compiled, and return the environment of calls."""
    for name in ("project", "home", "run", "site"):
        (folder / name).mkdir(mode=0o700)
    (folder / "project" / "dshhooks.toml").write_text(f"[plugins]\nenable = {json.dumps(PLUGINS)}\n")
    (folder / "event.json").write_text(json.dumps(EVENT))
    site = folder / "site"
    for package in ("dshhooks", "hookspecs"):
        shutil.copytree(ROOT / package, site / package)
    for name in PLUGINS:
        _install(ROOT / "contrib_plugins" / name.replace("-", "_"), site)
    compileall.compile_dir(str(site), quiet=2)
    return {
        "PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8", "HOME": str(folder / "home"),
        "XDG_RUNTIME_DIR": str(folder / "run"), "PYTHONPATH": str(site),
    }  # fmt: skip


def _install(source: Path, site: Path) -> None:
    """Install one distribution as an installer would, from this checkout."""
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    package = f"dshhooks_{source.name}"
    shutil.copytree(source / package, site / package)
    info = site / f"{project['name'].replace('-', '_')}-bench.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 0.1.0\n")
    points = project["entry-points"]["dshhooks"]
    (info / "entry_points.txt").write_text("[dshhooks]\n" + "".join(f"{k} = {v}\n" for k, v in points.items()))


@contextmanager
def _daemon(environment: dict[str, str]) -> Iterator[dict[str, str]]:
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "dshhooks.cli", "serve"], stdout=subprocess.PIPE, env=environment,
        cwd=_project(environment),
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            process.stdout.readline()  # the socket's path: it listens
            yield environment
        finally:
            process.terminate()


def _answered(environment: dict[str, str]) -> int:
    command = [sys.executable, "-P", "-m", "dshhooks.cli", "serve", "--status", "--json"]
    told = subprocess.run(command, env=environment, cwd=_project(environment), capture_output=True, check=True)
    return sum(int(daemon["answered"]) for daemon in json.loads(told.stdout))


def _project(environment: dict[str, str]) -> str:
    return str(Path(environment["HOME"]).with_name("project"))


def _refusal(environment: dict[str, str]) -> str:
    """Say why the harmless command is not let through: a plugin that cannot be loaded here, say; empty when it is."""
    with open(Path(environment["HOME"]).with_name("event.json"), "rb") as stdin:
        done = subprocess.run([sys.executable, *HANDLE], stdin=stdin, capture_output=True, text=True,
                              env={**environment, "XDG_RUNTIME_DIR": "/dev/null"}, cwd=_project(environment),
                              check=False)  # fmt: skip
    return (done.stdout + done.stderr).strip() or ("" if done.returncode == 0 else f"exit code {done.returncode}")


def _timed(child: Child, environment: dict[str, str]) -> tuple[float, float]:
    """Run one child; return the milliseconds its parent waited, and those of CPU time in it and its own children."""
    if not child.daemon:  # no directory for sockets, no daemon
        environment = {**environment, "XDG_RUNTIME_DIR": "/dev/null"}
    lean = str(Path(environment["PYTHONPATH"]) / "dshhooks" / "clients" / "lean.py")
    command = [sys.executable, *(lean if word == LEAN else word for word in child.arguments)]
    event = Path(environment["HOME"]).with_name("event.json")
    with open(event, "rb") as stdin, open(os.devnull, "wb") as out:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=stdin, stdout=out, stderr=out, env=environment,
                                   cwd=_project(environment))  # fmt: skip
        _, code, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = code
    if code:
        raise RuntimeError(f"{child.name} ended with status {code}")
    return wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000


if __name__ == "__main__":
    sys.exit(main(BENCH, rows))
