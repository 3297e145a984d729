"""What judging a first command costs: nothing is compiled or loaded that the command does not need."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks_shell_policy import second_opinion
from dshhooks_shell_policy.grammar.parser import parse
from dshhooks_shell_policy.patterns import later

WORDS = st.lists(st.text("abf./-:1%+", min_size=1, max_size=6) | st.sampled_from(["if", "for", "in", "time", "echo"]),
                 min_size=1, max_size=5)  # fmt: skip


def loaded_after(command: str) -> bool:
    """Whether the second grammar is there after judging one command in a fresh interpreter."""
    code = "import sys; from dshhooks_shell_policy import classify; classify(sys.argv[1]); print('tree_sitter' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, command], capture_output=True, text=True, check=True)
    return done.stdout.strip() == "True"


def test_a_command_of_plain_words_needs_no_second_grammar():
    """There is nothing two grammars could see differently."""
    assert not loaded_after("echo hi")


@pytest.mark.parametrize("command", ["echo 'hi'", "echo hi; echo ho", "time echo hi", "echo $x"])
def test_any_other_command_is_read_by_both(command):
    """Quotes, operators, reserved words, expansions."""
    assert loaded_after(command)


@given(WORDS)
def test_what_is_passed_over_would_have_agreed(words):
    """For plain words the own grammar sees every command tree-sitter sees."""
    text = " ".join(words)
    if second_opinion._BARE.fullmatch(text) and second_opinion._RESERVED.isdisjoint(words):
        assert second_opinion._tree_sitter_names(text) <= second_opinion._own_names(parse(text))


def test_a_pattern_is_compiled_when_it_is_asked_something():
    """It behaves like a compiled one, and a wrong source is found out then."""
    pattern = later(r"a(b)?", re.IGNORECASE)
    assert pattern.fullmatch("AB").group(1) == "B"
    assert (pattern.pattern, pattern.sub("x", "ab-a")) == (r"a(b)?", "x-x")
    assert [found.group() for found in pattern.finditer("abA")] == ["ab", "A"]
    with pytest.raises(re.error):
        later("(").match("x")
    with pytest.raises(AttributeError):
        pattern.nothing  # noqa: B018 - reading it is the test


def test_every_pattern_compiles():
    """Nobody has to wait for the command that needs a misspelt one."""
    import gc

    from dshhooks_shell_policy.patterns import _Later

    found = [each for each in gc.get_objects() if type(each) is _Later]
    assert len(found) > 100
    for each in found:
        if each._source != "(":
            assert each.pattern == each._source
