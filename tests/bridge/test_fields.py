"""The members of a hook: what each must be, and what becomes of a wrong one."""

from __future__ import annotations

import pytest

from dshhooks.bridge.options import BridgeOptions
from tests.bridge.kit import parsed
from tests.bridge.test_parse import one_hook

WEB = {"type": "http", "url": "https://host/path"}
BASH = {"command": "echo a"}


def codes(notes: object) -> list[tuple[str, str, str]]:
    """Level, code and the last part of the pointer."""
    return [(note.level, note.code, note.path.rpartition("/")[2]) for note in notes]  # type: ignore[attr-defined]


class TestTimeout:
    """Seconds, above zero, and nothing else."""

    @pytest.mark.parametrize("value", [0, -1, "5", True, False, None, float("nan"), float("inf"), 10**400, [5], 0.0])
    def test_a_wrong_timeout_is_dropped(self, value):
        """Case 33: an error, and the hook stays with the default."""
        hook, notes = one_hook({**BASH, "timeout": value})
        assert codes(notes) == [("error", "field-invalid", "timeout")]
        assert hook.timeout is None
        assert BridgeOptions().timeout_of(hook) == 600.0

    @pytest.mark.parametrize("value", [5000, 30000.0, 1000])
    def test_milliseconds_are_suspected(self, value):
        """Case 40: a remark; the value is kept as seconds."""
        hook, notes = one_hook({**BASH, "timeout": value})
        assert codes(notes) == [("info", "timeout-milliseconds", "timeout")]
        assert hook.timeout == value

    @pytest.mark.parametrize(("value", "seconds"), [(5, 5.0), (0.5, 0.5), (999, 999.0)])
    def test_a_good_timeout(self, value, seconds):
        """Fractions are fine."""
        hook, notes = one_hook({**BASH, "timeout": value})
        assert (hook.timeout, notes) == (seconds, [])

    def test_codex_takes_whole_seconds(self):
        """There a fraction is kept with a warning."""
        hook, notes = one_hook({**BASH, "timeout": 0.5}, "codex")
        assert codes(notes) == [("warning", "timeout-fraction", "timeout")]
        assert hook.timeout == 0.5

    def test_the_other_name(self):
        """timeoutSec says the same; timeout wins."""
        assert one_hook({**BASH, "timeoutSec": 7}, "codex")[0].timeout == 7.0
        assert one_hook({**BASH, "timeoutSec": 7, "timeout": 3}, "codex")[0].timeout == 3.0
        hook, notes = one_hook({**BASH, "timeoutSec": "x"})
        assert (hook.timeout, codes(notes)) == (None, [("error", "field-invalid", "timeoutSec")])


class TestDropped:
    """Wrong members that cost only themselves."""

    @pytest.mark.parametrize("value", [{"X": 1}, ["X: 1"], "X: 1", None])
    def test_headers(self, value):
        """Case 35: headers of a wrong type are dropped, the hook is kept."""
        hook, notes = one_hook({**WEB, "headers": value})
        assert codes(notes) == [("error", "field-invalid", "headers")]
        assert hook.headers == {}

    @pytest.mark.parametrize("value", ["explode", "Block", True, None, 1])
    def test_on_error(self, value):
        """Case 36: the runtime's policy is used."""
        hook, notes = one_hook({**BASH, "onError": value})
        assert codes(notes) == [("error", "field-invalid", "onError")]
        assert BridgeOptions(on_error="block").on_error_of(hook) == "block"

    @pytest.mark.parametrize(
        ("name", "value"),
        [("env", {"A": 1}), ("env", []), ("cwd", 3), ("model", 3), ("statusMessage", []), ("async", "yes"), ("once", 1),
         ("allowedEnvVars", "TOKEN"), ("allowedEnvVars", [1]), ("failClosed", "no"), ("onFailure", "stop"),
         ("windows", ""), ("if", 3), ("if", "Bash(")],
    )  # fmt: skip
    def test_others(self, name, value):
        """Each wrong member is one error with its pointer."""
        hook, notes = one_hook({**BASH, name: value})
        assert codes(notes) == [("error", "field-invalid", name)]
        assert hook is not None

    @pytest.mark.parametrize("dialect", ["claude", "native"])
    @pytest.mark.parametrize("value", ["TOKEN", [1], None, {}])
    def test_a_list_of_variables_nobody_can_read(self, dialect, value):
        """It allows none: without a list a native hook would send every variable its headers name."""
        hook, notes = one_hook({**WEB, "headers": {"A": "$TOKEN"}, "allowedEnvVars": value}, dialect)
        assert codes(notes) == [("error", "field-invalid", "allowedEnvVars")]
        assert (hook.headers, hook.allowed_env_vars) == ({"A": "$TOKEN"}, ())
        assert one_hook(WEB, dialect)[0].allowed_env_vars is None

    def test_unknown_members_are_only_mentioned(self):
        """Real files carry private marks; some members the products have mean nothing here."""
        _, notes = one_hook({**BASH, "mark": 1, "suppressOutput": True, "continueOnBlock": True})
        assert codes(notes) == [("info", "field-unknown", "mark")]

    def test_a_matcher_on_a_hook_is_mentioned(self):
        """It belongs to the group and does nothing here."""
        assert codes(one_hook({**BASH, "matcher": "Bash"})[1]) == [("info", "field-unknown", "matcher")]


class TestFatal:
    """Wrong members without which the hook would do something else."""

    @pytest.mark.parametrize("value", ["a b", None, {}, [1], ["a", None]])
    def test_arguments(self, value):
        """With wrong arguments the program would become shell text: the hook is skipped."""
        hook, notes = one_hook({**BASH, "args": value})
        assert hook is None
        assert codes(notes) == [("error", "field-invalid", "args")]

    @pytest.mark.parametrize("value", ["fish", "zsh", None, 3, ["bash"]])
    def test_shell(self, value):
        """A command for one shell is not run by another."""
        hook, notes = one_hook({**BASH, "shell": value})
        assert hook is None
        assert codes(notes) == [("error", "field-invalid", "shell")]


class TestMeaning:
    """What good members become."""

    def test_exec_form(self):
        """Case 48: arguments stay what they are, each one argument."""
        hook, notes = one_hook({"command": "python", "args": ["a b", "$HOME", ""]})
        assert (hook.command, hook.args, notes) == ("python", ("a b", "$HOME", ""), [])
        assert one_hook({"type": "agent", "prompt": "p", "args": ["x"]})[0] is None

    def test_everything(self):
        """Every attribute has its member."""
        hook, notes = one_hook({
            **BASH, "shell": "bash", "env": {"A": "1"}, "cwd": "sub", "onError": "ignore", "statusMessage": "s",
            "async": True, "once": True, "if": "Bash(git push *)", "model": "m", "linux": "l", "osx": "o",
            "bash": "b", "powershell": "p", "windows": "w",
        })  # fmt: skip
        assert notes == []
        assert (hook.shell, hook.env, hook.cwd, hook.on_error) == ("bash", {"A": "1"}, "sub", "ignore")
        assert (hook.status_message, hook.detached, hook.once, hook.condition) == ("s", True, True, "Bash(git push *)")
        platforms = {"linux": "l", "osx": "o", "bash": "b", "powershell": "p", "windows": "w"}
        assert (hook.model, hook.platform_commands) == ("m", platforms)

    def test_commands_by_platform_will_do(self):
        """A hook may have nothing but these."""
        hook, notes = one_hook({"bash": "echo a", "powershell": "echo b"}, lenient=False)
        assert (hook.command, hook.platform_commands, notes) == (None, {"bash": "echo a", "powershell": "echo b"}, [])

    def test_both_spellings_of_codex(self):
        """commandWindows wins, with a warning."""
        hook, notes = one_hook({**BASH, "command_windows": "a", "commandWindows": "b"}, "codex")
        assert hook.platform_commands == {"windows": "b"}
        assert codes(notes) == [("warning", "field-twice", "command_windows")]

    @pytest.mark.parametrize(
        ("members", "policy", "other"),
        [({"onFailure": "block"}, "block", True), ({"onFailure": "continue"}, None, False),
         ({"failClosed": True}, "block", False), ({"failClosed": False}, None, False),
         ({"onFailure": "block", "onError": "warn"}, "warn", True)],
    )  # fmt: skip
    def test_words_for_failing_closed(self, members, policy, other):
        """Other products' words become onError, which wins where it is there."""
        hook, notes = one_hook({**BASH, **members})
        assert (hook.on_error, hook.exit_other_is_failure, notes) == (policy, other, [])

    def test_rewaking_is_reduced(self):
        """asyncRewake is async here, and says so once."""
        hook, notes = one_hook({**BASH, "async": False, "asyncRewake": True, "rewakeMessage": "m"})
        assert hook.detached
        assert codes(notes) == [("info", "field-reduced", "asyncRewake")]

    def test_headers_keep_their_variables(self):
        """They are put in when the request is made."""
        hook, _ = one_hook({**WEB, "headers": {"Authorization": "Bearer $TOK"}, "allowedEnvVars": ["TOK"]})
        assert (hook.headers, hook.allowed_env_vars) == ({"Authorization": "Bearer $TOK"}, ("TOK",))

    def test_commands_are_left_alone(self):
        """Nothing in a command is touched: it is the shell's."""
        text = 'cd "$(git rev-parse --show-toplevel)" && ${VAR:-x} ${CODEX_PLUGIN_ROOT}/a # note'
        assert one_hook({"command": text})[0].command == text


class TestCondition:
    """Where `if` is evaluated."""

    @pytest.mark.parametrize(("dialect", "profile"), [("claude", "seed"), ("codex", "current"), ("opencode", "seed")])
    def test_not_evaluated_is_said(self, dialect, profile):
        """A warning: the hook runs more often than its author wanted."""
        event = "tool.execute.before" if dialect == "opencode" else "PreToolUse"
        data = {"hooks": {event: [{"hooks": [{**BASH, "if": "Bash(x)"}]}]}}
        result, notes = parsed(data, dialect, profile)
        assert codes(notes) == [("warning", "if-not-evaluated", "if")]
        assert result.groups[0].hooks[0].condition is None

    def test_elsewhere_it_never_holds(self):
        """On an event without a tool the hook never runs, and the file says so."""
        result, notes = parsed({"hooks": {"Stop": [{"hooks": [{**BASH, "if": "Bash"}]}]}})
        assert codes(notes) == [("warning", "if-without-tool", "if")]
        assert result.groups[0].hooks[0].condition == "Bash"


def test_an_unquoted_placeholder_is_warned_of():
    """A value a shell takes apart, outside quotes; in quotes, or in the exec form, all is well."""
    variables = {"CLAUDE_PROJECT_DIR": "/my project"}
    _, notes = one_hook({"command": "${CLAUDE_PROJECT_DIR}/x"}, variables=variables)
    assert codes(notes) == [("warning", "placeholder-unquoted", "command")]
    for command in ('"${CLAUDE_PROJECT_DIR}"/x', "'${CLAUDE_PROJECT_DIR}'", "${UNKNOWN}/x", "${CLAUDE_PLUGIN_ROOT}/x"):
        assert one_hook({"command": command}, variables=variables)[1] == []
    assert one_hook({"command": "${CLAUDE_PROJECT_DIR}/x", "args": []}, variables=variables)[1] == []
    assert one_hook({"command": "${CLAUDE_PROJECT_DIR}/x"}, variables={"CLAUDE_PROJECT_DIR": "/plain"})[1] == []
