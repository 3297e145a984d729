"""``dshhooks demo``: real tool calls on real files, through the plugins that are installed."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import evolve, frozen

from dshhooks.cli.options import Switches, with_switches

if TYPE_CHECKING:
    from dshhooks.config import HarnessConfig
    from dshhooks.harness import Harness
    from hookspecs.execution import ToolResult

__all__ = ["demo"]

_PLUGINS = ("metrics", "retry", "timeout", "shell-policy", "repeat-reminder", "workspace-tools")


@frozen
class _Scene:
    """One call of the demo: what it shows, the call, what must come of it, and the plugin that makes it so."""

    shows: str
    tool: str
    arguments: dict[str, Any]
    expects: str
    needs: str = "workspace-tools"


_SCENES = (
    _Scene("a file is written", "write_file", {"path": "notes.txt", "content": "milk\nbread\n"}, "ok"),
    _Scene("a command runs", "bash", {"command": "ls -l && wc -l < notes.txt"}, "ok"),
    # Without the policy this would run, so it is only played with it; ~ is the temporary folder all the same.
    _Scene("a destructive command is denied", "bash", {"command": "x=rm; $x -rf ~"}, "deny", "shell-policy"),
    _Scene(
        "a risky command is asked about, and the answer is no",
        "bash",
        {"command": "git push --force origin main"},
        "deny",
        "shell-policy",
    ),
    _Scene("a command that hangs is timed out", "bash", {"command": "sleep 30"}, "TOOL_TIMEOUT", "timeout"),
    _Scene("a flaky tool is retried until it works", "fetch_status", {"service": "billing"}, "ok", "retry"),
    _Scene("nobody reads outside the folder", "read_file", {"path": "../../etc/passwd"}, "failure"),
)


@click.command()
@with_switches
def demo(switches: Switches) -> None:
    """Run a list of real tool calls in a temporary folder and print who decided what.

    The folder and the options that the calls rely on are the demo's own, also with --config.
    """
    from dshhooks.cli.loop import run

    with tempfile.TemporaryDirectory(prefix="dshhooks-demo-") as folder:
        sys.exit(run(_play, switches.apply(_config(folder, switches.config)), Path(folder)))


def _config(folder: str, file: str | None) -> HarnessConfig:
    from dshhooks.config import HarnessConfig, PluginsConfig, load_config, switches_from

    if file is not None:
        config = load_config(file)
    else:
        listed = PluginsConfig(enable=list(_PLUGINS))
        config = HarnessConfig(listed, switches=switches_from(os.environ), source="the demo's configuration")
    own: dict[str, dict[str, Any]] = {
        "workspace-tools": {"root": folder, "env": {"HOME": folder}},
        "timeout": {"tools": {"bash": 2.0}},
        "retry": {"attempts": 3, "initial_delay": 0.05, "codes": ["SERVICE_BUSY"]},
    }
    return evolve(config, plugin={**config.plugin, **own})


async def _play(config: HarnessConfig, folder: Path) -> int:
    from dshhooks.harness import build

    harness = build(config)
    try:
        if not _ready(harness):
            return 1
        _flaky(harness, folder)
        click.echo(f"plugins found by entry point: {', '.join(harness.hooks.plugins)}\n")
        surprises = [scene.shows for scene in _SCENES if not await _scene(harness, scene)]
        _summary(harness)
    finally:
        harness.hooks.close()
    for shows in surprises:
        click.secho(f"unexpected: {shows} — it came out differently", fg="red", err=True)
    return 1 if surprises else 0


def _ready(harness: Harness) -> bool:
    """Say whether every plugin that was not switched off is loaded, and what to do if not."""
    broken = [status for status in harness.plugins.report() if status.status in ("failed", "duplicate")]
    problems = [*harness.plugins.problems, *(f"plugin {status.name!r}: {status.reason}" for status in broken)]
    for problem in problems:
        click.secho(problem, fg="red", err=True)
    if problems:
        click.echo(
            "the demo needs the contrib plugins: `pip install -r requirements-dev.txt`, or `make demo`", err=True
        )
    return not problems


def _flaky(harness: Harness, folder: Path) -> None:
    """Register a tool that fails twice and then works; it counts its attempts in a file."""
    from dshhooks.tools.decorator import tool
    from hookspecs.errors import HarnessError

    attempts = folder / "attempts"

    @tool(idempotent=True)
    async def fetch_status(service: str) -> str:
        """Ask a busy service how it is."""
        count = len(attempts.read_text()) if attempts.exists() else 0
        attempts.write_text("x" * (count + 1))
        if count < 2:
            raise HarnessError(f"{service} is busy (attempt {count + 1})", "SERVICE_BUSY")
        return f"{service} is up (attempt {count + 1})"

    harness.tools.register(fetch_status)


async def _scene(harness: Harness, scene: _Scene) -> bool:
    from dshhooks.cli.approve import fixed
    from dshhooks.cli.show import tree
    from hookspecs.execution import ToolCall
    from hookspecs.json import encode

    click.secho(f"# {scene.shows}", fg="cyan")
    if not _obeyed(harness, scene.needs):
        click.echo(f"  not played: {scene.needs} does not take part\n")
        return True
    with harness.hooks.trace() as trace:
        call = ToolCall("demo", scene.tool, scene.arguments, approver=fixed(False))
        result = await harness.tools.execute(call)
    tree(trace.records, f"{scene.tool} {encode(scene.arguments)}")
    for line in _told(result):
        click.echo(f"  {line}")
    click.echo()
    policy = next(record.outcome for record in trace.records if record.hook == "policy")
    return scene.expects in _outcomes(result, policy)


def _obeyed(harness: Harness, name: str) -> bool:
    return any(row.name == name and row.status == "loaded" and not row.reason for row in harness.plugins.report())


def _outcomes(result: ToolResult, policy: str) -> set[str]:
    from hookspecs.execution import ToolFailure

    if not isinstance(result, ToolFailure):
        return {"ok"}
    return {"failure", policy, result.error.info.code if result.error.info else ""}


def _told(result: ToolResult) -> Iterator[str]:
    from dshhooks.cli.show import printable
    from hookspecs.values import content_text

    yield from printable(content_text(result.content)).splitlines()[:8]


def _summary(harness: Harness) -> None:
    """Print the in-memory summary of the metrics plugin, if it took part."""
    from dshhooks.cli.show import duration, table

    metrics: Any = harness.hooks.plugin("metrics")
    if metrics is None:
        return
    click.secho("# what the metrics plugin counted", fg="cyan")
    table(
        ("tool", "calls", "ok", "failed", "denied", "total", "slowest"),
        [
            (row.name, str(row.calls), str(row.ok), str(row.failed), str(row.denied), duration(row.seconds_total),
             duration(row.seconds_max))
            for row in metrics.summary()
        ],
    )  # fmt: skip
