"""Tables of hooks in a TOML text: added at its end, changed and taken out, and every other byte stays."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.clients.settings_text import SettingsError
from dshhooks.clients.settings_toml import parse, with_table, with_value, without_table

OURS = {"name": "ours", "type": "pre_tool", "command": "python '/a b/lean.py'", "timeout": 60.0, "strict": True}
TEXTS = {
    "nothing": "",
    "values": "# mine\nmodel = 'm'\n\n[tools]\nx = 1\n",
    "another hook": '[[hooks]]\nname = "theirs"\ntype = "post_tool"\ncommand = "true"\n',
    "line ends of Windows": "a = 1\r\n[b]\r\nc = 2\r\n",
    "blank lines at the end": "a = 1\n\n\n",
    "a header in a text": 'a = """\n[[hooks]]\n"""\nb = 1\n',
}
SETTLED = {name: text for name, text in TEXTS.items() if name != "a header in a text"}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_adding_says_what_was_there_and_the_table(text):
    """Nothing else changes its meaning, and the old text is still in front."""
    after = with_table(text, OURS)
    before = tomllib.loads(text)
    assert after.startswith(text)
    assert tomllib.loads(after) == {**before, "hooks": [*before.get("hooks", []), OURS]}


@pytest.mark.parametrize("text", SETTLED.values(), ids=SETTLED)
def test_taking_out_undoes_adding(text):
    """Two tables in, two tables out, the very text again."""
    first = len(parse(text).get("hooks", []))
    after = with_table(with_table(text, OURS), {**OURS, "name": "second"})
    assert without_table(without_table(after, first + 1), first) == text


def test_what_somebody_wrote_behind_it_stays():
    """A comment above the next table belongs to that table."""
    after = with_table("a = 1\n", OURS) + "\n# theirs\n[more]\nx = 1\n"
    assert without_table(after, 0) == "a = 1\n\n# theirs\n[more]\nx = 1\n"


def test_one_value_is_changed_in_its_line():
    """The rest of the table stays as somebody wrote it."""
    text = '[[hooks]]\nname="x" # mine\n  command = "old"\nmatch = "bash"\n'
    assert with_value(text, 0, "command", "new") == '[[hooks]]\nname="x" # mine\n  command = \'new\'\nmatch = "bash"\n'


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_any_command_is_read_back(command):
    """Quotes, backslashes, control characters: whatever a path may have."""
    assert parse(with_table("", {"command": command}))["hooks"] == [{"command": command}]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("hooks = []\n", r"write each as \[\[hooks\]\]"),
        ("hooks = [{name = 'x'}]\n", r"write each as \[\[hooks\]\]"),
        ("hooks = 3\n", "no tables"),
        ("a = \n", "is not TOML"),
    ],
)
def test_what_cannot_be_added_to_is_refused(text, told):
    """A list written in one value cannot get tables."""
    with pytest.raises(SettingsError, match=told):
        with_table(text, OURS)


def test_a_header_inside_a_text_is_not_taken_for_a_table():
    """Rather than cut where it looks right, nothing is cut."""
    after = with_table(TEXTS["a header in a text"], OURS)
    with pytest.raises(SettingsError, match="by hand"):
        without_table(after, 0)
