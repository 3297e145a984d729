"""Matchers in both profiles, the slips people make in them, and patterns that must not hurt."""

from __future__ import annotations

import warnings

import pytest

from dshhooks.bridge.dialects import DIALECTS, PROFILES, profile_of, rules
from dshhooks.bridge.matchers import MATCH_ALL, MatcherError, compile_matcher
from dshhooks.bridge.options import BridgeOptions
from tests.bridge.kit import commands, found, group, open_file, parsed

READINGS = [
    (dialect, profile) for dialect in DIALECTS for profile in PROFILES if profile_of(dialect, profile) == profile
]
TOOL = {"claude": "PreToolUse", "codex": "PreToolUse", "opencode": "tool.execute.before", "native": "tool:before"}


def fits(pattern: str | None, subject: str, dialect: str = "claude", profile: str = "current") -> bool:
    """Say whether a pattern fits a subject in a reading."""
    return compile_matcher(pattern, rules(dialect, profile)).matches(subject)  # type: ignore[arg-type]


@pytest.mark.parametrize(("dialect", "profile"), READINGS)
class TestEveryReading:
    """What holds in every dialect and profile."""

    @pytest.mark.parametrize("pattern", [None, "", "*"])
    @pytest.mark.parametrize("subject", ["Bash", "", "读取文件", "a b"])
    def test_nothing_matches_everything(self, dialect, profile, pattern, subject):
        """Case 16: absent, empty and star match everything, also no subject at all."""
        assert fits(pattern, subject, dialect, profile)

    def test_alternatives(self, dialect, profile):
        """Case 12: one of several names fits, another does not."""
        assert fits("Bash|Edit", "Edit", dialect, profile)
        assert fits("Bash|Edit", "Bash", dialect, profile)
        assert not fits("Bash|Edit", "Write", dialect, profile)

    def test_case_counts(self, dialect, profile):
        """Case 14: a name in another case fits in no dialect."""
        assert not fits("bash", "Bash", dialect, profile)

    def test_no_subject_fits_no_pattern(self, dialect, profile):
        """A payload without a tool's name fits only what matches everything."""
        assert not fits("Bash", "", dialect, profile)
        assert not fits("B?", "", dialect, profile)

    @pytest.mark.parametrize("pattern", ["|Bash", "Bash|", "Bash||Edit", "|", "||"])
    def test_an_empty_alternative_matches_nothing(self, dialect, profile, pattern):
        """It must not turn a list into match-all, and it is no error."""
        assert not fits(pattern, "Write", dialect, profile)
        assert fits(pattern, "Bash", dialect, profile) == ("Bash" in pattern)

    def test_an_empty_alternative_behind_an_escaped_bar(self, dialect, profile):
        """The bar itself stays, and what follows it is no match-all; however many follow, they are read once."""
        for pattern in (r"x\|\|\|y", r"x\||y", r"x\|||y", r"x\|||", r"x\||", "x\\" + "|" * 200_000 + "y"):
            assert not fits(pattern, "Bash", dialect, profile)

    def test_white_space_is_no_match_all(self, dialect, profile):
        """A pattern of white space fits no name, nor one that has a blank in it."""
        for pattern in (" ", "  ", "\t", "\n"):
            assert not fits(pattern, "Bash", dialect, profile)
            assert not fits(pattern, f"a{pattern}b", dialect, profile)
            assert not fits(pattern, pattern, dialect, profile)

    def test_names_in_any_script(self, dialect, profile):
        """Names are compared as they are, without normalization."""
        assert fits("读取文件", "读取文件", dialect, profile)
        assert not fits("读取文件", "读取", dialect, profile)
        assert not fits("caf\N{LATIN SMALL LETTER E WITH ACUTE}", "cafe\N{COMBINING ACUTE ACCENT}", dialect, profile)

    def test_a_pattern_that_backtracks_ends(self, dialect, profile):
        """Backtracking through one of these would outlast whoever waits for the test."""
        assert not fits("(a+)+$", "a" * 900 + "!", dialect, profile)
        assert not fits("(?:[ab]*)*c", "ab" * 450, dialect, profile)

    def test_a_group_runs(self, dialect, profile, tmp_path):
        """Case 16: the same through a file of each dialect."""
        key, extra = ("events", {"version": 1}) if dialect == "native" else ("hooks", {})
        groups = [group("none"), group("empty", matcher=""), group("star", matcher="*"), group("null", matcher=None)]
        data = {**extra, key: {TOOL[dialect]: groups}}
        configuration = open_file(tmp_path / "x.json", data, dialect=dialect, profile=profile)
        assert commands(configuration, "PreToolUse", subject="Whatever") == ["none", "empty", "star", "null"]
        assert configuration.diagnostics == ()


class TestClaude:
    """Lists of names; in `current` regular expressions as soon as another character is there."""

    @pytest.mark.parametrize("profile", PROFILES)
    def test_names_are_whole(self, profile):
        """Cases 12, 13: a longer name does not fit."""
        assert not fits("Bash|Edit", "EditX", profile=profile)
        assert not fits("Bash", "BashOutput", profile=profile)

    @pytest.mark.parametrize("profile", PROFILES)
    def test_names_in_any_script_are_whole(self, profile):
        """Letters are letters in every script: such a name is compared whole, too, alone and in a list."""
        assert not fits("读取文件", "读取文件夹", profile=profile)
        assert fits("Bash, 读取文件", "读取文件", profile=profile)

    @pytest.mark.parametrize("profile", PROFILES)
    @pytest.mark.parametrize("pattern", ["Bash, Edit", "Bash,Edit", "Bash | Edit", "Bash|Edit,Write"])
    def test_commas_and_spaces(self, profile, pattern):
        """Case 15: commas separate names too, and spaces around them do not count."""
        assert fits(pattern, "Edit", profile=profile)
        assert fits(pattern, "Bash", profile=profile)

    def test_current_reads_regular_expressions(self):
        """One character that no name has makes it an unanchored regular expression."""
        assert fits("mcp__memory__.*", "mcp__memory__store")
        assert fits("Edit.*", "MultiEdit")
        assert fits("^Edit$", "Edit")
        assert not fits("^Edit$", "MultiEdit")
        assert not fits("mcp__memory", "mcp__memory__store")

    def test_names_may_have_dashes(self):
        """A dash alone does not make a regular expression."""
        assert fits("code-reviewer", "code-reviewer")
        assert not fits("code-reviewer", "my-code-reviewer")

    def test_seed_reads_literals_only(self):
        """To the letter every pattern is a list of literals."""
        assert not fits("Edit.*", "EditX", profile="seed")
        assert fits("Edit.*", "Edit.*", profile="seed")

    @pytest.mark.parametrize(
        ("pattern", "fires"),
        [
            ("Bash", True), ("Bash|Edit", True), ("Edit|Bash", True), (".*", True), ("^Bash$", True), ("*", True),
            ("", True), ("B.*", True), ("[B]ash", True), ("B*", True), ("bash", False), ("Ba", False), ("ash", False),
            ("run_.*", False), ("Bash, Edit", True), ("Bash | Edit", True), ("Shell", False), ("Bash(ls*)", False),
            ("Bash(echo:*)", False),
        ],
    )  # fmt: skip
    def test_as_measured(self, pattern, fires):
        """The rows seen in Claude Code for a call of Bash."""
        assert fits(pattern, "Bash") == fires


class TestCodex:
    """Regular expressions; in `current` names when there are only word characters."""

    def test_seed_is_unanchored(self):
        """Case 13: in the seed a name fits longer ones."""
        assert fits("Bash", "BashOutput", "codex", "seed")
        assert not fits("Bash", "BashOutput", "codex", "current")

    @pytest.mark.parametrize("profile", PROFILES)
    def test_anchors(self, profile):
        """Case 17: anchors work."""
        assert fits("^apply_patch$", "apply_patch", "codex", profile)
        assert not fits("^apply_patch$", "xapply_patch", "codex", profile)

    @pytest.mark.parametrize(
        ("pattern", "fires"),
        [
            ("Bash", True), ("Bash|Edit", True), (".*", True), ("^Bash$", True), ("B.*", True), ("[B]ash", True),
            ("B*", True), ("bash", False), ("Ba", False), ("ash", False), ("Bash, Edit", False), ("Bash | Edit", False),
        ],
    )  # fmt: skip
    def test_as_measured(self, pattern, fires):
        """The rows seen in Codex for a call of Bash."""
        assert fits(pattern, "Bash", "codex") == fires

    def test_a_comma_makes_a_regular_expression(self):
        """Only word characters and bars make a list."""
        assert fits("a,b", "xa,bx", "codex")
        assert fits("code-reviewer", "my-code-reviewer", "codex")


class TestForeignSyntax:
    """JavaScript's and Rust's regular expressions in Python."""

    def test_named_groups(self):
        """Case 25: their named groups are translated."""
        assert fits("(?<t>Bash)", "Bash", "codex")
        assert fits(r"^(?<a>x)\k<a>$", "xx", "codex")

    @pytest.mark.parametrize("pattern", [r"\p{L}+", "[[:alpha:]]+", "x(?i)bash", r"\u{1F600}", "[[a]&&b]"])
    def test_unsupported_syntax_is_refused(self, pattern):
        """What Python cannot say, or says differently, is reported; nothing is guessed, and no warning leaks."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(MatcherError) as raised:
                compile_matcher(pattern, rules("codex", "current"))
        assert raised.value.code in ("matcher-unsupported", "matcher-invalid")

    @pytest.mark.parametrize("pattern", ["(", "*foo", "[a", "a**", "(?<1>x)"])
    def test_a_wrong_pattern_is_an_error_of_ours(self, pattern):
        """Whatever Python raises becomes the one error the parser catches."""
        with pytest.raises(MatcherError):
            compile_matcher(pattern, rules("codex", "current"))

    def test_escaped_slashes(self):
        """A slash may be escaped, as JavaScript writes it."""
        assert fits(r"a\/b", "a/b", "codex")

    @pytest.mark.parametrize("pattern", ["(a+)+", "(a*)+", "(?:[ab]+)*", "(.*)+x"])
    def test_nested_repetition_keeps_its_meaning(self, pattern):
        """What is rewritten to end quickly fits what it fitted before."""
        import re

        for subject in ("a", "aab", "b", "xx", ""):
            assert fits(pattern, subject, "codex") == (bool(subject) and re.search(pattern, subject) is not None)

    def test_an_escaped_bar_stays(self):
        """A bar that is a character is no alternative."""
        assert fits(r"a\||b", "a|", "codex")
        assert not fits(r"a\|", "a", "codex")


def test_a_bad_pattern_costs_its_group_only():
    """Case 18: one error, that group is dropped, its sibling survives."""
    result, notes = parsed({"hooks": {"PreToolUse": [group("bad", matcher="("), group("good")]}}, "codex")
    assert found(notes) == [("error", "matcher-invalid", "/hooks/PreToolUse/0/matcher")]
    assert [made.hooks[0].command for made in result.groups] == ["echo good"]
    assert result.groups[0].hooks[0].id.endswith(":1:0")


@pytest.mark.parametrize("matcher", [3, True, ["Bash"], {"tool": "Bash"}])
def test_a_matcher_must_be_a_text(matcher):
    """A matcher of another type drops its group."""
    result, notes = parsed({"hooks": {"PreToolUse": [group("bad", matcher=matcher), group("good")]}})
    assert found(notes) == [("error", "matcher-not-text", "/hooks/PreToolUse/0/matcher")]
    assert len(result.groups) == 1


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop", "Notification", "PreCompact"])
def test_a_matcher_without_a_subject_is_dropped(tmp_path, event):
    """Case 23: a warning, and the group runs for every such event."""
    configuration = open_file(tmp_path / "settings.json", {"hooks": {event: [group("a", matcher="Bash(")]}})
    assert found(configuration.diagnostics) == [("warning", "matcher-ignored", f"/hooks/{event}/0/matcher")]
    assert commands(configuration, event) == ["a"]
    assert configuration.groups[0].matcher is None


class TestAdvice:
    """Patterns that are valid and will surprise their authors."""

    def warned(self, pattern: str, dialect: str = "claude", profile: str = "current") -> list[tuple[str, str]]:
        """Level and code of what is said about a pattern; the group always survives."""
        result, notes = parsed({"hooks": {"PreToolUse": [group("a", matcher=pattern)]}}, dialect, profile)
        assert len(result.groups) == 1
        assert all(note.path == "/hooks/PreToolUse/0/matcher" for note in notes)
        return [(note.level, note.code) for note in notes]

    @pytest.mark.parametrize("dialect", ["claude", "codex"])
    @pytest.mark.parametrize("pattern", ["Bash(git add*)", "Bash(echo:*)", "WebFetch(domain:x.y)"])
    def test_a_permission_rule(self, dialect, pattern):
        """Case 22: it can never match; the hint says where such a rule belongs."""
        _, notes = parsed({"hooks": {"PreToolUse": [group("a", matcher=pattern)]}}, dialect)
        assert ("warning", "matcher-never-matches") in [(note.level, note.code) for note in notes]
        assert '"if"' in str(notes[0].hint)

    def test_a_permission_rule_that_is_no_expression(self):
        """The error of a rule that cannot even be compiled has the same hint."""
        _, notes = parsed({"hooks": {"PreToolUse": [group("a", matcher="Edit(src/**)")]}})
        assert found(notes) == [("error", "matcher-invalid", "/hooks/PreToolUse/0/matcher")]
        assert '"if": "Edit(src/**)"' in str(notes[0].hint)

    @pytest.mark.parametrize("pattern", ['tool == "Bash"', "tool == 'Bash' && x", "a and b"])
    def test_a_language_of_its_own(self, pattern):
        """Quotes and operators are in no tool's name."""
        if pattern == "a and b":
            assert self.warned(pattern, "codex") == [("warning", "matcher-never-matches")]
        else:
            assert self.warned(pattern) == [("warning", "matcher-never-matches")]

    def test_a_glob(self):
        """A star after a letter is a repetition."""
        assert self.warned("mcp__*") == [("warning", "matcher-glob")]
        assert self.warned("mcp__.*") == []

    def test_a_regular_expression_where_there_are_none(self):
        """In the seed a pattern with regex characters is a literal that never fits."""
        assert self.warned("Edit.*", profile="seed") == [("warning", "matcher-never-matches")]

    @pytest.mark.parametrize("pattern", [r"(\w+__)*z$", "((a+)+)+$", "(?:x(y+)){2,}z", "([a)]+_)+z"])
    def test_repetition_within_repetition(self, pattern):
        """Such a pattern can take exponentially long: its author is told."""
        assert self.warned(pattern) == [("warning", "matcher-slow")]

    @pytest.mark.parametrize(
        "pattern", ["(a+)+$", r"(\+_)+z", "([a+]_)+z", "(ab)+c+$", "(a|b)*c{2,3}$", r"mcp__(x|y)__.*"]
    )
    def test_repetition_that_is_fine(self, pattern):
        """One repetition at a time, and those that are rewritten, go unmentioned."""
        assert self.warned(pattern) == []

    def test_white_space(self):
        """White space only fits nothing, and somebody meant something."""
        assert self.warned("  ") == [("warning", "matcher-never-matches")]

    def test_the_case_of_a_known_tool(self):
        """A hint for a known name in another case; not where lower case is usual."""
        assert self.warned("bash|Edit") == [("info", "matcher-case")]
        assert self.warned("my_tool") == []
        _, notes = parsed({"hooks": {"tool.execute.before": [group("a", matcher="bash")]}}, "opencode")
        assert notes == []

    @pytest.mark.parametrize("pattern", ["Ba(sh|t)", "Bash(Output)?", "Bash(.*)", "^(Edit|Write)$", "startup|resume"])
    def test_good_expressions_are_left_alone(self, pattern):
        """Brackets do not make a permission rule."""
        assert self.warned(pattern) == []


def test_match_all_is_one_object():
    """Nothing is compiled for a group that matches everything."""
    assert compile_matcher(None, rules("claude", "seed")) is MATCH_ALL
    assert compile_matcher("*", rules("codex", "seed")) is MATCH_ALL


def test_aliases_are_further_names(tmp_path):
    """A matcher is tested against the real name, then each alias; other events know no aliases."""
    data = {"hooks": {"PreToolUse": [group("edit", matcher="Edit"), group("patch", matcher="apply_patch")],
                      "SessionStart": [group("start", matcher="Edit")]}}  # fmt: skip
    aliases = {"apply_patch": ["Edit", "Write"]}
    configuration = open_file(tmp_path / "settings.json", data)
    options = {"options": BridgeOptions(tool_aliases=aliases)}
    assert commands(configuration, "PreToolUse", {"tool_name": "apply_patch"}, **options) == ["edit", "patch"]
    assert commands(configuration, "PreToolUse", {"tool_name": "apply_patch"}) == ["patch"]
    assert commands(configuration, "SessionStart", {"source": "apply_patch"}, **options) == []
