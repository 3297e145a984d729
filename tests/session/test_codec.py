"""Between event classes and JSON: what is read is what was written."""

from __future__ import annotations

from dshhooks.session.codec import Codec
from dshhooks.session.events import UserMessage
from dshhooks.session.variants import Variants
from hookspecs.values import UnknownBlock, UserSource


def test_an_unknown_block_made_by_hand_can_be_read_back():
    """Its data need not repeat the tag."""
    codec = Codec(Variants())
    given = UserMessage((UnknownBlock("odd", {"n": 1}),), UserSource())
    back = codec.from_wire("user/message", codec.to_wire(given))
    assert back.content == (UnknownBlock("odd", {"type": "odd", "n": 1}),)
