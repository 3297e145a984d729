"""Hook files of programs we do not run but can import: what is called how there, as data (spec C.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attrs import frozen

__all__ = ["CLIENTS", "Client"]


@frozen
class Client:
    """How one program writes hooks.

    Args:
        name: The program.
        events: Its events by ours; one that stands for some tools only has them after a blank.
        lost: Its events we have nothing for, and why.
        tools: Its tools by Claude's names; an empty name: there is none.
        whole_names: Whether a matcher must fit the whole name; else a part is enough.
        milliseconds: Whether its times are in milliseconds.
        timeout: Seconds a hook has there when it does not say.
        variables: Variables in its commands, and what we call them.
        answers: What its hooks may answer that is not read here; for the list of what was lost.
    """

    name: str
    events: Mapping[str, str]
    lost: Mapping[str, str]
    tools: Mapping[str, str]
    whole_names: bool
    milliseconds: bool
    timeout: float | None
    variables: Mapping[str, str]
    answers: str


_NO_MODEL: Final = "requests to the model are not an event of hook files here"

_GEMINI: Final = Client(
    name="gemini",
    events={
        "SessionStart": "session:start", "SessionEnd": "session:end", "BeforeAgent": "prompt:submit",
        "AfterAgent": "turn:stop", "BeforeTool": "tool:before", "AfterTool": "tool:after",
        "PreCompress": "compact:before", "Notification": "notice",
    },
    lost={"BeforeModel": _NO_MODEL, "AfterModel": _NO_MODEL,
          "BeforeToolSelection": "the choice of tools is not an event of hook files here"},
    tools={
        "run_shell_command": "Bash", "write_file": "Write", "replace": "Edit", "read_file": "Read",
        "read_many_files": "Read", "glob": "Glob", "search_file_content": "Grep", "grep_search": "Grep",
        "list_directory": "LS", "web_fetch": "WebFetch", "google_web_search": "WebSearch",
        "write_todos": "TodoWrite", "save_memory": "",
    },
    whole_names=False,
    milliseconds=True,
    timeout=60.0,
    variables={"GEMINI_PROJECT_DIR": "CLAUDE_PROJECT_DIR", "GEMINI_CWD": "PWD"},
    answers='`"decision": "deny"` is not read: answer `"decision": "block"`, or exit 2',
)  # fmt: skip

_CURSOR: Final = Client(
    name="cursor",
    events={
        "sessionStart": "session:start", "sessionEnd": "session:end", "beforeSubmitPrompt": "prompt:submit",
        "preToolUse": "tool:before", "postToolUse": "tool:after", "stop": "turn:stop", "preCompact": "compact:before",
        "subagentStart": "subagent:start", "subagentStop": "subagent:end",
        "beforeShellExecution": "tool:before Shell", "afterShellExecution": "tool:after Shell",
        "beforeReadFile": "tool:before Read", "afterFileEdit": "tool:after Write Edit",
    },
    lost={
        "beforeMCPExecution": "a native matcher cannot say `any MCP tool`: name the tools in a group under tool:before",
        "afterMCPExecution": "a native matcher cannot say `any MCP tool`: name the tools in a group under tool:after",
        "beforeTabFileRead": "there is no editor here", "afterTabFileEdit": "there is no editor here",
        "afterAgentResponse": "answers of the model are not an event of hook files here",
        "afterAgentThought": "thoughts of the model are not an event of hook files here",
        "postToolUseFailure": "native tool:after also hears of failures: put it there and look at `error`",
    },
    tools={"Shell": "Bash", "Read": "Read", "Write": "Write", "Edit": "Edit", "Delete": "", "Grep": "Grep",
           "Task": "Task"},
    whole_names=False,
    milliseconds=False,
    timeout=None,
    variables={"CURSOR_PROJECT_DIR": "CLAUDE_PROJECT_DIR"},
    answers='`permission` and its messages are not read: answer `"decision": "block"` with a reason, or exit 2',
)  # fmt: skip

_COPILOT_EVENTS: Final = {
    "sessionStart": "session:start", "sessionEnd": "session:end", "userPromptSubmitted": "prompt:submit",
    "userPromptSubmit": "prompt:submit", "preToolUse": "tool:before", "postToolUse": "tool:after",
    "agentStop": "turn:stop", "stop": "turn:stop", "subagentStart": "subagent:start", "subagentStop": "subagent:end",
    "preCompact": "compact:before", "notification": "notice",
}  # fmt: skip
_COPILOT_LOST: Final = {
    "errorOccurred": "errors of the host are not an event of hook files here",
    "permissionRequest": "put it under tool:before, which may answer `ask`",
    "postToolUseFailure": "native tool:after also hears of failures: put it there and look at `error`",
}


def _both_cases(names: Mapping[str, str]) -> dict[str, str]:
    return dict(names) | {name[0].upper() + name[1:]: value for name, value in names.items()}


_COPILOT: Final = Client(
    name="copilot",
    events=_both_cases(_COPILOT_EVENTS),
    lost=_both_cases(_COPILOT_LOST),
    tools={"bash": "Bash", "powershell": "", "view": "Read", "edit": "Edit", "create": "Write", "glob": "Glob",
           "grep": "Grep", "web_fetch": "WebFetch", "task": "Task"},
    whole_names=True,
    milliseconds=False,
    timeout=30.0,
    variables={"COPILOT_PROJECT_DIR": "CLAUDE_PROJECT_DIR"},
    answers='`permissionDecision` outside `hookSpecificOutput` is not read: put it there, or exit 2; '
            'exit 2 denies here, which it does not in Copilot',
)  # fmt: skip

CLIENTS: Final[Mapping[str, Client]] = {client.name: client for client in (_GEMINI, _CURSOR, _COPILOT)}
