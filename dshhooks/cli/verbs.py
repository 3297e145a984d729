"""The verbs as click commands: each is imported when it is asked for, and errors become exit codes."""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Sequence

import click

from dshhooks.cli.options import Switches, switch_options
from hookspecs.errors import HarnessError

__all__ = ["cli", "run"]

# verb -> module holding a click command of that name
_VERBS = {
    "bridge": "dshhooks.cli.bridge",
    "call": "dshhooks.cli.call",
    "demo": "dshhooks.cli.demo",
    "doctor": "dshhooks.cli.doctor",
    "handle": "dshhooks.cli.handle",
    "hooks": "dshhooks.cli.hooks",
    "install": "dshhooks.cli.install",
    "mock-llm": "dshhooks.cli.mock_llm",
    "plugins": "dshhooks.cli.plugins",
    "run": "dshhooks.cli.run",
    "serve": "dshhooks.cli.serve",
    "sessions": "dshhooks.cli.sessions",
    "uninstall": "dshhooks.cli.install",
    "version": "dshhooks.cli.version",
}


class _Verbs(click.Group):
    """A group that imports a verb when it is asked for: `dshhooks version` loads nothing else."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        home = _VERBS.get(name)
        return getattr(importlib.import_module(home), name.replace("-", "_")) if home is not None else None


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@switch_options
@click.pass_context
def cli(ctx: click.Context, switches: Switches) -> None:
    """Intercept what an AI agent does, with plugins."""
    ctx.obj = switches


def run(arguments: Sequence[str]) -> None:
    """Run the command line and exit."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="dshhooks: %(message)s")
    try:
        code = cli.main(args=list(arguments), prog_name="dshhooks", standalone_mode=False)
    except click.exceptions.Exit as exc:
        code = exc.exit_code
    except click.ClickException as exc:
        exc.show()
        code = 1
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        code = 130
    except (HarnessError, OSError) as exc:  # OSError: a full disk behind stdout, say
        click.echo(f"error: {exc}", err=True)
        code = 1
    sys.exit(code if isinstance(code, int) else 0)
