"""Squeezing a conversation: smaller, with the same end, and no result without its call."""

from __future__ import annotations

import json

import pytest
from dshhooks_context_overflow.squeeze import Squeeze, squeezes
from hypothesis import given
from hypothesis import strategies as st

from dshhooks import Message, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock, UnknownBlock


def user(text):
    return Message("user", text)


def call(name, arguments="{}"):
    return Message("assistant", [ToolCallBlock(name, "t", arguments)])


def result(name, text):
    return Message("user", [ToolResultBlock(name, text)])


def test_long_texts_become_excerpts():
    """Head and tail stay, wherever the text stands; short ones and unknown blocks are left alone."""
    long, short, odd = "a" * 100 + "b" * 100, "short", UnknownBlock("image", {"data": "x" * 500})
    message = Message("assistant", [TextBlock(long), ReasoningBlock(long), TextBlock(short), odd])
    results = Message("user", [ToolResultBlock("c", [TextBlock(long), odd], is_error=True)])
    excerpt = "aaaaa\n[190 characters left out]\nbbbbb"
    assert Squeeze(10, 1.0).messages([message, results]) == (
        Message("assistant", [TextBlock(excerpt), ReasoningBlock(excerpt), TextBlock(short), odd]),
        Message("user", [ToolResultBlock("c", [TextBlock(excerpt), odd], is_error=True)]),
    )


def test_long_arguments_stay_json():
    """Some endpoints read what they are sent."""
    (message,) = Squeeze(10, 1.0).messages([call("c", json.dumps({"text": "x" * 100}))])
    assert "characters left out" in json.loads(message.content[0].arguments)["excerpt"]


def test_the_newest_stay():
    """What came before is said to be missing."""
    messages = [user("1" * 10), user("2" * 10), user("3" * 10), user("4" * 10)]
    assert Squeeze(100, 0.5).messages(messages) == (user("[earlier messages were left out]"), *messages[2:])


def test_the_last_message_stays():
    """Whatever its size."""
    messages = [user("1"), user("2" * 90)]
    assert Squeeze(100, 0.25).messages(messages)[1:] == (messages[1],)


@pytest.mark.parametrize("share", [0.5, 0.25])
def test_results_keep_their_calls(share):
    """A cut goes in front of the message that called."""
    batch = Message("assistant", [ToolCallBlock("a", "t", "{}"), ToolCallBlock("b", "t", "{}")])
    messages = [user("x" * 50), batch, result("a", "y" * 20), result("b", "z" * 20)]
    assert Squeeze(100, share).messages(messages)[1:] == tuple(messages[1:])


@pytest.mark.parametrize("squeeze", squeezes(2000)[1:])
def test_nothing_to_squeeze(squeeze):
    """An empty conversation and a single message."""
    assert squeeze.messages([]) == ()
    assert squeeze.messages([user("x")]) == (user("x"),)


TURNS = st.lists(
    st.one_of(
        st.builds(lambda text: [user(text)], st.text(max_size=300)),
        st.builds(
            lambda texts: [
                Message("assistant", [ToolCallBlock(f"{at}", "t", text) for at, text in enumerate(texts)]),
                *(result(f"{at}", text) for at, text in enumerate(texts)),
            ],
            st.lists(st.text(max_size=300), min_size=1, max_size=3),
        ),
    ),
    max_size=6,
)


@given(TURNS, st.sampled_from(squeezes(100)[1:]))
def test_any_conversation(turns, squeeze):
    """It ends as it did, and every result follows its call."""
    messages = [message for turn in turns for message in turn]
    got = squeeze.messages(messages)
    assert len(got) <= len(messages) + 1
    assert bool(got) == bool(messages)
    if messages:
        assert type(got[-1].content[0]) is type(messages[-1].content[0])
    open_calls = set()
    for message in got:
        for block in message.content:
            if isinstance(block, ToolCallBlock):
                open_calls.add(block.id)
            elif isinstance(block, ToolResultBlock):
                assert block.tool_call_id in open_calls
