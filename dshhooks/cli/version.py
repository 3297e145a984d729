"""``dshhooks version``."""

from __future__ import annotations

import click

import dshhooks

__all__ = ["version"]


@click.command()
def version() -> None:
    """Print the version."""
    click.echo(f"dshhooks {dshhooks.__version__}")
