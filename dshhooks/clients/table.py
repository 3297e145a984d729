"""The clients: one row for each, read by the code that reads, answers, installs and documents.

Every fact is measured (cases/clients/observed.md) unless ``unmeasured`` names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from dshhooks.clients.denial import GATES
from hookspecs.plain import Plain

__all__ = ["CLIENTS", "Client", "client_named"]

Unit = Literal["seconds", "milliseconds"]


class Client(Plain):
    """One client.

    Args:
        name: Its name on the command line.
        display: Its name in prose.
        events: Its words for events, to our canonical kinds (the bridge's names; ``tool:permission`` beside them).
        can_ask: Whether an answer can make it ask a person, also when nobody is there.
        can_approve: Whether an approval of ours is honoured.
        context: The canonical kinds whose answer can add context for the model.
        feedback: How feedback after a tool arrives: ``replaces`` the result, is ``added`` to it, or ``context`` only.
        can_rewrite: Whether it takes other arguments from a hook (we never send any).
        can_continue: Whether a hook can make it go on instead of stopping.
        continuation_cap: How often it lets a hook do so by itself; ``None``: for ever, so that we cap it.
        unit: The unit of time-outs in its settings.
        timeout: Seconds it waits for a hook by default.
        project_file: Its settings in a project, relative to the project.
        user_file: Its settings of a user, relative to the home folder; empty: none known.
        trust: What a person has to do before it runs the hooks; empty: nothing.
        notes: What else a user should know.
        unmeasured: The facts of this row that come from its documentation and were not measured.
    """

    name: str
    display: str
    events: Mapping[str, str]
    can_ask: bool
    can_approve: bool
    context: frozenset[str]
    feedback: Literal["replaces", "added", "context", "none"]
    can_rewrite: bool
    can_continue: bool
    continuation_cap: int | None
    unit: Unit
    timeout: float
    project_file: str
    user_file: str
    trust: str = ""
    notes: tuple[str, ...] = ()
    unmeasured: tuple[str, ...] = ()

    @property
    def gates(self) -> Mapping[str, str]:
        """Its gating events, by its own words."""
        return GATES[self.name]

    def words(self, kind: str) -> tuple[str, ...]:
        """Return its words for a canonical kind, the usual one first."""
        return tuple(word for word, named in self.events.items() if named == kind)


_CLAUDE_EVENTS: Final = {
    "SessionStart": "session:start", "UserPromptSubmit": "prompt:submit", "PreToolUse": "tool:before",
    "PermissionRequest": "tool:permission", "PostToolUse": "tool:after", "PostToolUseFailure": "tool:after",
    "Stop": "turn:stop", "SubagentStart": "subagent:start", "SubagentStop": "subagent:end",
    "SessionEnd": "session:end", "Notification": "notice", "PreCompact": "compact:before",
}  # fmt: skip
_CODEX_EVENTS: Final = {word: kind for word, kind in _CLAUDE_EVENTS.items() if word != "PostToolUseFailure"}
_GEMINI_EVENTS: Final = {
    "SessionStart": "session:start", "BeforeAgent": "prompt:submit", "BeforeTool": "tool:before",
    "AfterTool": "tool:after", "AfterAgent": "turn:stop", "SessionEnd": "session:end", "PreCompress": "compact:before",
    "Notification": "notice", "BeforeModel": "other", "AfterModel": "other", "BeforeToolSelection": "other",
}  # fmt: skip
_NATIVE_EVENTS: Final = {
    "sessionStart": "session:start", "userPromptSubmitted": "prompt:submit", "preToolUse": "tool:before",
    "permissionRequest": "tool:permission", "postToolUse": "tool:after", "agentStop": "turn:stop",
    "subagentStart": "subagent:start", "subagentStop": "subagent:end", "sessionEnd": "session:end",
    "notification": "notice", "preCompact": "compact:before", "errorOccurred": "other",
}  # fmt: skip
_VIBE_EVENTS: Final = {"pre_tool": "tool:before", "post_tool": "tool:after", "post_agent": "turn:stop"}
_OPENHANDS_EVENTS: Final = {
    "SessionStart": "session:start", "UserPromptSubmit": "prompt:submit", "PreToolUse": "tool:before",
    "PostToolUse": "tool:after", "Stop": "turn:stop", "SessionEnd": "session:end",
}  # fmt: skip
_OPENCODE_EVENTS: Final = {
    "session.created": "session:start", "chat.message": "prompt:submit", "tool.execute.before": "tool:before",
    "tool.execute.after": "tool:after", "session.idle": "turn:stop", "session.deleted": "session:end",
}  # fmt: skip
_TALKATIVE: Final = frozenset({"tool:before", "tool:after", "prompt:submit", "session:start"})

_ROWS: Final = (
    Client(
        "claude", "Claude Code", _CLAUDE_EVENTS, can_ask=True, can_approve=True, context=_TALKATIVE,
        feedback="added", can_rewrite=True, can_continue=True, continuation_cap=8, unit="seconds", timeout=60.0,
        project_file=".claude/settings.json", user_file=".claude/settings.json",
        notes=("One handler of an unknown type switches off every hook of its file",
               "A project's settings can switch user hooks off (`disableAllHooks`) and set their variables (`env`)"),
        unmeasured=("timeout", "SubagentStart", "SubagentStop", "PreCompact"),
    ),
    Client(
        "codex", "Codex CLI", _CODEX_EVENTS, can_ask=False, can_approve=True, context=_TALKATIVE,
        feedback="replaces", can_rewrite=True, can_continue=True, continuation_cap=None, unit="seconds", timeout=60.0,
        project_file=".codex/hooks.json", user_file=".codex/hooks.json",
        trust="Codex skips hooks that nobody trusts, silently, and reads a project's only if it trusts the project: "
              "start `codex` in it, trust it, and trust the hooks in /hooks (again after every change), or pass "
              "--dangerously-bypass-hook-trust",
        notes=("One handler of an unknown type switches off every hook of its file",
               "`apply_patch` through the shell is a `bash` call, and fires no PostToolUse",
               "What is typed into a program that runs (`write_stdin`) fires no hook: deny shells that wait for input"),
        unmeasured=("timeout", "SubagentStart", "SubagentStop", "PermissionRequest"),
    ),
    Client(
        "gemini", "Gemini CLI", _GEMINI_EVENTS, can_ask=False, can_approve=True,
        context=frozenset({"tool:after", "prompt:submit", "session:start"}),
        feedback="replaces", can_rewrite=True, can_continue=True, continuation_cap=None, unit="milliseconds",
        timeout=60.0, project_file=".gemini/settings.json", user_file=".gemini/settings.json",
        notes=("A hook that answers `ask` hangs it when nobody is there, so an ask is a denial",),
        unmeasured=("timeout",),
    ),
    Client(
        "qwen", "Qwen Code", _CLAUDE_EVENTS, can_ask=True, can_approve=True,
        context=frozenset({"tool:after", "prompt:submit", "session:start"}),
        feedback="context", can_rewrite=False, can_continue=True, continuation_cap=8, unit="milliseconds",
        timeout=60.0, project_file=".qwen/settings.json", user_file=".qwen/settings.json",
        notes=("Another hook that allows, later in its settings, beats our denial: ours must be last",
               "It sends an empty prompt after every tool result; that is no prompt and is not asked about",
               "Without a terminal it was not seen to announce the start of a session"),
        unmeasured=("timeout", "SubagentStart", "SubagentStop", "PermissionRequest", "PreCompact"),
    ),
    Client(
        "copilot", "GitHub Copilot CLI (Claude-style hooks)",
        {**_CLAUDE_EVENTS, "permissionRequest": "tool:permission"},
        can_ask=True, can_approve=True, context=frozenset({"tool:before"}), feedback="replaces", can_rewrite=True,
        can_continue=True, continuation_cap=None, unit="seconds", timeout=30.0,
        project_file=".github/hooks/dshhooks.json", user_file=".copilot/hooks/dshhooks.json",
        trust="Copilot runs the hooks of a project only in a folder it trusts, and says nothing otherwise: start "
              "`copilot` in it once and trust it",
        notes=("it also reads .claude/settings.json of a project: where Claude Code is guarded, Copilot asks twice",),
        unmeasured=("timeout", "permissionRequest", "SubagentStart", "SubagentStop"),
    ),
    Client(
        "copilot-native", "GitHub Copilot CLI (native hooks)", _NATIVE_EVENTS, can_ask=False, can_approve=True,
        context=frozenset(), feedback="replaces", can_rewrite=True, can_continue=True, continuation_cap=None,
        unit="seconds", timeout=30.0, project_file=".github/hooks/dshhooks-native.json",
        user_file=".copilot/hooks/dshhooks-native.json",
        trust="Copilot runs the hooks of a project only in a folder it trusts, and says nothing otherwise: start "
              "`copilot` in it once and trust it",
        unmeasured=("timeout", "feedback", "can_continue", "permissionRequest"),
    ),
    Client(
        "vibe", "Mistral Vibe", _VIBE_EVENTS, can_ask=False, can_approve=False, context=frozenset(),
        feedback="none", can_rewrite=False, can_continue=False, continuation_cap=0, unit="seconds", timeout=60.0,
        project_file=".vibe/hooks.toml", user_file=".vibe/hooks.toml",
        trust="Vibe reads a project's hooks only in a folder it trusts, and says nothing otherwise: start `vibe` in it "
              "once and trust it, or pass --trust",
        notes=("Without `strict = true` every failure of a hook lets the tool run",),
        unmeasured=("timeout", "feedback", "can_continue"),
    ),
    Client(
        "openhands", "OpenHands", _OPENHANDS_EVENTS, can_ask=False, can_approve=False,
        context=frozenset({"prompt:submit", "session:start", "tool:after"}), feedback="context", can_rewrite=False,
        can_continue=True, continuation_cap=None, unit="seconds", timeout=60.0,
        project_file=".openhands/hooks.json", user_file=".openhands/hooks.json",
        unmeasured=("timeout", "context", "can_continue"),
    ),
    Client(
        "opencode", "opencode", _OPENCODE_EVENTS, can_ask=False, can_approve=False,
        context=frozenset({"tool:after", "prompt:submit", "session:start"}), feedback="added", can_rewrite=True,
        can_continue=False, continuation_cap=0, unit="seconds", timeout=60.0,
        project_file=".opencode/plugin/dshhooks.js", user_file=".config/opencode/plugin/dshhooks.js",
        notes=("It has no hook commands: a generated plugin asks for it",),
        unmeasured=("context", "feedback"),
    ),
)  # fmt: skip

CLIENTS: Final[Mapping[str, Client]] = {row.name: row for row in _ROWS}


def client_named(name: str) -> Client | None:
    """Return the row of a client, or ``None``."""
    return CLIENTS.get(name)
