"""``dshhooks bridge``: hook files of other agents, checked, explained and run (spec/external-hooks.md A.11)."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dshhooks.cli.bridge_files import import_, trust
from dshhooks.cli.bridge_options import Flags, bridge_flags, opened, print_note, require_pinned
from dshhooks.cli.options import Switches, stdin_text, stdout_kept, with_plugin_switches
from dshhooks.cli.show import print_json, printable, table
from dshhooks.cli.version import number

if TYPE_CHECKING:
    from dshhooks.bridge.outcomes import Dispatch
    from dshhooks.bridge.runtime import HookRuntime

__all__ = ["bridge"]

_json_flag = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")


@click.group("bridge")
@with_plugin_switches
@click.pass_context
def bridge(ctx: click.Context, switches: Switches) -> None:
    """Run the hook files of Claude Code, Codex, opencode and our own."""
    ctx.obj = switches


@bridge.command()
@click.option("--strict", is_flag=True, help="Warnings fail too.")
@_json_flag
@bridge_flags
def validate(flags: Flags, strict: bool, as_json: bool) -> None:
    """Check the hook files: exits 0 when they are fine, 1 when not. Nothing is run."""
    with opened(flags, tell=False, trust=lambda _source: True) as runtime:
        notes = runtime.diagnostics
    if as_json:
        print_json([note.as_json() for note in notes])
    else:
        for note in notes:
            print_note(note)
    failing = {"error", "warning"} if strict else {"error"}
    sys.exit(1 if any(note.level in failing for note in notes) else 0)


@bridge.command(short_help="Run the hooks of one event and print their answer.")
@click.option("--event", required=True, metavar="NAME", help="Any dialect's name of it.")
@click.option("--payload", metavar="FILE", help="JSON; default: stdin.")
@click.option("--subject", metavar="TEXT", help="What matchers are compared with; default: from the payload.")
@click.option("--ask-exit", is_flag=True, help="Exit 3 for an ask; by default it exits 0.")
@_json_flag
@bridge_flags
def run(flags: Flags, event: str, payload: str | None, subject: str | None, ask_exit: bool, as_json: bool) -> None:
    """Run the hooks of one event and print what they say, as one JSON line.

    Exits 0 for allow, ask and no decision, 2 for a deny, 1 when nothing could be run.
    """
    from dshhooks.cli.loop import run as run_loop

    given = _payload(payload)
    with opened(flags) as runtime:
        require_pinned(runtime)
        dispatch: Dispatch = run_loop(_dispatched, runtime, event, given, subject)
    sys.exit({"deny": 2, "ask": 3 if ask_exit else 0}.get(dispatch.outcome.decision, 0))


async def _dispatched(runtime: HookRuntime, event: str, payload: Any, subject: str | None) -> Dispatch:
    """Dispatch and print; then wait for the hooks nobody waits for, or they would never get to their end."""
    async with runtime:
        dispatch = await runtime.dispatch(event, payload, subject=subject)
        print_json(dispatch.as_json())
        sys.stdout.flush()
        await runtime.aclose(drain=True)
        return dispatch


def _payload(file: str | None) -> Any:
    """Read a payload.

    Raises:
        UsageError: It cannot be read, or is no JSON.
    """
    try:
        text = _text(file)
        return json.loads(text) if text.strip() else {}
    except OSError as exc:
        raise click.UsageError(f"{file}: {exc.strerror}") from None
    except (ValueError, RecursionError) as exc:
        raise click.UsageError(f"the payload is not JSON: {exc}") from None


def _text(file: str | None) -> str:
    if file is not None and file != "-":
        return Path(file).read_bytes().decode("utf-8-sig")
    return "" if file is None and sys.stdin is not None and sys.stdin.isatty() else stdin_text().removeprefix("\ufeff")


@bridge.command()
@_json_flag
@bridge_flags
def dump(flags: Flags, as_json: bool) -> None:
    """Print the files and the active groups as one JSON document."""
    with opened(flags) as runtime:
        print_json(runtime.configuration.as_json())


@bridge.command("list")
@_json_flag
@bridge_flags
def list_(flags: Flags, as_json: bool) -> None:
    """Print one line per file: scope, dialect, path."""
    with opened(flags) as runtime:
        sources = runtime.sources
    if as_json:
        print_json([source.as_json() for source in sources])
        return
    for source in sources:
        click.echo(printable(f"{source.scope}\t{source.dialect}\t{source.file}").replace("\n", "\\n"))


@bridge.command()
@click.option("--event", required=True, metavar="NAME", help="Any dialect's name of it.")
@click.option("--payload", metavar="FILE", help="JSON; default: stdin.")
@click.option("--subject", metavar="TEXT", help="What matchers are compared with; default: from the payload.")
@click.option("--execute", is_flag=True, help="Run those that fire, too.")
@_json_flag
@bridge_flags
def explain(flags: Flags, event: str, payload: str | None, subject: str | None, execute: bool, as_json: bool) -> None:
    """Say for every configured hook whether it would run, and why. Nothing is run without --execute."""
    from dshhooks.cli.loop import run as run_loop

    given = _payload(payload)
    with opened(flags) as runtime:
        require_pinned(runtime)
        lines = [line.as_json() for line in runtime.explain(event, given, subject=subject)]
        if execute:
            dispatch = run_loop(_executed, runtime, event, given, subject)
            runs = {run.hook.id: run.as_json() for run in dispatch.runs}
            lines = [line | ({"run": runs[line["id"]]} if line["id"] in runs else {}) for line in lines]
    if as_json:
        print_json(lines)
        return
    rows = [(line["id"], "runs" if line["runs"] else "-", line["reason"], _ending(line)) for line in lines]
    table(["hook", "", "why", *(["outcome"] if execute else [])], [row if execute else row[:3] for row in rows])


def _ending(line: dict[str, Any]) -> str:
    run = line.get("run")
    if run is None:
        return ""
    outcome = run["outcome"]
    return f"{outcome['decision']}: {run.get('error') or outcome.get('reason') or ''}".rstrip(": ")


async def _executed(runtime: HookRuntime, event: str, payload: Any, subject: str | None) -> Dispatch:
    async with runtime:
        dispatch = await runtime.dispatch(event, payload, subject=subject)
        await runtime.aclose(drain=True)
        return dispatch


@bridge.command(short_help="Answer requests on stdin, one JSON object a line.")
@click.option("--strict", is_flag=True, help="Refuse to run anything while a hook file has errors.")
@_json_flag
@bridge_flags
def listen(flags: Flags, strict: bool, as_json: bool) -> None:
    """Answer requests on stdin, one JSON object a line, until `{"op": "bye"}` or the end of stdin."""
    from dshhooks.bridge.listen import serve
    from dshhooks.cli.loop import run as run_loop

    if sys.stdin is None or sys.stdout is None:
        # Their numbers are somebody else's by now, who would get the answers.
        raise click.ClickException("listen needs stdin and stdout: they are closed")
    with stdout_kept(True), opened(flags) as runtime:
        run_loop(partial(serve, strict=strict), runtime)


@bridge.command()
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N.")
@_json_flag
@bridge_flags
def history(flags: Flags, tail: int | None, as_json: bool) -> None:
    """Print the runs that were recorded, oldest first."""
    from dshhooks.bridge.history import read_history

    path = flags.history_path()
    records = read_history(path, tail) if path is not None else []
    if as_json:
        print_json(records)
        return
    heads = ("time", "event", "subject", "decision", "outcome", "hook", "error")
    table(heads, [[str(record.get(name) or "") for name in heads] for record in records])


@bridge.command("help")
@_json_flag
@bridge_flags
@click.pass_context
def help_(context: click.Context, flags: Flags, as_json: bool) -> None:
    """Print the verbs; with --json each with what it does."""
    assert context.parent is not None  # it is a verb of the group
    if as_json:
        print_json({name: verb.get_short_help_str(200) for name, verb in sorted(bridge.commands.items())})
    else:
        click.echo(context.parent.get_help())


@bridge.command("version")
@_json_flag
@bridge_flags
def version_(flags: Flags, as_json: bool) -> None:
    """Print the version."""
    if as_json:
        print_json({"version": number()})
    else:
        click.echo(f"dshhooks {number()}")


bridge.add_command(trust)
bridge.add_command(import_)
