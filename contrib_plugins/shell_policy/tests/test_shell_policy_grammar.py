"""The grammar: what is a command, what is data."""

from __future__ import annotations

import pytest

from dshhooks_shell_policy.braces import expand_braces
from dshhooks_shell_policy.engine import Engine
from dshhooks_shell_policy.grammar.nodes import ShellSyntaxError
from dshhooks_shell_policy.grammar.parser import parse
from dshhooks_shell_policy.rules import Rules
from dshhooks_shell_policy.second_opinion import _own_names, _tree_sitter_names, disagreement
from dshhooks_shell_policy.values import NOTHING


def words(text):
    """Expand the words of one simple command to plain text."""
    engine = Engine(Rules())
    seen = []

    def command(argv, *_):
        seen.append([arg.text for arg in argv])
        return NOTHING

    engine.command = command
    engine.run(text)
    return seen[-1]


def names(text):
    """The command names the grammar finds anywhere."""
    return _own_names(parse(text)) - {"time", "coproc", "[", "test"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b", ["a", "b"]),
        ("'a b' \"c d\"", ["a b", "c d"]),
        (r"a\ b c\\d", ["a b", r"c\d"]),
        ('"a\\"b" "\\$x" "\\n"', ['a"b', "$x", "\\n"]),
        ("$'a\\tb\\x41\\101'", ["a\tbAA"]),
        ("a'b'\"c\"d", ["abcd"]),
        ("x{a,b}y", ["xay", "xby"]),
        ("{1..3}", ["1", "2", "3"]),
        ("{a} {", ["{a}", "{"]),
        ("'{a,b}'", ["{a,b}"]),
        ("a\\\nb", ["ab"]),
        ("a # b", ["a"]),
        ("a#b", ["a#b"]),
        ("v='1 2'; x $v", ["x", "1", "2"]),
        ("v='1 2'; x \"$v\"", ["x", "1 2"]),
        ("v=(1 '2 3'); x \"${v[@]}\"", ["x", "1", "2 3"]),
        ("v=abc; x ${v:1:1} ${v^^} ${v#a} ${v/b/_}", ["x", "b", "ABC", "bc", "a_c"]),
        ("x ~/a $HOME", ["x", "~/a", "~"]),
        ("v=; x $v y", ["x", "y"]),
        ('v=; x "$v" y', ["x", "", "y"]),
    ],
)
def test_words_are_resolved_as_bash_does(text, expected):
    """Quoting, expansion and splitting."""
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a; b & c && d || e | f", {"a", "b", "c", "d", "e", "f"}),
        ("if a; then b; elif c; then d; else e; fi", {"a", "b", "c", "d", "e"}),
        ("while a; do b; done; until c; do d; done", {"a", "b", "c", "d"}),
        ("for x in y; do a; done", {"a"}),
        ("case x in y) a;; *) b;; esac", {"a", "b"}),
        ("f() { a; }; f", {"a", "f"}),
        ("( a ) && { b; }", {"a", "b"}),
        ('echo $(a $(b)) `c` "$(d)"', {"echo", "a", "b", "c", "d"}),
        ("cat <(a) > >(b)", {"cat", "a", "b"}),
        ("x=$(a) y", {"a", "y"}),
        ("cat <<EOF\na\nEOF\nb", {"cat", "b"}),
        ("cat <<'EOF'\n$(a)\nEOF\nb", {"cat", "b"}),
        ("cat <<EOF\n$(a)\nEOF", {"cat", "a"}),
        ("cat <<A <<B\n1\nA\n2\nB\nx", {"cat", "x"}),
        ("cat <<-EOF\n\t1\n\tEOF\nx", {"cat", "x"}),
        ("cat <<EOF | a\n1\nEOF", {"cat", "a"}),
        ("cat <<E\\\nOF\n1\nEOF\nx", {"cat", "x"}),
        ("cat <<EOF\n1\\\nEOF\n2\nEOF\nx", {"cat", "x"}),
        ("echo '<<EOF'\na\n", {"echo", "a"}),
        ("# <<EOF\na", {"a"}),
        ("[[ a =~ (b|c) && -n $(d) ]]", {"d"}),
        ("(( a + $(b) ))", {"b"}),
        ("((a); (b))", {"a", "b"}),
        ("echo $((1 << 2)) $((a))", {"echo"}),
        ("a=(b $(c))", {"c"}),
        ("time -p a; ! b", {"a", "b"}),
        ("coproc N { a; }", {"a"}),
        ("a > $(b) 2>&1 < c", {"a", "b"}),
        (">x a", {"a"}),
    ],
)
def test_commands_are_told_from_data(text, expected):
    """Every place a command can stand, and the places that only look like one."""
    assert names(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "'",
        '"',
        "`",
        "$(",
        "${",
        "$((1",
        "(",
        "{ a",
        "if a",
        "a &&",
        "a |",
        "case x in",
        "for x",
        "a >",
        "cat <<EOF\nx",
        "fi",
        "a ;; b",
        ")",
        "a ()",
        "[[ a",
        "f() ",
        "a\\",
        ">\\\n> x",
    ],
)
def test_incomplete_or_ambiguous_text_is_refused(text):
    """The parser does not guess."""
    with pytest.raises(ShellSyntaxError):
        parse(text)


def test_brace_expansion_is_bounded():
    """Too many variants become one unresolved word."""
    (word,) = expand_braces(parse("{a,b}" * 20).items[0].items[0].words[0])
    assert word.literal() == "\ue000"


@pytest.mark.parametrize(
    "text", ["ls; pwd", "if a; then b; fi", "cat <<'EOF'\nrm\nEOF\nls", "echo $(date)", "x=1 y z | w"]
)
def test_the_two_grammars_agree(text):
    """tree-sitter finds no command the own grammar misses."""
    assert disagreement(text) is None
    assert _tree_sitter_names(text) <= _own_names(parse(text))
