"""Starting: what an import, a command and the discovery of 50 installed plugins cost a fresh process.

Every figure is the user and system CPU time of a whole child process, byte-compiled code, children started in turns.
The same 50 plugins are discovered and loaded by pluggy itself beside us.
"""

from __future__ import annotations

import compileall
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from benchmarks.harness_kit import Row, main, missing_row

BENCH = "startup"
ROUNDS = 21
PLUGINS = 50
ROOT = Path(__file__).parent.parent

IMPORT = "from dshhooks import hookimpl, Deny"
VERSION = "from dshhooks.cli.main import main; main(['version'])"
DISCOVER = f"from dshhooks.plugins.discovery import discover; assert len(discover()) >= {PLUGINS}"
LOAD = (
    "from dshhooks.config import HarnessConfig; from dshhooks.engine.hooks import Hooks; "
    "from dshhooks.plugins.manager import load_plugins; hooks = Hooks(); "
    f"load_plugins(hooks, HarnessConfig()); assert len(hooks.plugins) >= {PLUGINS}"
)
PLUGGY_LOAD = (
    "import pluggy; manager = pluggy.PluginManager('dshhooks'); "
    f"assert manager.load_setuptools_entrypoints('dshhooks') >= {PLUGINS}"
)


@frozen
class Child:
    """A process to time.

    Args:
        case: What it does, for the table.
        name: Who does it.
        arguments: For the interpreter.
        against: The name in the same case to compare with.
        target: The largest good ratio.
    """

    case: str
    name: str
    arguments: tuple[str, ...]
    against: str = ""
    target: float | None = None


CHILDREN = (
    Child("nothing", "python", ("-c", "pass")),
    Child("import", "dshhooks", ("-c", IMPORT), "pluggy", 2.0),
    Child("import", "pluggy", ("-c", "import pluggy")),
    Child("command `version`", "dshhooks", ("-c", VERSION)),
    Child(f"{PLUGINS} installed plugins, found", "dshhooks", ("-c", DISCOVER)),
    Child(f"{PLUGINS} installed plugins, found and loaded", "dshhooks", ("-c", LOAD), "pluggy", None),
    Child(f"{PLUGINS} installed plugins, found and loaded", "pluggy", ("-c", PLUGGY_LOAD)),
)


def rows() -> list[Row]:
    """Measure every child."""
    compile_sources()
    with tempfile.TemporaryDirectory(prefix="dshhooks-bench-") as folder:
        install_plugins(Path(folder))
        environment = _environment(folder)
        ready, found = [], []
        for child in CHILDREN:
            why = _refusal(child, environment)
            if why:
                found.append(missing_row(BENCH, child.case, child.name, why))
            else:
                ready.append(child)
        return _timed(ready, environment) + found


def compile_sources() -> None:
    """Write byte code for everything a child imports from here, as an installer does."""
    for package in ("dshhooks", "hookspecs"):
        compileall.compile_dir(str(ROOT / package), quiet=2)


def install_plugins(folder: Path) -> None:
    """Put 50 distributions with one plugin each into a folder, as an installer would."""
    for number in range(PLUGINS):
        name = f"bench_plugin_{number:02}"
        (folder / f"{name}.py").write_text(
            "from dshhooks import hookimpl\n\n\nclass Plugin:\n    @hookimpl\n"
            "    def tools_pre_execute(self, execution):\n        return None\n"
        )
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[dshhooks]\nbench-{number:02} = {name}:Plugin\n")
    compileall.compile_dir(str(folder), quiet=2)


def _environment(folder: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "LANG", "SYSTEMROOT")}
    return {**kept, "PYTHONPATH": os.pathsep.join((folder, str(ROOT))), "PYTHONDONTWRITEBYTECODE": "1"}


def _refusal(child: Child, environment: dict[str, str]) -> str:
    """Run the child once, which also warms the file cache; return the last line of its error, or nothing."""
    done = subprocess.run([sys.executable, *child.arguments], env=environment, capture_output=True, text=True,
                          check=False, cwd=environment["PYTHONPATH"].split(os.pathsep)[0])  # fmt: skip
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]


def _timed(children: Sequence[Child], environment: dict[str, str]) -> list[Row]:
    samples: dict[tuple[str, str], list[float]] = {(child.case, child.name): [] for child in children}
    for _ in range(ROUNDS):
        for child in children:
            samples[child.case, child.name].append(_cpu(child.arguments, environment))
    medians = {key: statistics.median(taken) for key, taken in samples.items()}
    nothing = medians.get(("nothing", "python"), 0.0)
    return [_row(child, medians, nothing) for child in children]


def _row(child: Child, medians: dict[tuple[str, str], float], nothing: float) -> Row:
    mine, other = medians[child.case, child.name], medians.get((child.case, child.against))
    ratio = mine / other if other else None
    net = f"{mine - nothing:.1f} ms above an empty interpreter"
    if other is not None:
        net += f", {(mine - nothing) / max(other - nothing, 1e-9):.2f}x {child.against}'s"
    against = child.against if ratio is not None else ""
    return Row(BENCH, child.case, child.name, mine, "ms", against, ratio, child.target, net)


def _cpu(arguments: Sequence[str], environment: dict[str, str]) -> float:
    """Run one child and return its user and system time in milliseconds."""
    pid = os.posix_spawn(
        sys.executable,
        [sys.executable, *arguments],
        environment,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise RuntimeError(f"child {' '.join(arguments)} ended with status {status}")
    return (usage.ru_utime + usage.ru_stime) * 1000


if __name__ == "__main__":
    sys.exit(main(BENCH, rows))
