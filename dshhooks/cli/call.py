"""``dshhooks call``: one tool call through the whole pipeline."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from dshhooks.cli.options import Switches, stdin_text, stdout_kept, with_switches

if TYPE_CHECKING:
    from dshhooks.engine.trace import Trace
    from hookspecs.execution import Approver, ToolResult

# Where the tools of the documentation come from.
_BRINGS = "; the plugin `workspace-tools` brings bash, read_file, write_file and list_files"
_EXAMPLE = """'{"path": "a.txt"}'"""

__all__ = ["call", "exit_code", "run_call"]


@click.command(short_help="Run one tool call.")
@click.argument("tool")
@click.argument("arguments", metavar="[JSON]", default="{}")
@click.option("--trace", "show_trace", is_flag=True, help="Print who decided what, and how long it took.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@click.option(
    "--approve", type=click.Choice(["yes", "no"]), help="The answer to an ask; default: the terminal, else no."
)
@with_switches
def call(tool: str, arguments: str, show_trace: bool, as_json: bool, approve: str | None, switches: Switches) -> None:
    """Run TOOL with JSON arguments ("-" reads them from stdin; default: {}) in this folder.

    Exits 0 when it worked, 2 when it was denied, 1 when it failed.
    """
    from dshhooks.cli.approve import from_command_line
    from dshhooks.cli.loop import run

    parsed = _parse(arguments)
    with stdout_kept(as_json):
        result, trace = run(run_call, switches, tool, parsed, from_command_line(approve))
    decision = _decision(trace)
    if as_json:
        from dshhooks.cli.show import print_json

        print_json(_document(result, decision, trace))
    else:
        if show_trace:
            from dshhooks.cli.show import tree
            from hookspecs.json import encode

            tree(trace.records, f"{tool} {encode(parsed)}")
        _print_result(result, decision)
    sys.exit(exit_code(result, decision))


async def run_call(switches: Switches, tool: str, arguments: Any, approver: Approver) -> tuple[ToolResult, Trace]:
    """Compose a host, run one call in it, and return the result with its trace. Models and agents are not needed."""
    from dshhooks.harness import build
    from hookspecs.execution import ToolCall

    harness = build(switches.load())
    try:
        harness.plugins.raise_problems()
        with harness.hooks.trace() as trace:
            result = await harness.tools.execute(ToolCall("call-1", tool, arguments, approver=approver))
        _hint_unknown(harness, tool, result)
    finally:
        harness.hooks.close()
    return result, trace


def _hint_unknown(harness: Any, tool: str, result: ToolResult) -> None:
    if result.is_error and harness.tools.get(tool) is None:
        names = ", ".join(schema["name"] for schema in harness.tools.schemas())
        off = ", ".join(row.name for row in harness.plugins.report() if row.status != "loaded")
        more = f"; not loaded: {off} (`dshhooks plugins` says why)" if off else ""
        click.echo(f"hint: tools of the loaded plugins: {names or 'none'}{more}{'' if names else _BRINGS}", err=True)


def _parse(text: str) -> Any:
    from hookspecs.json import parse

    try:
        return parse(stdin_text() if text == "-" else text)
    except ValueError as exc:
        raise click.UsageError(f"JSON: {exc}; give one JSON document, for example {_EXAMPLE}") from None


def _decision(trace: Trace) -> str | None:
    # Behind a refusal at admission there is no policy; a call made by the tool comes later in the trace.
    decided = (record for record in trace.records if record.hook in ("admission", "policy"))
    return next((each.outcome for each in decided if each.hook == "policy" or each.outcome != "allow"), None)


def exit_code(result: ToolResult, decision: str | None) -> int:
    """Return 0 for success, 2 when policy did not let the call run, else 1."""
    if not result.is_error:
        return 0
    return 2 if decision == "deny" else 1


def _document(result: ToolResult, decision: str | None, trace: Trace) -> dict[str, Any]:
    import attrs

    from dshhooks.tools.wire import block_json, context_json
    from hookspecs.execution import ToolFailure
    from hookspecs.json import thaw

    error = None
    if isinstance(result, ToolFailure):
        info = result.error.info
        error = {"message": result.error.message, "name": info and info.name, "code": info and info.code}
    return {
        "is_error": result.is_error,
        "value": None if isinstance(result, ToolFailure) else thaw(result.value),
        "content": [block_json(block) for block in result.content],
        "error": error,
        "decision": decision,
        "contexts": [context_json(context) for context in result.contexts],
        "trace": [attrs.asdict(record) for record in trace.records],
    }


def _print_result(result: ToolResult, decision: str | None) -> None:
    from dshhooks.cli.show import printable
    from hookspecs.execution import ToolFailure
    from hookspecs.values import content_text

    if not isinstance(result, ToolFailure):
        # A tool's own output goes out as it is, lone surrogates apart: no encoding has them.
        click.echo(content_text(result.content).encode("utf-8", "replace").decode("utf-8"))
        return
    info = f" [{result.error.info.code}]" if result.error.info else ""
    verdict = "denied" if decision == "deny" else "failed"
    click.secho(printable(f"{verdict}{info}: {result.error.message}"), fg="red", err=True)
