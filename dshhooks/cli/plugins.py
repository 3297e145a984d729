"""``dshhooks plugins``: what is loaded and why not, effective chains, conformance, and a scaffold."""

from __future__ import annotations

import json
import shlex
import sys
from typing import Any

import attrs
import click

from dshhooks.cli.options import Switches, stdout_kept, with_switches

__all__ = ["plugins"]


@click.group(invoke_without_command=True, short_help="List, check and make plugins.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@with_switches
@click.pass_context
def plugins(ctx: click.Context, as_json: bool, switches: Switches) -> None:
    """List the installed plugins: what is loaded, and why the others are not.

    Exits 1 when the configuration would not let the host start.
    """
    ctx.obj = switches
    if ctx.invoked_subcommand is None:
        _list(switches, as_json)


@plugins.command("list")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@with_switches
def list_(as_json: bool, switches: Switches) -> None:
    """The same list as without a subcommand."""
    _list(switches, as_json or _said_before())


def _said_before() -> bool:
    """Whether --json stands before the subcommand's name."""
    parent = click.get_current_context().parent
    return parent is not None and bool(parent.params.get("as_json"))


def _list(switches: Switches, as_json: bool) -> None:
    from dshhooks.harness import build

    with stdout_kept(as_json):
        harness = build(switches.load())
        harness.hooks.close()
    report = harness.plugins.report()
    if as_json:
        click.echo(json.dumps([attrs.asdict(status) for status in report], indent=2))
    elif report:
        _table(report)
    else:
        click.echo("no plugin is installed; `pip install` one, or `dshhooks plugins new NAME`")
    for problem in harness.plugins.problems:
        click.secho(f"the host would not start: {problem}", fg="red", err=True)
    sys.exit(1 if harness.plugins.problems else 0)


def _table(report: list[Any]) -> None:
    from dshhooks.cli.show import table

    table(
        ("plugin", "status", "distribution", "version", "hooks or reason"),
        [
            (row.name, row.status, row.distribution, row.version,
             ", ".join(row.hooks) + (f" ({row.reason})" if row.reason else "") if row.hooks else row.reason)
            for row in report
        ],
    )  # fmt: skip


@plugins.command()
@click.argument("hook")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@with_switches
def chain(hook: str, as_json: bool, switches: Switches) -> None:
    """Print who takes part in HOOK, outermost first."""
    from dshhooks.cli.show import table
    from dshhooks.harness import build

    as_json = as_json or _said_before()
    with stdout_kept(as_json):
        harness = build(switches.load())
        try:
            harness.plugins.raise_problems()
            links = harness.hooks.chain(hook)
        finally:
            harness.hooks.close()
    if as_json:
        click.echo(json.dumps([attrs.asdict(link) for link in links]))
    elif links:
        table(("plugin", "kind"), [(link.plugin, link.kind) for link in links])
    else:
        click.echo(f"no loaded plugin implements {hook}")


@plugins.command(short_help="Check that a plugin keeps the contract.")
@click.argument("name_or_path")
@with_switches
def check(name_or_path: str, switches: Switches) -> None:
    """Check that a plugin (an installed one by name, or FILE.py[:ATTRIBUTE]) keeps the contract.

    It is made with its options from the configuration, if there are any.
    """
    from dshhooks.cli.show import one_line
    from dshhooks.testing.conformance import check_plugin

    findings = check_plugin(name_or_path, switches.load())
    for finding in findings:
        mark = click.style("ok  ", fg="green") if finding.ok else click.style("FAIL", fg="red")
        click.echo(f"{mark} {finding.what}{f': {one_line(finding.detail, 500)}' if finding.detail else ''}")
    sys.exit(0 if all(finding.ok for finding in findings) else 1)


@plugins.command()
@click.argument("name")
@click.option("--dir", "folder", default=".", metavar="D", help="Where to make the folder; default: here.")
def new(name: str, folder: str) -> None:
    """Make an installable plugin called NAME, with a test."""
    from dshhooks.cli.scaffold import write_plugin

    made = write_plugin(name, folder)
    click.echo(f"made {made}")
    where = shlex.quote(str(made))
    click.echo(f"next: pip install -e {where} pytest && pytest {where} && dshhooks plugins")
