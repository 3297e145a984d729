"""``dshhooks bridge trust`` and ``import``: the verbs about files and not about events."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from dshhooks.bridge.foreign import CLIENTS
from dshhooks.cli.bridge_options import Flags, bridge_flags, opened, print_note
from dshhooks.cli.show import print_json, printable

__all__ = ["import_", "trust"]

_json_flag = click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")


@click.command(short_help="Agree to run hook files of a project as they are now.")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--remove", is_flag=True, help="Trust them no more.")
@_json_flag
@bridge_flags
def trust(flags: Flags, files: tuple[str, ...], remove: bool, as_json: bool) -> None:
    """Agree to run hook files of a project as they are now; a changed file is not trusted any more.

    Without FILE: the project's files, after showing them.
    """
    from dshhooks.bridge.trust import trust_store

    store = trust_store(flags.options())
    if store is None:
        raise click.ClickException("there is no home directory to remember it in: set HOME or --home")
    problem = store.problem()
    if problem is not None:
        click.echo(printable(f"{store.path} could not be read and is written anew: {problem}"), err=True)
    chosen = files or tuple(_project_files(flags))
    if remove:
        store.remove(chosen)
    else:
        contents = {file: _content(file) for file in chosen}
        if not files:
            _show(contents)
        store.add(contents)
    if as_json:
        print_json(store.entries())
        return
    for file in chosen:
        click.echo(printable(f"{'not trusted any more' if remove else 'trusted'}: {file}"))
    if not chosen:
        click.echo("there are no hook files in this project", err=True)


def _project_files(flags: Flags) -> list[str]:
    with opened(flags, tell=False, trust=lambda _source: True) as runtime:
        return [source.file for source in runtime.sources if source.scope in ("project", "local")]


def _content(file: str) -> bytes:
    from dshhooks.bridge.files import read_regular

    try:
        return read_regular(file)
    except (OSError, ValueError) as exc:
        reason = exc.strerror if isinstance(exc, OSError) else str(exc)
        raise click.ClickException(f"{file} cannot be trusted: {reason}") from None


def _show(contents: dict[str, bytes]) -> None:
    """Show what is about to be trusted; on a terminal, ask."""
    for file, data in contents.items():
        click.secho(f"── {printable(file)}", bold=True, err=True)
        click.echo(printable(data.decode("utf-8", "replace")).rstrip(), err=True)
    if contents and sys.stdin is not None and sys.stdin.isatty():
        click.confirm("run these from now on?", abort=True, err=True)


@click.command("import", short_help="Translate another program's hook file.")
@click.argument("file")
@click.option("--from", "client", type=click.Choice(list(CLIENTS)), required=True, help="Whose file it is.")
@_json_flag
@bridge_flags
def import_(flags: Flags, file: str, client: str, as_json: bool) -> None:
    """Translate another program's hook FILE: the native document on stdout, what was lost on stderr.

    With --json, both in one document: {"document": ..., "lost": [...]}.
    """
    from dshhooks.bridge.importer import import_document
    from dshhooks.bridge.jsonfile import Report, read_document

    report = Report(file)
    document = read_document(Path(file), report, pipes={})
    if document is None or not document.valid:
        raise click.ClickException(f"{file}: {report.diagnostics[0].message if report.diagnostics else 'not found'}")
    imported = import_document(document.data, client, file)
    if as_json:
        print_json({"document": imported.document, "lost": [note.as_json() for note in imported.lost]})
    else:
        click.echo(json.dumps(imported.document, indent=2, ensure_ascii=True))
        for note in imported.lost:
            print_note(note, err=True)
    sys.exit(1 if any(note.level == "error" for note in imported.lost) else 0)
