"""Properties: an answer for any text, and no wrapping or quoting that turns a denial into an allowance."""

from __future__ import annotations

import shlex

import pytest
from hookspecs.decisions import Allow, Ask, Deny
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dshhooks_shell_policy import classify
from dshhooks_shell_policy.grammar.nodes import ShellSyntaxError
from dshhooks_shell_policy.grammar.parser import parse

DENIED = ["rm -rf build", "git push --force", "git reset --hard", "cat ~/.ssh/id_rsa", "terraform destroy"]

_SHELLISH = st.text(alphabet="abrmf -~/$`'\"\\(){}[]<>|&;!#*?=\n\t0123EOF@:%^+,.", max_size=80)

#: Ways to start a command through something else; ``{}`` is the command, ``{q}`` the command as one quoted word.
WRAPPINGS = [
    "{}",
    "env {}",
    "env A=1 {}",
    "nohup {}",
    "timeout 5 {}",
    "nice -n 5 {}",
    "command {}",
    "exec {}",
    "sudo {}",
    "setsid {}",
    "stdbuf -o0 {}",
    "time {}",
    "! {}",
    "xargs {}",
    "busybox {}",
    "bash -c {q}",
    "sh -ec {q}",
    "eval {q}",
    "eval {}",
    "bash <<< {q}",
    "echo {q} | sh",
    "trap {q} EXIT",
    "watch {q}",
    "flock /tmp/l -c {q}",
    "script -c {q} /dev/null",
    "su -c {q}",
    "( {} )",
    "{{ {}; }}",
    "true && {}",
    "false || {}",
    "true; {}",
    "true | {}",
    "{} &",
    "if true; then {}; fi",
    "while true; do {}; done",
    "for x in 1; do {}; done",
    "case x in x) {};; esac",
    "f() {{ {}; }}; f",
    "echo $({})",
    "echo `{}`",
    'echo "$({})"',
    "cat <({})",
    "echo ${{x:-$({})}}",
    "x=$({}) true",
    "a[$({})]=1",
    "echo $(( $({}) ))",
    "bash <<EOF\n{}\nEOF",
    "cat <<EOF\n$({})\nEOF",
    "# comment\n{}",
    "ls \\\n  ; {}",
    "find . -exec sh -c {q} \\;",
    "some-unknown-wrapper --flag -- {}",
]


def _decision(command):
    decision = classify(command)
    assert isinstance(decision, (Allow, Ask, Deny))
    assert "could not be judged" not in (getattr(decision, "reason", "") or "")
    return decision


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(max_size=200))
def test_any_text_gets_an_answer(text):
    """Whatever the text, there is one of the three decisions and no exception."""
    _decision(text)


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_SHELLISH)
def test_any_shell_like_text_gets_an_answer(text):
    """Text made of shell characters finds the odd corners of the grammar."""
    _decision(text)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(_SHELLISH)
def test_the_parser_returns_or_refuses(text):
    """The grammar has no third way out."""
    try:
        parse(text)
    except ShellSyntaxError:
        pass


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("command", DENIED)
def test_wrapping_never_allows(wrapping, command):
    """A command that is stopped stays stopped inside every wrapper."""
    wrapped = (
        wrapping.replace("{q}", shlex.quote(command)).replace("{{", "\0").replace("}}", "\1").replace("{}", command)
    )
    assert not isinstance(_decision(wrapped.replace("\0", "{").replace("\1", "}")), Allow)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from([w for w in WRAPPINGS if "{q}" in w]), min_size=1, max_size=4), st.sampled_from(DENIED))
def test_nested_quoting_never_allows(wrappings, command):
    """Shells in shells in shells."""
    for wrapping in wrappings:
        command = wrapping.replace("{q}", shlex.quote(command))
    assert not isinstance(_decision(command), Allow)


@st.composite
def _requoted(draw, command):
    words = []
    for word in command.split(" "):
        letters = []
        for letter in word:
            style = draw(st.sampled_from(["plain", "single", "double", "backslash", "ansi", "empty"]))
            plain = letter if letter != "~" else "~"
            if letter == "~" or style == "plain":
                letters.append(plain)
            elif style == "single":
                letters.append(f"'{letter}'")
            elif style == "double":
                letters.append(f'"{letter}"')
            elif style == "backslash":
                letters.append("\\" + letter)
            elif style == "ansi":
                letters.append(f"$'\\x{ord(letter):02x}'")
            else:
                letters.append("''" + letter)
        words.append("".join(letters))
    return draw(st.sampled_from([" ", "  ", "\t", " \\\n "])).join(words)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(DENIED).flatmap(_requoted))
def test_requoting_never_allows(command):
    """Every spelling of the same words gets the same kind of answer."""
    assert not isinstance(_decision(command), Allow)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(DENIED), st.sampled_from(["x", "cmd", "a_1"]))
def test_a_variable_in_between_never_allows(command, name):
    """Assign first, run later."""
    for text in (
        f"{name}={shlex.quote(command)}; ${name}",
        f'{name}={shlex.quote(command)}; eval "${name}"',
        f'set -- {command}; "$@"',
    ):
        assert not isinstance(_decision(text), Allow)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "$(" * 100_000,
        "`" * 100_001,
        "$((" * 20_000,
        "${x:-" * 20_000,
        "{" * 60_000,
        "echo " + "a" * 1_000_000,
        "env " * 15_000 + "ls",
        "x=1;" * 20_000,
        "cat <<EOF\n" + "line\n" * 10_000,
        "a=" + "{b,c}" * 40,
        "echo " + "{a,b}" * 200,
        "if true; then " * 5000,
        "f(){ f; f; }; " * 2000 + "f",
        "for i in 1 2; do " * 30 + "ls" + "; done" * 30,
        "x=$x$x$x;" * 5000,
        "[[ " + "(" * 50_000,
        "'" * 99_999,
        "\\\n" * 30_000,
    ],
    ids=range(19),
)
@pytest.mark.timeout(20)
def test_pathological_input_is_answered(text):
    """Long and deep inputs end in an answer soon, whatever it is."""
    _decision(text)
