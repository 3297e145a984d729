"""``dshhooks demo``: one agent turn of real tool calls on real files, through the plugins that are installed."""

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
from hookspecs.execution import ToolExecution, ToolFailure, ToolResult
from hookspecs.markers import hookimpl
from hookspecs.values import content_text

if TYPE_CHECKING:
    from dshhooks.config import HarnessConfig
    from dshhooks.engine.trace import Trace
    from dshhooks.harness import Harness

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


@click.command(short_help="Watch the plugins at work in an agent turn.")
@with_switches
def demo(switches: Switches) -> None:
    """Run an agent turn of real tool calls in a temporary folder and print who decided what.

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
    from dshhooks.cli.approve import fixed
    from dshhooks.cli.view import Answerer
    from dshhooks.harness import Harness
    from dshhooks.plugins.manager import StartError

    view = _View()
    try:
        async with Harness.open(config, plugins=[view, Answerer(fixed(False))]) as harness:
            if not _ready(harness):
                return 1
            _flaky(harness, folder)
            await _turn(harness, view, str(folder))
            _summary(harness)
    except StartError as exc:
        _say_missing([str(exc)])
        return 1
    for shows in view.surprises:
        click.secho(f"unexpected: {shows} — it came out differently", fg="red", err=True)
    return 1 if view.surprises else 0


async def _turn(harness: Harness, view: _View, folder: str) -> None:
    """Run one agent turn whose scripted model asks for a scene's call at each step."""
    from dshhooks.llm.scripted import CallTools, Say, ScriptedAdapter

    names = [name for name in harness.hooks.plugins if name not in (_View.name, "answerer")]
    click.echo(f"plugins found by entry point: {', '.join(names)}\n")
    played = [scene for scene in _SCENES if _obeyed(harness, scene.needs)]
    for scene in _SCENES:
        if scene not in played:
            click.echo(f"not played: {scene.needs} does not take part ({scene.shows})")
    steps = [CallTools([(scene.tool, scene.arguments)]) for scene in played]
    harness.llm.register_adapter(["scripted"], ScriptedAdapter([*steps, Say("That is all I tried to do.")]))
    with harness.hooks.trace() as trace:
        view.watch(trace, played)
        agent = await harness.create_agent(provider="scripted", model="demo", cwd=folder)
        click.secho("user> Show me what the plugins do.\n", fg="cyan")
        agent.followup("Show me what the plugins do.")
        await agent.when_idle()
    click.secho(f"agent> {content_text(agent.session.messages()[-1].content)}\n", fg="cyan")
    view.surprises += [scene.shows for scene in view.scenes]  # what never came


class _View:
    """Prints the tree of every call as it ends, and compares it with what its scene must show."""

    name = "demo"

    def __init__(self) -> None:
        self.surprises: list[str] = []
        self.scenes: list[_Scene] = []
        self._trace: Trace | None = None
        self._seen = 0

    def watch(self, trace: Trace, scenes: list[_Scene]) -> None:
        """Follow these scenes in this trace."""
        self._trace, self.scenes = trace, list(scenes)

    @hookimpl(trylast=True)
    def tools_result(self, execution: ToolExecution, result: ToolResult) -> None:
        """Print one call."""
        from dshhooks.cli.show import tree
        from hookspecs.json import encode

        if self._trace is None or not self.scenes:
            return
        scene = self.scenes.pop(0)
        records = [record for record in self._trace.records[self._seen :] if record.plugin != self.name]
        self._seen = len(self._trace.records)
        click.secho(f"# {scene.shows}", fg="cyan")
        least = min(record.depth for record in records)
        tree(
            [evolve(record, depth=record.depth - least) for record in records],
            f"{execution.name} {encode(execution.arguments)}",
        )
        for line in _told(result):
            click.echo(f"  {line}")
        click.echo()
        policy = next((record.outcome for record in records if record.hook == "policy"), "")
        if scene.expects not in _outcomes(result, policy):
            self.surprises.append(scene.shows)


def _ready(harness: Harness) -> bool:
    """Say whether every plugin that was not switched off is loaded, and what to do if not."""
    broken = [status for status in harness.plugins.report() if status.status in ("failed", "duplicate")]
    problems = [*harness.plugins.problems, *(f"plugin {status.name!r}: {status.reason}" for status in broken)]
    if problems:
        _say_missing(problems)
    return not problems


def _say_missing(problems: list[str]) -> None:
    for problem in problems:
        click.secho(problem, fg="red", err=True)
    names = " ".join(f"dshhooks-{name}" for name in _PLUGINS)
    click.echo(f"the demo needs the contrib plugins: `make demo` in a checkout, or `pip install {names}`", err=True)


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


def _obeyed(harness: Harness, name: str) -> bool:
    return any(row.name == name and row.status == "loaded" and not row.reason for row in harness.plugins.report())


def _outcomes(result: ToolResult, policy: str) -> set[str]:
    if not isinstance(result, ToolFailure):
        return {"ok"}
    return {"failure", policy, result.error.info.code if result.error.info else ""}


def _told(result: ToolResult) -> Iterator[str]:
    from dshhooks.cli.show import printable

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
