"""``dshhooks install`` and ``uninstall``: be the hook inside another agent, and stop being it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dshhooks.cli.options import Switches, with_switches

if TYPE_CHECKING:
    from dshhooks.clients.install import Result
    from dshhooks.clients.install_forms import Scope

__all__ = ["CLIENTS_ARE", "install", "scope_options", "uninstall"]

# As text: the help of a verb does not import the table. A test compares the two.
CLIENTS_ARE = "CLIENT: claude, codex, gemini, qwen, copilot, copilot-native, vibe, openhands or opencode."


def scope_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--project`` and ``--user`` to a command and hand over ``scope``: ``None`` when neither was said."""

    @click.option("--project", is_flag=True, help="The settings of the project in this folder (the default).")
    @click.option("--user", is_flag=True, help="Your own settings, for every project.")
    @functools.wraps(function)
    def command(*args: Any, project: bool, user: bool, **kwargs: Any) -> Any:
        if project and user:
            raise click.UsageError("--project and --user: say one of them")
        return function(*args, scope="user" if user else "project" if project else None, **kwargs)

    return command


@click.command(short_help="Let your plugins guard another agent.", epilog=CLIENTS_ARE)
@click.argument("client")
@scope_options
@click.option("--print", "only_print", is_flag=True, help="Print the file as it would be; change nothing.")
@click.option("--events", metavar="A,B", help="Only these events, in the client's words or Claude's.")
@click.option("--on-error", type=click.Choice(["deny", "allow"]), help="How a call ends that nobody could judge.")
@click.option("--approve", is_flag=True, help="Pass a plugin's Allow on as the client's approval.")
@with_switches
def install(client: str, scope: Scope | None, only_print: bool, events: str | None, switches: Switches,
            **flags: Any) -> None:  # fmt: skip
    """Put dshhooks into the settings of CLIENT, so that your plugins guard its tool calls.

    Everything else in the file stays as it is, and a copy of it is kept beside it. Doing it again changes nothing.
    """
    from dshhooks.clients.install import installation, preview, put_in

    wanted = installation(client, scope or "project", events=events, more=[*_more(switches), *_flags(**flags)])
    if only_print:
        text, warnings = preview(wanted)
        click.echo(text, nl=False)
        _warn(warnings)
        return
    result = put_in(wanted)
    done = "installed in" if result.changed else "already installed in"
    click.echo(f"{done} {result.path}: {', '.join(result.events)}")
    if result.changed and result.backup is not None:
        click.echo(f"the file as it was: {result.backup}")
    _warn(result.warnings)
    click.echo(f"try it: dshhooks doctor {client}")


@click.command(short_help="Take dshhooks out of another agent again.", epilog=CLIENTS_ARE)
@click.argument("client")
@scope_options
def uninstall(client: str, scope: Scope | None) -> None:
    """Take dshhooks out of the settings of CLIENT again; what else is in the file stays."""
    from dshhooks.clients.install import take_out
    from dshhooks.clients.install_forms import client_row, place_of_this_process

    result = take_out(client, place_of_this_process(client_row(client), scope or "project"))
    click.echo(_said(result))
    _warn(result.warnings)


def _said(result: Result) -> str:
    if not result.changed:
        return f"not installed in {result.path}"
    kept = f"; what was kept when it was installed is still in {result.backup}" if result.backup else ""
    return f"removed from {result.path}{kept}"


def _more(switches: Switches) -> Iterator[str]:
    """Return the switches for every call: relative to nothing, since agents start hooks where they like."""
    if switches.config is not None:
        yield from ("--config", str(Path(switches.config).absolute()))
    for name, value in (("--plugins", switches.plugins), ("--disable", switches.disable)):
        yield from (name, value) if value is not None else ()
    yield from ["--no-plugins"] if switches.no_plugins else ()


def _flags(on_error: str | None, approve: bool) -> Iterator[str]:
    yield from ("--on-error", on_error) if on_error is not None else ()
    yield from ["--approve"] if approve else ()


def _warn(warnings: tuple[str, ...]) -> None:
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
