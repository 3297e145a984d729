"""Placeholders, options, cleaned text, and the generated page."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dshhooks.bridge.reference
from dshhooks.bridge.dialects import DIALECTS, PROFILES, rules, switches
from dshhooks.bridge.model import Hook, Source
from dshhooks.bridge.options import BridgeOptions, Limits, LlmOptions, ProxyOptions
from dshhooks.bridge.placeholders import header_value, prompt_text, splits, substitute
from dshhooks.bridge.text import clean, decode_output, preview

ROOT = Path(__file__).parents[2]
CLAUDE, NATIVE = rules("claude", "current"), rules("native", "seed")
SHELL = Hook("id", "shell", Source("f", "claude", "current", "user"), "tool:before", "PreToolUse")


class TestPlaceholders:
    """Values go in as they are."""

    def test_known_ones_only(self):
        """Case 50: a known one with a value is replaced; unknown ones, and those without braces, stay."""
        values = {"CLAUDE_PROJECT_DIR": "/p q", "HOME": "/h"}
        text = "${CLAUDE_PROJECT_DIR}/x ${UNKNOWN} $CLAUDE_PROJECT_DIR ${HOME} ${CLAUDE_PLUGIN_ROOT}"
        assert substitute(text, values) == "/p q/x ${UNKNOWN} $CLAUDE_PROJECT_DIR ${HOME} ${CLAUDE_PLUGIN_ROOT}"

    def test_values_are_not_read_again(self):
        """Case 48: what is put in is never expanded."""
        values = {"CLAUDE_PROJECT_DIR": "${CLAUDE_PLUGIN_ROOT}\\1$&", "CLAUDE_PLUGIN_ROOT": "no"}
        assert substitute("${CLAUDE_PROJECT_DIR}", values) == "${CLAUDE_PLUGIN_ROOT}\\1$&"
        assert substitute("$HOME", {}) == "$HOME"

    @pytest.mark.parametrize("payload", ['{"a":"$&$\'$1\\\\1 $ARGUMENTS"}', "{}"])
    def test_prompts(self, payload):
        """Every token becomes the payload, literally."""
        for append in (False, True):
            assert prompt_text("a $ARGUMENTS b $ARGUMENTS", payload, append=append) == f"a {payload} b {payload}"

    def test_a_prompt_without_the_token(self):
        """The payload is appended where the dialect does that, and an escaped dollar is a dollar."""
        assert prompt_text("check", "{}", append=False) == "check"
        assert prompt_text("check", "{}", append=True) == "check\n{}"
        assert prompt_text(r"costs \$5: $ARGUMENTS", "{}", append=True) == "costs $5: {}"
        assert prompt_text(r"\$ARGUMENTS", "{}", append=True) == "$ARGUMENTS\n{}"
        assert prompt_text(r"\$ARGUMENTS", "{}", append=False) == r"\{}"

    @pytest.mark.parametrize("template", ["Bearer $TOK", "Bearer ${TOK}"])
    def test_headers(self, template):
        """Case 107: only allowed variables are sent; without a list it depends on the dialect."""
        environ = {"TOK": "secret"}
        assert header_value(template, environ, CLAUDE, ["TOK"]) == "Bearer secret"
        assert header_value(template, environ, NATIVE, ["TOK"]) == "Bearer secret"
        for how in (CLAUDE, NATIVE):
            assert header_value(template, environ, how, []) == "Bearer "
        assert header_value(template, environ, CLAUDE, None) == "Bearer "
        assert header_value(template, environ, NATIVE, None) == "Bearer secret"

    def test_unknown_variables_in_headers(self):
        """In native files they stay as they are; values are not read again."""
        assert header_value("$NO ${NO} $5 $", {}, NATIVE, None) == "$NO ${NO} $5 $"
        assert header_value("$A", {"A": "$B", "B": "x"}, NATIVE, None) == "$B"

    @pytest.mark.parametrize("value", ["a\r\nX: 1", "a\nb", "a\rb"])
    def test_no_line_breaks_in_headers(self, value):
        """A value must not start another header."""
        with pytest.raises(ValueError, match="line break"):
            header_value("$A", {"A": value}, NATIVE, None)

    @pytest.mark.parametrize(
        ("command", "token"),
        [
            ("${CLAUDE_PROJECT_DIR}/x", "${CLAUDE_PROJECT_DIR}"), ('"${CLAUDE_PROJECT_DIR}/x"', None),
            ("'${CLAUDE_PROJECT_DIR}'", None), ('"a" ${CLAUDE_PROJECT_DIR}', "${CLAUDE_PROJECT_DIR}"),
            ('\\"${CLAUDE_PROJECT_DIR}', "${CLAUDE_PROJECT_DIR}"), ("echo", None), ("'", None), ("\\", None),
        ],
    )  # fmt: skip
    def test_quoting(self, command, token):
        """Outside quotes a value with a space falls apart."""
        assert splits(command, {"CLAUDE_PROJECT_DIR": "/a b"}) == token
        assert splits(command, {"CLAUDE_PROJECT_DIR": "/ab"}) is None


class TestText:
    """From bytes to what a model may read."""

    def test_marks(self):
        """One byte-order mark is taken off and obeyed."""
        for data in (b"\xef\xbb\xbfa", "a".encode("utf-16"), b"\xfe\xff\0a", "\ufeffa", b"a"):
            assert decode_output(data) == "a"

    @settings(deadline=None)
    @given(st.binary(max_size=40))
    def test_any_bytes(self, data):
        """No bytes raise."""
        assert isinstance(decode_output(data), str)

    @settings(deadline=None)
    @given(st.text(max_size=40), st.integers(1, 50))
    def test_clean(self, text, limit):
        """Nothing a terminal would obey survives, and the length is bounded."""
        cleaned = clean(text, limit)
        assert "\0" not in cleaned
        assert "\r" not in cleaned
        assert len(cleaned) <= limit + 30

    @pytest.mark.parametrize(
        "text", ["\x1b[31ma\x1b[0m", "\x1b]0;title\x07a", "\x1b]8;;x\x1b\\a", "\x1b(Ba", "a\x1b[2K", "\x1b7a"]
    )
    def test_escape_sequences(self, text):
        """Colours, titles, links and cursor movements go."""
        assert clean(text, 99) == "a"

    def test_preview(self):
        """A log line has the beginning."""
        assert preview(" \x1b[1mabc\n", 10) == "abc"
        assert preview("abcdef", 3) == "abc…"


class TestOptions:
    """Wrong options raise when they are made."""

    @pytest.mark.parametrize(
        "wrong",
        [
            {"timeout_sec": 0}, {"timeout_sec": -1}, {"timeout_sec": math.nan}, {"timeout_sec": True},
            {"timeout_sec": "5"}, {"on_error": "explode"}, {"stderr_cap": 0}, {"stderr_cap": 1.5},
            {"stderr_cap": True}, {"dialect": "cursor"},
            {"profile": "old"}, {"matcher_profile": "old"}, {"discover": "no"}, {"parallel": 1}, {"trust": "yes"},
            {"llm": "http://x"}, {"proxy": "run"}, {"limits": {"stdout": 0}}, {"limits": None},
            {"event_timeouts": {"PreToolUse": 1}}, {"event_timeouts": {"tool:before": 0}}, {"proxy": {"command": ""}},
            {"event_timeouts": None}, {"event_timeouts": ["tool:before"]}, {"tool_aliases": ["Bash"]},
            {"tool_aliases": None}, {"tool_aliases": {"a": 5}}, {"tool_aliases": {"a": [1]}},
            {"tool_aliases": {1: "a"}}, {"config_path": 5}, {"cwd": b"/"}, {"home": []}, {"project_dir": True},
            {"plugin_root": {}}, {"history": 1},
            {"login_shell": 1}, {"context_dialects": ["cursor"]}, {"context_dialects": "claude"}, {"unknown": 1},
        ],
    )  # fmt: skip
    def test_at_construction(self, wrong):
        """Not at the first dispatch; the message names the option."""
        with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
            BridgeOptions(**wrong)

    @pytest.mark.parametrize("wrong", [{"base_url": "http://x"}, {"model": "m"}, {}])
    def test_a_model_needs_both(self, wrong):
        """Case 123: an address without a model, or the other way round, is refused."""
        with pytest.raises((ValueError, TypeError)):
            BridgeOptions(llm=wrong)

    @pytest.mark.parametrize(
        "wrong", ["", "localhost:8765/v1", "127.0.0.1", "ftp://x/v1", "http://", "http://x:y", 5, None]
    )
    def test_a_model_needs_an_address(self, wrong):
        """Something that cannot be posted to is refused now, and not by every oracle later."""
        with pytest.raises(ValueError, match="llm: base_url"):
            BridgeOptions(llm={"base_url": wrong, "model": "m"})

    def test_mappings_will_do(self):
        """What a configuration file holds is taken."""
        options = BridgeOptions(llm={"base_url": "http://u", "model": "m", "api_key": "k"}, proxy={"command": "c"},
                                limits={"context": 5}, tool_aliases={"a": "b", "c": ["d"]}, home="/h")  # fmt: skip
        assert options.llm == LlmOptions(base_url="http://u", model="m", api_key="k")
        assert options.proxy == ProxyOptions(command="c")
        assert options.limits == Limits(context=5)
        assert options.tool_aliases == {"a": ("b",), "c": ("d",)}
        assert options.home == Path("/h")
        assert "'k'" not in repr(options)

    @pytest.mark.parametrize(
        ("kind", "seconds"), [("shell", 600), ("webhook", 600), ("oracle", 30), ("proxy", 60), ("chat", 600)]
    )
    def test_timeouts(self, kind, seconds):
        """The hook's own, the event's, the runtime's, the kind's."""
        import attrs

        hook = attrs.evolve(SHELL, kind=kind)
        assert BridgeOptions().timeout_of(hook) == seconds
        assert BridgeOptions(timeout_sec=7).timeout_of(hook) == 7
        assert BridgeOptions(timeout_sec=7, event_timeouts={"tool:before": 8}).timeout_of(hook) == 8
        assert BridgeOptions(timeout_sec=7).timeout_of(attrs.evolve(hook, timeout=0.5)) == 0.5

    def test_policy(self):
        """The hook's word wins."""
        import attrs

        assert BridgeOptions().on_error_of(SHELL) == "warn"
        assert BridgeOptions(on_error="block").on_error_of(attrs.evolve(SHELL, on_error="ignore")) == "ignore"


class TestPage:
    """docs/reference/dialects.md."""

    def test_it_is_current(self):
        """It is what the tables say; make it with `python -m dshhooks.pages --write`."""
        assert (ROOT / "docs/reference/dialects.md").read_text("utf-8") == dshhooks.bridge.reference.render()

    def test_every_switch_has_its_words(self):
        """Each row has a topic, and each value that occurs has words."""
        page = dshhooks.bridge.reference.render()
        for switch in switches():
            assert f"| {switch.metadata['topic']} |" in page
            meanings = switch.metadata["meanings"]
            used = {
                str(getattr(rules(dialect, profile), switch.name)).lower()
                for dialect in DIALECTS
                for profile in PROFILES
            }
            assert not meanings or used <= set(meanings)

    def test_every_switch_matters(self):
        """A switch that has one value everywhere is no difference."""
        for switch in switches():
            assert (
                len({getattr(rules(dialect, profile), switch.name) for dialect in DIALECTS for profile in PROFILES}) > 1
            )
