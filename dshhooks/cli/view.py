"""What ``dshhooks run`` shows while it runs: ordinary plugins, as anybody could write them."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from dshhooks.cli.approve import from_command_line
from dshhooks.cli.show import printable
from hookspecs.decisions import ApprovalOutcome, BlockPrompt
from hookspecs.execution import ApprovalRequest, Approver, ToolExecution, ToolFailure, ToolResult
from hookspecs.markers import hookimpl
from hookspecs.model import TextDelta
from hookspecs.values import content_text

__all__ = ["Answerer", "JsonView", "TextView"]


class _Output:
    """Writes until the reader goes away (`| head`): a turn is not abandoned because nobody watches it any more."""

    def __init__(self) -> None:
        self._gone = False

    def write(self, text: str, *, end: bool = True) -> None:
        """Write to stdout."""
        if self._gone:
            return
        try:
            click.echo(text, nl=end)
        except BrokenPipeError:
            self._gone = True
            # Python flushes stdout at exit and would complain there.
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - open until the process ends


class _View:
    """What every view knows: why the prompt was refused, which need not be recorded anywhere."""

    name = "view"
    governs = False  # it only looks on

    def __init__(self) -> None:
        self.refused: str | None = None
        self._out = _Output()

    @hookimpl(wrapper=True, tryfirst=True)
    async def agent_prompt_submit(self, agent: Any, *, call_next: Any) -> Any:
        """Look at what everybody's policy came to."""
        decision = await call_next()
        if isinstance(decision, BlockPrompt) and _is_root(agent):
            self._refuse(decision.reason)
        return decision

    def _look(self, event: Any, session: Any) -> None:
        """Say that a guard let a prompt start no turn."""
        if event.type == "input/rejected" and event.data.source.kind == "user" and _is_root(session.agent):
            self._refuse(event.data.reason)

    def _refuse(self, reason: str) -> None:
        self.refused = reason
        self._note(f"prompt refused: {reason}", "red")

    def _note(self, text: str, colour: str) -> None:
        click.secho(printable(text), fg=colour, err=True)


class TextView(_View):
    """Streams text to stdout; tool calls, decisions and errors to stderr."""

    def __init__(self) -> None:
        super().__init__()
        self._midline = False

    @hookimpl
    def session_event(self, session: Any, event: Any) -> None:
        """Show chunks as they come, and how a turn ended when it did not complete."""
        self._look(event, session)
        if event.type == "assistant/chunk" and isinstance(event.data.chunk, TextDelta):
            text = event.data.chunk.text
            self._out.write(printable(text), end=False)
            self._midline = not text.endswith("\n")
        elif event.type == "tool/call":
            self._note(f"→ {event.data.name} {_short(event.data.arguments)}", "cyan")
        elif event.type == "step/end":
            self._end_line()  # the next step's text is another one
        elif event.type == "turn/end" and event.data.reason.kind not in ("completed", "rejected"):
            self._note(f"turn ended: {_reason(event.data.reason)}", "red")

    @hookimpl
    def tools_result(self, execution: ToolExecution, result: ToolResult) -> None:
        """Show what came of a call."""
        if isinstance(result, ToolFailure):
            info = f" [{result.error.info.code}]" if result.error.info else " denied"
            self._note(f"✗ {execution.name}{info}: {_short(result.error.message)}", "red")
        else:
            self._note(f"✓ {execution.name}: {_short(content_text(result.content))}", "green")

    def _note(self, text: str, colour: str) -> None:
        self._end_line()
        super()._note(text, colour)

    def _end_line(self) -> None:
        if self._midline:
            self._out.write("")
            self._midline = False

    def finish(self, agent: Any, _events: Sequence[Any]) -> None:
        """End the last line and say how to go on."""
        self._end_line()
        click.secho(f"session {agent.id}", fg="bright_black", err=True)


class JsonView(_View):
    """Says nothing while the turn runs, and everything in one document behind it."""

    @hookimpl
    def session_event(self, session: Any, event: Any) -> None:
        """Notice a refusal."""
        self._look(event, session)

    def finish(self, agent: Any, events: Sequence[Any]) -> dict[str, Any]:
        """Return what came of the prompt: the session, its new events, the last answer, and how the turn ended."""
        documents = [event.document() for event in events]
        ends = [each["data"]["reason"] for each in documents if each["type"] == "turn/end"]
        answers = [content_text(_texts(event)) for event in events if event.type == "assistant/message"]
        return {
            "session": agent.id,
            "text": answers[-1] if answers else None,
            "end": ends[-1] if ends else None,
            "refused": self.refused,
            "events": documents,
        }


def _texts(event: Any) -> list[Any]:
    return [block for block in event.data.content if block.kind == "text"]


class Answerer:
    """Answers asks from the terminal, or always the same."""

    name = "answerer"
    governs = False  # a person answers, and may answer otherwise tomorrow

    def __init__(self, approver: Approver) -> None:
        self._approver = approver

    @classmethod
    def for_terminal(cls, approve: str | None) -> list[Answerer]:
        """Return who answers: the given answer, the terminal if there is one, else always no."""
        return [cls(from_command_line(approve))]

    @hookimpl(trylast=True)
    async def approval_request(self, request: ApprovalRequest) -> ApprovalOutcome:
        """Answer, after every other plugin had its say."""
        answer = self._approver(request)
        return answer if isinstance(answer, ApprovalOutcome) else await answer


def _is_root(agent: Any) -> bool:
    return agent is not None and agent.parent is None


def _reason(reason: Any) -> str:
    if reason.kind != "error":
        return str(reason.kind)
    failure = reason.failure
    if hasattr(failure, "message"):
        return f"{failure.code}: {failure.message}"
    return f"{reason.code}: {reason.message}" if reason.code else str(reason.message)


def _short(text: str, limit: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
