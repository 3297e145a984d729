"""What judging a first command costs: nothing is compiled or loaded that the command does not need."""

from __future__ import annotations

import importlib
import pkgutil
import re
import string
import subprocess
import sys
from re import _constants as sre
from re import _parser

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dshhooks_shell_policy
from dshhooks_shell_policy import credential_files, decide, paths, programs, registry, second_opinion
from dshhooks_shell_policy.grammar.parser import parse
from dshhooks_shell_policy.patterns import later

WORDS = st.lists(st.text("abf./-:1%+", min_size=1, max_size=6) | st.sampled_from(["if", "for", "in", "time", "echo"]),
                 min_size=1, max_size=5)  # fmt: skip


def import_all(package) -> None:
    """Import every module of a package."""
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)


def modules_after(command: str) -> set[str]:
    """The modules that are there after judging one command in a fresh interpreter."""
    code = "import sys; from dshhooks_shell_policy import classify; classify(sys.argv[1]); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, command], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def loaded_after(command: str) -> bool:
    """Whether the second grammar is among them."""
    return "tree_sitter" in modules_after(command)


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

    import_all(dshhooks_shell_policy)
    found = [each for each in gc.get_objects() if type(each) is _Later]
    assert len(found) > 100
    for each in found:
        if each._source != "(":
            assert each.pattern == each._source


def test_one_command_loads_one_family():
    """The rules of the others are nothing it needs."""
    families = {name.rpartition(".")[2] for name in modules_after("grep -r word src") if ".programs." in name}
    assert families == {"text"}


def test_the_table_of_families_is_complete():
    """What a module registers is found under its name, and nothing else is said to be there."""
    import_all(programs)
    homes = {name: handler.judge.__module__.rpartition(".")[2] for name, handler in registry._HANDLERS.items()}
    assert homes == {name: family for family, names in programs.FAMILIES.items() for name in names.split()}


@pytest.mark.parametrize("name", ["a-program-nobody-knows", "tar"])
def test_a_rule_that_nobody_would_find_is_refused(name):
    """It is not in the table, or in the table under another module."""
    with pytest.raises(ValueError, match=re.escape(f"does not have {name} in {__name__}")):
        registry.program(name)(test_one_command_loads_one_family)


def test_a_second_rule_of_a_program_is_refused():
    """Which of the two would count is nothing to be left to the order of modules."""
    judge = registry.handler_for("tar").judge
    other = type(judge)(judge.__code__, judge.__globals__, "other")
    other.__module__, other.__qualname__ = judge.__module__, "other"
    with pytest.raises(ValueError, match="two rules for tar"):
        registry.program("tar")(other)
    assert registry.program("tar", reads=False)(judge) is judge


@given(st.text(st.characters(codec="ascii"), max_size=8))
def test_an_ascii_command_is_looked_at_by_hand_as_by_pattern(text):
    """What is not printable deceives, but for tabs and line ends."""
    found = decide._DECEPTIVE.search(text) or decide._INVISIBLE.search(text)
    assert decide._deceptive(text) == (found.group() if found else "")


@given(st.sampled_from(["", "~", "~/", "/etc/", "etc/", "/", "a/~/"]), st.text("~/.abwireguadn", max_size=12))
def test_places_of_credentials_are_in_two_places_only(start, rest):
    """Anywhere else their pattern, which is long, does not match and is not compiled."""
    path = start + rest
    assert not credential_files._BY_PLACE.search(path) or path.startswith(("~/", "/etc/"))


@given(st.text(max_size=4).map("python".__add__) | st.text(max_size=6))
def test_a_version_has_a_digit(name):
    """Names without one have no version to be taken off."""
    assert any(map(str.isdigit, name)) or not registry._VERSIONED.fullmatch(name)


WORD = frozenset(map(ord, string.ascii_letters + string.digits + "-"))


def needs_more_than_a_word(pattern) -> bool:
    """Whether nothing a parsed pattern matches is a word of letters, digits and dashes."""
    for kind, detail in pattern:
        if kind is sre.LITERAL and detail not in WORD:
            return True
        if kind is sre.IN and detail[0][0] is not sre.NEGATE and not any(_may_be_in_a_word(each) for each in detail):
            return True
        if kind is sre.SUBPATTERN and needs_more_than_a_word(detail[3]):
            return True
        if kind is sre.BRANCH and all(map(needs_more_than_a_word, detail[1])):
            return True
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT) and detail[0] and needs_more_than_a_word(detail[2]):
            return True
    return False


def _may_be_in_a_word(item) -> bool:
    kind, detail = item
    if kind is sre.RANGE:
        return not WORD.isdisjoint(range(detail[0], detail[1] + 1))
    return kind is not sre.LITERAL or detail in WORD


def test_few_patterns_of_secrets_find_a_bare_word():
    """All others need a dot, a slash, a tilde, an underscore or a blank; the words of these are in the table."""
    found = []
    for pattern in (paths._SECRET, paths._MAYBE_SECRET):
        ((_, (_, branches)),) = _parser.parse(pattern.pattern)
        found += [branch for branch in branches if not needs_more_than_a_word(branch)]
    assert len(found) == 4
    for word in paths._BARE:
        assert paths._SECRET.search(word) or paths._MAYBE_SECRET.search(word)
        assert paths.read_kind(word) is not None


@given(st.sampled_from(sorted(paths._BARE)), st.text("sS-x/.", max_size=2), st.text("sS-x/.", max_size=2))
def test_words_near_those_are_judged_as_ever(word, before, after):
    """With something around it, or without a part of it."""
    for path in (before + word + after, word[: -len(after) or None], word.replace("-", after)):
        found = paths._SECRET.search(path) or paths._MAYBE_SECRET.search(path) or credential_files.is_one(path)
        assert bool(found) == (paths.read_kind(path) is not None)
