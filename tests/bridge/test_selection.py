"""Which hooks run, why the others do not, and the permission rules of `if`."""

from __future__ import annotations

import pytest

from dshhooks.bridge.conditions import parse_condition
from dshhooks.bridge.model import Configuration
from dshhooks.bridge.options import BridgeOptions
from dshhooks.bridge.selection import matching, select
from tests.bridge.kit import commands, echo, group, home_and_project, open_file

BASH = {"tool_name": "Bash", "tool_input": {"command": "git push --force"}}


def reasons(configuration: Configuration, event: str, payload: dict[str, object], **more: object) -> dict[str, str]:
    """Command to reason, for every configured hook."""
    verdicts = select(configuration, event, payload, **more)  # type: ignore[arg-type]
    return {(verdict.hook.command or "").removeprefix("echo "): verdict.reason for verdict in verdicts}


class TestReasons:
    """Explain asks the function that dispatch asks."""

    def test_every_reason(self, tmp_path):
        """The first condition that says no is the reason."""
        data = {"hooks": {
            "PreToolUse": [
                group("edit", matcher="Edit"),
                {"matcher": "Bash", "hooks": [echo("if", **{"if": "Bash(ls *)"}), echo("once", once=True), echo("go")]},
            ],
            "Stop": [group("stop")],
        }}  # fmt: skip
        configuration = open_file(tmp_path / "settings.json", data)
        once = configuration.groups[1].hooks[1].id
        assert reasons(configuration, "PreToolUse", BASH, used={once}) == {
            "edit": "matcher", "if": "if", "once": "once-used", "go": "match", "stop": "event-mismatch",
        }  # fmt: skip
        assert commands(configuration, "PreToolUse", BASH, used={once}) == ["go"]
        assert commands(configuration, "PreToolUse", BASH) == ["once", "go"]

    def test_what_is_not_active(self, tmp_path):
        """Untrusted and switched-off hooks are listed with that reason."""
        files = {
            "home/.claude/settings.json": {"hooks": {"Stop": [group("home")]}, "disableAllHooks": True},
            "project/.claude/settings.json": {"hooks": {"Stop": [group("project")]}},
        }
        configuration = home_and_project(tmp_path, files, trust=None)
        assert reasons(configuration, "Stop", {}) == {"home": "disabled", "project": "untrusted"}

    def test_both_functions_agree(self, tmp_path):
        """What `select` says runs is what `matching` returns, in the same order."""
        data = {"hooks": {"PostToolUse": [group("a", matcher="Bash"), group("b")], "PostToolUseFailure": [group("c")]}}
        configuration = open_file(tmp_path / "settings.json", data)
        for event in ("PostToolUse", "PostToolUseFailure", "tool:after", "Stop"):
            all_of_them = select(configuration, event, BASH)
            assert [verdict for verdict in all_of_them if verdict.runs] == matching(configuration, event, BASH)

    def test_nothing_is_configured(self):
        """An event without groups reaches nobody."""
        assert matching(Configuration(), "Stop", {}) == []
        assert select(Configuration(), "Stop", {}) == []


class TestDedupe:
    """The same handler twice."""

    def test_it_is_an_option(self, tmp_path):
        """Without it both run; with it the first, whatever the matchers."""
        files = {
            "home/.claude/settings.json": {
                "hooks": {"PreToolUse": [group("a", matcher="Edit"), group("a"), group("b")]}
            },
            "project/.claude/settings.json": {"hooks": {"PreToolUse": [group("a", matcher="Bash")]}},
        }
        configuration = home_and_project(tmp_path, files)
        assert commands(configuration, "PreToolUse", BASH) == ["a", "b", "a"]
        options = BridgeOptions(dedupe=True)
        assert commands(configuration, "PreToolUse", BASH, options=options) == ["a", "b"]
        verdicts = select(configuration, "PreToolUse", BASH, options=options)
        assert [verdict.reason for verdict in verdicts] == ["matcher", "match", "match", "duplicate"]

    def test_other_arguments_are_another_handler(self, tmp_path):
        """Arguments, shell and condition tell handlers apart."""
        hooks = [{"command": "x", "args": ["1"]}, {"command": "x", "args": ["2"]}, {"command": "x"},
                 {"command": "x", "shell": "bash"}, {"command": "x", "if": "Bash"}]  # fmt: skip
        configuration = open_file(tmp_path / "settings.json", {"hooks": {"PreToolUse": [{"hooks": hooks}]}})
        assert len(commands(configuration, "PreToolUse", BASH, options=BridgeOptions(dedupe=True))) == 5


class TestCondition:
    """Permission rules."""

    @pytest.mark.parametrize(
        ("rule", "command", "holds"),
        [
            ("Bash", "anything", True), ("Bash()", "anything", True), ("Bash(*)", "anything", True),
            ("Edit", "anything", False), ("bash", "anything", False),
            ("Bash(rm *)", "rm -rf x", True), ("Bash(rm *)", "rm", True), ("Bash(rm *)", "rmdir x", False),
            ("Bash(rm:*)", "rm -rf x", True), ("Bash(git push:*)", "git push --force", True),
            ("Bash(git push:*)", "git pull", False), ("Bash(git push)", "git push", True),
            ("Bash(git push)", "git push x", False), ("Bash(npm run *)", "npm run test", True),
            ("Bash(rm *)", "cd /tmp && rm -rf x", True), ("Bash(rm *)", "true; rm x", True),
            ("Bash(rm *)", "A=1 B=2 rm x", True), ("Bash(rm *)", "echo $(rm x)", True),
            ("Bash(rm *)", "A='x y' B=\"\"z rm x", True), ("Bash(rm *)", "A=it's rm x", True),
            ("Bash(rm *)", "echo rm x", False), ("Bash(rm *)", "A='rm x' echo", False),
            ("Bash(* --force)", "git push --force", True), ("Bash(git * --force)", "git push --force", True),
            ("Bash(a*b*c)", "abc", True), ("Bash(a*b*c)", "acb", False), ("Bash(ab*ba)", "aba", False),
        ],
    )  # fmt: skip
    def test_commands(self, rule, command, holds):
        """A rule for a command looks at the whole text, and at each command in it."""
        payload = {"tool_input": {"command": command, "timeout": 3}}
        assert parse_condition(rule).holds("Bash", payload) == holds

    @pytest.mark.parametrize(
        ("rule", "path", "holds"),
        [
            ("Edit(src/**)", "/w/src/a/b.py", True), ("Edit(src/**)", "/w/test/a.py", False),
            ("Edit(*.py)", "/w/a.py", True), ("Edit(//w/*)", "/w/a.py", True), ("Edit(./src/*)", "/w/src/a.py", True),
            ("Edit(src/**)", "src/a.py", True),
        ],
    )  # fmt: skip
    def test_paths(self, rule, path, holds):
        """A path is seen from the working directory too."""
        payload = {"tool_input": {"file_path": path}, "cwd": "/w"}
        assert parse_condition(rule).holds("Edit", payload) == holds

    def test_domains(self):
        """A domain fits its hosts and those below it."""
        rule = parse_condition("WebFetch(domain:example.com)")
        for url in ("https://example.com/x", "https://a.example.com", "https://EXAMPLE.com", "https://example.com./x"):
            assert rule.holds("WebFetch", {"tool_input": {"url": url}})
            assert parse_condition("WebFetch(domain:Example.com.)").holds("WebFetch", {"tool_input": {"url": url}})
        for url in ("https://badexample.com", "http://[", "example.com"):
            assert not rule.holds("WebFetch", {"tool_input": {"url": url}})

    def test_names_may_have_stars(self):
        """All tools of a server."""
        assert parse_condition("mcp__git__*").holds("mcp__git__push", {})
        assert not parse_condition("mcp__git__*").holds("mcp__other__push", {})

    def test_any_text_of_the_input(self):
        """However deep it stands; without input nothing fits a pattern."""
        payload = {"tool_input": {"edits": [{"path": "x"}, {"path": "secret.txt"}]}}
        assert parse_condition("MultiEdit(secret*)").holds("MultiEdit", payload)
        for tool_input in ({}, None, 3, []):
            assert not parse_condition("MultiEdit(secret*)").holds("MultiEdit", {"tool_input": tool_input})

    def test_more_than_is_looked_at(self):
        """The text that counts may be in the rest, so the hook runs; a model cannot hide a command behind others."""
        rule, many = parse_condition("Bash(rm *)"), list(range(1_000))
        for tool_input in ({"command": "rm x", "more": many}, {"more": many, "command": "rm x"}, {"more": [many] * 9}):
            assert rule.holds("Bash", {"tool_input": tool_input})
        assert not rule.holds("Bash", {"tool_input": {"command": "ls", "more": many[:900]}})

    def test_any_list(self):
        """A host in Python may say a list as a tuple."""
        assert parse_condition("Bash(rm *)").holds("Bash", {"tool_input": {"argv": ("rm x",)}})

    def test_long_rules_are_read_quickly(self):
        """A checkout's file is read before anybody trusts it: this one took longer than anybody waits."""
        with pytest.raises(ValueError, match="permission rule"):
            parse_condition(f"Bash{' ' * 1_000_000}x")

    def test_many_stars_end_quickly(self):
        """Trying every way a pattern could fit would outlast whoever waits for the test."""
        assert not parse_condition(f"Bash({'a*' * 50}b)").holds("Bash", {"tool_input": {"command": "a" * 200_000}})

    @pytest.mark.parametrize("rule", ["", "(", "Bash(", "Bash)", "(x)", "a b"])
    def test_what_is_no_rule(self, rule):
        """Anything else is refused when the file is read."""
        with pytest.raises(ValueError, match="permission rule"):
            parse_condition(rule)

    def test_aliases_count(self, tmp_path):
        """A rule is about the tool under any of its names."""
        configuration = open_file(
            tmp_path / "settings.json", {"hooks": {"PreToolUse": [{"hooks": [echo("a", **{"if": "Bash"})]}]}}
        )
        options = BridgeOptions(tool_aliases={"shell": "Bash"})
        assert commands(configuration, "PreToolUse", {"tool_name": "shell"}, options=options) == ["a"]
        assert commands(configuration, "PreToolUse", {"tool_name": "shell"}) == []

    def test_other_events_never_hold(self, tmp_path):
        """Such a hook never runs where there is no tool call."""
        data = {"hooks": {"Stop": [{"hooks": [echo("a", **{"if": "Bash"})]}]}}
        configuration = open_file(tmp_path / "settings.json", data)
        assert reasons(configuration, "Stop", BASH) == {"a": "if"}
