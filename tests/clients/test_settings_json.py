"""One member or item of a JSON text is changed, and every other byte stays."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshhooks.clients.settings_json import at_path, inserted, removed, replaced
from dshhooks.clients.settings_text import SettingsError, scan

# Nothing in them is empty, for an empty object or list comes back as `{}` or `[]`, whatever blanks it had.
SETTLED = {
    "two spaces": '{\n  "a": 1,\n  "h": {\n    "b": [\n      1\n    ]\n  }\n}\n',
    "tabs": '{\n\t"a": 1,\n\t"h": {\n\t\t"b": [\n\t\t\t1\n\t\t]\n\t}\n}',
    "line ends of Windows": '{\r\n    "a": 1,\r\n    "h": {"b": [\r\n        1\r\n    ]}\r\n}\r\n',
    "no indentation": '{\n"h": {\n"b": [\n1\n]\n}\n}\n',
    "one line": '{"a": 1, "h": {"b": [1, {"x": 2}]}}',
    "no blanks": '{"a":1,"h":{"b":[1]}}',
    "mixed": '{ "h" : {\n  "b": [ 1 ] } }',
    "comments": '// first\n{\n  "h": { // h\n    "b": [\n      1 // 1\n      // behind\n    ] /* b */ // and\n  }\n}\n',
    "trailing commas": '{\n  "h": {\n    "b": [\n      1, // of 1\n    ],\n  },\n}\n',
    "trailing commas in one line": '{"h": {"b": [1,],},}',
    "two of a name": '{"h": {"b": [0]}, "h": {"b": [1]}}',
    "text like JSON": '{"x": "{\\"h\\": [1, 2]} // no comment", "h": {"b": ["]"]}}',
}
PLACES = [((), "new"), (("h",), "new"), (("h", "b"), None)]
VALUE = [{"matcher": "*", "hooks": [{"command": "é \"'\\", "timeout": 60}]}]


def value_of(text):
    """What a reader makes of a text."""
    return scan(text)[0].value


def last_of(text, path):
    """The way to the last member or item of an object or list."""
    holder = at_path(scan(text)[0], path)
    node = holder.node if holder else scan(text)[0]
    child = node.children[-1]
    return (*path, child.key if child.key is not None else len(node.children) - 1)


@pytest.mark.parametrize("text", SETTLED.values(), ids=SETTLED)
@pytest.mark.parametrize(("path", "key"), PLACES, ids=["root", "object", "list"])
class TestInsertion:
    def test_adds_exactly_the_value(self, text, path, key):
        """What is read afterwards is what was there, and the value at the end."""
        before, after = value_of(text), value_of(inserted(text, path, key, VALUE))
        holder = before
        for step in path:
            holder = holder[step]
        if key is None:
            holder.append(VALUE)
        else:
            holder[key] = VALUE
        assert after == before

    def test_is_undone_by_removal(self, text, path, key):
        """Removal gives the very text back."""
        after = inserted(text, path, key, VALUE)
        assert removed(after, last_of(after, path)) == text

    def test_leaves_every_byte_in_its_order(self, text, path, key):
        """The old text is what is left when something is cut out of the new one."""
        after = iter(inserted(text, path, key, VALUE))
        assert all(character in after for character in text)


class TestStyle:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("{}", '{\n  "k": [\n    1\n  ]\n}'),
            ("{\n}\n", '{\n  "k": [\n    1\n  ]\n}\n'),
            ('{"a":1}', '{"a":1,"k":[1]}'),
            ('{"a": 1}', '{"a": 1, "k": [1]}'),
            ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"k": [\n\t\t1\n\t]\n}'),
            ('{\r\n    "a": 1\r\n}', '{\r\n    "a": 1,\r\n    "k": [\r\n        1\r\n    ]\r\n}'),
            ('{\n  "a": 1 // one\n}', '{\n  "a": 1, // one\n  "k": [\n    1\n  ]\n}'),
            ('{\n  "a": 1,\n}', '{\n  "a": 1,\n  "k": [\n    1\n  ],\n}'),
        ],
    )
    def test_is_that_of_the_file(self, text, expected):
        """Indentation, line ends, separators and trailing commas are the file's."""
        assert inserted(text, (), "k", [1]) == expected

    def test_of_text_beyond_ascii(self):
        """Characters are written as they are, not as escapes."""
        assert inserted('{"a": 1}', (), "k", "é") == '{"a": 1, "k": "é"}'


class TestRemoval:
    @pytest.mark.parametrize(
        ("text", "path", "expected"),
        [
            ("[1, 2, 3]", (0,), "[2, 3]"),
            ("[1, 2, 3]", (1,), "[1, 3]"),
            ("[1, 2, 3]", (2,), "[1, 2]"),
            ("[\n  1,\n  2,\n  3\n]", (0,), "[\n  2,\n  3\n]"),
            ("[\n  1,\n  2,\n  3\n]", (1,), "[\n  1,\n  3\n]"),
            ("[\n  1, // one\n  2 // two\n]", (1,), "[\n  1 // one // two\n]"),
            ("[ 1 ]", (0,), "[]"),
            ("[\n  1,\n]", (0,), "[]"),
            ("[ /* why */ 1 ]", (0,), "[ /* why */ ]"),
        ],
    )
    def test_takes_the_right_comma(self, text, path, expected):
        """First, middle, last and only item; comments of others stay."""
        assert removed(text, path) == expected

    def test_of_a_neighbour_leaves_ours(self):
        """Somebody else may add behind what was inserted, and it comes out from the middle."""
        text = inserted(inserted("[\n  1\n]", (), None, "ours"), (), None, "theirs")
        assert removed(text, (1,)) == '[\n  1,\n  "theirs"\n]'


def test_replacing_touches_the_value_only():
    """The key, the blanks and the comments around it stay."""
    text = '{ "a" :  "old" /* x */ , "b": 1 }'
    assert replaced(text, ("a",), "new") == '{ "a" :  "new" /* x */ , "b": 1 }'


TEXT = st.text(st.characters(codec="utf-8"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, min_size=1) | st.dictionaries(TEXT, inner, min_size=1),
    max_leaves=12,
)  # fmt: skip


class TestAnyDocument:
    @given(st.dictionaries(TEXT, JSON, min_size=1), JSON, st.data())
    def test_insertion_and_removal(self, document, value, data):
        """Whatever the document and however it is written: what is added is there, and gone again without a trace."""
        indent = data.draw(st.sampled_from([None, 1, 2, 4, "\t", ""]))
        text = json.dumps(document, indent=indent, ensure_ascii=data.draw(st.booleans()))
        key = data.draw(TEXT.filter(lambda key: key not in document))
        after = inserted(text, (), key, value)
        assert json.loads(after) == {**document, key: value}
        assert removed(after, (key,)) == text

    @given(JSON, st.sampled_from([None, 2, "\t"]))
    def test_is_read_as_json_reads_it(self, document, indent):
        """The scanner and the standard library agree."""
        assert value_of(json.dumps(document, indent=indent)) == document

    @given(st.text(st.sampled_from('{}[]",:/*\n 1a\\')))
    def test_garbage_is_an_error_with_a_place(self, text):
        """No text makes the scanner raise anything else, and what it reads strictly json reads, too."""
        try:
            root, extras = scan(text)
        except SettingsError as exc:
            told = exc.message
        else:
            told = ""
            assert extras or json.loads(text) == root.value
        assert not told or "line" in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "Expecting value at line 1, column 1"),
        ('{"a": 1,\n "b" 2}', "expected ':' at line 2, column 6"),
        ("{'a': 1}", "double quotes at line 1, column 2"),
        ('{"a": NaN}', "NaN is no JSON at line 1, column 7"),
        ("{} {}", "behind the end of the document at line 1, column 4"),
        ("[" * 100_000, "nested too deep"),
    ],
    ids=["nothing", "no colon", "single quotes", "NaN", "two documents", "deep"],
)
def test_what_is_no_json_is_told_with_its_place(text, told):
    """A person finds the mistake."""
    with pytest.raises(SettingsError, match=told):
        scan(text)


@pytest.mark.parametrize(
    ("text", "extras"),
    [
        ('{"a": [1]}', set()),
        ('{"a": "// no /* comment"}', set()),
        ('{"a": 1} // x', {"comments"}),
        ('{"a": [1,]}', {"trailing commas"}),
        ('{/**/"a": [1],}', {"comments", "trailing commas"}),
    ],
)
def test_what_json_has_not_is_named(text, extras):
    """Comments and trailing commas are read, and said."""
    assert scan(text)[1] == extras
