"""``dshhooks serve``: the daemon that answers ``handle`` without starting Python anew, in the foreground."""

from __future__ import annotations

import json
import os

import click

from dshhooks.cli.options import Switches, with_switches

__all__ = ["serve"]


@click.command(short_help="Answer agents' hooks as a daemon.")
@click.option("--idle", type=click.FloatRange(min=1), metavar="SECONDS", help="End when unasked for so long (900).")
@click.option("--status", is_flag=True, help="Show your daemons, of every configuration, and start none.")
@click.option("--stop", "stopping", is_flag=True, help="Stop your daemons, of every configuration, and start none.")
@click.option("--json", "as_json", is_flag=True, help="With --status: one JSON document.")
@with_switches
def serve(idle: float | None, status: bool, stopping: bool, as_json: bool, switches: Switches) -> None:
    """Answer the agents' hooks for this folder and configuration until nobody asks any more.

    The hook that `dshhooks install` writes starts one when it needs one. The first line on stdout is the socket.
    """
    if status or stopping:
        _look_after(stopping, as_json)
    else:
        _serve(idle, switches)


def _look_after(stopping: bool, as_json: bool) -> None:
    from dshhooks.clients.daemons import own_folder, running, stop

    folder = own_folder()
    found = running(folder)
    if as_json:
        click.echo(json.dumps([{**(each.facts or {}), "pid": each.pid, "name": each.name} for each in found]))
    for each in found:
        if stopping:
            stop(folder, each)
        if not as_json:
            facts = each.facts or {"cwd": "(it does not answer)", "answered": 0}
            click.echo(f"{'stopped' if stopping else 'running'}: {each.pid}, {facts['answered']} calls, {facts['cwd']}")
    if not found and not as_json:
        click.echo(f"no daemon runs ({os.fsdecode(folder)})")


def _serve(idle: float | None, switches: Switches) -> None:
    from dshhooks.clients.serve import idle_seconds, serve, stand_here
    from dshhooks.clients.starter import take_lock

    stand = stand_here(_words(switches))
    try:
        lock = take_lock(stand.folder, stand.name)
    except OSError as exc:
        raise click.ClickException(
            f"{os.fsdecode(stand.folder)}: {exc.strerror or exc}; hooks work without a daemon, or set XDG_RUNTIME_DIR "
            "to a directory that is yours alone"
        ) from exc
    if lock is None:
        click.echo(f"a daemon for this folder and configuration runs already: {os.fsdecode(stand.socket_path)}")
        return
    out, err = os.dup(1), os.dup(2)  # both are the log's while plugins run
    try:
        serve(stand, lock, idle if idle is not None else idle_seconds(), lambda: _announce(out, stand.socket_path))
    finally:
        os.dup2(err, 2)  # whoever started it is told why it could not


def _words(switches: Switches) -> list[str]:
    """Return the switches as a hook's command line has them, so that its calls find this daemon."""
    valued = {"--config": switches.config, "--plugins": switches.plugins, "--disable": switches.disable}
    words = [word for name, value in valued.items() if value is not None for word in (name, value)]
    return [*words, *(["--no-plugins"] if switches.no_plugins else [])]


def _announce(out: int, path: bytes) -> None:
    os.write(out, path + b"\n")
    os.close(out)
