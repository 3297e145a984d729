"""``dshhooks doctor``: whether a client is guarded, tried out with the command that is installed."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dshhooks.cli.install import CLIENTS_ARE
from dshhooks.cli.options import stdout_kept

if TYPE_CHECKING:
    from dshhooks.clients.doctor import Examination

__all__ = ["doctor"]


@click.command(short_help="Say whether another agent is guarded.", epilog=CLIENTS_ARE)
@click.argument("client")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def doctor(client: str, as_json: bool) -> None:
    """Say whether CLIENT is guarded: run what is installed on a recorded call, and on half of one.

    Exits 0 when it is, 1 when something is missing or wrong.
    """
    from dshhooks.clients.doctor import examine
    from dshhooks.clients.install_forms import client_row

    row = client_row(client)
    with stdout_kept(as_json):
        found = examine(row, Path.cwd(), os.environ)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
    else:
        _show(found)
    sys.exit(0 if found.fine else 1)


def _show(found: Examination) -> None:
    from dshhooks.cli.show import one_line, table

    for place in found.places:
        said = f"asked at {', '.join(place.events)}" if place.events else "not installed"
        click.echo(one_line(f"{place.scope}: {place.path}: {said}", 500))
    for check in found.checks:
        mark = click.style("fine", fg="green") if check.fine else click.style("wrong", fg="red")
        speed = f" ({check.milliseconds:.0f} ms)" if check.milliseconds is not None else ""
        click.echo(f"{mark}  {check.name}: {one_line(check.said, 500)}{speed}")
    if found.plugins:
        rows = [(row.name, row.status, row.reason or ", ".join(row.hooks) or "nothing here") for row in found.plugins]
        table(["plugin", "", "takes part in"], rows)
    for note in found.notes:
        click.echo(f"note: {one_line(note, 1000)}")
    for problem in found.problems:
        click.secho(f"wrong: {one_line(problem, 1000)}", fg="red", err=True)
