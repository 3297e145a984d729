"""Documents to groups and hooks: what survives, and what is said about the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dshhooks.bridge.dialects import TYPE_WORDS, UNSUPPORTED_EVENTS
from dshhooks.bridge.model import Diagnostic
from tests.bridge.kit import commands, echo, found, group, open_file, parsed

CONFIGS = Path(__file__).parent / "configs"

# Groups and hooks that run, hooks on events we know and do not run, unknown events, errors and warnings.
EXPECTED = {
    "claude-1password": ("claude", 1, 1, 0, 0, []),
    "claude-27-events-async": ("claude", 11, 11, 16, 0, []),
    "claude-ironclaude-group-description": ("claude", 3, 3, 0, 0, []),
    "claude-mods-empty-hooks": ("claude", 0, 0, 0, 0, []),
    "claude-plugin-aria-multi-matcher": ("claude", 6, 6, 0, 0, []),
    "claude-plugin-claude-mods": ("claude", 4, 6, 1, 0, []),
    "claude-plugin-hookify": ("claude", 4, 4, 0, 0, []),
    "claude-plugin-ralph-stop": ("claude", 1, 1, 0, 0, []),
    "codex-best-practice": ("codex", 5, 5, 0, 0, []),
    "codex-prompt-language-description-root": ("codex", 4, 4, 0, 0, []),
    "codex-statusmessage": ("codex", 5, 5, 1, 0, []),
    "codex-windows-python": ("codex", 5, 5, 1, 0, []),
    "codex-xhawk-key-order": ("codex", 2, 2, 0, 0, []),
    "copilot-1password-flat": ("claude", 0, 0, 0, 0, [("warning", "flat-hook", "/hooks/PreToolUse/0")]),
    "copilot-azure-python-noversion": ("claude", 0, 0, 0, 0, [("warning", "flat-hook", "/hooks/PostToolUse/0")]),
    "cursor-1password-flat": ("claude", 0, 0, 0, 1, [("warning", "event-unknown", "/hooks/beforeShellExecution")]),
    "gemini-extension-example": ("claude", 1, 1, 0, 0, []),
    "neg-claude-additional-properties-hook": ("claude", 1, 1, 0, 0, []),
    "neg-claude-invalid-hook-shell": (
        "claude", 0, 0, 0, 0, [("error", "field-invalid", "/hooks/PreToolUse/0/hooks/0/shell")],
    ),
    "neg-claude-invalid-hook-type": (
        "claude", 0, 0, 0, 0, [("error", "type-unknown", "/hooks/PreToolUse/0/hooks/0/type")],
    ),
    "neg-claude-invalid-timeout-value": (
        "claude", 1, 1, 0, 0, [("error", "field-invalid", "/hooks/PreToolUse/0/hooks/0/timeout")],
    ),
    "neg-codex-invalid-event-shape": ("codex", 0, 0, 0, 0, [("error", "event-not-list", "/hooks/SessionStart")]),
    "neg-codex-missing-command": ("codex", 0, 0, 0, 0, [("error", "field-missing", "/hooks/Stop/0/hooks/0")]),
    "schemastore-claude-empty": ("claude", 0, 0, 0, 0, []),
    "schemastore-codex": ("codex", 7, 7, 3, 0, []),
    "windsurf-1password-flat": ("claude", 0, 0, 0, 1, [("warning", "event-unknown", "/hooks/pre_run_command")]),
}  # fmt: skip


def one_hook(hook: dict[str, object], dialect: str = "claude", **options: object) -> tuple[object, list[Diagnostic]]:
    """The one hook of a document, or None, and what is said."""
    event = {"native": "tool:before", "opencode": "tool.execute.before"}.get(dialect, "PreToolUse")
    key = "events" if dialect == "native" else "hooks"
    result, notes = parsed({"version": 1, key: {event: [{"hooks": [hook]}]}}, dialect, **options)  # type: ignore[arg-type]
    return (result.groups[0].hooks[0] if result.groups else None), notes


class TestRealFiles:
    """Shapes of files people have."""

    def test_every_file_is_expected(self):
        """A file that is added gets its row."""
        assert {path.stem for path in CONFIGS.glob("*.json")} == set(EXPECTED)

    @pytest.mark.parametrize("name", EXPECTED)
    @pytest.mark.parametrize("profile", ["current", "seed"])
    def test_counts_and_diagnostics(self, name, profile):
        """Every file parses to its counts; errors and warnings only where something is wrong."""
        dialect, groups, hooks, unsupported, unknown, complaints = EXPECTED[name]
        data = json.loads((CONFIGS / f"{name}.json").read_text("utf-8"))
        result, notes = parsed(data, dialect, profile)
        assert (len(result.groups), sum(len(made.hooks) for made in result.groups)) == (groups, hooks)
        assert len([note for note in notes if note.code == "event-unsupported"]) == unsupported
        assert len([note for note in notes if note.code == "event-unknown"]) == unknown
        assert found(notes, "error", "warning") == complaints

    def test_other_programs_files_point_to_the_importer(self):
        """Whoever wrote a Cursor file learns how to bring it along."""
        _, notes = parsed(json.loads((CONFIGS / "cursor-1password-flat.json").read_text("utf-8")))
        assert "import" in str(notes[0].hint)

    def test_the_order_of_keys_does_not_matter(self):
        """Hooks before their matcher, type after the command: all the same."""
        result, _ = parsed(json.loads((CONFIGS / "codex-xhawk-key-order.json").read_text("utf-8")), "codex")
        assert [(made.matcher, made.hooks[0].timeout) for made in result.groups] == [
            ("startup|resume", 5.0),
            (None, 5.0),
        ]


class TestRoot:
    """The document as a whole."""

    @pytest.mark.parametrize("data", [[], "x", 3, None, True])
    def test_the_root_must_be_an_object(self, data):
        """Case 26: one error, and nothing of the file."""
        result, notes = parsed(data)
        assert found(notes) == [("error", "root-not-object", "")]
        assert (result.groups, result.loaded) == ((), False)

    @pytest.mark.parametrize(("dialect", "file"), [("claude", "settings.json"), ("opencode", "opencode.json")])
    def test_settings_need_no_hooks(self, dialect, file):
        """Case 27: most settings have none; that is no error and no warning."""
        result, notes = parsed({"permissions": {}}, dialect, file=file)
        assert found(notes) == [("info", "root-key-missing", "")]
        assert result.loaded

    @pytest.mark.parametrize(
        ("dialect", "file"), [("codex", "hooks.json"), ("native", "x.json"), ("claude", "hooks/hooks.json")]
    )
    def test_a_file_of_hooks_needs_them(self, dialect, file):
        """In a file for nothing but hooks their absence is an error, with what to write."""
        result, notes = parsed({"other": 1}, dialect, file=file)
        assert found(notes) == [("error", "root-key-missing", "")]
        assert not result.loaded

    @pytest.mark.parametrize("value", [[], "x", None, 3])
    def test_the_events_must_be_an_object(self, value):
        """Anything else under the root key is an error."""
        _, notes = parsed({"hooks": value})
        assert found(notes) == [("error", "root-key-not-object", "/hooks")]

    def test_a_bare_event_map(self):
        """A hooks.json may have the events at its top, if they are all events."""
        result, notes = parsed({"PreToolUse": [group("a")], "PermissionRequest": []}, "codex", file="hooks.json")
        assert found(notes) == [("info", "bare-event-map", ""), ("info", "event-unsupported", "/PermissionRequest")]
        assert result.groups[0].hooks[0].path == "/PreToolUse/0/hooks/0"
        result, notes = parsed({"PreToolUse": [group("a")], "model": "x"}, "codex", file="hooks.json")
        assert (result.groups, found(notes)) == ((), [("error", "root-key-missing", "")])

    @pytest.mark.parametrize(
        ("version", "expected"),
        [
            ({}, [("warning", "version-missing", "")]), ({"version": 1}, []),
            ({"version": 2}, [("error", "version-unsupported", "/version")]),
            ({"version": "1"}, [("error", "version-unsupported", "/version")]),
            ({"version": True}, [("error", "version-unsupported", "/version")]),
        ],
    )  # fmt: skip
    def test_the_version_of_a_native_file(self, version, expected):
        """Native files say their version."""
        result, notes = parsed({**version, "events": {"notice": [group("a")]}}, "native")
        assert found(notes) == expected
        assert len(result.groups) == 1

    def test_remarks_are_no_mistakes(self):
        """Case 39: descriptions and schemas on every level go unmentioned."""
        remarks = {"description": "d", "$schema": "s", "$comment": "c", "_comment": "c", "name": "n"}
        hook = {**remarks, **echo("a")}
        data = {**remarks, "hooks": {"PreToolUse": [{**remarks, "hooks": [hook], "sequential": True}]}}
        result, notes = parsed(data)
        assert (len(result.groups), notes) == (1, [])


class TestEvents:
    """Names of events in files."""

    def test_an_unknown_event_is_a_warning(self):
        """Case 41: the rest of the file loads."""
        result, notes = parsed({"hooks": {"Nonsense": [group("a")], "Stop": [group("b")]}})
        assert found(notes) == [("warning", "event-unknown", "/hooks/Nonsense")]
        assert len(result.groups) == 1

    @pytest.mark.parametrize(
        ("name", "right"), [("pretooluse", "PreToolUse"), ("SessionStar", "SessionStart"), ("Stap", "Stop")]
    )
    def test_a_slip_brings_a_suggestion(self, name, right):
        """Another case or a letter less is recognized."""
        _, notes = parsed({"hooks": {name: []}})
        assert notes[0].hint == f"did you mean {right!r}?"

    def test_another_dialects_name(self):
        """A name of another dialect is unknown here, and the right one is known."""
        _, notes = parsed({"hooks": {"tool.execute.before": []}})
        assert notes[0].hint == "that is opencode's name: write 'PreToolUse'"

    def test_canonical_names_are_good_everywhere(self):
        """The canonical name may be used in a file of any dialect."""
        result, notes = parsed({"hooks": {"tool:before": [group("a")]}})
        assert (result.groups[0].canonical, notes) == ("tool:before", [])

    @pytest.mark.parametrize("dialect", ["claude", "codex"])
    def test_known_events_are_only_mentioned(self, dialect):
        """Each event we do not run is one remark, whatever stands under it."""
        data = {name: [group("a"), {"wrong": 1}] for name in UNSUPPORTED_EVENTS[dialect]}
        result, notes = parsed({"hooks": data}, dialect)
        assert found(notes) == [("info", "event-unsupported", f"/hooks/{name}") for name in data]
        assert result.groups == ()

    @pytest.mark.parametrize("value", [{"hooks": [echo("a")]}, "x", None, 3])
    def test_an_event_must_be_a_list(self, value):
        """Case 28: an error that points to the event; other events load."""
        result, notes = parsed({"hooks": {"PreToolUse": value, "Stop": [group("b")]}})
        assert found(notes) == [("error", "event-not-list", "/hooks/PreToolUse")]
        assert len(result.groups) == 1

    def test_an_empty_list_is_fine(self):
        """Case 29: an event without groups goes unmentioned."""
        assert parsed({"hooks": {"PreToolUse": []}})[1] == []

    def test_odd_names_are_escaped(self):
        """A pointer escapes what JSON pointers escape."""
        assert found(parsed({"hooks": {"a/b~c": []}})[1]) == [("warning", "event-unknown", "/hooks/a~1b~0c")]


class TestGroups:
    """Groups, and hooks that stand where groups should."""

    @pytest.mark.parametrize("item", ["x", None, 3, [echo("a")]])
    def test_a_group_must_be_an_object(self, item):
        """Another value is dropped, its siblings stay."""
        result, notes = parsed({"hooks": {"PreToolUse": [item, group("b")]}})
        assert found(notes) == [("error", "group-not-object", "/hooks/PreToolUse/0")]
        assert len(result.groups) == 1

    @pytest.mark.parametrize("hooks", [[], None, "x", {}, 3])
    def test_a_group_must_have_hooks(self, hooks):
        """No list, or nothing in it: the group is dropped."""
        result, notes = parsed({"hooks": {"PreToolUse": [{"hooks": hooks}, group("b")]}})
        assert found(notes) == [("error", "hooks-missing", "/hooks/PreToolUse/0/hooks")]
        assert len(result.groups) == 1
        assert found(parsed({"hooks": {"Stop": [{"matcher": "x"}]}})[1], "error") == [
            ("error", "hooks-missing", "/hooks/Stop/0")
        ]

    def test_unknown_members_are_only_mentioned(self):
        """Real files carry private marks."""
        _, notes = parsed({"hooks": {"PreToolUse": [group("a", mark=1)]}})
        assert found(notes) == [("info", "field-unknown", "/hooks/PreToolUse/0/mark")]

    @pytest.mark.parametrize("dialect", ["claude", "codex", "opencode", "native"])
    def test_a_flat_hook_is_not_run(self, dialect):
        """A hook without a group is a warning with what to do."""
        key, event = ("events", "turn:stop") if dialect == "native" else ("hooks", "turn:stop")
        result, notes = parsed({"version": 1, key: {event: [echo("flat"), group("b")]}}, dialect)
        assert found(notes) == [("warning", "flat-hook", f"/{key}/{event}/0")]
        assert "hooks" in str(notes[0].hint)
        assert [made.hooks[0].command for made in result.groups] == ["echo b"]

    def test_lenient_runs_flat_hooks(self, tmp_path):
        """When told so, each is its own group, with its matcher if it has one."""
        data = {"hooks": {"PreToolUse": [echo("flat"), echo("named", matcher="Edit"), echo("bad", matcher="(")]}}
        configuration = open_file(tmp_path / "settings.json", data, lenient=True)
        assert commands(configuration, "PreToolUse", subject="Bash") == ["flat"]
        assert commands(configuration, "PreToolUse", subject="Edit") == ["flat", "named"]
        assert found(configuration.diagnostics, "error") == [
            ("error", "matcher-invalid", "/hooks/PreToolUse/2/matcher")
        ]
        assert configuration.groups[1].hooks[0].path == "/hooks/PreToolUse/1"


class TestHooks:
    """Types, and what each cannot do without."""

    def test_a_type_in_another_case(self):
        """Case 30: an error with the right word; siblings survive."""
        data = {"hooks": {"PreToolUse": [{"hooks": [{**echo("a"), "type": "Command"}, echo("b")]}]}}
        result, notes = parsed(data)
        assert found(notes) == [("error", "type-unknown", "/hooks/PreToolUse/0/hooks/0/type")]
        assert notes[0].hint == "did you mean 'command'?"
        assert [hook.command for hook in result.groups[0].hooks] == ["echo b"]
        assert result.groups[0].hooks[0].id.endswith(":0:1")

    def test_no_type_is_a_command(self):
        """Case 31: without a type it is a shell hook."""
        hook, notes = one_hook({"command": "echo a"})
        assert (hook.kind, notes) == ("shell", [])

    @pytest.mark.parametrize("hook", [{"type": "command"}, {"command": ""}, {"command": 3}, {"command": None}])
    def test_a_command_is_needed(self, hook):
        """Case 32: without one the hook is skipped, and the group stays with the others."""
        result, notes = parsed({"hooks": {"PreToolUse": [{"hooks": [hook, echo("b")]}]}})
        assert [(note.level, note.path.startswith("/hooks/PreToolUse/0/hooks/0")) for note in notes] == [
            ("error", True)
        ]
        assert len(result.groups[0].hooks) == 1

    @pytest.mark.parametrize(
        ("hook", "dialect"),
        [
            ({"type": "http"}, "claude"), ({"type": "http", "url": "ftp://x"}, "claude"),
            ({"type": "http", "url": "http://"}, "claude"), ({"type": "http", "url": "http://[::1"}, "claude"),
            ({"type": "http", "url": "http://x:99999"}, "claude"), ({"type": "http", "url": 3}, "claude"),
            ({"type": "prompt"}, "claude"), ({"type": "agent"}, "codex"), ({"type": "prompt", "prompt": ""}, "claude"),
            ({"type": "subagent"}, "opencode"), ({"type": "oracle", "prompt": 3}, "native"),
            ({"type": "agent", "prompt": "p", "command": ""}, "claude"),
        ],
    )  # fmt: skip
    def test_every_kind_has_its_own_need(self, hook, dialect):
        """A webhook needs an address, oracle and proxy a prompt; an empty command of a proxy is a mistake."""
        made, notes = one_hook(hook, dialect)
        assert made is None
        assert [note.level for note in notes] == ["error"]

    @pytest.mark.parametrize(
        ("dialect", "word", "kind"), [(d, w, k) for d in TYPE_WORDS for w, k in TYPE_WORDS[d].items()]
    )
    def test_every_word_is_its_kind(self, dialect, word, kind):
        """The table of types is what the parser does."""
        made, notes = one_hook({"type": word, "command": "c", "url": "http://x/", "prompt": "p"}, dialect)
        assert made.kind == kind
        assert [note.level for note in notes if note.level == "error"] == []

    def test_opencode_has_no_prompts(self):
        """Case 37: an unknown type is an error."""
        made, notes = one_hook({"type": "prompt", "prompt": "p"}, "opencode")
        assert made is None
        assert found(notes) == [("error", "type-unknown", "/hooks/tool.execute.before/0/hooks/0/type")]

    def test_native_has_three_words_for_a_proxy(self):
        """Case 38: subagent, agent and proxy are one kind."""
        for word in ("subagent", "agent", "proxy"):
            assert one_hook({"type": word, "prompt": "p"}, "native")[0].kind == "proxy"

    @pytest.mark.parametrize("dialect", ["claude", "codex"])
    def test_tools_of_servers_are_skipped(self, dialect):
        """A type the products have and we do not is a warning with a hint."""
        made, notes = one_hook({"type": "mcp_tool", "server": "s"}, dialect)
        assert made is None
        assert [(note.level, note.code) for note in notes] == [("warning", "type-unsupported")]
        assert notes[0].hint

    def test_a_plugins_kind(self):
        """A kind a plugin registered is known in every dialect, and gets all its members."""
        hook = {"type": "chat", "room": "dev", "nested": {"a": [1]}, "timeout": 3, "onError": "block"}
        made, notes = one_hook(hook, kinds={"chat"})
        assert (made.kind, made.timeout, made.on_error, notes) == ("chat", 3.0, "block", [])
        assert made.fields == hook
        assert one_hook(hook)[0] is None

    @pytest.mark.parametrize("entry", ["echo a", None, 3, []])
    def test_a_hook_must_be_an_object(self, entry):
        """Another value is dropped, its siblings stay."""
        result, notes = parsed({"hooks": {"Stop": [{"hooks": [entry, echo("b")]}]}})
        assert found(notes) == [("error", "hook-not-object", "/hooks/Stop/0/hooks/0")]
        assert len(result.groups[0].hooks) == 1

    @pytest.mark.parametrize("word", [3, None, ["command"], {}])
    def test_a_type_must_be_a_text(self, word):
        """A type of another type is unknown."""
        assert found(one_hook({"type": word, "command": "c"})[1]) == [
            ("error", "type-unknown", "/hooks/PreToolUse/0/hooks/0/type")
        ]


def test_ids_are_positions_in_the_file():
    """An id does not move when a sibling is repaired."""
    broken = {"hooks": {"PreToolUse": [{"hooks": []}, {"hooks": [{"type": "x"}, echo("a")]}]}}
    result, _ = parsed(broken)
    assert result.groups[0].hooks[0].id == "claude:pinned:settings.json:PreToolUse:1:1"
