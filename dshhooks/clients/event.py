"""A client's payload as a canonical event: the one place that knows what the clients call things (observed.md 3)."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from dshhooks.clients.recognise import client_of, session_of, word_of
from dshhooks.clients.table import CLIENTS, Client
from dshhooks.clients.tools import arguments_for, said_twice, tool_name
from hookspecs.json import parse
from hookspecs.plain import Plain

__all__ = ["ClientEvent", "EventError", "read_event", "read_payload"]


_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class EventError(ValueError):
    """What a client wrote cannot be read as an event; says what is wrong with it."""


class ClientEvent(Plain):
    """One event, read.

    Args:
        client: The client's row.
        kind: The canonical kind, as in the bridge: ``tool:before``, ``prompt:submit`` …, and ``tool:permission``.
        word: The client's own word for it.
        session_id: The client's session; empty when it does not say.
        cwd: Where the client works; empty when it does not say.
        tool: The tool's name as plugins know it.
        arguments: Its arguments: the client's, and ours beside them.
        call_id: The client's id of the call, or one made from the event.
        result: What the tool returned, in the client's form.
        output: The same as text.
        error: Why the tool failed; ``None`` when it did not.
        prompt: What the user wrote.
        source: What started the session, or why it ended.
        stop_hook_active: Whether the turn goes on already because a hook wanted it to.
        permission_mode: The client's word for how much it asks.
        agent_id: The sub-agent's id.
        agent_type: The sub-agent's type.
        raw: The payload as it came.
    """

    client: Client
    kind: str
    word: str
    session_id: str = ""
    cwd: str = ""
    tool: str = ""
    arguments: Any = _NOTHING
    call_id: str = ""
    result: Any = None
    output: str = ""
    error: str | None = None
    prompt: str = ""
    source: str = ""
    stop_hook_active: bool = False
    permission_mode: str = ""
    agent_id: str = ""
    agent_type: str = ""
    raw: Mapping[str, Any] = _NOTHING

    def __repr__(self) -> str:
        """Return what may stand in a log: nothing of what the user or the model wrote."""
        return f"<{type(self).__name__} {self.client.name} {self.word} {self.tool}>"


def read_payload(stdin: bytes) -> dict[str, Any]:
    """Parse what a client wrote: one JSON object in UTF-8, with or without a byte-order mark.

    Raises:
        EventError: It is not that.
    """
    if not stdin.strip():
        raise EventError("stdin was empty; the client writes one JSON object to it")
    try:
        # The codec that knows the mark would be one more module to import.
        payload = parse(stdin.removeprefix(codecs.BOM_UTF8).decode())
    except ValueError as exc:  # NotLosslessError and UnicodeDecodeError are ValueErrors too
        raise EventError(f"stdin is not one JSON object: {exc}") from exc
    if not isinstance(payload, dict):
        raise EventError(f"stdin must be a JSON object, not {type(payload).__name__}")
    return payload


def read_event(client: str, payload: Mapping[str, Any], environment: Mapping[str, str]) -> ClientEvent:
    """Return the canonical event.

    Args:
        client: A client's name, or ``"auto"``.
        payload: The parsed payload.
        environment: The variables that tell clients apart.

    Raises:
        EventError: Nobody knows the client or the event, or the event lacks what it must have.
    """
    name = client_of(payload, dict(environment)) if client == "auto" else client
    if name is None:
        raise EventError(f"no client is recognised from this event; say --client with one of {', '.join(CLIENTS)}")
    row = CLIENTS[name]
    word = word_of(name, payload)
    kind = row.events.get(word or "")
    if word is None or kind is None:
        raise EventError(f"{row.display} has no event {word!r}; known: {', '.join(row.events)}")
    event = {"client": row, "kind": kind, "word": word, "raw": payload, **_common(payload)}
    return ClientEvent(**event, **_READERS.get(kind, _nothing)(row, payload))


def _common(payload: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "session_id": session_of(payload),
        "cwd": _text(payload, "cwd", "working_dir"),
        "stop_hook_active": payload.get("stop_hook_active") is True,
        "permission_mode": _text(payload, "permission_mode"),
        "source": _text(payload, "source", "reason", "trigger"),
    }


def _nothing(_row: Client, _payload: Mapping[str, Any]) -> dict[str, Any]:
    return {}


def _call(row: Client, payload: Mapping[str, Any]) -> dict[str, Any]:
    native = _text(payload, "tool_name", "toolName")
    if not native:
        raise EventError("the event names no tool")
    given = next((payload[key] for key in ("tool_input", "toolArgs", "toolInput") if key in payload), None)
    if isinstance(given, str):  # Copilot's documentation has the arguments as a JSON text
        given = _object(given)
    if not isinstance(given, dict):
        raise EventError(f"the arguments of tool {native!r} are no JSON object")
    name = tool_name(row.name, native, given)
    names = said_twice(name, given)
    if names:
        raise EventError(f"tool {native!r} is given {names}, which contradict each other: call it with one of them")
    return {"tool": name, "arguments": arguments_for(name, given), "call_id": _call_id(payload)}


def _object(text: str) -> Any:
    try:
        return parse(text)
    except ValueError as exc:
        raise EventError(f"the tool's arguments are a text that is no JSON: {exc}") from exc


def _call_id(payload: Mapping[str, Any]) -> str:
    # qwen makes up a tool_use_id of its own; the model's is tool_call_id.
    known = _text(payload, "tool_call_id", "tool_use_id", "toolCallId")
    return known or f"call-{payload.get('timestamp', 1)}"


def _after(row: Client, payload: Mapping[str, Any]) -> dict[str, Any]:
    keys = ("tool_response", "tool_result", "toolResult", "tool_output")
    result = next((payload[key] for key in keys if payload.get(key) is not None), None)
    output = _text(payload, "tool_output_text") or _output(result)
    return {**_call(row, payload), "result": result, "output": output, "error": _error(payload, result)}


def _output(result: Any) -> str:
    if isinstance(result, str):
        return result
    if not isinstance(result, dict):
        return ""
    text = _text(result, "text_result_for_llm", "textResultForLlm", "llmContent", "stdout", "content")
    return "\n".join(part for part in (text, _text(result, "stderr")) if part)


def _error(payload: Mapping[str, Any], result: Any) -> str | None:
    error = payload.get("error") or payload.get("tool_error")
    if error is None and isinstance(result, dict):
        error = result.get("error")
        kind = _text(result, "result_type", "resultType")
        if error is None and kind not in ("", "success"):
            error = _output(result) or kind
    if error is None and payload.get("tool_status", "success") != "success":
        error = payload["tool_status"]
    return None if error is None else error if isinstance(error, str) else _message(error)


def _message(error: Any) -> str:
    return (_text(error, "message") if isinstance(error, dict) else "") or "the tool failed"


def _prompt(_row: Client, payload: Mapping[str, Any]) -> dict[str, Any]:
    prompt = payload.get("prompt", payload.get("message"))
    if not isinstance(prompt, str):
        raise EventError("the event has no prompt")
    return {"prompt": prompt}


def _subagent(_row: Client, payload: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "agent_id": _text(payload, "agent_id", "agentId"),
        "agent_type": _text(payload, "agent_type", "agentType", "agent_name", "agentName") or "agent",
    }


def _text(payload: Mapping[str, Any], *keys: str) -> str:
    """Return the first of the members that is a non-empty text, else ``""``."""
    return next((value for key in keys if isinstance(value := payload.get(key), str) and value), "")


_READERS: Final = {
    "tool:before": _call,
    "tool:permission": _call,
    "tool:after": _after,
    "prompt:submit": _prompt,
    "subagent:start": _subagent,
    "subagent:end": _subagent,
}
