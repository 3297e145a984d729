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
def sessions() -> None:
    """Look at stored sessions."""


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
@with_switches
def verify(session_id: str | None, switches: Switches) -> None:
    """Check one session, or all: readable, contiguous, balanced. Exits 1 when one is not."""
    findings = _with_store(switches, lambda store: _verify(store, session_id))
    for name, problem in findings:
        mark = click.style("FAIL", fg="red") if problem else click.style("ok  ", fg="green")
        click.echo(f"{mark} {name}{f': {problem}' if problem else ''}")
    sys.exit(1 if any(problem for _, problem in findings) else 0)


async def _verify(store: Any, session_id: str | None) -> list[tuple[str, str]]:
    from dshhooks.session.enclosure import TurnEnclosure
    from hookspecs.errors import HarnessError

    names = [session_id] if session_id else [header.id for header in await store.list()]
    findings = []
    for name in names:
        try:
            stored = await store.inspect(name)
            check = TurnEnclosure()
            for event in stored.events:
                check(event)
            repair = list(getattr(stored, "repair", ()))
            findings.append((name, f"not closed; resuming repairs it: {'; '.join(map(str, repair))}" if repair else ""))
        except HarnessError as exc:
            findings.append((name, str(exc)))
    return findings


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
