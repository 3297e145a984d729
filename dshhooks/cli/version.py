"""``dshhooks version``."""

from __future__ import annotations

import click

import dshhooks

__all__ = ["number", "version"]


def number() -> str:
    """Return the version's number."""
    return dshhooks.__version__


@click.command()
def version() -> None:
    """Print the version."""
    click.echo(f"dshhooks {number()}")
