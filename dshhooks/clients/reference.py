"""The pages about clients, made from the table the code runs on: what each one can and cannot enforce.

``python -m dshhooks.pages --write`` makes them, ``--check`` says whether they are current.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from dshhooks.clients.denial import denial
from dshhooks.clients.state import MAX_CONTINUATIONS
from dshhooks.clients.table import CLIENTS, Client

__all__ = ["PAGES", "render", "render_overview"]

_FOLDER: Final = Path("docs/reference/clients")

_MADE: Final = (
    "<!-- Made by `python -m dshhooks.pages --write` from clients/table.py. Edit the table, not this page. -->"
)

_OVERVIEW: Final = f"""\
# Clients

{_MADE}

What `dshhooks handle` and `dshhooks install` know about the agents they can guard. *Measured* means: seen on a real
client, with the version named in the page of the measurements; everything else comes from the client's documentation.

"""

_KINDS: Final[Mapping[str, str]] = {
    "tool:before": "before a tool call", "tool:permission": "when it would ask for permission",
    "tool:after": "after a tool call", "prompt:submit": "a prompt", "turn:stop": "the end of a turn",
    "session:start": "the start of a session", "session:end": "the end of a session",
    "subagent:start": "the start of a sub-agent", "subagent:end": "the end of a sub-agent", "notice": "a notice",
    "compact:before": "before compaction", "other": "not used",
}  # fmt: skip

_HOOKS: Final[Mapping[str, str]] = {
    "tool:before": "`tools_pre_execute`, `tools_guard`, `operation_guard`; `tools_result` when it is denied",
    "tool:permission": "`tools_pre_execute`, `tools_guard`, `operation_guard`",
    "tool:after": "`tools_post_execute`, `tools_result`", "prompt:submit": "`agent_prompt_submit`",
    "turn:stop": "`agent_turn_continuation`, `agent_turn_stopping`, `agent_turn_stop`",
    "session:start": "`agent_session_start`, `agent_session_prefix`", "session:end": "`agent_disposed`",
    "subagent:start": "`subagent_start`", "subagent:end": "`subagent_end`",
}  # fmt: skip

_FEEDBACK: Final = {
    "replaces": "yes: it replaces the result",
    "added": "yes: it is added to the result",
    "context": "as context beside the result",
    "none": "no",
}


def render_overview() -> str:
    """Return the page that compares the clients."""
    head = ("client", "deny", "ask", "feedback", "context", "go on", "default time-out")
    return _OVERVIEW + "\n".join(_table(head, (_compared(row) for row in CLIENTS.values()))) + "\n"


def _compared(row: Client) -> tuple[str, ...]:
    page = f"[{row.display}]({row.name}.md)"
    kinds = "kind of event" if len(row.context) == 1 else "kinds of events"
    contexts = f"{len(row.context)} {kinds}" if row.context else "no"
    return page, "yes", _yes(row.can_ask), row.feedback, contexts, _yes(row.can_continue), f"{row.timeout:g} s"


def render(row: Client) -> str:
    """Return the page of one client."""
    sections = (
        ("What it can enforce", _abilities(row)),
        ("Events", _events(row)),
        ("How it is denied", _denials(row)),
        ("Settings", _settings(row)),
        ("Good to know", [f"* {note}." for note in row.notes]),
        ("Not measured", [f"From its documentation only: {', '.join(row.unmeasured)}."] if row.unmeasured else []),
    )
    head = f"# {row.display}\n\n{_MADE}\n\n`dshhooks handle --client {row.name}` · `dshhooks install {row.name}`\n"
    return head + "".join("\n".join(["", f"## {title}", "", *lines, ""]) for title, lines in sections if lines)


def _abilities(row: Client) -> list[str]:
    ask = "a person is asked" if row.can_ask else "no: an `Ask` is a denial that says so"
    contexts = ", ".join(_KINDS[kind] for kind in _KINDS if kind in row.context) or "nowhere; it is dropped and logged"
    return list(_table(("what a plugin does", "what the client does"), (
        ("`Deny`, a guard's reason", "the call does not run; the model is told why"),
        ("`Ask`", ask),
        ("`Allow`", f"nothing; {'with `--approve` it is passed on' if row.can_approve else 'also with `--approve`'}"),
        ("contexts, `agent.inject`", contexts),
        ("`Block` after a tool", _FEEDBACK[row.feedback]),
        ("`Accept(content=…)`, `Accept(value=…)`", "nothing: it keeps its own result; logged"),
        ("`ContinueTurn`, `agent.steer` at the end", _continuing(row)),
        ("other arguments for the tool", "never sent; policy does not rewrite calls"),
    )))  # fmt: skip


def _continuing(row: Client) -> str:
    if not row.can_continue:
        return "nothing: its turns end when they end"
    own = "none" if row.continuation_cap is None else str(row.continuation_cap)
    return f"goes on, at most {MAX_CONTINUATIONS} times in a row (its own limit: {own})"


def _events(row: Client) -> Iterator[str]:
    yield from _table(("its event", "what it is", "hooks that are asked", "when policy cannot be evaluated"), (
        (f"`{word}`", _KINDS[kind], _HOOKS.get(kind, ""), "denied" if word in row.gates else "silent, logged")
        for word, kind in row.events.items()
    ))  # fmt: skip


def _denials(row: Client) -> Iterator[str]:
    for word in row.gates:
        out, err, code = denial(row.name, word, "why")
        also = f", `{err.decode().strip()}` on stderr" if err else ""
        yield f"* `{word}`: exit {code}{also}, and on stdout `{json.dumps(json.loads(out))}`"


def _settings(row: Client) -> list[str]:
    places = [f"project `{row.project_file}`"] + ([f"user `~/{row.user_file}`"] if row.user_file else [])
    lines = [
        f"* Files: {', '.join(places)}.",
        f"* Time-outs are in {row.unit}; without one it waits {row.timeout:g} s.",
    ]
    return lines + ([f"* {row.trust}."] if row.trust else [])


def _yes(can: bool) -> str:
    return "yes" if can else "no"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for cells in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cell or '–' for cell in cells)} |"


def _page(row: Client) -> Callable[[], str]:
    return lambda: render(row)


PAGES: Final[Mapping[Path, Callable[[], str]]] = {
    _FOLDER / "overview.md": render_overview,
    **{_FOLDER / f"{row.name}.md": _page(row) for row in CLIENTS.values()},
}
