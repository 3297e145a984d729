"""``dshhooks hooks``: the table of hookspecs."""

from __future__ import annotations

import json

import attrs
import click

__all__ = ["hooks"]


@click.command(short_help="Print the table of hookspecs.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def hooks(as_json: bool) -> None:
    """Print the table of hookspecs: name, canonical event, authority, what it returns."""
    from dshhooks.reference import hookspecs_table

    rows = hookspecs_table()
    if as_json:
        click.echo(json.dumps([attrs.asdict(row) for row in rows], indent=2))
        return
    from dshhooks.cli.show import table

    table(
        ("hook", "event", "authority", "returns"),
        [
            (f"{row.name}({', '.join(row.parameters)})", row.canonical, row.authority, " | ".join(row.returns))
            for row in rows
        ],
    )
