"""Whatever a settings file holds and however it is written: our entries come out of it without a trace."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dshhooks.clients.install_forms import FORMS, chosen_events, client_row, entry
from dshhooks.clients.install_json import added, found, taken_out

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
EVENTS = st.sampled_from(["PreToolUse", "Stop", "SessionStart", "BeforeTool", "AfterTool", "preToolUse", "agentStop"])
HANDLER = st.fixed_dictionaries({"type": st.just("command"), "command": TEXT}, optional={"timeout": st.integers()})
GROUP = st.fixed_dictionaries({"hooks": st.lists(HANDLER, max_size=2)}, optional={"matcher": TEXT})
HOOKS = st.dictionaries(EVENTS, st.lists(GROUP | HANDLER, max_size=2), max_size=3)
SETTINGS = st.builds(
    lambda rest, hooks: {**{name: value for name, value in rest.items() if name != "hooks"}, **hooks},
    st.dictionaries(TEXT, JSON, max_size=3),
    st.fixed_dictionaries({}, optional={"hooks": HOOKS}),
)
CLIENTS = st.sampled_from(["claude", "codex", "gemini", "qwen", "copilot", "copilot-native"])


def entries(client):
    """What is installed for a client."""
    row = client_row(client)
    return {event: entry(row, event, f"dshhooks handle --client {client}") for event in chosen_events(row, None)}


@st.composite
def written(draw):
    """A settings file's document, and one way to write it."""
    document = draw(SETTINGS)
    indent = draw(st.sampled_from([None, 1, 2, 4, "\t", ""]))
    separators = draw(st.sampled_from([None, (",", ":")]))
    text = json.dumps(document, indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    return document, text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))) + draw(st.sampled_from(["", "\n"]))


@given(written(), CLIENTS)
def test_there_and_back(settings, client):
    """The very text, when nobody changed it meanwhile."""
    _, text = settings
    after = added(text, FORMS[client], entries(client), only=False)
    assert taken_out(after, FORMS[client], text) == text


@given(written(), CLIENTS)
def test_each_event_has_one_entry_and_nothing_else_changed(settings, client):
    """Without our entries, what is read is what was read before; twice is once."""
    document, text = settings
    form = FORMS[client]
    after = added(text, form, entries(client), only=False)
    assert sorted(item.event for item in found(after, form)) == sorted(entries(client))
    assert added(after, form, entries(client), only=False) == after
    result = json.loads(after)
    for event in entries(client):
        assert result["hooks"][event].pop() == entries(client)[event]
        if event not in document.get("hooks", {}):
            assert result["hooks"].pop(event) == []
    assert result == ({**document, "hooks": {}} if "hooks" not in document else document)


@given(written(), CLIENTS)
def test_without_the_original(settings, client):
    """Nothing but lists and objects that are empty may be missing then."""
    document, text = settings
    form = FORMS[client]
    rest = taken_out(added(text, form, entries(client), only=False), form, None)
    hooks = {
        event: items for event, items in document.get("hooks", {}).items() if items or event not in entries(client)
    }
    expected = {**document, "hooks": hooks}
    assert (json.loads(rest) if rest is not None else {}) in (
        expected,
        {k: v for k, v in expected.items() if k != "hooks"},
    )
