"""``dshhooks sessions``: the sessions of the configured store, read without changing them."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import click

from dshhooks.cli.options import Switches, with_switches

__all__ = ["sessions"]


@click.group()
@with_switches
@click.pass_context
def sessions(ctx: click.Context, switches: Switches) -> None:
    """Look at stored sessions."""
    ctx.obj = switches


def _with_store(switches: Switches, work: Callable[[Any], Awaitable[Any]]) -> Any:
    import anyio

    from dshhooks.session.store import open_store

    config = switches.load()
    if config.store.url is None:
        raise click.UsageError(
            'no store is configured; set [store] url = "sqlite:///.dshhooks/sessions.db" in dshhooks.toml'
        )

    async def run() -> Any:
        store = open_store(config.store.url)
        try:
            return await work(store)
        finally:
            await store.aclose()

    return anyio.run(run)


@sessions.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@with_switches
def list_(as_json: bool, switches: Switches) -> None:
    """List the stored sessions, oldest first."""
    from dshhooks.cli.show import table

    headers = sorted(_with_store(switches, lambda store: store.list()), key=lambda header: header.created_at)
    if as_json:
        import attrs

        click.echo(json.dumps([attrs.asdict(header) for header in headers]))
    elif headers:
        table(
            ("session", "created", "folder", "parent"),
            [(h.id, _when(h.created_at), h.cwd or "", h.parent_session or "") for h in headers],
        )
    else:
        click.echo("no session is stored")


@sessions.command()
@click.argument("session_id")
@with_switches
def show(session_id: str, switches: Switches) -> None:
    """Print a session's conversation."""
    from dshhooks.cli.show import printable

    stored = _with_store(switches, lambda store: store.inspect(session_id))
    header = stored.header
    click.secho(printable(f"{header.id}  {_when(header.created_at)}  {header.cwd or ''}"), bold=True)
    for event in stored.events:
        line = _shown(event)
        if click.unstyle(line):
            click.echo(line)


@sessions.command()
@click.argument("session_id")
@with_switches
def export(session_id: str, switches: Switches) -> None:
    """Print a session's events, one JSON document a line."""
    stored = _with_store(switches, lambda store: store.inspect(session_id))
    for event in stored.events:
        click.echo(json.dumps(event.document(), ensure_ascii=True))


@sessions.command()
@click.argument("session_id", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@with_switches
def verify(session_id: str | None, as_json: bool, switches: Switches) -> None:
    """Check one session, or all: readable, contiguous, balanced. Exits 1 when one is not.

    Also says what has changed in the configured plugins since a session was last accepted; a changed policy revision
    of the operation guards means that it is only resumed when that is allowed.
    """
    from dshhooks.cli.verify import configured, look

    now = configured(switches.load())
    findings = _with_store(switches, lambda store: look(store, session_id, now))
    if as_json:
        click.echo(json.dumps([finding.document() for finding in findings]))
    else:
        for finding in findings:
            _show_finding(finding)
    sys.exit(1 if any(finding.problem for finding in findings) else 0)


def _show_finding(finding: Any) -> None:
    from dshhooks.cli.show import printable

    mark = click.style("FAIL", fg="red") if finding.problem else click.style("ok  ", fg="green")
    click.echo(mark + printable(f" {finding.name}{f': {finding.problem}' if finding.problem else ''}"))
    for change in finding.drift.changes if finding.drift is not None else ():
        line = printable(f"     {change.severity} {change}")
        click.secho(line, fg="yellow" if change in finding.drift.warnings else None)


def _when(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _shown(event: Any) -> str:
    """Return the line for an event, or nothing; what models and tools wrote is shown, never obeyed."""
    from dshhooks.cli.show import printable

    head, text, colour = _parts(event, event.data)
    return click.style(printable(head), fg=colour) + printable(text)


def _parts(event: Any, data: Any) -> tuple[str, str, str | None]:
    from hookspecs.values import content_text

    if event.type in ("user/message", "steering/message"):
        return f"{data.source.kind}> ", content_text(data.content), "cyan"
    if event.type == "assistant/message":
        text = content_text([block for block in data.content if block.kind == "text"])
        return ("agent> ", text, "green") if text else ("", "", None)
    if event.type == "tool/call":
        return f"  → {data.name} ", data.arguments, "yellow"
    if event.type == "tool/result":
        return "  ✗ " if data.is_error else "  ✓ ", content_text(data.content), "yellow"
    if event.type == "prompt/blocked":
        return f"refused: {data.reason}", "", "red"
    if event.type == "turn/end":
        return f"-- turn {data.turn}: {data.reason.kind}", "", "bright_black"
    return "", "", None
