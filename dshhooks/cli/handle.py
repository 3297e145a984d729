"""``dshhooks handle``: its place among the verbs, and its help. What runs is ``dshhooks.clients.front``."""

from __future__ import annotations

import click

__all__ = ["handle"]


@click.command(
    short_help="Be the hook command inside another agent.",
    context_settings={"ignore_unknown_options": True},
    options_metavar="[--client CLIENT] [--budget SECONDS] [--on-error deny|allow] [--approve] [SWITCHES]",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="")
def handle(arguments: tuple[str, ...]) -> None:
    """Read one event of another agent as JSON from stdin, ask the plugins, answer as that client needs it.

    \b
    --client CLIENT    claude, codex, gemini, qwen, copilot, copilot-native, vibe, openhands, opencode,
                       or auto (the default): told by what is on stdin
    --budget SECONDS   deny when the plugins have not answered by then; default: 20, for Copilot and auto 15
    --on-error WHAT    deny (the default) or allow: what a tool call ends as that could not be judged
    --approve          pass a plugin's Allow() on as the client's own approval
    --config FILE, --plugins A,B, --disable A,B, --no-plugins: as everywhere

    A plugin that denies, one that cannot be loaded, a broken configuration, a spent budget: all deny, in the form that
    client honours. The exit code is the client's, too: usually 0, with the answer on stdout.
    """
    from dshhooks.clients.front import main

    main(arguments)
