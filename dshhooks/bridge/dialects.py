"""The dialects and the two profiles: every place where they differ, as data.

A *dialect* is whose file format a hook file is written in; a *profile* says how literally it is read: ``seed`` is the
first contract to the letter, ``current`` is what today's products were seen to do. Code elsewhere asks
``rules(dialect, profile).<switch>`` and never compares dialect names; the events themselves are in ``events.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from attrs import evolve, field, fields, frozen

__all__ = ["DEFAULT_TIMEOUTS", "DEVIATIONS", "DIALECTS", "EXTRA_MEMBERS", "KINDS", "LAYOUT", "PLACEHOLDERS", "PROFILES",
           "ROOT_KEYS", "TYPE_WORDS", "UNSUPPORTED_EVENTS", "UNSUPPORTED_TYPES", "WELL_KNOWN_TOOLS", "Deviation",
           "Dialect", "Place", "Profile", "Rules", "profile_of", "rules", "switches"]  # fmt: skip

Dialect = Literal["claude", "codex", "opencode", "native"]
Profile = Literal["seed", "current"]

DIALECTS: Final[tuple[Dialect, ...]] = ("claude", "codex", "opencode", "native")
PROFILES: Final[tuple[Profile, ...]] = ("seed", "current")
KINDS: Final = ("shell", "webhook", "oracle", "proxy")

# The key of a file under which its events stand.
ROOT_KEYS: Final[Mapping[Dialect, str]] = {"claude": "hooks", "codex": "hooks", "opencode": "hooks", "native": "events"}

# What `type` may say (A.4.1); an absent `type` is "command".
TYPE_WORDS: Final[Mapping[Dialect, Mapping[str, str]]] = {
    "claude": {"command": "shell", "http": "webhook", "prompt": "oracle", "agent": "proxy"},
    "codex": {"command": "shell", "http": "webhook", "prompt": "oracle", "agent": "proxy"},
    "opencode": {"command": "shell", "http": "webhook", "subagent": "proxy"},
    "native": {
        "command": "shell", "http": "webhook", "prompt": "oracle", "agent": "proxy", "subagent": "proxy",
        "shell": "shell", "webhook": "webhook", "oracle": "oracle", "proxy": "proxy",
    },
}  # fmt: skip

# Types the products have and we skip with a warning.
UNSUPPORTED_TYPES: Final[Mapping[Dialect, frozenset[str]]] = {
    "claude": frozenset({"mcp_tool"}),
    "codex": frozenset({"mcp_tool"}),
    "opencode": frozenset(),
    "native": frozenset(),
}

# Events the products have and we do not run (A.2.1): reported once per event and file, never an error.
UNSUPPORTED_EVENTS: Final[Mapping[Dialect, frozenset[str]]] = {
    "claude": frozenset({
        "Setup", "UserPromptExpansion", "PermissionRequest", "PermissionDenied", "PostToolBatch", "MessageDisplay",
        "TaskCreated", "TaskCompleted", "StopFailure", "TeammateIdle", "InstructionsLoaded", "ConfigChange",
        "CwdChanged", "DirectoryAdded", "FileChanged", "WorktreeCreate", "WorktreeRemove", "PostCompact",
        "Elicitation", "ElicitationResult", "PreModelSwitch", "PostModelSwitch",
    }),
    "codex": frozenset({"PermissionRequest", "PreCompact", "PostCompact", "Interrupt", "StopFailure"}),
    "opencode": frozenset(),
    "native": frozenset(),
}  # fmt: skip

# Seconds, when neither the hook nor the runtime says (A.6.8).
DEFAULT_TIMEOUTS: Final[Mapping[str, float]] = {"shell": 600.0, "webhook": 600.0, "oracle": 30.0, "proxy": 60.0}

# `${NAME}` in a command: exported, and put in as text in the `args` form only (decisions.md 7.27).
PLACEHOLDERS: Final = ("CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "PLUGIN_ROOT", "PLUGIN_DATA")

# Names of tools people write in matchers, to tell a slip of case from a name we have never heard.
WELL_KNOWN_TOOLS: Final = (
    "Bash", "Edit", "MultiEdit", "Write", "Read", "Glob", "Grep", "LS", "NotebookEdit", "NotebookRead", "WebFetch",
    "WebSearch", "Task", "Agent", "Skill", "TodoWrite", "ExitPlanMode", "AskUserQuestion", "apply_patch",
)  # fmt: skip


@frozen
class Place:
    """Where a hook file is looked for: below the home or the working directory."""

    scope: Literal["user", "project", "local"]
    dialect: Dialect
    path: str


# Later is more specific (A.9.1).
LAYOUT: Final = (
    Place("user", "claude", ".claude/settings.json"),
    Place("user", "codex", ".codex/hooks.json"),
    Place("user", "opencode", ".config/opencode/opencode.json"),
    Place("user", "native", ".config/dshhooks/hooks.json"),
    Place("project", "claude", ".claude/settings.json"),
    Place("project", "codex", ".codex/hooks.json"),
    Place("project", "opencode", "opencode.json"),
    Place("project", "native", ".dsh-hooks.json"),
    Place("local", "claude", ".claude/settings.local.json"),
)


def _switch(topic: str, /, **meanings: str) -> Any:
    """A switch of :class:`Rules`: what it is about, and each value in words for the table in the documentation."""
    return field(metadata={"topic": topic, "meanings": meanings})


@frozen(eq=False)
class Rules:
    """How one dialect is read in one profile; each attribute is one row of the table of differences."""

    # None: every pattern is a list of literals. "": every pattern is a regular expression. Otherwise: a pattern made of
    # these characters only is a list of literals, any other a regular expression.
    exact_characters: str | None = _switch("matcher: pattern of names")
    separators: str = _switch("matcher: separators of names")
    payload: Literal["flat", "envelope"] = _switch(
        "payload", flat="flat object", envelope="`event` (canonical), `ts`, then the same members"
    )
    stdin_newline: bool = _switch("stdin ends with a newline", true="yes", false="no")
    no_transcript: str | None = _switch("`transcript_path` when there is none")
    permission_mode: Literal["always", "in-turns", "until-end", "host"] = _switch(
        "`permission_mode`",
        **{
            "always": "`default` unless the host says",
            "in-turns": "the same, but not on session start and end",
            "until-end": "the same, but not on session end",
            "host": "only when the host says",
        },
    )
    json_on_exit_2: bool = _switch("JSON on stdout at exit 2", true="read; it still denies", false="not read")
    json_on_other_exit: Literal["ignored", "denials", "read"] = _switch(
        "JSON on stdout at other non-zero exits",
        ignored="not read",
        denials="a deny or ask counts, the rest not",
        read="read",
    )
    condition: Literal["evaluated", "ignored"] = _switch(
        "`if`", evaluated="evaluated on tool events", ignored="not evaluated: a warning, and the hook runs"
    )
    header_variables: Literal["allowed", "known"] = _switch(
        "variables in webhook headers",
        allowed="only those in `allowedEnvVars`, others become empty",
        known="every known one without `allowedEnvVars`; unknown ones stay as they are",
    )
    append_payload: bool = _switch("prompt without `$ARGUMENTS`", true="the payload is appended", false="sent as it is")
    whole_seconds: bool = _switch("fraction of a second in `timeout`", true="kept, with a warning", false="kept")


_SEED: Final = Rules(
    exact_characters="",
    separators="|",
    payload="flat",
    stdin_newline=True,
    no_transcript="",
    permission_mode="always",
    json_on_exit_2=False,
    json_on_other_exit="ignored",
    condition="ignored",
    header_variables="known",
    append_payload=False,
    whole_seconds=False,
)
_CLAUDE_SEED: Final = evolve(_SEED, exact_characters=None, separators="|,")

_RULES: Final[Mapping[tuple[Dialect, Profile], Rules]] = MappingProxyType({
    ("claude", "seed"): _CLAUDE_SEED,
    ("claude", "current"): evolve(
        _CLAUDE_SEED,
        exact_characters=r"\w ,|\-",  # letters of any script: a name in Chinese is a name
        permission_mode="in-turns",
        json_on_exit_2=True,
        json_on_other_exit="read",
        condition="evaluated",
        header_variables="allowed",
        append_payload=True,
    ),
    ("codex", "seed"): evolve(_SEED, whole_seconds=True),
    ("codex", "current"): evolve(
        _SEED,
        exact_characters="A-Za-z0-9_|",
        stdin_newline=False,
        no_transcript=None,
        permission_mode="until-end",
        json_on_other_exit="denials",
        header_variables="allowed",
        whole_seconds=True,
    ),
    ("opencode", "seed"): _SEED,
    ("opencode", "current"): evolve(_SEED, json_on_other_exit="denials", condition="evaluated"),
    # Native files have one reading only: the format is ours, nothing else can change under it.
    ("native", "seed"): evolve(
        _CLAUDE_SEED, payload="envelope", permission_mode="host", condition="evaluated"
    ),
})  # fmt: skip


@frozen
class Deviation:
    """Where a product was seen to do something else, and what happens here instead."""

    topic: str
    products: str
    here: str


# A deny is never dropped for a formal reason: what is read follows the products, failing open does not.
DEVIATIONS: Final = (
    Deviation("exit 2 with nothing on stderr", "Codex runs the tool", "a deny, with a text of our own"),
    Deviation("deny without a reason", "Codex runs the tool", "a deny"),
    Deviation("answer without `hookEventName`", "Claude and Codex run the tool", "the answer counts, with a warning"),
    Deviation(
        "answer with null or unknown members", "Claude or Codex run the tool", "such members are as good as absent"
    ),
    Deviation("deny in JSON at exit 1", "Codex runs the tool", "a deny in profile `current`"),
    Deviation("`ask`", "Codex runs the tool", "an ask"),
    Deviation("one hook of an unknown type", "Claude and Codex run no hook of the file", "only that hook is skipped"),
    Deviation("`updatedInput`", "Claude and Codex change the tool's input", "recorded with a warning, never applied"),
    Deviation("hooks of one event", "start at the same time", "run in order; `parallel` gives the same answer"),
    Deviation("invalid matcher", "the group is silently dead", "an error; the group is dropped"),
    Deviation("flat entries, `mcp_tool`", "differs", "a warning, not run; `--lenient` takes flat entries"),
)

_IN_TURNS: Final = frozenset(
    {"prompt:submit", "tool:before", "tool:after", "turn:stop", "subagent:start", "subagent:end"}
)

# Members only one product promises: the value when the host does not say, and the events (None: all of them).
EXTRA_MEMBERS: Final[Mapping[tuple[Dialect, Profile], Mapping[str, tuple[Any, frozenset[str] | None]]]] = {
    ("codex", "current"): {
        "model": ("", _IN_TURNS | {"session:start"}),
        "turn_id": ("", _IN_TURNS),
        "last_assistant_message": (None, frozenset({"turn:stop"})),
    },
}


def profile_of(dialect: Dialect, wanted: Profile | None = None) -> Profile:
    """Return the profile a file is read in: the wanted one, ``current`` without a wish, always ``seed`` for native."""
    return "seed" if dialect == "native" else wanted or "current"


def rules(dialect: Dialect, profile: Profile) -> Rules:
    """Return how a dialect is read in a profile."""
    return _RULES[dialect, profile_of(dialect, profile)]


def switches() -> tuple[Any, ...]:
    """Return the attributes of :class:`Rules`, each with its ``topic`` and ``meanings``: the rows of the table."""
    return tuple(fields(Rules))
