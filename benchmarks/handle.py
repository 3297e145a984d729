"""The hook command inside other agents: what one tool call pays for being judged, whole processes, in one run.

A hook command is started for every tool call, so the yardstick is the least a Python hook can cost: an interpreter that
does nothing. Every figure is the wall time of a process from its start to its end, because that is what the agent waits
for; processes are started in turns. The six contrib plugins judge a harmless command of Claude Code. Everything is
installed in an environment of its own, as a user has it: copies in site-packages, no editable checkout, a script.
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
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import Distribution, distribution
from pathlib import Path

from attrs import frozen
from packaging.requirements import Requirement

from benchmarks.harness_kit import Row, main, missing_row
from benchmarks.startup import ROOT

BENCH = "handle"
CASE = "one tool call, six plugins"
ROUNDS = 31
PLUGINS = ("timeout", "retry", "metrics", "repeat-reminder", "shell-policy", "workspace-tools")
LEAN, SCRIPT = "LEAN", "SCRIPT"  # stand for paths, which are others in each run
HANDLE = (SCRIPT, "handle", "--client", "claude")
# What pip and uv write for an entry point.
WRAPPER = """#!{python}
import sys
from dshhooks.cli.main import main
if __name__ == "__main__":
    sys.argv[0] = sys.argv[0].removesuffix(".exe")
    sys.exit(main())
"""
EVENT = {
    "session_id": "bench", "transcript_path": "/t", "cwd": "/w", "permission_mode": "default",
    "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls -la src"},
    "tool_use_id": "toolu_1",
}  # fmt: skip


@frozen
class Workplace:
    """A user's folders, with dshhooks and the six plugins installed.

    Args:
        folder: All of it.
    """

    folder: Path

    @property
    def project(self) -> Path:
        """Where the agent works."""
        return self.folder / "project"

    @property
    def site(self) -> Path:
        """Where the packages are."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.folder / "venv" / "lib" / version / "site-packages"

    @property
    def script(self) -> Path:
        """The command ``dshhooks``."""
        return self.folder / "venv" / "bin" / "dshhooks"

    def command(self, arguments: tuple[str, ...]) -> list[str]:
        """Return a command of the environment's interpreter."""
        paths = {LEAN: str(self.site / "dshhooks" / "clients" / "lean.py"), SCRIPT: str(self.script)}
        return [str(self.script.with_name("python")), *(paths.get(word, word) for word in arguments)]

    def environment(self, daemon: bool = True) -> dict[str, str]:
        """Return the variables of a call; without a directory for sockets there is no daemon."""
        return {
            "PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8", "HOME": str(self.folder / "home"),
            "XDG_RUNTIME_DIR": str(self.folder / "run") if daemon else "/dev/null",
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
    with tempfile.TemporaryDirectory(prefix="dsh-") as folder, _daemon(_workplace(Path(folder))) as workplace:
        why = _refusal(workplace)
        if why:
            return [missing_row(BENCH, CASE, child.name, why) for child in CHILDREN]
        samples: dict[str, list[float]] = {child.name: [] for child in CHILDREN}
        for number in range(ROUNDS + 2):
            for child in CHILDREN:
                _timed(EMPTY, workplace)  # not counted: what the child before leaves running is not this one's cost
                taken = _timed(child, workplace)
                if number > 1:  # the first two rounds warm caches, the list of plugins among them
                    samples[child.name].append(taken)
        answered = _answered(workplace)
    if answered != ROUNDS + 2:
        raise RuntimeError(f"the daemon answered {answered} of {ROUNDS + 2} calls; the rest were not through it")
    return _rows(samples)


def _rows(samples: dict[str, list[float]]) -> list[Row]:
    medians = {name: statistics.median(taken) for name, taken in samples.items()}
    found = []
    for child in CHILDREN:
        mine = medians[child.name]
        against, ratio = ("", None) if child is EMPTY else ("empty", mine / medians[EMPTY.name])
        # No CPU time: nobody waits for the process that evaluated, so the system does not tell it.
        found.append(Row(BENCH, CASE, child.name, mine, "ms", against, ratio, child.target, "wall time"))
    return found


def _workplace(folder: Path) -> Workplace:
    """Make a project, and an environment with dshhooks, what it needs and the six plugins as copies, compiled."""
    made = Workplace(folder)
    for name in ("project", "home", "run"):
        (folder / name).mkdir(mode=0o700)
    (made.project / "dshhooks.toml").write_text(f"[plugins]\nenable = {json.dumps(PLUGINS)}\n")
    (folder / "event.json").write_text(json.dumps(EVENT))
    venv.create(folder / "venv", symlinks=True)
    for package in ("dshhooks", "hookspecs"):
        shutil.copytree(ROOT / package, made.site / package)
    for needed in _needed("dshhooks", {}).values():
        _copy(needed, made.site)
    for name in PLUGINS:
        _install(ROOT / "contrib_plugins" / name.replace("-", "_"), made.site)
    made.script.write_text(WRAPPER.format(python=made.script.with_name("python")))
    compileall.compile_dir(str(made.site), quiet=2)
    _age(made.site)
    return made


def _needed(name: str, found: dict[str, Distribution]) -> dict[str, Distribution]:
    """Collect what a distribution requires, and what that requires; not the distribution itself."""
    for text in distribution(name).requires or ():
        wanted = Requirement(text)
        if wanted.name not in found and (wanted.marker is None or wanted.marker.evaluate({"extra": ""})):
            found[wanted.name] = distribution(wanted.name)
            _needed(wanted.name, found)
    return found


def _copy(needed: Distribution, site: Path) -> None:
    for file in needed.files or ():
        source, target = Path(str(needed.locate_file(file))), site / file
        if ".." not in file.parts and "__pycache__" not in file.parts and source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def _age(site: Path) -> None:
    """Let everything be a day old: a list of plugins is not kept of what was written while it was made."""
    yesterday = time.time() - 86400
    for path in (*site.rglob("*"), site):
        os.utime(path, (yesterday, yesterday))


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
def _daemon(workplace: Workplace) -> Iterator[Workplace]:
    with subprocess.Popen(
        workplace.command((SCRIPT, "serve")), stdout=subprocess.PIPE, env=workplace.environment(),
        cwd=workplace.project,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            process.stdout.readline()  # the socket's path: it listens
            yield workplace
        finally:
            process.terminate()


def _answered(workplace: Workplace) -> int:
    command = workplace.command((SCRIPT, "serve", "--status", "--json"))
    told = subprocess.run(command, env=workplace.environment(), cwd=workplace.project, capture_output=True, check=True)
    return sum(int(daemon["answered"]) for daemon in json.loads(told.stdout))


def _refusal(workplace: Workplace) -> str:
    """Say why the harmless command is not let through: a plugin that cannot be loaded here, say; empty when it is."""
    with open(workplace.folder / "event.json", "rb") as stdin:
        done = subprocess.run(workplace.command(HANDLE), stdin=stdin, capture_output=True, text=True,
                              env=workplace.environment(daemon=False), cwd=workplace.project, check=False)  # fmt: skip
    return (done.stdout + done.stderr).strip() or ("" if done.returncode == 0 else f"exit code {done.returncode}")


def _timed(child: Child, workplace: Workplace) -> float:
    """Run one child; return the milliseconds its parent waited."""
    with open(workplace.folder / "event.json", "rb") as stdin, open(os.devnull, "wb") as out:
        began = time.perf_counter()
        code = subprocess.call(workplace.command(child.arguments), stdin=stdin, stdout=out, stderr=out,
                               env=workplace.environment(child.daemon), cwd=workplace.project)  # fmt: skip
        wall = time.perf_counter() - began
    if code:
        raise RuntimeError(f"{child.name} ended with status {code}")
    return wall * 1000


if __name__ == "__main__":
    sys.exit(main(BENCH, rows))
