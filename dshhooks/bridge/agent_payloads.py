"""What hooks are told about an agent, its calls and their results (spec/external-hooks.md A.5, B.3)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from hookspecs.execution import ToolExecution, ToolFailure, ToolResult
from hookspecs.json import MISSING, thaw
from hookspecs.values import content_text

__all__ = ["folder_of", "last_answer", "members_of_agent", "members_of_call", "members_of_result", "session_of"]


def session_of(agent: Any) -> Any:
    """Return an agent's session; ``None`` for a caller that is no agent of ours."""
    session = getattr(agent, "session", None)
    return session if hasattr(session, "open_turn") else None


def folder_of(agent: Any) -> str:
    """Return the absolute folder an agent works in; the process's when it does not say."""
    session = session_of(agent)
    folder: str | None = session.header.cwd if session is not None else None
    return os.getcwd() if folder is None else os.path.abspath(folder)


def members_of_agent(agent: Any, folder: str, dialect: str) -> dict[str, Any]:
    """Return the members every event has."""
    session = session_of(agent)
    if session is None:
        return {"cwd": folder}
    members: dict[str, Any] = {"session_id": session.id, "cwd": folder}
    if dialect == "codex":
        turn = session.open_turn
        members["turn_id"] = str(turn if turn is not None else session.last_turn + 1)
        members["model"] = _model(agent, session)
    return members


def _model(agent: Any, session: Any) -> str:
    header = session.request_header
    options = getattr(agent, "options", None)
    return str((header.config.model if header is not None else None) or getattr(options, "model", None) or "")


def members_of_call(execution: ToolExecution) -> dict[str, Any]:
    """Return what is told of a call: its arguments as they are, whatever the tool."""
    arguments = {} if execution.arguments is MISSING else thaw(execution.arguments)
    return {"tool_name": execution.name, "tool_input": arguments, "tool_use_id": execution.call_id or ""}


def members_of_result(result: ToolResult, profile: str) -> Mapping[str, Any]:
    """Return what is told of a result: the tool's value, as a text in profile ``seed``, or why there is none."""
    text = content_text(result.content)
    if isinstance(result, ToolFailure):
        return {"tool_response": text, "error": result.error.message}
    value = result.value
    return {"tool_response": text if profile == "seed" or value is None or value is MISSING else thaw(value)}


def last_answer(session: Any) -> str | None:
    """Return the text of the model's last answer; ``None`` if there was none."""
    for message in reversed(session.messages()):
        if message.role == "assistant":
            return content_text([block for block in message.content if block.kind == "text"])
    return None
