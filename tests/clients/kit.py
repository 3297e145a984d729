"""Answering clients in a test: their recorded events, a service around some plugins, and the answer as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dshhooks.clients.answer import Answer
from dshhooks.clients.direct import run_directly
from dshhooks.clients.event import ClientEvent, read_event
from dshhooks.clients.host import Host
from dshhooks.clients.request import HandleRequest
from dshhooks.clients.service import HandleService
from dshhooks.engine.hooks import Hooks
from hookspecs.markers import hookimpl

# The names the recorded file uses for the two forms of Copilot's hooks.
FOLDERS = {"copilotP": "copilot", "copilot": "copilot-native"}
SAMPLES: dict[str, dict[str, Any]] = {
    FOLDERS.get(name, name): events
    for name, events in json.loads((Path(__file__).parent / "samples.json").read_text(encoding="utf-8")).items()
}

BEFORE = {
    "claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool", "qwen": "PreToolUse",
    "copilot": "PreToolUse", "copilot-native": "pre", "vibe": "pre_tool", "openhands": "oh",
}  # fmt: skip
AFTER = {
    "claude": "PostToolUse", "codex": "PostToolUse", "gemini": "AfterTool", "qwen": "PostToolUse",
    "copilot": "PostToolUse", "copilot-native": "post", "vibe": "post_tool",
}  # fmt: skip
PROMPT = {
    "claude": "UserPromptSubmit", "codex": "UserPromptSubmit", "gemini": "BeforeAgent", "qwen": "UserPromptSubmit",
    "copilot": "UserPromptSubmit", "copilot-native": "prompt",
}  # fmt: skip
STOP = {
    "claude": "Stop", "codex": "Stop", "gemini": "AfterAgent", "qwen": "Stop", "copilot": "Stop",
    "copilot-native": "stop",
}  # fmt: skip
START = {
    "claude": "SessionStart", "codex": "SessionStart", "gemini": "SessionStart", "qwen": "SessionStart",
    "copilot": "SessionStart", "copilot-native": "start",
}  # fmt: skip


def every_sample() -> list[tuple[str, str]]:
    """Client and name of each recorded event."""
    return [(client, name) for client, events in SAMPLES.items() for name in events]


def event_of(client: str, name: str, **changes: Any) -> ClientEvent:
    """A recorded event, read."""
    return read_event(client, {**SAMPLES[client][name], **changes}, {})


def plugin(**hooks: Any) -> Any:
    """An object with these functions as hookimpls."""
    return type("Policy", (), {name: staticmethod(hookimpl(function)) for name, function in hooks.items()})()


def service(*plugins: Any, approval: str = "ask") -> HandleService:
    """A service with these plugins, the first one outermost."""
    hooks = Hooks()
    for each in reversed(plugins):
        hooks.register(each)
    return HandleService(Host(hooks, approval))


def request(client: str, payload: Any, **said: Any) -> HandleRequest:
    """A request with a payload, or with stdin as it is."""
    stdin = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return HandleRequest(client, stdin, **said)


def ask(client: str, payload: Any, *plugins: Any, approval: str = "ask", **said: Any) -> Answer:
    """What a client is answered, by plugins that wait for nothing."""
    served = service(*plugins, approval=approval)
    asked = request(client, payload, **said)
    return run_directly(Hooks(), (), lambda: served.answer(asked))


def sample(client: str, name: str, **changes: Any) -> dict[str, Any]:
    """A recorded event with some members changed."""
    return {**SAMPLES[client][name], **changes}


def written(answer: Answer) -> Any:
    """The JSON on stdout, which is one line and nothing else; ``None`` for silence."""
    if not answer.stdout:
        return None
    assert answer.stdout.endswith(b"\n")
    assert answer.stdout.count(b"\n") == 1
    return json.loads(answer.stdout)
