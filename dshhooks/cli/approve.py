"""Answering an ask from the command line."""

from __future__ import annotations

import os
import sys

import click

from dshhooks.cli.show import printable
from hookspecs.decisions import ApprovalOutcome
from hookspecs.execution import ApprovalRequest, Approver

__all__ = ["fixed", "from_command_line", "terminal"]


def from_command_line(answer: str | None) -> Approver:
    """Return who answers: ``--approve``, else the terminal if stdin and stderr are one, else always no."""
    if answer is not None:
        return fixed(answer == "yes")
    if all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        return terminal()
    return fixed(False, "there is no terminal to ask on; --approve yes would let it run")


def fixed(yes: bool, why: str = "") -> Approver:
    """Return an approver that always gives the same answer, and says so on stderr."""

    def answer(request: ApprovalRequest) -> ApprovalOutcome:
        click.echo(f"asked: {_question(request)} -> {'yes' if yes else 'no'}{f' ({why})' if why else ''}", err=True)
        return ApprovalOutcome.ALLOWED_ONCE if yes else ApprovalOutcome.REJECTED

    return answer


def terminal() -> Approver:
    """Return an approver that asks on the terminal; anything but yes is no."""

    async def answer(request: ApprovalRequest) -> ApprovalOutcome:
        import anyio

        click.secho(f"may this run? {_question(request)}", fg="yellow", err=True)
        click.echo("Allow once? [y/N] ", nl=False, err=True)
        # Not in a thread: Python would wait for it at exit, so that Ctrl-C needed an Enter. And not through sys.stdin,
        # whose buffer the selector knows nothing of; a terminal hands out one line at a time.
        await anyio.wait_readable(sys.stdin)
        line = os.read(sys.stdin.fileno(), 1024).decode("utf-8", "replace")
        return ApprovalOutcome.ALLOWED_ONCE if line.strip().lower() in ("y", "yes") else ApprovalOutcome.REJECTED

    return answer


def _question(request: ApprovalRequest) -> str:
    # What a model wrote must not draw a different question on the terminal.
    return printable(f"{request.tool_name}: {request.reason or 'no reason given'}")
